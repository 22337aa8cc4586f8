"""Numbers that decide what a message leans on and how much work it is, each at its edge."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args
from uuid import UUID

import pytest

from cairn.domain.plan import Classification, QueryType, Vocabulary
from cairn.domain.question import Turn
from cairn.query.complexity import ENHANCED_FACTOR, complexity
from cairn.query.followup import Carried, _answer_text, _Message, listed, topic_of
from cairn.query.small_talk import _one_slip, _spelling, _subjects, frequent, whole_message
from cairn.query.understand import BRIEFLY, COMPUTING_SECONDS, WAITING_SECONDS, _may_lean
from cairn.runs.context import half_up
from cairn.settings import RoutingSettings
from tests.unit.test_carry import after

# --- follow-ups -------------------------------------------------------------------------------------------------------------

WORDS = ["kestrel", "heron", "merlin", "osprey", "falcon", "buzzard", "harrier", "sparrow", "swallow", "raven"]


def nobody(text: str, language: str) -> tuple[str, ...]:
    del text, language
    return ()


def read(text: str) -> _Message:
    return _Message(text, "en", nobody)


@pytest.mark.parametrize(
    ("text", "own"), [("x" * 400, False), ("x" * 401, True), (" ".join(WORDS[:9]), False), (" ".join(WORDS), True)]
)
def test_a_message_of_four_hundred_characters_or_nine_words_may_lean_on_the_last(text: str, own: bool) -> None:
    assert read(text).is_long is own


@pytest.mark.parametrize(("words", "refers"), [(3, True), (4, False)])
def test_four_words_before_it_hold_what_it_means(words: int, refers: bool) -> None:
    assert (read(f"{' '.join(WORDS[:words])} when it").reference() is not None) is refers


@pytest.mark.parametrize(("words", "focus"), [(3, True), (4, False)])
def test_three_words_behind_and_are_a_new_focus(words: int, focus: bool) -> None:
    assert (read(f"and {' '.join(WORDS[:words])}?").new_focus() is not None) is focus


@pytest.mark.parametrize(("words", "other"), [(3, True), (4, False)])
def test_three_words_are_what_is_compared_with(words: int, other: bool) -> None:
    assert (read(f"compare that with {' '.join(WORDS[:words])}").compared() is not None) is other


def test_what_is_searched_for_has_six_hundred_characters() -> None:
    assert len(after("and why?", f"What is the {'kestrel ' * 99}?", "It is.").text) == 600


def test_six_things_are_carried() -> None:
    items = "\n".join(f"- {word}" for word in WORDS)
    assert len(after("compare all of them", "Which birds are there?", items).terms) == 6


def said(role: str, text: str) -> Turn:
    return Turn(UUID(int=1), role, text, datetime(2026, 1, 1, tzinfo=UTC))  # type: ignore[arg-type]


def test_fifteen_hundred_characters_of_an_answer_are_looked_at() -> None:
    assert len(_answer_text(said("assistant", "x" * 2000))) == 1500


def test_an_item_has_eighty_characters() -> None:
    assert len(listed(f"- {'x' * 90}\n- b")[0]) == 80


@pytest.mark.parametrize(("answer", "named"), [("Big Blue Boat.", 1), ("Big Blue Old Boat.", 0)])
def test_an_answer_of_three_words_is_a_name(answer: str, named: int) -> None:
    topic = topic_of([said("user", "Which ship carries coal?"), said("assistant", answer)], "en", nobody)
    assert topic is not None
    assert sum("Boat" in name for name in topic.answered) == named


# --- small talk -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "small"),
    [("hi" + "!" * 198, True), ("hi" + "!" * 199, False), ("thanks " * 16, True), ("thanks " * 17, False)],
)
def test_small_talk_has_two_hundred_characters_and_sixteen_words(text: str, small: bool) -> None:
    assert (whole_message(text) is not None) is small


@pytest.mark.parametrize(
    ("passages", "count", "subject"), [(100, 5, True), (100, 4, False), (10, 2, True), (10, 1, False)]
)
def test_a_word_in_a_twentieth_of_the_passages_is_a_subject(passages: int, count: int, subject: bool) -> None:
    assert frequent("weather", Vocabulary(passages, {"weather": count})) is subject


def test_a_subject_has_four_letters() -> None:
    assert _subjects(["snow", "ice"]) == ["snow"]


@pytest.mark.parametrize(("typed", "meant"), [("helo", "hello"), ("dance", "dance")])
def test_a_slip_is_read_in_words_of_four_letters(typed: str, meant: str) -> None:
    assert _spelling(typed, None) == meant


@pytest.mark.parametrize(("typed", "meant", "slip"), [("danke", "dance", False), ("thenks", "thanks", True)])
def test_a_wrong_letter_is_a_slip_in_words_of_six(typed: str, meant: str, slip: bool) -> None:
    assert _one_slip(typed, meant) is slip


# --- how much work it is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "looks"), [(4, True), (5, False)])
def test_a_model_looks_at_four_words_that_stand_alone(words: int, looks: bool) -> None:
    assert _may_lean(Carried("x", reason="stands alone"), "x " * words) is looks


def test_enhanced_retrieval_reads_half_as_much_again() -> None:
    assert (half_up(ENHANCED_FACTOR * 10), half_up(ENHANCED_FACTOR * 5)) == (15, 8)


def test_reading_a_message_has_limits() -> None:
    """Nothing in the suite takes so long: they end what hangs, and are written down here."""
    assert (BRIEFLY, COMPUTING_SECONDS, WAITING_SECONDS) == (80, 2.0, 15.0)


def level(text: str, kind: QueryType = "FACTUAL") -> tuple[str, dict[str, float]]:
    found = complexity(text, Classification(kind, 1.0, ""), (), (), RoutingSettings())
    return found.level, dict(found.factors)


def test_types_of_questions_are_work() -> None:
    factors = {kind: level("kestrel", kind)[1]["query_type"] for kind in get_args(QueryType)}
    assert factors == {
        "FACTUAL": 0.0, "PROCEDURAL": 0.0, "RELATIONAL": 0.5, "EXPLORATORY": 0.5, "ANALYTICAL": 1.0, "COMPARATIVE": 1.0,
        "UNKNOWN": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(("text", "asked"), [("is this on it?", "AMBIGUOUS"), ("is this on that", "SIMPLE")])
def test_fourteen_characters_that_name_nothing_are_ambiguous(text: str, asked: str) -> None:
    assert level(text)[0] == asked


@pytest.mark.parametrize(("words", "asked"), [(10, "AMBIGUOUS"), (11, "SIMPLE")])
def test_alternatives_of_ten_words_are_ambiguous(words: int, asked: str) -> None:
    assert level("red or blue or green " + "paint " * (words - 5))[0] == asked
