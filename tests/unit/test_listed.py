"""Which sentences lists and outlines show."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from cairn.answer.outline import outline
from cairn.strategies.list_wording import place_of
from tests.unit.test_cite import passage


@pytest.mark.parametrize(
    ("content", "term", "wanted"),
    [
        ("Jump to content\n\nThe ducks of the pond eat bread. They sleep.", "duck", "The ducks of the pond eat bread."),
        ("# Ducks\n\nIntroduced here. Many ducks swim in the lake.", "ducks", "Many ducks swim in the lake."),
        ("# Ducks\n\nNothing more on them.", "ducks", "Ducks"),
    ],
)
def test_a_sentence_with_the_term_is_cited_before_a_heading_or_the_first_line(
    content: str, term: str, wanted: str
) -> None:
    cited = place_of(1, passage(content), term)
    assert cited is not None
    assert cited.quote == wanted


def test_a_sentence_leads_a_section_before_entries_of_a_menu() -> None:
    text = "Jump to the main content\n\nAll ducks belong to the order Anseriformes.[5]\n\nA second sentence stands here too."
    ducks = passage(text, headings=("Ducks",))
    geese = passage("Geese fly to the south.\n", len(text), headings=("Geese",), document_id=ducks.document_id)
    swans = passage("Swans are white birds.\n", len(text) + 20, headings=("Swans",), document_id=ducks.document_id)
    draft = outline([ducks, geese, swans], "en", 5)
    assert draft is not None
    assert draft.citations[0].quote.startswith("All ducks belong")


def test_the_points_of_a_slide_lead_and_not_the_notes_below_them() -> None:
    slides = [
        passage(
            "- Old system\n- Stock differences of 4.7 %\n\nNotes: A story. Nobody could find 312 lamps.",
            headings=("Why",),
        ),
        passage("One system for both sites\n\nNotes: Tell them that it is a long way.", 200, headings=("Goals",)),
    ]
    decks = [replace(one, media_type="application/vnd.x.presentationml", document_id=UUID(int=7)) for one in slides]
    draft = outline(decks, "en", 5)
    assert draft is not None
    assert [one.quote for one in draft.citations] == ["Old system", "One system for both sites"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("The site [data.gouv.fr](https://www.data.gouv.fr) lists them.", "The site data.gouv.fr lists them."),
        ("A CSV \\(Comma Separated Values\\) file is text.", "A CSV (Comma Separated Values) file is text."),
        ("Set **max_size** or `min_size` in it.", "Set max_size or min_size in it."),
    ],
)
def test_lines_of_an_outline_have_no_markup(written: str, read: str) -> None:
    ducks = passage(written, headings=("[Ducks](ducks.md) of `lakes`",))
    geese = passage("Geese fly to the south.", 200, headings=("Geese",), document_id=ducks.document_id)
    draft = outline([ducks, geese], "en", 5)
    assert draft is not None
    assert draft.text.split("\n")[1] == f"- **Ducks of lakes** (p. 3): {read} [1]"
