"""Which passages are about one side of a comparison."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from cairn.answer.cite import citation
from cairn.domain.answer import Draft
from cairn.domain.document import Landmark
from cairn.domain.passage import Passage
from cairn.strategies.sides import as_sure, not_of_others, own_entries, sections_of, stand_together


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


RIGHTS = (
    "The levels are:\n\n- `Read`: View tickets.\n- **Full**: All of it, and:\n  - To own one.\n\nEnd.\n\n"
    "**Selective**\n\nIf anything changed.\n\nAn example: none.\n\n**Always**\n\nIn any case.\n\n#### Time\n\n"
    "Signing\n\nIt proves. It holds.\n\nEncryption\n\nIt scrambles.\n\nPros:\n\n- Fast.\n\nCons:\n\n- Dear.\n"
)


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (
            ["Read group rights", "Full group rights"],
            ["- `Read`: View tickets.\n", "- **Full**: All of it, and:\n  - To own one.\n\n"],
        ),
        (
            ["Selective", "Always"],
            ["**Selective**\n\nIf anything changed.\n\nAn example: none.\n\n", "**Always**\n\nIn any case.\n\n"],
        ),
        (["signing", "encryption"], ["Signing\n\nIt proves. It holds.\n\n", "Encryption\n\nIt scrambles.\n\n"]),
        (["pros of it", "cons of it"], ["Pros:\n\n- Fast.\n\n", "Cons:\n\n- Dear.\n"]),
        (["Read", "Writing"], ["- `Read`: View tickets.\n", ""]),
        (["View tickets", "To own"], ["", ""]),
    ],
)  # fmt: skip
def test_an_entry_that_is_called_as_a_side_is_cut_out(sides: list[str], said: list[str]) -> None:
    whole = passage(RIGHTS, "Rights")
    found = own_entries(sides, [whole, whole])
    assert ["".join(part.content for part in own) for own in found] == said
    assert stand_together(found) == all(said)
    for part in (part for own in found for part in own):
        assert whole.content[part.start - 100 : part.end - 100] == part.content


def test_of_several_documents_the_one_with_an_entry_for_every_side_is_taken() -> None:
    other = replace(passage("- Read: Something else.\n", "Else"), document_id=UUID(int=9))
    found = own_entries(["Read", "Full"], [other, passage(RIGHTS, "Rights")])
    assert [part.content[:9] for own in found for part in own] == ["- `Read`:", "- **Full*"]
    assert not stand_together([])
    assert own_entries([], [other]) == ()


def test_an_entry_alone_is_as_sure_as_among_others() -> None:
    cited = (citation(1, passage(RIGHTS, "Rights"), (0, 9)),)
    alone, among = Draft("a", cited, True, 0.1), Draft("b", cited, True, 0.4)
    assert as_sure(alone, among).confidence == 0.4
    assert as_sure(alone, replace(among, found=False)).confidence == 0.1
    assert as_sure(alone, replace(among, citations=())).confidence == 0.1
