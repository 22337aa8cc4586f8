"""Restrictions that a message states: only where it speaks of documents, only what one value means."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.query.filters import Wish, choose, scoped, wishes, without_restrictions
from cairn.query.summarize import wants_summary
from tests.waiting import patience


def said(message: str) -> set[tuple[str, str]]:
    return {(wish.kind, wish.value) for wish in wishes(message, "en")}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("papers by Kim from 2021", {("author", "Kim"), ("year", "2021")}),
        ("What do the reports of 2023 say about hiring?", {("year", "2023")}),
        ("summarize the 2019 report", {("year", "2019")}),
        ("articles written by Jane Doe about cats", {("author", "Jane Doe")}),
        ("what does handbook.pdf say about leave?", {("document", "handbook.pdf")}),
        ('what is in the document "Annual report"?', {("document", "Annual report")}),
        ("documents de 2022 sur le budget", {("year", "2022")}),
        ("les rapports publiés en 2020", {("year", "2020")}),
        ("los informes de 2018 sobre agua", {("year", "2018")}),
        ("Berichte aus dem Jahr 2017", {("year", "2017")}),
        ("papers from 2019 to 2021", {("years", "2019-2021")}),
        ("documents since 2020", {("years", "since 2020")}),
    ],
)
def test_wishes(message: str, expected: set[tuple[str, str]]) -> None:
    assert expected <= said(message)
    assert {kind for kind, _ in said(message)} == {kind for kind, _ in expected}


@pytest.mark.parametrize(
    "message",
    [
        "What happened in 2015?",
        "Who won the Nobel prize in 1921?",
        "What was written by Shakespeare?",
        "When did the war between 1914 and 1918 end?",
        "What is the author's view?",
        "How do I file a claim?",
        "Was geschah 1989 in Berlin?",
        "hello",
    ],
)
def test_questions_about_the_world_are_no_restrictions(message: str) -> None:
    assert wishes(message, "en") == ()


@pytest.mark.measurement
def test_hardly_a_question_of_the_public_sets_restricts(shared_data: Path) -> None:
    native = ("multilingual_queries/miracl_en_train.jsonl", "multilingual_queries/miracl_es_train.jsonl")
    for path in (*native, "xquad_de/queries.jsonl"):
        with (shared_data / path).open() as lines:
            questions = [json.loads(line)["text"] for line in lines]
        assert sum(bool(wishes(question, "en")) for question in questions) <= 0.005 * len(questions)


VALUES = {
    "Year": (2020, 2021, "2019"),
    "authors": (["Jane Kim", "Bo Li"], ["Ann Lee"]),
    "author": ("Max Müller",),
    "price": (2021,),
}


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish("year", "2021", ""), {"Year": 2021}),
        (Wish("year", "2019", ""), {"Year": "2019"}),
        (Wish("year", "1999", ""), None),
        (Wish("author", "Kim", ""), {"authors": ["Jane Kim"]}),
        (Wish("author", "max müller", ""), {"author": "Max Müller"}),
        (Wish("author", "Ki", ""), None),
        (Wish("years", "2021-2024", ""), {"Year": 2021}),
        (Wish("years", "2019-2021", ""), None),
        (Wish("years", "since 2021", ""), {"Year": 2021}),
        (Wish("years", "before 2020", ""), {"Year": "2019"}),
        (Wish("topic", "2021", ""), None),
    ],
)
def test_a_filter_is_one_value_that_documents_have(wish: Wish, expected: dict[str, object] | None) -> None:
    assert choose(wish, VALUES) == expected


def test_two_values_that_mean_it_are_no_filter() -> None:
    assert choose(Wish("author", "Kim", ""), {"author": ("Jane Kim", "Bob Kim")}) is None


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("How many days of leave are there in reports by Kim from 2021?", "How many days of leave are there?"),
        ("According to the reports by Kim, how long is parental leave?", "how long is parental leave?"),
        ("In documents from 2021, how many days are there?", "how many days are there?"),
        ("What do papers by Kim from 2021 say about leave?", "What do papers say about leave?"),
        ("What is the price in reports on solar panels from 2021?", "What is the price on solar panels?"),
        ("How many days are there in the 2021 reports?", "How many days are there?"),
        ("papers by Kim from 2021", "papers by Kim from 2021"),
        ("Combien de jours de congé y a-t-il dans les rapports de 2021 ?", "Combien de jours de congé y a-t-il?"),
        ("Wie viele Tage Urlaub gibt es laut den Berichten von Kim aus 2021?", "Wie viele Tage Urlaub gibt es?"),
        ("¿Cuántos días de vacaciones hay en los informes de 2021?", "¿Cuántos días de vacaciones hay?"),
        ("Quanti giorni di ferie ci sono nei rapporti del 2021?", "Quanti giorni di ferie ci sono?"),
    ],
)
def test_what_filters_keep_is_not_asked_of_the_passages(message: str, asked: str) -> None:
    found = wishes(message, "en")
    assert found
    assert without_restrictions(message, found) == asked
    assert without_restrictions(message, ()) == message


def test_a_named_document_becomes_an_operator() -> None:
    assert scoped("leave days", ("a/handbook.pdf",)) == 'leave days id:"a/handbook.pdf"'
    assert scoped("leave days", ()) == "leave days"
    assert scoped("leave days", ("a", "b")) == "leave days"
    assert scoped("leave days", ('a"b',)) == "leave days"


@pytest.mark.parametrize(
    "message",
    [
        "summarize", "summarize handbook.pdf", "Summarize this document", "Give me an overview of handbook.pdf",
        "give me a summary of all documents", "what are these documents about?", "tl;dr of the whole report",
        "résume le document", "Peux-tu résumer tous les fichiers ?", "de quoi parle ce document ?", "fais un résumé du rapport",
        "resume el documento", "¿De qué trata este documento?", "dame un resumen de los archivos",
        "Fasse das Dokument zusammen", "Zusammenfassung aller Dokumente", "Worum geht es in diesem Bericht?",
    ],
)  # fmt: skip
def test_summaries_of_the_whole(message: str) -> None:
    assert wants_summary(message)


@pytest.mark.parametrize(
    "message",
    [
        "What is the refund policy?",
        "summarize the refund policy",
        "Give me an overview of the French revolution",
        "What does the document say about leave?",
        "résume la politique de remboursement",
        "Fasse die Kündigungsfristen zusammen",
        "resume las condiciones de pago",
        "How many documents are there?",
        "What is the summary judgment standard?",
    ],
)
def test_a_summary_of_a_subject_is_a_question(message: str) -> None:
    assert not wants_summary(message)


WORDS = 'papers by Kim from 2021 in a.pdf " author : document de 2019 to - résumé all the ( .'
PIECES = st.sampled_from(WORDS.split(" "))


@given(st.text() | st.lists(PIECES, max_size=60).map(" ".join))
def test_no_input_crashes(message: str) -> None:
    without_restrictions(message, wishes(message, "en"))
    wants_summary(message)


@pytest.mark.parametrize(
    "piece", ["papers by ", "a.", "( ", "papers a b c d ", '"', "2021 ", "document ", "A", "all the "]
)
def test_long_messages_take_bounded_time(piece: str) -> None:
    started = time.thread_time()
    wishes((piece * 20_000)[:20_000], "en")
    wants_summary((piece * 20_000)[:20_000])
    assert time.thread_time() - started < patience(5, least=0)
