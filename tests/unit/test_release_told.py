"""A question that names a release is answered by its section of the change log, or by the date in its heading."""

from __future__ import annotations

import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.change_log import find_release, release_asked, release_in
from cairn.answer.confidence import FOUND
from cairn.answer.release_told import CERTAIN, LONGEST, as_section, tell_date, tell_release
from cairn.answer.shown import MOST_SHOWN
from cairn.domain.document import Landmark
from tests.unit.test_extract import passage

LOG = (
    "# Changelog\n\n## 1.2.0 (11th September, 2023)\n\nA small one.\n\n### Added\n\n* A saw.\n* A spade.\n\n"
    "### Removed\n\n* The axe.\n\n## 1.1.0\n\n* First.\n"
)
RELEASE = ("Changelog", "1.2.0 (11th September, 2023)")
MARKS = (
    Landmark(0, None, ("Changelog",)),
    Landmark(LOG.index("## 1.2.0"), None, RELEASE),
    Landmark(LOG.index("### Added"), None, (*RELEASE, "Added")),
    Landmark(LOG.index("### Removed"), None, (*RELEASE, "Removed")),
    Landmark(LOG.index("## 1.1.0"), None, ("Changelog", "1.1.0")),
)


@pytest.mark.parametrize(
    ("question", "version"),
    [
        ("What changed in version 0.28.0?", "0.28.0"),
        ("What is new in 0.28.1?", "0.28.1"),
        ("What are the changes of version 0.27.0?", "0.27.0"),
        ("What was added in orchard v0.25.0?", "0.25.0"),
        ("When was version 0.27.0 released?", "0.27.0"),
        ("Was hat sich in Version 0.27.0 geändert?", "0.27.0"),
        ("Wann wurde Version 0.27.0 veröffentlicht?", "0.27.0"),
        ("Quels sont les changements de la version 0.27.0 ?", "0.27.0"),
        ("¿Qué cambios hay en la versión 0.27.0?", "0.27.0"),
        ("Quali sono i cambiamenti della versione 0.27.0?", "0.27.0"),
        ("How do I install version 0.28.0?", ""),
        ("What changed between 0.27.0 and 0.28.0?", ""),
        ("What does 0.28.0 say about proxies?", ""),
        ("What was removed in 0.28.0?", "0.28.0"),
        ("What changed since 0.28.0?", ""),
        ("Which version was released before 0.27.0?", ""),
        ("When was 1.4.0 deprecated?", ""),
        ("Is 1.2.0 the latest version?", ""),
        ("Who released 1.4.0?", ""),
        ("Was ist neu seit Version 2.0.0?", ""),
        ("Quelles sont les nouveautés depuis 2.0.0 ?", ""),
        ("¿Qué cambios hay desde la versión 2.0.0?", ""),
        ("What changed?", ""),
    ],
)
def test_a_release_that_is_asked_for_is_told(question: str, version: str) -> None:
    assert release_asked(question, read_asked(question), ("orchard changelog.md",)) == version


@pytest.mark.parametrize(
    ("heading", "version"),
    [("1.2.0 (11th September, 2023)", "1.2.0"), ("v1.2.0", "1.2.0"), ("[1.2.0] - 2024-01-31", "1.2.0"), ("Added", "")],
)
def test_the_version_of_a_heading_is_told(heading: str, version: str) -> None:
    assert release_in(heading) == version


@pytest.mark.parametrize(
    ("question", "version", "says"),
    [
        ("What changed in 1.2.0?", "1.2.0", LOG[LOG.index("## 1.2.0") : LOG.index("## 1.1.0")]),
        ("What was added in 1.2.0?", "1.2.0", "### Added\n\n* A saw.\n* A spade.\n\n"),
        ("What was removed in 1.2.0?", "1.2.0", "### Removed\n\n* The axe.\n\n"),
        ("What changed in 1.1.0?", "1.1.0", "## 1.1.0\n\n* First.\n"),
        ("What changed in 1.3.0?", "1.3.0", None),
    ],
)
def test_the_section_of_a_release_is_found(question: str, version: str, says: str | None) -> None:
    section = find_release(MARKS, version, question)
    assert (section and LOG[section.start : section.end]) == says


def test_what_changed_is_all_that_stands_there_and_not_what_is_called_so() -> None:
    path = ("Log", "1.2.0")
    marks = [Landmark(at, None, (*path, kind)) for at, kind in ((10, "Added"), (50, "Changed"), (90, "Fixed"))]
    marks = [Landmark(0, None, path), *marks, Landmark(120, None, ("Log", "1.1.0"))]
    for question in ("What changed in 1.2.0?", "What was added and fixed in 1.2.0?"):
        found = find_release(marks, "1.2.0", question)
        assert found is not None
        assert (found.start, found.end) == (0, 120)


