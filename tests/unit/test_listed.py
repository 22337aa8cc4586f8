"""Which sentences lists and outlines show."""

from __future__ import annotations

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
