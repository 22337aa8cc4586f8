"""A list that a document has as headings: sections behind a sentence that announces them."""

from __future__ import annotations

from typing import Final

import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.sections_below import (
    BETWEEN,
    MOST_MARKS,
    MOST_NAMED,
    as_list,
    may_lead_to_steps,
    sections_announced,
    sections_named,
    steps_behind,
)
from cairn.domain.document import Landmark
from tests.unit.test_extract import passage

ABOVE: Final = ("Grants", "Areas")
AREAS: Final = ("Water", "Paths", "2. Schools", "Woods")


def names(
    said: str,
    rest: str = "",
    *,
    above: tuple[str, ...] = ABOVE,
    below: tuple[str, ...] = AREAS,
    cut: bool = False,
    question: str = "",
) -> list[str]:
    """Of the sections that `said` announces, which begin 1,000 characters from each other, the first in the same passage."""
    content = f"## Areas\n\n{said}{rest}" + ("" if cut else "\n\n### Water\n\nIt is clear.")
    start = len(content) - len("### Water\n\nIt is clear.") if not cut else len(content) + 2
    marks = [Landmark(start + 1000 * at, None, (*above, name)) for at, name in enumerate(below)]
    again = Landmark(marks[0].start + 500, None, marks[0].headings)  # another passage of the same section
    deeper = Landmark(marks[0].start + 600, None, (*marks[0].headings, "Wells"))
    end = Landmark(marks[-1].start + 900, None, (*above[:-1], "Dates"))
    one = passage(content, headings=above)
    quoted = content.index(said), content.index(said) + len(said)
    marks = [marks[0], again, deeper, *marks[1:], end]
    return [section.name for section in sections_announced(one, quoted, marks, question)]


@pytest.mark.parametrize("cut", [False, True])
def test_the_sections_right_behind_an_introduction_are_what_it_announces(cut: bool) -> None:
    assert names("The council has identified some areas.", cut=cut) == list(AREAS)
    assert names("The council has identified some areas.", " They matter.\n\nIt met twice.", cut=cut) == list(AREAS)


def test_not_where_more_stands_between() -> None:
    assert names("The council has identified some areas.", f"\n\n{'It met twice. ' * 30}") == []
    assert names("The council has identified some areas.", "\n\n- water\n- paths") == []
    assert names("The council has identified four areas.", "\n\n- water\n- paths") == []


@pytest.mark.parametrize(
    "said",
    [
        "The council has identified four areas.", "There are 4 areas.", "Es gibt vier Bereiche.", "Il y a quatre domaines.",
        "Hay cuatro áreas.", "Ci sono quattro aree.",
    ],
)  # fmt: skip
def test_a_number_that_is_theirs_announces_them_from_afar_and_above_chapters(said: str) -> None:
    assert names(said, f"\n\n{'It met twice. ' * 30}") == list(AREAS)
    assert names(said, above=("Grants",)) == list(AREAS)


def test_another_number_means_something_else() -> None:
    assert names("There are three areas.") == []


def test_words_that_are_numbers_in_another_language_are_none() -> None:
    assert names("The council has once and for all identified some areas.") == list(AREAS)  # "once": eleven
    assert names("Le conseil a nommé des domaines très importants pour la ville.") == list(AREAS)  # "tres": three
    assert (
        names("Le conseil a nommé des domaines très importants pour la ville.", above=("Grants",), below=AREAS[:3])
        == []
    )


def test_chapters_of_a_document_must_be_announced_right_before_them() -> None:
    assert names("The council gives grants.", above=("Grants",)) == []
    assert names("It gives them in the following areas.", above=("Grants",)) == list(AREAS)
    assert names("See below for the areas.", " It gives grants.", above=("Grants",)) == []


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which keywords are supported?", "Keywords for dates that are supported: `today`, `yesterday`."),
        ("Which keywords are supported?", "Keywords for dates that are supported: today; previous week."),
        ("What are the advantages of the council?", "The council is able to identify areas while it meets."),
        ("Welche Vorteile gibt es?", "Der Rat kann Bereiche benennen, während er tagt."),
        ("¿Qué ventajas tiene?", "El consejo puede nombrar áreas."),
    ],
)
def test_what_lists_things_itself_or_is_of_something_else_announces_none(question: str, said: str) -> None:
    assert names(said, question=question) == []
    assert names(said.partition(":")[0] + ".", " There are four of them.", question="") == list(AREAS)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which areas has the council identified?", "The council has identified some areas."),
        ("Which area codes are there?", "The council has identified some areas."),
        ("Which fields has the council identified?", "The council has several kinds."),
        ("Which fields has the council identified?", "The council has identified four."),
        ("Which fields has the council identified?", "It has identified the following: they are listed below."),
        ("Please list them.", "The council has identified some."),
        ("Cuáles son?", "The council has identified some."),
        ("Welche Bereiche gibt es?", "Der Rat hat Bereiche benannt."),
    ],
)
def test_a_sentence_on_what_is_asked_or_that_several_things_follow_announces_them(question: str, said: str) -> None:
    assert names(said, question=question) == list(AREAS)


def test_one_section_is_no_list_and_neither_are_very_many() -> None:
    assert names("These areas are there:", below=AREAS[:1]) == []
    assert names("These areas are there:", below=tuple(f"Area {n}" for n in range(13))) == []
    for number in (2, 12):
        assert len(names("These areas are there:", below=tuple(f"Area {n}" for n in range(number)))) == number


def test_sections_of_which_the_last_is_not_known_are_none() -> None:
    one = passage("These are there:", headings=ABOVE)
    marks = [Landmark(100 + n, None, (*ABOVE, f"Area {n % 4}")) for n in range(MOST_MARKS)]
    assert sections_announced(one, (0, 16), marks) == ()
    assert len(sections_announced(one, (0, 16), marks[:-1])) == 4