def test_a_release_is_told_from_its_beginning_and_by_its_date() -> None:
    section = find_release(MARKS, "1.2.0", "What changed in 1.2.0?")
    assert section is not None
    whole = as_section(passage(LOG), LOG[section.start : section.end], section)
    told = tell_release(whole, 1)
    assert told is not None
    assert told.text.startswith("**1.2.0 (11th September, 2023)**\n\nA small one. [1]\n\n**Added**\n\n* A saw.\n")
    cited = told.citations[0]
    assert LOG[cited.start : cited.end] == cited.quote == "A small one."
    dated = tell_date(whole, 1)
    assert dated is not None
    assert dated.text == "1.2.0 (11th September, 2023) [1]"
    assert LOG[dated.citations[0].start : dated.citations[0].end] == RELEASE[1]
    assert CERTAIN > FOUND, "a version that is the heading is no guess"
    assert CERTAIN == 0.9
    assert told.named
    assert dated.named
    undated = find_release(MARKS, "1.1.0", "When was 1.1.0 released?")
    assert undated is not None
    assert tell_date(as_section(passage(LOG), LOG[undated.start :], undated), 1) is None


def test_of_a_long_release_as_much_is_told_as_there_is_room_for() -> None:
    text = "## 2.0.0\n\n" + "".join(f"* Change {n} of many that were made.\n" for n in range(60))
    section = find_release([Landmark(0, None, ("2.0.0",))], "2.0.0", "What changed in 2.0.0?")
    assert section is not None
    told = tell_release(as_section(passage(text), text, section), 1)
    assert told is not None
    assert MOST_SHOWN - 60 < len(told.text) < MOST_SHOWN + 60
    assert told.text.rstrip(")0123456789(+ ").endswith("…")
    assert tell_release(as_section(passage("## 2.0.0\n"), "## 2.0.0\n", section), 1) is None


def _release(text: str) -> str:
    section = find_release([Landmark(0, None, ("2.0.0",))], "2.0.0", "What changed in 2.0.0?")
    assert section is not None
    told = tell_release(as_section(passage(text), text, section), 1)
    assert told is not None
    cited = told.citations[0]
    assert cited.quote == text[cited.start : cited.end]
    return told.text


@pytest.mark.parametrize("heading", ["", "### Changes\n\n"])
def test_an_introduction_leaves_room_for_the_list(heading: str) -> None:
    said = "This release is a big one, and we thank all who helped with it. "
    items = "".join(f"* Change {n} of many that were made.\n" for n in range(60))
    text = _release(f"## 2.0.0\n\n{said * 6}\n\n{said * 12}\n\n{heading}{items}")
    assert text.startswith(f"**2.0.0**\n\n{said.strip()} [1] ")
    assert "\n\n…\n\n" in text
    assert "* Change 0 of many" in text
    assert ("**Changes**" in text) is bool(heading)
    assert len(text) < MOST_SHOWN + 90
    told = text.count("\n* Change")
    assert text.endswith(f"* … (+{60 - told})")


@pytest.mark.parametrize(("items", "whole"), [(3, True), (2, False)])
def test_three_items_behind_an_introduction_are_enough(items: int, whole: bool) -> None:
    """Of five, so many have room behind all of the introduction."""
    line = f"* {'Change of many that were made. ' * 3}\n"
    said = "It is a big one. " * ((MOST_SHOWN - items * len(line) - 10) // 17)
    text = _release(f"## 2.0.0\n\n{said}\n\n{line * 5}")
    assert (said.strip() in text.replace(" [1]", "")) is whole


def test_how_many_items_of_other_lists_are_left_out_is_told() -> None:
    added, fixed = ("".join(f"* {kind} {n}: {'it ' * 8}\n" for n in range(22)) for kind in ("Added", "Fixed"))
    text = _release(f"## 2.0.0\n\n### Added\n\n{added}\n### Fixed\n\n{fixed}")
    assert text.endswith(f"(+{44 - text.count(': it')})")


@pytest.mark.parametrize(("more", "counted"), [(-1, True), (0, False)])
def test_of_a_section_that_was_cut_nobody_knows_how_many_items_it_has(more: int, counted: bool) -> None:
    text = "## 2.0.0\n\n" + "* It is so.\n" * (LONGEST // 12)
    text = text[: LONGEST + more]
    assert len(text) == LONGEST + more == 20_000 + more
    assert ("(+" in _release(text)) is counted
