"""Groundedness without a model: what the sources say, what they do not, and what they say the other way round."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.answer.ground.check import NO_CLAIM, ground
from cairn.answer.ground.verdict import read_verdict
from cairn.domain.answer import Grounding
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.providers.protocols import Completion, Usage, Vectors
from cairn.settings import GroundSettings

LENIENT, STRICT = GroundSettings(), GroundSettings(strict=True)
TEXTS = (
    "Berlin is the capital of Germany. The Eiffel Tower is 300 metres high and was built in 1889. Aspirin does not cure "
    "the common cold.",
    "Entry is forbidden after 8 pm. Sales rose by 12% in 2020 because of strong demand in Asia, and profits increased.",
)


def passage(number: int, text: str) -> Passage:
    here = UUID(int=number)
    return Passage(here, here, f"{number}.md", "", text, 0, len(text), None, (), 9, 1, "c", "text/plain", {})


SOURCES = [passage(n, text) for n, text in enumerate(TEXTS, start=1)]


class NoEmbedder:
    """Within one language vectors are not needed: this one fails, as a provider may."""

    name, dimensions, max_tokens = "none", 2, 9

    @property
    def tokens(self) -> NoEmbedder:
        return self

    def count(self, text: str) -> int:
        return len(text.split())

    def count_batch(self, texts: object) -> list[int]:
        raise NotImplementedError

    async def embed(self, texts: object) -> Vectors:
        raise ProviderError("no embedding today")

    async def close(self) -> None:
        return None


class SameMeaning(NoEmbedder):
    """Everything means the same."""

    async def embed(self, texts: object) -> Vectors:
        return np.ones((len(list(texts)), 1), np.float32)  # type: ignore[call-overload]


async def check(answer: str, how: GroundSettings = LENIENT, sources: list[Passage] | None = None) -> Grounding:
    given_sources = SOURCES if sources is None else sources
    return await ground(answer, given_sources, embedder=NoEmbedder(), chat=None, settings=how)


@pytest.mark.parametrize("how", [LENIENT, STRICT])
@pytest.mark.parametrize(
    "answer",
    [
        "Berlin is the capital of Germany [1].",
        "The capital of Germany is Berlin [1]. Entry is forbidden after 8 pm [2].",
        "The Eiffel Tower, which is 300 metres high, was built in 1889 [1].",
        "Aspirin does not cure the common cold (Source 1).",
        "According to the sources, sales rose by 12 percent in 2020 [2].",
        "Sales rose in 2020 [2]. The sources do not mention the number of employees.",
        "- Berlin is the capital of Germany [1]\n- … (+15)",
        "| Capital |\n| --- |\n| Berlin is the capital of Germany. |\n| … (+15) |",
    ],
)
async def test_what_the_sources_say_is_grounded(answer: str, how: GroundSettings) -> None:
    found = await check(answer, how)
    assert found.grounded is True, found
    assert found.score is not None
    assert found.score >= 0.5


@pytest.mark.parametrize("how", [LENIENT, STRICT])
@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("Paris is the capital of Germany [1].", "Paris"),
        ("The Eiffel Tower is 330 metres high [1].", "330"),
        ("The Eiffel Tower is 300 feet high [1].", "300 ft"),
        ("The Eiffel Tower was built in 1890.", "1890"),
        ("Aspirin cures the common cold [1].", "negated"),
        ("Entry is allowed after 8 pm [2].", "allowed"),
        ("Sales fell by 12% in 2020 [2].", "fell"),
        ("Berlin is not the capital of Germany.", "negated"),
        ("Berlin is the capital of Germany. Run VACUUM and then truncate everything.", "vacuum"),
        ("Whales eat krill and sing in the deep sea.", "Whales"),
        ("The Eiffel Tower was built in 2020 [1].", "2020 where the source says 1889"),
        ("Sales rose by 8% in 2020 because of strong demand in Asia.", "8 % "),
        ("Sales rose by 12% in 2020 because of strong demand in Asia, and profits were unincreased.", "unincreased"),
    ],
)
async def test_what_they_do_not_say_is_not_and_the_issue_names_it(answer: str, word: str, how: GroundSettings) -> None:
    found = await check(answer, how)
    assert found.grounded is False
    assert found.score is not None
    assert found.score < 0.5
    assert any(word in issue for issue in found.issues)


async def test_the_bands() -> None:
    verbatim, strange = await check(TEXTS[0]), await check("Whales eat krill daily.")
    assert (verbatim.grounded, verbatim.layer, verbatim.fast_score) == (True, "fast", 1.0)
    assert (strange.grounded, strange.layer, strange.fast_score) == (False, "fast", 0.0)
    between = await check("The Eiffel Tower, 300 metres high, dates from 1889.")
    assert between.layer == "sentences"
    assert between.fast_score is not None
    assert 0.3 <= between.fast_score < 0.8


async def test_a_high_fast_score_does_not_decide_against_a_contradiction() -> None:
    """The fast layer alone would pass it: every word but one and every trigram is there."""
    found = await check("Paris is the capital of Germany.")
    assert found.fast_score == pytest.approx(0.8)
    assert (found.grounded, found.layer) == (False, "sentences")


async def test_one_invented_sentence_spoils_an_answer() -> None:
    found = await check(f"{TEXTS[0]} Its elevators were sold to a circus in Portugal.")
    assert found.grounded is False
    assert [sentence.supported for sentence in found.sentences] == [True, True, True, False]


async def test_each_sentence_names_its_sources_and_where_it_stands() -> None:
    answer = "Entry is forbidden after 8 pm [2]. Berlin is the capital of Germany [1]."
    found = await check(answer)
    assert [sentence.sources[0] for sentence in found.sentences] == [2, 1]
    assert [answer[s.start : s.end].split(" [")[0] for s in found.sentences] == [
        "Entry is forbidden after 8 pm", "Berlin is the capital of Germany",
    ]  # fmt: skip


async def test_strict_wants_quotations_verbatim() -> None:
    answer = 'The notice says: "Entry is forbidden after 9 pm or 8 pm".'
    assert (await check(answer, STRICT)).grounded is False
    assert any("Not a quotation" in issue for issue in (await check(answer)).issues)


@pytest.mark.parametrize("answer", ["", "   ", "It is so.", "[1]", "\ud800"])
async def test_without_a_claim_nothing_is_grounded(answer: str) -> None:
    found = await check(answer)
    assert (found.grounded, found.score, found.degraded) == (None, None, (NO_CLAIM,))


@pytest.mark.parametrize("sources", [[], [passage(1, "  ")]])
async def test_without_sources_nothing_is_grounded(sources: list[Passage]) -> None:
    assert (await check("Berlin is the capital.", sources=sources)).grounded is False


# --- other languages ------------------------------------------------------------------------------------------------

FRENCH = "Le musée du Louvre est ouvert tous les jours sauf le mardi. L'entrée coûte 22 euros pour les adultes."
GERMAN = "Das Museum ist täglich außer dienstags geöffnet. Der Eintritt kostet 22 Euro für Erwachsene und ist nicht erstattbar."


@pytest.mark.parametrize(
    ("source", "answer", "expected"),
    [
        (FRENCH, "L'entrée coûte 22 euros pour les adultes.", True),
        (FRENCH, "L'entrée coûte 17 euros pour les adultes.", False),
        (FRENCH, "Le musée du Louvre n'est pas ouvert le lundi et les peintures viennent d'Égypte.", False),
        (GERMAN, "Der Eintritt kostet für Erwachsene 22 Euro.", True),
        (GERMAN, "Der Eintritt kostet für Erwachsene 25 Euro.", False),
        (GERMAN, "Der Eintritt für Erwachsene ist erstattbar.", False),
    ],
)
async def test_other_languages(source: str, answer: str, expected: bool) -> None:
    assert (await check(answer, sources=[passage(1, source)])).grounded is expected


async def test_across_languages_the_fast_layer_is_skipped() -> None:
    answer = "The Louvre museum is open on all days but Tuesday, and it costs 22 euros to get in for an adult."
    source = [passage(1, FRENCH)]
    made = await ground(answer, source, embedder=SameMeaning(), chat=None, settings=LENIENT)
    assert (made.grounded, made.layer, made.fast_score) == (True, "sentences", None)
    wrong = await ground(answer.replace("22", "17"), source, embedder=SameMeaning(), chat=None, settings=LENIENT)
    assert wrong.grounded is False


async def test_across_languages_a_failed_embedding_leaves_it_open_and_says_so() -> None:
    answer = "The Louvre museum is open on all days but Tuesday, and it costs 22 euros to get in for an adult."
    found = await check(answer, sources=[passage(1, FRENCH)])
    assert (found.grounded, found.score) == (None, None)
    assert "embedding failed" in found.degraded[0]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=3))
async def test_any_answer_has_a_verdict_or_a_reason(answer: str, texts: list[str]) -> None:
    found = await check(answer, sources=[passage(n, text) for n, text in enumerate(texts, start=1)])
    assert found.grounded is not None or found.degraded
    assert found.score is None or 0 <= found.score <= 1
    assert all(0 <= s.start < s.end <= len(answer) for s in found.sentences)


# --- the model's reply ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("GROUNDED: YES\nSCORE: 0.9\nISSUES:\n- none", (True, 0.9, ())),
        ("GROUNDED: NO\nSCORE: 0.25\nISSUES:\n- the year\n- the name", (False, 0.25, ("the year", "the name"))),
        ("GROUNDED NO\nSCORE 0\nISSUES the year is 1889", (False, 0.0, ("the year is 1889",))),
        ("**GROUNDED:** Yes\n**SCORE:** 95%\n**ISSUES:** None", (True, 0.95, ())),
        ("<think>GROUNDED: NO</think>\nGROUNDED: YES\nSCORE: 8/10", (True, 0.8, ())),
        ('```json\n{"grounded": false, "score": 0.2,\n"issues": ["the year"]}\n```', (False, 0.2, ("the year",))),
        ("grounded: no", (False, 0.0, ())),
        ("ISSUES:\n1. the year\nGROUNDED: NO\nSCORE: 0,5", (False, 0.5, ("the year",))),
    ],
)
def test_verdicts_are_read_in_any_dress(reply: str, expected: tuple[object, ...]) -> None:
    found = read_verdict(reply)
    assert (found.grounded, found.score, found.issues) == expected


@pytest.mark.parametrize(
    "reply",
    [
        "", "Looks fine to me!", "SCORE: 0.9", "GROUNDED: YES\nGROUNDED: NO", "GROUNDED: YES\nSCORE: 0.1",
        "GROUNDED: YES\nSCORE: 7", "GROUNDED: MAYBE\nSCORE: 0.9", "<think>GROUNDED: YES",
    ],
)  # fmt: skip
def test_an_unclear_reply_is_no_verdict(reply: str) -> None:
    with pytest.raises(ValueError):
        read_verdict(reply)


def test_a_verdict_that_is_cut_off_before_its_score_is_none() -> None:
    with pytest.raises(ValueError):
        read_verdict("GROUNDED: YES\nSC", cut_off=True)


@given(st.text(max_size=200))
def test_any_reply_is_a_verdict_or_an_error(reply: str) -> None:
    try:
        assert 0 <= read_verdict(reply).score <= 1
    except ValueError:
        return


async def test_a_value_of_a_table_is_read_with_its_header() -> None:
    table = (
        "| (in millions) | Fiscal 2019 | Fiscal 2018 |\n| --- | --- | --- |\n| Total sales | $ 1,496.5 | $ 1,202.9 |"
    )
    found = await check("Total sales in fiscal 2018 were $ 1,202.9 in millions [1].", STRICT, [passage(1, table)])
    assert found.grounded
    wrong = await check("Total sales in fiscal 2017 were $ 1,202.9 in millions [1].", STRICT, [passage(1, table)])
    assert not wrong.grounded


# --- verdict, score, reasons and sentences agree ------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "Berlin is the capital of Germany. ", "The Eiffel Tower is 330 metres high. ", "Entry is forbidden after 8 pm. ",
        "Whales eat krill. ", "Sales rose by 12% in 2020. ", "Sales fell by 12% in 2020. ", "It is so. ", "Aspirin helps. ",
        "“Entry is forbidden after 9 pm”, they say. ", "I do not know. ", "Paris is the capital of Germany. ", "[1] ", "\n- ",
    ]
)  # fmt: skip
REPLIES = st.sampled_from(
    [
        "GROUNDED: YES", "GROUNDED: YES\nSCORE: 0.6", "GROUNDED: NO\nSCORE: 0.95",
        "GROUNDED: NO\nSCORE: 0.1\nISSUES:\n- the tower",
        "GROUNDED: YES\nSCORE: 1\nISSUES:\n- the tower is higher", "nonsense", "GROUNDED: NO",
        "GROUNDED: YES\nISSUES:\n- All claims are supported.",
    ]
)  # fmt: skip


class Judge:
    """A model that gives one reply."""

    name = "judge"

    def __init__(self, reply: str) -> None:
        self._reply = reply

    async def complete(self, *_: object, **__: object) -> Completion:
        return Completion(self._reply, "stop", Usage(), self.name)


@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=6), st.none() | REPLIES, st.booleans(), st.sampled_from([0.2, 0.5, 0.8]))
async def test_a_verdict_never_contradicts_itself(
    pieces: list[str], reply: str | None, strict: bool, threshold: float
) -> None:
    how = GroundSettings(strict=strict, threshold=threshold)
    judge: Any = Judge(reply) if reply else None
    found = await ground("".join(pieces), SOURCES, embedder=NoEmbedder(), chat=judge, settings=how)
    supported = [one.supported for one in found.sentences]
    if found.grounded is None:
        assert found.degraded
        return
    assert found.score is not None
    assert (found.score >= threshold) == found.grounded
    assert all(supported) == found.grounded
    assert bool(found.issues) != found.grounded
    assert all((one.score >= 0.5) == one.supported and bool(one.issues) != one.supported for one in found.sentences)
    if any("330" in piece or "fell" in piece or "Paris" in piece for piece in pieces):
        assert found.grounded is False
