"""Which section of a document a message names, and when what was taken is a guess."""

from __future__ import annotations

from uuid import UUID

import pytest

from cairn.domain.document import Landmark
from cairn.domain.passage import Passage
from cairn.strategies.described import is_guess, named_words, names_part, section_named


def passage(document: int, *paths: tuple[str, ...]) -> Passage:
    marks = tuple(Landmark(at, None, path) for at, path in enumerate(paths))
    return Passage(
        UUID(int=1),
        UUID(int=document),
        "a.md",
        "A",
        "Text.",
        0,
        5,
        None,
        paths[0],
        9,
        1,
        "c",
        "text/markdown",
        {},
        marks,
    )


OTHERS = passage(1, ("Backing up without root", "Notes"), ("Backing up without root", "Permissions of files"))
START = passage(
    2, ("Quick start",), ("Quick start", "2. Important note about permissions"), ("Quick start", "Contract")
)


@pytest.mark.parametrize(
    ("message", "heading"),
    [
        ("Summarise the section Important note about permissions", "2. Important note about permissions"),
        ("Summarise Important note about permissions", "2. Important note about permissions"),
        ("Résume la section Important note about permissions", "2. Important note about permissions"),
        ("Summarise the chapter Quick start", "Quick start"),
        ("Summarise the section Contract", "Contract"),
        ("Summarise the contract", None),  # a document of that kind is meant
        ("Summarise quick start", None),  # a document is called so
        ("Summarise the section Important note about passwords", None),
        ("Summarise permissions of old files", None),
        ("Summarise the section", None),
    ],
)
def test_the_heading_that_is_named_is_found(message: str, heading: str | None) -> None:
    found = section_named(message, [OTHERS, START])
    assert found == (heading and (UUID(int=2), heading))


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("Summarise the section Permissions", True), ("Fasse den Abschnitt Rechte zusammen", True),
        ("Resume el apartado Permisos", True), ("Riassumi la sezione Permessi", True), ("Summarise permissions", False),
    ],
)  # fmt: skip
def test_a_section_is_spoken_of(message: str, *, part: bool) -> None:
    assert names_part(message) is part
    assert len(named_words(message)) == 1


@pytest.mark.parametrize(
    ("wanted", "names", "guess"),
    [
        (("board", "budget"), ["board_budget_2024.md"], False),
        (("board", "budget"), ["Minutes a.md", "The budget of the board"], False),
        (("board", "budget"), ["board.md", "Budget"], True),
        ((), ["board.md"], False),
    ],
)
def test_what_no_title_and_no_heading_says_is_a_guess(
    wanted: tuple[str, ...], names: list[str], *, guess: bool
) -> None:
    assert is_guess(wanted, names) is guess
