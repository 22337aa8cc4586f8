"""From a model's `[n]` to quotes that exist."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.cite import citation, cite
from cairn.domain.passage import Passage

WHALES = "Whales are mammals. The blue whale weighs up to 199 tonnes. It eats krill."
CAIRN = "A cairn is a pile of stones. It marks a trail in the mountains."


def passage(content: str, start: int = 0, **more: object) -> Passage:
    known = {
        "passage_id": uuid4(),
        "document_id": uuid4(),
        "external_id": "a.md",
        "title": "A",
        "content": content,
        "start": start,
        "end": start + len(content),
        "page": 3,
        "headings": ("H",),
        "token_count": 9,
        "version": 2,
        "collection": "c",
        "media_type": "text/plain",
        "metadata": {},
    }
    return Passage(**{**known, **more})  # type: ignore[arg-type]


SOURCES = [passage(WHALES, start=100), passage(CAIRN, start=0)]


def test_each_number_becomes_the_sentence_that_supports_it() -> None:
    cited = cite("The blue whale weighs 199 tonnes [1]. Cairns mark a trail [Source 2].", SOURCES)
    assert cited.text == "The blue whale weighs 199 tonnes [1]. Cairns mark a trail [2]."
    assert [c.quote for c in cited.citations] == [
        "The blue whale weighs up to 199 tonnes.", "It marks a trail in the mountains."
    ]  # fmt: skip
    first = cited.citations[0]
    assert (first.start, first.end) == (120, 159)
    assert (first.page, first.version, first.passage_id) == (3, 2, SOURCES[0].passage_id)


def test_a_citation_belongs_to_its_own_sentence() -> None:
    cited = cite("It eats krill [1]. The blue whale weighs 199 tonnes [1]. It marks a trail. [2]", SOURCES)
    assert [c.quote for c in cited.citations] == [
        "It eats krill.", "The blue whale weighs up to 199 tonnes.", "It marks a trail in the mountains."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "numbers"),
    [
        ("Stones [2]. Krill [1].", "Stones [1]. Krill [2].", [1, 2]),  # renumbered by first appearance
        ("It eats krill [1, 2].", "It eats krill [1][2].", [1, 2]),
        ("It eats krill [Source 1, 2].", "It eats krill [1][2].", [1, 2]),
        ("It eats krill (Source 1).", "It eats krill [1].", [1]),
        ("It eats krill (Sources 1 and 2).", "It eats krill [1][2].", [1, 2]),
        ("It eats krill [Source 1: a.md (page 3)].", "It eats krill [1].", [1]),
        ("It eats krill 【1†source】.", "It eats krill [1].", [1]),
        ("It eats krill [^1].", "It eats krill [1].", [1]),
        ("Er frisst Krill [Quelle 1].", "Er frisst Krill [1].", [1]),
        ("It eats krill [1][2].", "It eats krill [1][2].", [1, 2]),
        ("It eats krill [1-2].", "It eats krill [1][2].", [1, 2]),
        ("It eats krill [Source 1; Source 2].", "It eats krill [1][2].", [1, 2]),
        ("It eats krill [1]. It eats krill! [1]", "It eats krill [1]. It eats krill! [1]", [1]),
        ("It eats krill 【1】.", "It eats krill [1].", [1]),
        ("Use `a[1]` here.", "Use `a[1]` here.", []),
        ("See [1](http://x.org) there.", "See [1](http://x.org) there.", []),
        ("Nothing cited.", "Nothing cited.", []),
    ],
)
def test_forms_of_citing(text: str, expected: str, numbers: list[int]) -> None:
    cited = cite(text, SOURCES)
    assert cited.text == expected
    assert [c.n for c in cited.citations] == numbers
    assert cited.stripped == 0


def test_invented_numbers_are_stripped() -> None:
    cited = cite("Krill [7]. Whales are mammals [1, 9]. Trails [0].", SOURCES)
    assert cited.text == "Krill. Whales are mammals [1]. Trails."
    assert [c.quote for c in cited.citations] == ["Whales are mammals."]
    assert cited.stripped == 3


def test_a_verbatim_quotation_is_the_span() -> None:
    cited = cite('It is "a pile of stones" [2], they say.', SOURCES)
    assert [c.quote for c in cited.citations] == ["a pile of stones"]
    assert WHALES not in cited.citations[0].quote


def test_a_quotation_that_is_not_verbatim_falls_back_to_a_sentence() -> None:
    cited = cite('It is "a heap of big stones" [2].', SOURCES)
    assert [c.quote for c in cited.citations] == ["A cairn is a pile of stones."]


def test_a_mark_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    cited = cite("It eats krill. [1] It marks a trail. [2]", SOURCES)
    assert [c.quote for c in cited.citations] == ["It eats krill.", "It marks a trail in the mountains."]


def test_the_chunk_is_named_only_where_it_overlaps_the_quote() -> None:
    chunk = uuid4()
    near = passage(WHALES, start=100, chunk_id=chunk, matched=(120, 160))
    assert citation(1, near, (20, 59)).chunk_id == chunk
    assert citation(1, near, (0, 19)).chunk_id is None


HANDBOOK = [
    passage("Employees have 30 days of annual leave. Requests go to the team lead.", title="Leave", headings=()),
    passage("Parking costs 45 euros a month. The car park closes at 10 pm.", title="Parking", headings=()),
    passage("Part-time staff have 18 days of annual leave.", title="Part time", headings=()),
]


@pytest.mark.parametrize(
    ("text", "expected", "quotes"),
    [
        (
            "Parking costs 45 euros a month [1].", "Parking costs 45 euros a month [1].", ["Parking costs 45 euros a month."],
        ),
        (
            "Employees have 30 days of annual leave [2]. Parking costs 45 euros a month [2].",
            "Employees have 30 days of annual leave [1]. Parking costs 45 euros a month [2].",
            ["Employees have 30 days of annual leave.", "Parking costs 45 euros a month."],
        ),
        (
            "Part-time staff have 18 days of annual leave [1].", "Part-time staff have 18 days of annual leave [1].",
            ["Part-time staff have 18 days of annual leave."],
        ),
        (
            "Parking costs 45 euros a month [1][3].", "Parking costs 45 euros a month [1].", ["Parking costs 45 euros a month."],
        ),
        (  # one of its citations holds it: the other one stays
            "Parking costs 45 euros a month [2][3].", "Parking costs 45 euros a month [1][2].",
            ["Parking costs 45 euros a month.", "Part-time staff have 18 days of annual leave."],
        ),
    ],
)  # fmt: skip
def test_a_citation_that_does_not_hold_its_sentence_moves(text: str, expected: str, quotes: list[str]) -> None:
    cited = cite(text, HANDBOOK)
    assert (cited.text, [one.quote for one in cited.citations]) == (expected, quotes)
    assert [one.n for one in cited.citations] == list(range(1, len(quotes) + 1))


def test_a_sentence_that_no_source_holds_keeps_its_citation_and_is_left_to_the_check() -> None:
    cited = cite("Employees have 45 days of annual leave [2].", HANDBOOK)
    assert [one.external_id for one in cited.citations] == ["a.md"]
    assert cited.citations[0].passage_id == HANDBOOK[1].passage_id


def test_a_sentence_without_a_citation_gets_that_of_the_source_that_holds_it() -> None:
    text = "Here is what I found:\n- Employees have 30 days of annual leave.\n- Parking costs 45 euros a month!\nReady?"
    cited = cite(text, HANDBOOK)
    assert cited.text == (
        "Here is what I found:\n- Employees have 30 days of annual leave [1].\n- Parking costs 45 euros a month [2]!\nReady?"
    )
    assert [one.passage_id for one in cited.citations] == [HANDBOOK[0].passage_id, HANDBOOK[1].passage_id]


@pytest.mark.parametrize(
    "text", ["Employees have 45 days of annual leave.", "I am glad to help you with that.", "Well."]
)
def test_what_no_source_holds_gets_no_citation(text: str) -> None:
    assert cite(text, HANDBOOK).citations == ()


TEXTS = st.lists(
    st.sampled_from(["Whales eat krill", "[1]", "[2]", "[9]", " ", ". ", "[1,2]", "[", "]", '"', "`", "A cairn"])
).map("".join)


@given(TEXTS)
def test_every_number_in_the_text_is_a_citation_and_every_quote_is_verbatim(text: str) -> None:
    cited = cite(text, SOURCES)
    assert [c.n for c in cited.citations] == list(range(1, len(cited.citations) + 1))
    outside_code = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", cited.text)
    used = {int(n) for n in re.findall(r"\[(\d+)\](?!\()", outside_code)}
    assert used <= {c.n for c in cited.citations}
    for made in cited.citations:
        source = next(p for p in SOURCES if p.passage_id == made.passage_id)
        assert made.quote == source.content[made.start - source.start : made.end - source.start] != ""
