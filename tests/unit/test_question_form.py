"""What the form of a question says of the unit that answers it."""

from __future__ import annotations

import pytest

from cairn.answer.answer_type import gives_reason, outcome_told, read_asked
from cairn.answer.candidates import candidates
from cairn.answer.evidence import COLUMN, measure, question_terms
from cairn.answer.question_form import about_the_same, verdict
from tests.unit.test_extract import passage

MINUTES = "The council accepted PEP 673.\n\nThe council agreed to reject PEP 677.\n\nPEP 678 was not accepted.\n"


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Was PEP 677 accepted?", {"677"}),
        ("Was PEP 999 accepted?", {"673", "677", "678"}),
        ("Was it accepted?", {"673", "677", "678"}),
    ],
)
def test_what_names_another_number_is_left_out_where_one_names_it(question: str, kept: set[str]) -> None:
    found = about_the_same(question, candidates([passage(MINUTES)]))
    assert {number for number in ("673", "677", "678") if any(number in one.text for one in found)} == kept


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Was PEP 677 accepted?", "Rejected"),
        ("Was PEP 673 rejected?", "Accepted"),
        ("Was PEP 678 accepted?", None),
        ("Was PEP 999 accepted?", None),
        ("Who accepted PEP 673?", None),
    ],
)
def test_an_outcome_is_said_of_what_is_named_where_nothing_is_denied(question: str, said: str | None) -> None:
    found = candidates([passage(MINUTES)])
    terms = question_terms(question, found)
    told = {verdict(terms, one, one.text) for one in about_the_same(question, found)}
    assert told == {said}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The board rejected the offer.", "Rejected"),
        ("The board rejected what the members had approved.", None),
        ("It was never approved.", None),
        ("It wasn't approved.", None),
        ("L'assemblée a rejeté la motion.", "Rejeté"),
        ("Der Antrag wurde abgelehnt.", "Abgelehnt"),
        ("La moción fue aprobada.", "Aprobado"),
        ("La mozione è stata respinta.", "Respinto"),
        ("The board met.", None),
    ],
)
def test_one_word_tells_an_outcome(text: str, told: str | None) -> None:
    assert outcome_told(text) == told


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("Was the motion accepted?", True),
        ("Who accepted the motion?", False),
        ("Wurde der Antrag angenommen?", True),
        ("La motion a-t-elle été rejetée ?", True),
        ("¿Fue aprobada la moción?", True),
        ("La mozione è stata respinta?", True),
    ],
)
def test_whether_something_was_accepted_is_asked_in_five_languages(question: str, outcome: bool) -> None:
    assert read_asked(question).outcome == outcome


def test_entries_of_a_table_of_contents_and_addresses_are_no_candidates() -> None:
    text = (
        "- [Getting started](#getting-started)\n- [Home](https://example.org) of it\n\n[1.2]: https://example.org/1.2\n"
    )
    assert ["Home" in one.text for one in candidates([passage(text)])] == [True]


@pytest.mark.parametrize(
    ("question", "briefly"),
    [
        ("When was the bridge built?", True),
        ("How many workers are started?", True),
        ("Wer hat die Brücke gebaut?", True),
        ("Pourquoi le pont est-il fermé ?", True),
        ("¿Qué es un puente colgante?", True),
        ("Quando è stato costruito il ponte?", True),
        ("How do I start four workers?", False),
        ("Wie richte ich einen Arbeiter ein?", False),
        ("Comment démarrer le serveur ?", False),
        ("¿Cómo inicio el servidor?", False),
        ("Come avvio il server?", False),
        ("Which command shows how many workers there are?", False),
        ("dollar sign in a value gets eaten", False),
    ],
)
def test_a_fact_is_said_briefly_and_a_way_is_not(question: str, briefly: bool) -> None:
    assert read_asked(question).said_briefly == briefly


def test_a_reason_is_given_by_words_of_the_language_of_the_question() -> None:
    assert gives_reason("They may rent a car.", None)
    assert not gives_reason("They may rent a car.", "en")
    assert gives_reason("Sales rose, mainly abroad, because of the weather.", "en")
    assert gives_reason("Il loue une voiture car il est pressé.", "fr")


def test_words_of_another_language_do_not_make_a_quotation_a_reason() -> None:
    told = [passage("They may rent a car. They do so because of the snow.")]
    found = candidates(told)
    reasons = measure(question_terms("Why do they rent a car?", found), found, told)[:, COLUMN["reasons"]]
    assert list(reasons) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("When was the bridge built?", True),
        ("Where, and when, was it built?", True),
        ("The bridge was built when?", True),
        ("Tell me when the bridge closes", True),
        ("Any idea when Acme opened?", True),
        ("Find out when Acme was founded", True),
        ("Remind me when the bridge closes", True),
        ("Could you check when Acme was founded?", True),
        ("Since when the toll?", True),
        ("Around when did they meet?", True),
        ("when the bridge was built", True),
        ("And when?", True),
        ("504 Gateway Timeout when uploading files", False),
        ("files are found when I restart alone", False),
        ("an error that I see when I restart", False),
        ("When I start the server, it says no", False),
        ("Who was king when the bridge was built?", False),
        ("What happens when nothing is set?", False),
    ],
)
def test_when_asks_for_a_date_or_says_in_what_case(question: str, asks: bool) -> None:
    assert read_asked(question).time == asks
