"""Conditions on metadata as Dify has them, and the numbers of citations in a text that was streamed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.answer import NOTHING_TO_READ, Answer, Citation
from cairn.domain.event import Answered
from cairn.errors import InputError
from cairn.interfaces.http.openai.transcript import REPLACED, Transcript, marks
from cairn.service.dify import FieldCondition, Operator, check_condition, holds, split_conditions

METADATA = {"team": "people", "year": 2024, "tags": ["hr", "pay"], "since": "2024-05-01", "blank": ""}


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("team", "contains", "eop", True), ("team", "not contains", "eop", False), ("team", "start with", "PEO", True),
        ("team", "end with", "ple", True), ("team", "is", "people", True), ("team", "is", "People", False),
        ("team", "is not", "pay", True), ("nothing", "is not", "pay", True), ("nothing", "is", "pay", False),
        ("tags", "is", "pay", True), ("tags", "not in", ("pay",), False), ("tags", "in", ("x", "hr"), True),
        ("blank", "empty", None, True), ("nothing", "empty", None, True), ("team", "not empty", None, True),
        ("year", "=", "2024", True), ("year", "≠", 2024, False), ("year", ">", 2023.5, True), ("year", "≤", 2024, True),
        ("year", "<", 2024, False), ("year", "is", "2024", True), ("team", ">", 3, False),
        ("since", "before", "2024-06-01", True), ("since", "after", "2024-05-01T00:00:00+02:00", True),
        ("since", "after", 1717200000, False),
    ],
)  # fmt: skip
def test_a_condition_holds_or_not(name: str, operator: Operator, value: Any, expected: bool) -> None:
    assert holds(FieldCondition((name,), operator, value), METADATA) is expected


def test_only_words_become_filters() -> None:
    conditions = [
        FieldCondition(names, "is", value)
        for names, value in ((("team",), "people"), (("year",), "2024"), (("a", "b"), "x"), (("team",), "other"))
    ]
    assert split_conditions(conditions) == ({"team": "people"}, conditions[1:])


@pytest.mark.parametrize(
    "condition",
    [
        FieldCondition((), "is", "x"), FieldCondition(("a",), "is"), FieldCondition(("a",), ">", "many"),
        FieldCondition(("a",), "before", "soon"), FieldCondition(("a",), "after", "1e999"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_hold_is_refused(condition: FieldCondition) -> None:
    with pytest.raises(InputError):
        check_condition(condition)


# --- what was streamed --------------------------------------------------------------------------------------------------

ID = UUID(int=1)


def answered(text: str, *numbers: int) -> Answered:
    cited = tuple(Citation(n, ID, f"{n}.md", ID, None, "", (), None, f"quote {n}", 0, 1, 1) for n in numbers)
    return Answered(
        Answer(text, cited, (), 0.9, "yes", True, None, (), NOTHING_TO_READ, {}, (), None, ID, {}), replaced=True
    )  # fmt: skip


def told(pieces: list[str], end: Answered) -> tuple[str, str, list[tuple[str, int]], bool]:
    transcript = Transcript()
    for piece in pieces:
        transcript.add(piece)
    ending = transcript.end(end)
    found = [(ending.text[mark.start : mark.end], int(mark.citation.quote.split()[1])) for mark in marks(ending)]
    return "".join(pieces) + ending.rest, ending.text, found, ending.replaced


def test_citations_take_the_numbers_that_were_streamed() -> None:
    sent, text, found, replaced = told(
        ["Leave is 30 [3", "]. Pay [1] too [3]."], answered("Leave is 30 [1]. Pay [2] too [1].", 1, 2)
    )
    assert sent == text == "Leave is 30 [3]. Pay [1] too [3]."
    assert found == [("[3]", 1), ("[1]", 2), ("[3]", 1)]
    assert not replaced


@pytest.mark.parametrize("streamed", ["Leave is 99 [1].", "Leave is 30 [1] [4].", "Leave is 30."])
def test_another_text_follows_and_its_marks_are_in_it(streamed: str) -> None:
    sent, text, found, replaced = told([streamed], answered("Leave is 30 [1].", 1))
    assert sent == text == streamed + REPLACED + "Leave is 30 [1]."
    assert (found, replaced) == ([("[1]", 1)], True)


def test_what_is_missing_is_added() -> None:
    end = answered("Leave is 30 [1].", 1)
    assert told(["Leave is "], end)[0] == "Leave is 30 [1]."
    assert told([], replace(end, replaced=False))[0] == "Leave is 30 [1]."