def test_they_are_shown_as_a_list() -> None:
    one = passage("There are four areas.", headings=ABOVE)
    marks = [Landmark(100 * n, None, (*ABOVE, name)) for n, name in enumerate(AREAS, 1)]
    assert as_list(sections_announced(one, (0, 21), marks)) == "\n\n- Water\n- Paths\n- Schools\n- Woods"
    assert as_list(()) == ""


@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("Which sorts of shared resource does it offer?", True),
        ("Which design principles do the arbiters follow?", True),
        ("What are the four key focus areas?", True),
        ("In which two ways can I change it?", True),
        ("List the layers of the model.", True),
        ("Which setting disables cookies?", False),
        ("Which command does this?", False),
        ("What is the purpose of its resources?", False),
        ("Welche Arten von Ressourcen gibt es?", True),
        ("In welchen Bereichen werden Mittel vergeben?", True),
        ("Welche Umgebungsvariable legt den Platz fest?", False),
        ("Quels sont les quatre domaines ?", True),
        ("Quelle variable indique le lieu ?", False),
        ("¿Cuáles son las cuatro áreas?", True),
        ("¿Qué tipos de recursos ofrece?", True),
        ("¿Qué variable indica el lugar?", False),
        ("Quali sono le quattro aree?", True),
        ("Quale variabile indica il luogo?", False),
    ],
)
def test_questions_for_several_things_in_five_languages(question: str, several: bool) -> None:
    assert read_asked(question).several == several


def flags(question: str, *, count: int = 3, gap: int = 4, title: str = "`tool prune`") -> list[str]:
    """Those that are listed of a manual page with a section for each flag, `gap` characters below "Flags"."""
    one = passage("Deletes old versions.", title=title, headings=(title,))
    marks = [Landmark(100, None, (title, "Arguments")), Landmark(200, None, (title, "Arguments", "NAME"))]
    marks.append(Landmark(300, None, (title, "Flags")))
    first = 300 + len("Flags") + gap
    marks += [Landmark(first + 50 * n, None, (title, "Flags", f"`--flag-{n}`")) for n in range(count)]
    marks.append(Landmark(9000, None, (title, "Examples")))
    return [section.name for section in sections_named(one, (0, 21), marks, question)]


def test_sections_below_a_heading_that_is_named_with_the_page_are_a_list() -> None:
    for question in ("Which flags does tool prune have?", "list the flags of tool prune"):
        assert flags(question) == ["`--flag-0`", "`--flag-1`", "`--flag-2`"]
    for question in ("Which flags does tool use have?", "Which options does tool prune have?", "What is tool prune?"):
        assert flags(question) == []
    assert flags("Which arguments does tool prune take?") == []  # one


def test_such_a_heading_stands_right_above_them() -> None:
    for gap in (BETWEEN, BETWEEN + 1):
        assert bool(flags("Which flags does tool prune have?", gap=gap)) is (gap == BETWEEN)


def test_very_many_sections_are_no_list() -> None:
    for count in (MOST_NAMED, MOST_NAMED + 1):
        assert bool(flags("Which flags does tool prune have?", count=count)) is (count == MOST_NAMED)


def test_of_another_document_no_section_is_listed() -> None:
    one = passage("It is.", title="tool prune", headings=("tool prune",))
    marks = [Landmark(50 * n, None, ("Other", "Flags", f"{n}")) for n in range(1, 4)]
    assert sections_named(one, (0, 6), marks, "Which flags does tool prune have?") == ()


@pytest.mark.parametrize(
    ("path", "said", "below", "steps"),
    [
        (("Import", "Step 1: Look"), "Use the link.", ("Step 2: Fill", "Step 3: Send"), ("Step 2: Fill", "Step 3: Send")),
        (("Import",), "Follow the steps below.", ("1. Look", "2. Fill", "Tips"), ("1. Look", "2. Fill")),
        (("Import", "Step 1"), "Use it.", tuple(f"Step {n}" for n in range(2, 14)), tuple(f"Step {n}" for n in range(2, 14))),
        (("Import", "Step 1"), "Use it.", tuple(f"Step {n}" for n in range(2, 15)), ()),
        (("Import", "Schritt 2"), "Hier klicken.", ("Schritt 3", "Tipps"), ("Schritt 3",)),
        (("Import",), "Follow the steps below.", ("Step 1 - Look", "Step 2 - Fill", "Tips"), ("Step 1 - Look", "Step 2 - Fill")),
        (("Import",), "Follow the steps below.", ("Step 1 - Look", "Tips"), ()),
        (("Import", "Step 1: Look"), "Use the link.", ("Step 3: Send",), ()),
        (("Import", "Step 1: Look"), "Use the link.", ("1.2.0", "2.0.0"), ()),
    ],
)  # fmt: skip
def test_sections_that_are_the_next_steps_are_a_list(
    path: tuple[str, ...], said: str, below: tuple[str, ...], steps: tuple[str, ...]
) -> None:
    one, quoted = passage(said, title="Import", headings=path), (0, len(said))
    assert may_lead_to_steps(one, quoted)
    marks = [Landmark(100 + 50 * n, None, ("Import", name)) for n, name in enumerate(below)]
    marks = [Landmark(50, None, path), *marks, Landmark(900, None, ("Other",))]
    assert tuple(section.name for section in steps_behind(one, quoted, marks)) == steps


def test_other_sections_lead_to_no_steps() -> None:
    for headings in (("Import",), ("Import", "Tips"), ("Import", "2fa"), ("Import", "2. Tips"), ("Chapter 2",), ()):
        assert not may_lead_to_steps(passage("Use the link.", headings=headings), (0, 13))
