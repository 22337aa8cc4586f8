"""Which passages are about one side of a comparison."""

from __future__ import annotations

from uuid import UUID

import pytest

from cairn.domain.document import Landmark
from cairn.domain.passage import Passage
from cairn.strategies.sides import not_of_others, sections_of


def passage(content: str, *headings: str, marks: tuple[tuple[str, str], ...] = (), start: int = 100) -> Passage:
    landmarks = tuple(Landmark(start + content.index(text), None, (*headings[:1], name)) for text, name in marks)
    return Passage(
        UUID(int=1), UUID(int=2), "a.md", "Manual", content, start, start + len(content), None, headings, 9, 1, "c",
        "text/markdown", {}, landmarks,
    )  # fmt: skip


COMMANDS = "### caddy run\n\nIt blocks.\n\n### caddy start\n\nIt goes on behind.\n\n### caddy stop\n\nIt ends.\n"
MARKS = (("### caddy start", "`caddy start`"), ("### caddy stop", "caddy stop"))


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("caddy run", ["### caddy run\n\nIt blocks.\n\n"]),
        ("`caddy start`", ["### caddy start\n\nIt goes on behind.\n\n"]),
        ("Caddy Stop", ["### caddy stop\n\nIt ends.\n"]),
        ("caddy", []),
        ("Commands", [COMMANDS]),
        ("``", []),
    ],
)
def test_the_section_that_is_called_as_a_side_is_cut_out(side: str, said: list[str]) -> None:
    whole = passage(COMMANDS, "Commands", "caddy run", marks=MARKS)
    parts = sections_of(side, [whole, passage("Else.", "Other")])
    assert [part.content for part in parts] == said
    for part in parts:
        assert whole.content[part.start - 100 : part.end - 100] == part.content
        assert all(part.start <= mark.start < part.end for mark in part.landmarks)


SHORT = passage("Reads names.", "--files-from")
LONG = passage("Reads names as they are, unlike --files-from.", "--files-from-verbatim")
ONLY_LONG = passage("Use --files-from-verbatim for these.", "Hints")
BOTH = passage("--files-from and --files-from-verbatim read names.", "Hints")


@pytest.mark.parametrize(
    ("side", "kept"),
    [
        ("--files-from", [SHORT, BOTH]),
        ("--files-from-verbatim", [LONG, ONLY_LONG, BOTH]),
    ],
)
def test_what_has_the_longer_name_is_not_of_the_shorter(side: str, kept: list[Passage]) -> None:
    sides = ["--files-from", "--files-from-verbatim"]
    assert list(not_of_others(side, sides, [SHORT, LONG, ONLY_LONG, BOTH])) == kept
    assert not_of_others(side, sides, []) == ()


def test_where_nothing_else_is_left_all_are_read() -> None:
    sides = ["--files-from", "--files-from-verbatim"]
    assert not_of_others(sides[0], sides, [ONLY_LONG]) == (ONLY_LONG,)
    assert not_of_others(sides[0], sides, [LONG]) == (LONG,)
