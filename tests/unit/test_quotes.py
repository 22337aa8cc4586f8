"""Quotations must stand in the sources as they are written (QUOTE_NOT_VERBATIM)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.cite import missing_quotations, quotations, stands_in

SOURCE = "The board said that “all members\nmust pay   their dues by May” — and nothing else, it's final."


@pytest.mark.parametrize(
    "answer",
    [
        'It says "all members must pay their dues by May".',
        "Es heißt „all members must pay their dues“.",
        "Il dit « must pay their dues by May ».",
        "“and nothing else, it’s final”",
        '"all members [...] by May"',
        '"All sorts" of "two words" are terms, no quotations',
    ],
)
def test_what_stands_there_is_no_issue(answer: str) -> None:
    assert missing_quotations(answer, ["Other text.", SOURCE]) == []


@pytest.mark.parametrize(
    ("answer", "quoted"),
    [
        ('It says "all members should pay their dues".', "all members should pay their dues"),
        ("Es heißt „alle Mitglieder müssen zahlen“.", "alle Mitglieder müssen zahlen"),
        ("Il dit «tous les membres doivent payer».", "tous les membres doivent payer"),
        ('"by May [...] all members"', "by May [...] all members"),
    ],
)
def test_what_does_not_is_named(answer: str, quoted: str) -> None:
    (found,) = missing_quotations(answer, [SOURCE])
    assert found.text == quoted
    assert quoted in answer[slice(*found.span)]


@given(st.text(min_size=1, max_size=200))
def test_a_text_stands_in_itself(text: str) -> None:
    assert stands_in(text, f"before {text} after")
    assert all(found.text in text for found in quotations(text))
