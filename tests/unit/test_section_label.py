"""Which headings tell where a quotation stands, and choose between sections of a kind."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.section_label import label_above, with_named_twin_first
from cairn.domain.document import LONGEST_LABEL, Landmark, section_label
from cairn.domain.passage import Passage
from tests.unit.test_extract import passage

RELEASES = "## 0.25.0 (11th September, 2023)\n\n### Removed\n\n* Drop support for Python 3.7.\n"


@pytest.mark.parametrize(
    ("headings", "label"),
    [
        (("Changelog", "0.25.0", "Removed"), "0.25.0 › Removed"),
        (("Manual", "Installing"), "Installing"),
        (("Manual",), ""),
        ((), ""),
        (("enable", "delay"), "enable › delay"),
        (("x" * (LONGEST_LABEL - 4), "same"), f"{'x' * (LONGEST_LABEL - 4)} › same"),
        (("x" * (LONGEST_LABEL - 3), "long"), "long"),
        (("Same", "Same"), "Same"),
        (("`manual`", "Installing"), "Installing"),
        (("Old manual", "Installing"), "Old manual › Installing"),
    ],
)
def test_a_section_is_told_by_the_one_that_it_stands_in(headings: tuple[str, ...], label: str) -> None:
    assert section_label(headings, "Manual") == label


def test_two_headings_have_room_for_a_hundred_characters() -> None:
    assert LONGEST_LABEL == 100


def marked(content: str, headings: tuple[str, ...], *landmarks: tuple[str, tuple[str, ...]]) -> Passage:
    """With landmarks where a line begins."""
    marks = tuple(Landmark(content.index(line), None, path) for line, path in landmarks)
    return passage(content, title="Manual", headings=headings, landmarks=marks)


TWINS = marked(
    "### enable\n\n#### delay\n\nHow long it lasts to begin.\n\n### disable\n\n#### delay\n\nHow long it lasts to end.\n",
    ("enable",),
    ("### enable", ("enable",)),
    ("#### delay\n\nHow long it lasts to begin", ("enable", "delay")),
    ("### disable", ("disable",)),
    ("#### delay\n\nHow long it lasts to end", ("disable", "delay")),
)
VERSIONS = marked(
    "### 5.7 and later\n\n- PHP 8.3 is required.\n\n### 5.5 and later\n\n- PHP 8.2 is required.\n\n### Memory\n\n- 4 GB.\n",
    ("Needs",),
    ("### 5.7", ("Needs", "5.7 and later")),
    ("### 5.5", ("Needs", "5.5 and later")),
    ("### Memory", ("Needs", "Memory")),
)
PLAIN = marked(
    "### Tools\n\n- A spade.\n- A saw.\n\n### Gloves\n\n- One pair.\n\n### 2. Boots\n\nAny pair of boots.\n\nOr none.\n",
    ("Needs",),
    ("### Tools", ("Needs", "Tools")),
    ("### Gloves", ("Needs", "Gloves")),
    ("### 2.", ("Needs", "2. Boots")),
)


@pytest.mark.parametrize(
    ("where", "quoted", "label"),
    [
        (TWINS, "How long it lasts to end", "disable › delay"),
        (VERSIONS, "PHP 8.2", "Needs › 5.5 and later"),
        (PLAIN, "One pair", "Needs › Gloves"),
        (PLAIN, "A saw", ""),
        (PLAIN, "Any pair", ""),
        (
            marked(RELEASES, (), ("### Removed", ("Changes", "0.25.0 (11th September, 2023)", "Removed"))),
            "Drop",
            "0.25.0 (11th September, 2023) › Removed",
        ),
    ],
)
def test_a_heading_that_limits_what_is_said_stands_above_it(where: Passage, quoted: str, label: str) -> None:
    at = where.content.index(quoted)
    assert label_above(where, (at, at + len(quoted)), [where]) == label


@pytest.mark.parametrize(
    ("where", "question", "best", "first"),
    [
        (TWINS, "What is the default of disable delay?", "to begin", "to end"),
        (TWINS, "What is the default of enable delay?", "to begin", "to begin"),
        (TWINS, "What is the default of delay?", "to begin", "to begin"),
        (TWINS, "How do delay of enable and disable differ?", "to begin", "to begin"),
        (VERSIONS, "Which PHP does version 5.5 need?", "8.3", "8.2"),
        (VERSIONS, "Which PHP does version 5.6 need?", "8.3", "8.3"),
        (VERSIONS, "How much memory does 5.5 need?", "4 GB", "4 GB"),
    ],
)
def test_words_of_the_question_choose_between_sections_of_a_kind(
    where: Passage, question: str, best: str, first: str
) -> None:
    found = candidates([where])
    order = sorted(range(len(found)), key=lambda at: best not in found[at].text)
    scores = np.where(np.arange(len(found)) == order[0], 0.0, -2.9)
    assert first in found[with_named_twin_first(order, found, scores, [where], question)[0]].text
    far = np.where(np.arange(len(found)) == order[0], 0.0, -3.1)
    assert best in found[with_named_twin_first(order, found, far, [where], question)[0]].text


@pytest.mark.parametrize(("length", "alone"), [(300, True), (301, False)])
def test_a_long_item_needs_no_heading_above_it(length: int, alone: bool) -> None:
    item = f"- {'x' * (length - 3)}."
    where = marked(f"### One\n\n{item}\n\n### Two\n", ("Needs",), ("### One", ("Needs", "One")))
    at = where.content.index(item)
    assert bool(label_above(where, (at + 2, at + len(item)), [where])) is alone
