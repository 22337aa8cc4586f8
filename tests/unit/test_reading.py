"""Which stretches the reader reads, and what becomes of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.evidence import measure, question_terms
from cairn.answer.extract import extract
from cairn.answer.quotation_choice import score_quotations
from cairn.answer.reading import (
    MOST_READ,
    STRETCH_CHARS,
    ReadBy,
    ReadCandidates,
    as_stretch,
    choose_places,
    cut_stretches,
    is_figures_of_one_document,
    join_readings,
    nearest_cosines,
    read_candidates,
    score_read,
)
from cairn.providers.answer_reader import MOST_TOKENS, PATH_TOKENS, QUESTION_TOKENS, Stretch, StretchReading, framed
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage

GUIDE = """# Passwords

This guide is about passwords for directories, and how to protect a directory with passwords.

To protect a directory, write its users into a file:

```
htpasswd -c .htpasswd alice
```

Passwords were invented in 1961.
"""
QUESTION = "What protects a directory with passwords?"


class Knows:
    """A reader that holds whatever has the word for the answer."""

    name = "knows"

    def __init__(self, word: str) -> None:
        self.word = word
        self.seen: list[Stretch] = []

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        self.seen += stretches
        return [
            StretchReading(
                8.0 if any(self.word in unit for unit in one.units) else -8.0,
                tuple(8.0 if self.word in unit else -8.0 for unit in one.units),
            )
            for one in stretches
        ]

    async def close(self) -> None:
        return None


def test_a_stretch_is_whole_units_and_nothing_is_left_out() -> None:
    text = "\n\n".join(f"Sentence {n} is about ships. It has a second one." for n in range(40))
    cut = cut_stretches(text)
    assert all(units[-1].end - units[0].start <= STRETCH_CHARS for units in cut)
    assert sum(len(units) for units in cut) == 80
    assert [unit for units in cut for unit in units] == sorted(
        (u for units in cut for u in units), key=lambda u: u.start
    )
    (long,) = cut_stretches("word " * 150)
    assert len(long) == 1, "a unit that is longer stands alone"


def test_what_stands_below_a_heading_is_not_read_with_the_section_before() -> None:
    text = "Masts are blue.\n\n# Ships\n\n## Small\n\nThey row.\n\n## Large\n\nThey sail."
    assert [[text[unit.start : unit.end] for unit in units] for units in cut_stretches(text)] == [
        ["Masts are blue."], ["Ships", "Small", "They row."], ["Large", "They sail."]
    ]  # fmt: skip


@pytest.mark.parametrize(("length", "read"), [(130, 10), (131, 9)])
def test_of_short_stretches_as_many_are_read_as_cost_no_more_than_five_long_ones(length: int, read: int) -> None:
    """With 160 characters for what is read with each."""
    sections = [f"Ships\n\nNumber {n:02} {'sails and ' * 20}"[: length - 1] + "." for n in range(14)]
    sources = [passage("\n\n".join(f"# {section}" for section in sections))]
    found = candidates(sources)
    places = choose_places(found, np.zeros(len(found)), sources)
    assert {place.units[-1].end - place.units[0].start for place in places} == {length}
    assert len(places) == read == 5 * (160 + 420) // (160 + length)


@pytest.mark.parametrize(("length", "stretches"), [(420, 1), (421, 2)])
def test_a_stretch_has_420_characters(length: int, stretches: int) -> None:
    text = f"Ships sail. X{'x' * (length - 14)}."
    assert len(text) == length
    assert len(cut_stretches(text)) == stretches


def test_a_term_begins_a_stretch_so_that_what_is_said_of_it_is_read_under_it() -> None:
    text = "# Ship\n\n**`MAST`**\n\nIts height.\n\nDefault is 9.\n\n**`KEEL`**\n\nIts depth."
    said = [tuple(text[unit.start : unit.end] for unit in stretch) for stretch in cut_stretches(text)]
    assert [stretch[-1] for stretch in said] == ["Default is 9.", "Its depth."]
    assert said[1][0] == "**`KEEL`**"


def test_only_the_most_promising_stretches_are_read_best_first() -> None:
    sources = [
        passage("\n\n".join(f"Ship {n} of fleet {m} sails. " + "It is blue. " * 40 for n in range(5))) for m in range(5)
    ]
    found = candidates(sources)
    scores = np.array([float(c.rank == 3 and "Ship 2" in c.text) for c in found])
    places = choose_places(found, scores, sources)
    assert len(places) == MOST_READ == 5, "more would cost a question more than 150 ms"
    assert places[0].rank == 3
    assert any("Ship 2" in found[at].text for at in places[0].inside)
    first = as_stretch(places[0], found, sources)
    assert any("Ship 2 of fleet 3 sails." in unit for unit in first.units)


@pytest.mark.parametrize(
    ("words", "behind", "first"), [(0.6, 0.0, 0), (0.85, 0.0, 1), (2.1, 0.1, 0), (2.5, 0.1, 1)],
)  # fmt: skip
async def test_what_is_read_first_is_weighed(words: float, behind: float, first: int) -> None:
    """The second passage, by how much better its words must be; `behind`: by how much its cosine is."""
    sources = [passage("Ships sail on the sea."), passage("Boats row on the lake.")]
    found, reader = candidates(sources), Knows("nothing")
    by = ReadBy(reader, [[(0, 99, 0.9)], [(0, 99, 0.9 - behind)]])
    assert await read_candidates("What sails?", found, np.array([0.0, words]), sources, by)
    assert reader.seen[0].units == (sources[first].content,)


@pytest.mark.parametrize(
    ("surer", "enough", "too_little"),
    [("stretch", 2.1, 1.8), ("unit", 2.0, 1.7), ("cosine", 15.6, 14.2), ("rank", -1.8, -2.1)],
)
def test_what_was_read_is_weighed(surer: str, enough: float, too_little: float) -> None:
    """By how much better the words of a candidate must be than those of one that is ahead by 1 in something else."""
    for words, first in ((enough, 0), (too_little, 1)):
        nothing = np.zeros(2)
        read = ReadCandidates(np.array([words, 0.0]), nothing, nothing, nothing, nothing, np.ones(2, np.bool_))
        assert int(score_read(replace(read, **{surer: np.array([0.0, 1.0])})).argmax()) == first


def test_source_code_is_not_read() -> None:
    code = passage("def protect(directory):\n    return 1\n", media_type="text/x-python")
    found = candidates([code])
    assert found
    assert choose_places(found, np.ones(len(found)), [code]) == []


def test_what_was_not_read_counts_as_the_worst_that_was() -> None:
    sources = [passage(GUIDE, title="Guide")]
    found = candidates(sources)
    terms = question_terms(QUESTION, found)
    places = choose_places(found, score_quotations(measure(terms, found, sources)), sources, most=1)
    units = tuple(float(n) for n in range(len(places[0].units)))
    zeros = np.zeros(len(found))
    read = join_readings(places, [StretchReading(2.0, units)], zeros, zeros, zeros)
    assert set(read.stretch) == {2.0}
    for at, unit in places[0].inside.items():
        assert read.read[at]
        assert read.unit[at] == units[unit]
    assert all(read.unit[at] == min(read.unit[read.read]) for at in np.flatnonzero(~read.read))


def test_a_candidate_is_as_near_as_the_nearest_chunk_that_it_stands_in() -> None:
    found = candidates([passage(GUIDE), passage("Another one is about ships and the sea.")])
    half = GUIDE.index("To protect")
    cosines = nearest_cosines(found, [[(0, half + 1, 0.3), (half, len(GUIDE), 0.5)], []])
    by_text = {one.text: cosine for one, cosine in zip(found, cosines, strict=True)}
    assert by_text["htpasswd -c .htpasswd alice"] == 0.0, "the nearest of all"
    first = next(one for one in by_text if one.startswith("This guide"))
    assert by_text[first] == pytest.approx(-0.2)
    other = by_text["Another one is about ships and the sea."]
    assert -0.2 < other < 0, "of what has no vector nothing is known"
    assert not nearest_cosines(found, [[], []]).any()


async def test_the_reader_chooses_among_what_words_put_first() -> None:
    source = passage(GUIDE, title="Guide")
    by_words = await extract(QUESTION, [source], WordEmbedder(), SETTINGS)
    assert by_words.citations[0].quote.startswith("This guide is about passwords")
    assert by_words.evidence
    assert by_words.evidence.read is None
    reader = Knows("htpasswd -c")
    read = await extract(QUESTION, [source], WordEmbedder(), SETTINGS, enough=0.0, by=ReadBy(reader, [[]]))
    assert read.citations[0].quote == "htpasswd -c .htpasswd alice"
    assert read.evidence
    assert read.evidence.read == 8.0
    assert read.evidence.read_most == 8.0
    assert read.evidence.read_margin > 0
    assert reader.seen[0].path.startswith("Guide"), "it sees where a stretch stands"


async def test_what_nothing_answers_is_refused_by_the_reader_too() -> None:
    draft = await extract(QUESTION, [passage(GUIDE)], WordEmbedder(), SETTINGS, by=ReadBy(Knows("nowhere"), [[]]))
    assert not draft.found
    assert draft.confidence < 0.1


FRAMES = {"question": ([0, 41], [2]), "passage": ([0, 46], [2])}


def test_tokens_are_framed_as_in_training() -> None:
    ids, owners = framed([5, 6], [7], [[8, 9], [10]], FRAMES)
    assert ids == [0, 41, 5, 6, 2, 2, 46, 7, 8, 9, 10, 2]
    assert owners == [-1] * 8 + [0, 0, 1, -1]


@pytest.mark.parametrize("long", ["question", "path", "unit"])
def test_nothing_grows_beyond_what_the_reader_knows(long: str) -> None:
    ids, owners = framed(
        [5] * (99 if long == "question" else 1),
        [*[6] * (99 if long == "path" else 1), 7],
        [[8] * (999 if long == "unit" else 1)],
        FRAMES,
    )
    assert len(ids) == len(owners) <= MOST_TOKENS
    assert ids[-1] == 2
    assert ids.count(5) <= QUESTION_TOKENS
    assert ids.count(6) < PATH_TOKENS
    assert 7 in ids, "the end of a path is nearest to the text"


@pytest.mark.parametrize(
    ("rows", "figures"),
    [("| fast | 12 |", True), ("| `fast` | on | Runs twice as fast. |", False), ("| 12 | fast |", False)],
)
def test_rows_of_figures_alone_are_told_apart_by_words(rows: str, figures: bool) -> None:
    table = f"| Name | Value | Meaning |\n| --- | --- | --- |\n{rows}\n"
    one = candidates([passage(table)])[0]
    assert is_figures_of_one_document(one, [passage(table)]) is figures
    other = replace(passage("Text."), document_id=UUID(int=99))
    assert not is_figures_of_one_document(one, [passage(table), other])
