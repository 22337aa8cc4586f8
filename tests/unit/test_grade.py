"""Grades as a model replies them, and by scores."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.grade import Grade, read_grades, relevance, share_of_words
from cairn.domain.passage import Passage

LEAVE = Passage(
    UUID(int=1), UUID(int=2), "leave.md", "Leave", "Employees have 30 days of leave per year.", 0, 41, None, (), 10, 1, "hr",
    "text/markdown", {},
)  # fmt: skip


def one(**more: Any) -> str:
    return json.dumps([{"n": 1, "relevant": True, "confidence": 0.9, **more}])


@pytest.mark.parametrize(
    "reply",
    [
        one(),
        f"```json\n{one()}\n```",
        f"<think>[{{'n': 1}}] is it?</think>\nHere you are: {one()}",
        '[{"n": 1, "relevant": "yes", "confidence": 0.9}]',
    ],
)
def test_grades_are_read_in_any_dress(reply: str) -> None:
    assert read_grades(reply, 1) == (Grade(True, 0.9),)


def test_grades_come_in_the_order_of_the_passages_and_are_sure_unless_they_say_otherwise() -> None:
    reply = '[{"n": 2, "relevant": false}, {"n": 1, "relevant": true, "confidence": 1}]'
    assert read_grades(reply, 2) == (Grade(True, 1.0), Grade(False, 1.0))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no grades"),
        ("I cannot grade these.", "no grades"),
        ('[{"n": 1, "relevant": true', "no grades"),
        ("[" * 5000 + "]" * 5000, "no grades"),
        ("[]", "0 of 1"),
        ("[true]", "no number"),
        ('[{"n": "1", "relevant": true}]', "no number"),
        ('[{"n": true, "relevant": true}]', "no number"),
        ('[{"n": 2, "relevant": true}]', "passage 2, of 1"),
        ('[{"n": 0, "relevant": true}]', "passage 0"),
        ('[{"n": 1, "relevant": true}, {"n": 1, "relevant": false}]', "twice"),
        ('[{"n": 1, "relevant": "partly"}]', "neither"),
        ('[{"n": 1}]', "neither"),
        (one(confidence="high"), "no number"),
        (one(confidence=7), "not between"),
        (one(confidence=None), "no number"),
        ('[{"n": 1, "relevant": true, "confidence": NaN}]', "no number"),
    ],
)
def test_half_of_the_grades_are_none(reply: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_grades(reply, 1)


@given(st.text(), st.integers(1, 5))
def test_no_reply_breaks_the_reader(reply: str, count: int) -> None:
    with contextlib.suppress(ValueError):
        assert len(read_grades(reply, count)) == count


def test_scores_grow_with_likeness_and_shared_words() -> None:
    asked = "How many days of leave do employees have?"
    other = replace(LEAVE, title="Pay", content="Salaries are paid on the 25th of each month.")
    assert share_of_words(asked, LEAVE) == 1.0 > share_of_words(asked, other)
    assert relevance(asked, LEAVE, 0.7) > 0.5 > relevance(asked, other, 0.2)
    assert relevance(asked, LEAVE, 0.7) > relevance(asked, LEAVE, 0.4)
    assert relevance(asked, LEAVE, None) == 1.0, "without vectors the words alone"


def test_a_question_without_words_of_content_finds_no_share() -> None:
    assert share_of_words("what is it?", LEAVE) == 0.0
