"""Acronyms that the question writes and the text spells out, and the other way round."""

from __future__ import annotations

import pytest

from cairn.answer.acronyms import phrases_of, spell_out
from cairn.answer.extract import extract
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage

SIGNED = "Robert Sandlin\nPresident and Chief Executive Officer"


@pytest.mark.parametrize(
    ("question", "text", "read"),
    [
        ("Who is the CEO?", SIGNED, "Who is the Chief Executive Officer?"),
        ("Who is the CEO?", "Our chief executive\nofficer signs.", "Who is the chief executive officer?"),
        ("Who is the chief executive officer?", "Omar is the CEO.", "Who is the CEO?"),
        (
            "Does it ship to the USA?",
            "To the United States of America.",
            "Does it ship to the United States of America?",
        ),
        ("Qui est le PDG ?", "Le président-directeur général", "Qui est le président-directeur général ?"),
    ],
)
def test_an_acronym_is_read_with_what_the_text_spells_out(question: str, text: str, read: str) -> None:
    assert spell_out(question, [text]) == read


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is the CEO?", f"The CEO speaks. {SIGNED}"),  # it has both
        ("Who is the CEO?", "The chief of each office"),
        ("Who is the CEO?", "Chief. Executive Officer"),
        ("Who is HR?", "A human resource"),  # two letters begin any two words
        ("WHO IS THE CEO?", SIGNED),  # all is in capitals
        ("Who is the chief executive officer?", "The CEO is our chief executive officer."),
        ("Who is the officer?", "Omar is the CEO."),
    ],
)
def test_a_question_stays_as_it_is_where_texts_have_its_words(question: str, text: str) -> None:
    assert spell_out(question, [text]) == question


@pytest.mark.parametrize(("acronym", "found"), [("ABC", True), ("ABCDEF", True), ("AB", False), ("ABCDEFG", False)])
def test_acronyms_have_three_to_six_letters(acronym: str, found: bool) -> None:
    words = " ".join(f"{letter}lpha" for letter in acronym)
    assert (spell_out(f"What is the {acronym} for?", [words]) != f"What is the {acronym} for?") is found


@pytest.mark.parametrize(
    ("text", "found"), [("United of the States of America", 1), ("United of the of the States of America", 0)]
)
def test_small_words_may_stand_between_as_many_as_there_are_others(text: str, found: int) -> None:
    assert len([*phrases_of("USA", text)]) == found


def test_marks_that_are_words_of_no_letter_begin_nothing() -> None:
    text = "\uff9e United \uff9f States of America"
    assert [*phrases_of("USA", text)] == []
    assert spell_out("What is the USA?", [text]) == "What is the USA?"


async def test_what_spells_an_acronym_out_is_quoted() -> None:
    text = "The office of Halden is in Oslo.\n\nThe Chief Executive Officer is Ingrid Moen.\n\nShe came in May."
    draft = await extract("Who is the CEO of Halden?", [passage(text)], WordEmbedder(), SETTINGS, enough=0.0)
    assert draft.citations[0].quote == "The Chief Executive Officer is Ingrid Moen."
    assert draft.insufficiencies == ()
