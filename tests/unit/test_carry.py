"""A follow-up brings along what it leans on, and a new question stays as it is: the worst error is to carry the
conversation into it. What is found by it, in a real collection: tests/db/test_follow_ups.py."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.passage import Passage
from cairn.domain.plan import IntentMatch, Vocabulary
from cairn.domain.question import SourceRef, Turn
from cairn.graph.code.questions import asked_of_code
from cairn.language.identify import by_words
from cairn.providers.protocols import Vectors
from cairn.query.entities import entities
from cairn.query.followup import Carried, asks_of_another, carry, listed, parts_alone
from cairn.query.rewrite_after import rewrite_after
from cairn.query.understand import understand
from cairn.query.undo import asks_to_undo, undoing
from cairn.settings import Settings
from tests.waiting import patience


def turn(role: str, content: str, *titles: str) -> Turn:
    sources = tuple(
        SourceRef(n, uuid4(), uuid4(), None, f"{title}.md", title, None, 0, 1, 1, 1.0, "")
        for n, title in enumerate(titles, 1)
    )
    return Turn(uuid4(), "user" if role == "user" else "assistant", content, datetime.now(UTC), sources)


def names(text: str, language: str) -> tuple[str, ...]:
    return entities(text, language, None)


def after(message: str, *said: str, language: str | None = None) -> Carried:
    """`said`: question and answer in turn."""
    history = [turn("assistant" if place % 2 else "user", text) for place, text in enumerate(said)]
    return carry(message, history, language or by_words(message) or by_words(said[0]) or "en", names)


SIEMENS = ("What is Siemens?", "Siemens is a German technology company. [1]")
FRANCE = ("What is the capital of France?", "The capital of France is Paris. [1]")
CLIO = ("Quel est le prix de la Renault Clio ?", "La Renault Clio coûte 15 000 euros. [1]")
TOWER = ("¿Cuándo se construyó la Torre Eiffel?", "Se construyó en 1889. [1]")
DOM = ("Wann wurde der Kölner Dom gebaut?", "Der Bau begann 1248. [1]")
NAPOLEON = ("How long did Napoleon reign?", "He reigned for ten years. [1]")
NAPOLEON_DE = ("Wie lange regierte Napoleon?", "Er regierte zehn Jahre. [1]")
NAPOLEON_FR = ("Combien de temps Napoléon a-t-il régné ?", "Il a régné dix ans. [1]")
STEPS = "1. Open the menu. [1]\n2. Choose it.\n3. Scan the code."
PRICE = ("¿Cuál es el precio de coste?", "80 euros. [1]")


@pytest.mark.parametrize(
    ("said", "message", "carried"),
    [
        (SIEMENS, "when was it founded?", "Siemens"),
        (SIEMENS, "What is its revenue?", "Siemens"),
        (SIEMENS, "how many employees?", "Siemens"),
        (SIEMENS, "and how many people work there?", "Siemens"),
        (CLIO, "et son poids ?", "Renault Clio"),
        (CLIO, "où est-elle fabriquée ?", "Renault Clio"),
        (CLIO, "Et combien en vend-on ?", "Renault Clio"),
        (CLIO, "qui l'a dessinée ?", "Renault Clio"),
        (("What does Acme Corp sell?", "Widgets."), "And who is its CEO?", "Acme Corp"),
        (TOWER, "¿y cuánto cuesta?", "Torre Eiffel"),
        (TOWER, "¿quién la diseñó?", "Torre Eiffel"),
        (TOWER, "¿Cuál es su altura?", "Torre Eiffel"),
        (DOM, "und wie hoch ist er?", "Kölner Dom"),
        (DOM, "Wer hat ihn entworfen?", "Kölner Dom"),
        (DOM, "Wie viele Menschen besuchen ihn?", "Kölner Dom"),
        (DOM, "Was kostet dort der Eintritt?", "Kölner Dom"),
    ],
)
def test_pronouns_and_omissions_carry_the_subject(said: tuple[str, str], message: str, carried: str) -> None:
    found = after(message, *said)
    assert carried in found.text
    assert carried in found.terms
    assert found.reason != "stands alone"


@pytest.mark.parametrize(
    ("said", "message", "text"),
    [
        (FRANCE, "and Germany?", "What is the capital of Germany?"),
        (FRANCE, "what about Germany?", "What is the capital of Germany?"),
        (FRANCE, "no, I meant Germany", "What is the capital of Germany?"),
        (("What was the revenue of Apple in 2014?", "3."), "and in 2015?", "What was the revenue of Apple in 2015?"),
        (CLIO, "Et la Peugeot 208 ?", "Quel est le prix de la Peugeot 208 ?"),
        (CLIO, "qu'en est-il de la Peugeot 208 ?", "Quel est le prix de la Peugeot 208 ?"),
        (("¿Cuál es la capital de Francia?", "París."), "¿y de Alemania?", "¿Cuál es la capital de Alemania?"),
        (DOM, "Und das Ulmer Münster?", "Wann wurde der Ulmer Münster gebaut?"),
    ],
)
def test_a_new_focus_takes_the_place_of_the_old_one(said: tuple[str, str], message: str, text: str) -> None:
    assert after(message, *said).text == text


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (SIEMENS, "What is the capital budget of Berlin?"),
        (SIEMENS, "How does PostgreSQL store its data?"),
        (SIEMENS, "Is it possible to learn French in a month?"),
        (SIEMENS, "How long does it take to get a passport?"),
        (SIEMENS, "And what is the capital of Norway?"),
        (SIEMENS, "What time is it in Tokyo?"),
        (SIEMENS, "If a customer returns an item, when is it refunded?"),
        (SIEMENS, "refund policy"),
        (SIEMENS, "Who invented Hangul?"),
        (SIEMENS, "Is it true that cats have nine lives?"),
        (SIEMENS, "What was the first documentary film?"),
        (SIEMENS, "How long did the Mexican Revolution last?"),
        (CLIO, "Quelle est la capitale de la Norvège ?"),
        (CLIO, "Comment payer ses impôts locaux ?"),
        (CLIO, "Y a-t-il une piscine à Lyon ?"),
        (CLIO, "Est-ce que le musée est ouvert le lundi ?"),
        (CLIO, "Quand Napoléon est-il mort ?"),
        (TOWER, "¿Quién fue George Custer?"),
        (TOWER, "¿Por qué la paloma blanca es un símbolo de paz?"),
        (TOWER, "¿Cuánto cuesta el billete de metro?"),
        (DOM, "Was ist die Hauptstadt von Norwegen?"),
        (DOM, "Gibt es in Bonn einen Flughafen?"),
        (DOM, "Wann verließ Einstein seine Heimat?"),
        (DOM, "Können Sie mir die Öffnungszeiten vom Zoo nennen?"),
        (DOM, "Welche beiden Gase bilden Wasser?"),
        (DOM, "Wie viele Sturmtage oder Nebeltage gab es?"),
    ],
)
def test_a_change_of_subject_stays_as_it_is(said: tuple[str, str], message: str) -> None:
    assert after(message, *said) == Carried(message)


@pytest.mark.parametrize(
    ("said", "message"),
    [(FRANCE, "why?"), (CLIO, "pourquoi ?"), (TOWER, "¿por qué?"), (DOM, "Warum?")],
)
def test_a_bare_question_word_asks_about_the_last_question(said: tuple[str, str], message: str) -> None:
    found = after(message, *said)
    assert said[0] in found.text
    assert message.strip(" ?¿") in found.text


LIST = "The methods are:\n1. Dense retrieval: vectors [1]\n2. Sparse retrieval\n3. Late fusion"
METHODS = ("Which methods are described?", LIST)


@pytest.mark.parametrize(
    ("message", "item"),
    [
        ("tell me about the second one", "Sparse retrieval"),
        ("and in the second one?", "Sparse retrieval"),
        ("what about number 3?", "Late fusion"),
        ("and the last?", "Late fusion"),
        ("How fast is the first method?", "Dense retrieval"),
        ("et le deuxième ?", "Sparse retrieval"),
        ("¿y la segunda?", "Sparse retrieval"),
        ("und der dritte?", "Late fusion"),
    ],
)
def test_ordinals_mean_what_the_last_answer_lists(message: str, item: str) -> None:
    found = after(message, *METHODS)
    assert item in found.text
    assert sum(other in found.text for other in ("Dense retrieval", "Sparse retrieval", "Late fusion")) == 1


@pytest.mark.parametrize(
    ("question", "message", "text"),
    [
        ("How do I upgrade Borg on Fedora?", "only for version 1.15", "How do I upgrade Borg on Fedora for version 1.15?"),
        ("How do I upgrade Borg?", "and for version 2.4?", "How do I upgrade Borg for version 2.4?"),
        ("Wie lade ich Borg?", "nur für Version 1.15", "Wie lade ich Borg für Version 1.15?"),
        ("Wie lade ich Borg?", "und nach Schritt 2.1?", "Wie lade ich Borg nach Schritt 2.1?"),
        ("Comment installer Borg ?", "seulement pour l'option 1.15", "Comment installer Borg pour l'option 1.15 ?"),
        ("¿Cómo instalo Borg?", "solo para el paso 1.15", "¿Cómo instalo Borg para el paso 1.15?"),
        ("Come installo Borg?", "solo per il punto 1.15", "Come installo Borg per il punto 1.15?"),
    ],
)  # fmt: skip
def test_a_version_with_a_dot_is_no_number_of_a_list(question: str, message: str, text: str) -> None:
    assert after(message, question, "1. Stop it.\n2. Update it.\n3. Start it.").text == text


AUTH = (
    "Where is the class DigestAuth defined?",
    "`httpx/_auth.py::DigestAuth` is defined in httpx/_auth.py:175 [1]:\n- `class DigestAuth(Auth)`",
)
AUTH_DE = ("Wo ist DigestAuth definiert?", "`httpx/_auth.py::DigestAuth` ist definiert in httpx/_auth.py:175 [1].")
AUTH_FR = ("Où est définie DigestAuth ?", "`httpx/_auth.py::DigestAuth` est défini dans httpx/_auth.py:175 [1].")
AUTH_ES = ("¿Dónde está definida DigestAuth?", "`httpx/_auth.py::DigestAuth` está definido en httpx/_auth.py:175 [1].")
JSON = (
    "What does Response.json return?",
    "`httpx/_models.py::Response.json` (httpx/_models.py:830 [1]) returns `Any`.",
)


@pytest.mark.parametrize(
    ("said", "message", "text"),
    [
        (AUTH, "who calls it?", "who calls DigestAuth?"),
        (AUTH, "Which parameters does it take?", "Which parameters does DigestAuth take?"),
        (AUTH, "what are its parameters?", "what are DigestAuth's parameters?"),
        (AUTH, "show me its code", "show me DigestAuth's code"),
        (AUTH, "show me the code", "show me the code DigestAuth"),
        (AUTH, "can you show me the source code?", "can you show me the source code DigestAuth?"),
        (AUTH, "show me the code, please", "show me the code, please DigestAuth"),
        (AUTH, "show me the code of unquote", "show me the code of unquote"),
        (AUTH_FR, "montre-moi le code s'il te plaît", "montre-moi le code s'il te plaît DigestAuth"),
        (AUTH, "what does it do?", "what does DigestAuth do?"),
        (AUTH_DE, "Zeig mir den Code", "Zeig mir DigestAuth Code"),
        (AUTH_DE, "Zeig mir ihren Code", "Zeig mir ihren Code DigestAuth"),
        (AUTH_DE, "Was macht sie?", "Was macht DigestAuth?"),
        (AUTH_FR, "montre-moi son code", "montre-moi son code DigestAuth"),
        (AUTH_FR, "montre-moi le code", "montre-moi le code DigestAuth"),
        (AUTH_FR, "que fait-elle ?", "que fait DigestAuth ?"),
        (AUTH_ES, "muéstrame el código", "muéstrame el código DigestAuth"),
        (AUTH_ES, "muéstrame su código", "muéstrame su código DigestAuth"),
        (AUTH_ES, "¿qué hace?", "¿qué hace DigestAuth?"),
        (AUTH, "and BasicAuth?", "Where is the class BasicAuth defined?"),
        (AUTH, "and who calls that?", "and who calls DigestAuth?"),
        (JSON, "who calls it?", "who calls Response.json?"),
        (JSON, "which exceptions does it raise?", "which exceptions does Response.json raise?"),
        (AUTH_DE, "Wer ruft sie auf?", "Wer ruft DigestAuth auf?"),
        (AUTH_DE, "Wo wird das aufgerufen?", "Wo wird DigestAuth aufgerufen?"),
        (AUTH_FR, "quels paramètres prend-elle ?", "quels paramètres prend DigestAuth ?"),
        (AUTH_FR, "de quoi hérite-t-elle ?", "de quoi hérite DigestAuth ?"),
        (AUTH_FR, "et BasicAuth ?", "Où est définie BasicAuth ?"),
        (AUTH_ES, "¿quién la llama?", "¿quién la llama DigestAuth?"),
        (AUTH_ES, "¿qué parámetros recibe?", "¿qué parámetros recibe DigestAuth?"),
    ],
)
def test_after_an_answer_about_code_its_symbol_is_meant(said: tuple[str, str], message: str, text: str) -> None:
    """And neither the path nor the line that the answer names."""
    made = after(message, *said).text
    assert made == text
    assert asked_of_code(made)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("Welche Ladestrategien gibt es?", "Was ist das Sponsortoken?"),
        ("Welche Ladestrategien gibt es?", "Was ist die Wallbox?"),
        ("¿Qué estrategias hay?", "¿Qué es el backlog?"),
        ("Quelles stratégies y a-t-il ?", "Qu'est-ce que le backlog ?"),
        ("Quali strategie ci sono?", "Cos'è il backlog?"),
        ("Quali strategie ci sono?", "Che cos'è la dashboard?"),
    ],
)
def test_an_article_before_a_noun_refers_to_nothing(question: str, message: str) -> None:
    assert after(message, question, "- Eine\n- Zwei").text == message


def test_an_article_before_what_is_always_of_something_does() -> None:
    found = after("Was ist der Unterschied?", "Welche Ladestrategien gibt es?", "- Eine\n- Zwei")
    assert "Ladestrategien" in found.text
    token = ("Was ist das Sponsortoken?", "Es ist ein Token.")
    assert after("Was kostet es?", "Welche Ladestrategien gibt es?", "- Eine", *token).terms == ("Sponsortoken",)


@pytest.mark.parametrize(
    ("question", "message", "text"),
    [
        ("What does mise prune do?", "what about mise upgrade?", "What does mise upgrade do?"),
        ("Was macht mise prune?", "und mise upgrade?", "Was macht mise upgrade?"),
        ("Que fait mise prune ?", "et mise upgrade ?", "Que fait mise upgrade ?"),
        ("How do I run docker compose pull?", "and docker compose push?", "How do I run docker compose push?"),
        ("Does mise prune what mise use left?", "and mise upgrade?", "Does mise prune what mise use left mise upgrade?"),
    ],
)  # fmt: skip
def test_a_name_takes_the_place_of_one_of_its_form(question: str, message: str, text: str) -> None:
    assert after(message, question, "It does.").text == text


def test_all_that_was_listed() -> None:
    for message in ("the other two?", "which one is the fastest?", "are both free?"):
        assert {"Dense retrieval", "Sparse retrieval", "Late fusion"} <= set(after(message, *METHODS).terms)


def test_ordinals_without_a_list_mean_names_beside_each_other_or_sources() -> None:
    found = after("How old is the second one?", "Compare Falcon and Eagle", "They differ.")
    assert "Eagle" in found.text
    assert "Falcon" not in found.text
    history = [turn("user", "what is described?"), turn("assistant", "Many things.", "Handbook", "Guide")]
    assert "Guide" in carry("summarize the second document", history, "en", names).text


def test_demonstratives_carry_the_words_of_the_question() -> None:
    assert "refund" in after("does that policy apply to children?", "What is the refund policy?", "30 days.").text
    french = after(
        "cette règle s'applique-t-elle aux enfants ?", "Quelle est la règle sur les remboursements ?", "30 jours."
    )
    assert "remboursements" in french.text


def test_this_document_is_the_source_of_the_last_answer() -> None:
    history = [turn("user", "How long is the leave?"), turn("assistant", "20 days.", "Employee handbook")]
    assert "Employee handbook" in carry("what else does this document say?", history, "en", names).text


def test_what_was_asked_for_is_the_subject_of_the_next_question() -> None:
    found = after("When did he die?", "Who founded Siemens?", "Werner von Siemens founded it in 1847.")
    assert "Werner von Siemens" in found.text
    assert "Paris" in after("How many people live there?", *FRANCE).text


def test_follow_ups_of_follow_ups_keep_the_subject() -> None:
    found = after("and its revenue?", "What is Siemens?", "A company.", "when was it founded?", "In 1847.")
    assert "Siemens" in found.text
    changed = after(
        "and its population?", "What is Siemens?", "A company.", "What is the capital of Norway?", "It is big."
    )
    assert "Siemens" not in changed.text
    assert "Norway" in changed.text


def test_thanks_in_between_do_not_end_a_subject() -> None:
    assert "Siemens" in after("when was it founded?", *SIEMENS, "thanks!", "You're welcome!").text


def test_without_history_nothing_is_rewritten() -> None:
    assert carry("why?", [], "en", names) == Carried("why?", reason="no history")


def test_lists_of_an_answer() -> None:
    assert listed("- **Red**: hot\n- Blue - cold\n- Green") == ("Red", "Blue", "Green")
    assert listed("The members are Alice, Bob and Carol.")[-2:] == ("Bob", "Carol")
    assert listed("Just a sentence, and another.") == ()


# --- on questions that nobody here wrote --------------------------------------------------------------------------------


@pytest.mark.measurement
@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("multilingual_queries/miracl_en_train.jsonl", "en"),
        ("multilingual_queries/miracl_fr_train.jsonl", "fr"),
        ("multilingual_queries/miracl_es_train.jsonl", "es"),
        ("spf_fr/queries.jsonl", "fr"),
        ("hotpotqa100/queries.jsonl", "en"),
        ("musique100/queries.jsonl", "en"),
        ("cranfield/queries.jsonl", "en"),
    ],
)
def test_questions_that_stand_alone_are_not_taken_for_follow_ups(shared_data: Path, path: str, language: str) -> None:
    with (shared_data / path).open() as lines:
        questions = [json.loads(line)["text"] for line in lines]
    said = {"en": SIEMENS, "fr": CLIO, "es": TOWER}[language]
    wrong = [question for question in questions if after(question, *said, language=language).text != question]
    assert len(wrong) <= 0.01 * len(questions), wrong[:60]


# --- any input ------------------------------------------------------------------------------------------------------------

WORDS = "it the and what about ? . , second one that policy which his and 2015 Germany - * 1. \n ¿ y et und sein su son l' qu' of"
PIECES = st.sampled_from(WORDS.split(" "))
MESSAGES = st.text() | st.lists(PIECES, max_size=30).map(" ".join)


@given(MESSAGES, st.lists(MESSAGES, max_size=5), st.sampled_from(["en", "fr", "es", "de", "it", ""]))
def test_no_input_crashes_and_nothing_is_lost(message: str, said: list[str], language: str) -> None:
    found = after(message, *said, language=language) if said else carry(message, [], language, names)
    assert len(found.text) <= max(len(message), 700)
    if not found.terms and found.reason in ("stands alone", "no history"):
        assert found.text == message


@pytest.mark.parametrize(
    "piece", ["it ", "and ", "A and ", "- a\n", "the second ", "l'", "((", "what about ", "1. x\n", ", "]
)
def test_long_messages_take_bounded_time(piece: str) -> None:
    text = (piece * 20_000)[:20_000]
    started = time.thread_time()
    after(text, text, text, text, text)
    after("when was it founded?", text, text, text, text)
    assert time.thread_time() - started < patience(5, least=0)


# --- rewriting after a search -----------------------------------------------------------------------------------------


def passage(title: str, content: str, *headings: str) -> Passage:
    ids = uuid4(), uuid4()
    return Passage(*ids, title, title, content, 0, 1, None, headings, 1, 1, "c", "text/plain", {})


def test_a_query_after_failed_grading_uses_what_was_retrieved() -> None:
    question = "How is the jaguar fed?"
    cars = [passage("Jaguar cars", "The jaguar is fed with petrol.") for _ in range(3)]
    cats = [passage("Big cats", "The jaguar eats meat.", "Feeding in zoos")]
    first = rewrite_after(question, cats, cars, ())
    assert {"cats", "zoos"} <= set(first.split())
    again = rewrite_after(question, [], cars, (first,))
    assert again not in (question, first)
    tried = [again]
    for _ in range(3):
        tried.append(rewrite_after(question, [], cars, tried))
    assert tried[-1] == question


@pytest.mark.parametrize(
    ("said", "message", "parts"),
    [
        (FRANCE, "compare that with Italy", (FRANCE[0], "What is the capital of Italy?")),
        (FRANCE, "how does that compare to Italy?", (FRANCE[0], "What is the capital of Italy?")),
        (FRANCE, "compared to Italy?", (FRANCE[0], "What is the capital of Italy?")),
        (TOWER, "compáralo con la Torre del Oro", (TOWER[0], "¿Cuándo se construyó la Torre del Oro?")),
        (DOM, "vergleiche das mit dem Ulmer Münster", (DOM[0], "Wann wurde der Ulmer Münster gebaut?")),
        (CLIO, "compare avec la Peugeot 208", (CLIO[0], "Quel est le prix de la Peugeot 208 ?")),
    ],
)
def test_what_is_compared_with_something_is_asked_of_both(
    said: tuple[str, str], message: str, parts: tuple[str, str]
) -> None:
    assert after(message, *said).parts == parts


@pytest.mark.parametrize(
    ("said", "message", "other"),
    [
        (NAPOLEON, "Compare to Alexander the Great", "Alexander the Great"),
        (NAPOLEON, "Compare that with Alexander the Great", "Alexander the Great"),
        (NAPOLEON, "compare to alexander the great", "alexander the great"),
        (NAPOLEON_FR, "compare à charles le chauve", "charles le chauve"),
        (NAPOLEON_DE, "Vergleiche das mit Karl dem Großen", "Karl dem Großen"),
        (NAPOLEON_FR, "Compare à Charles le Chauve", "Charles le Chauve"),
        (PRICE, "compara con el precio al público", "precio al público"),
    ],
)
def test_an_article_inside_of_what_it_is_compared_with(said: tuple[str, str], message: str, other: str) -> None:
    first, second = after(message, *said).parts
    assert first == said[0]
    assert other in second


@pytest.mark.parametrize("message", ["compare the fees with those of 2019", "compare that", "compare Bonn with Kiel"])
def test_what_names_both_sides_is_no_comparison_with_what_was_said(message: str) -> None:
    assert after(message, *FRANCE).parts == ()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (FRANCE, "Compared with 2022, how did revenue change in 2023?"),
        (FRANCE, "Compared to Nomad, what does Kubernetes cost?"),
        (FRANCE, "Versus Oracle, what are the advantages of PostgreSQL?"),
        (FRANCE, "In comparison with contractors, sick pay"),
        (FRANCE, "Compare to last year the number of employees in sales"),
        (FRANCE, "Compare to the average the salaries of engineers"),
        (FRANCE, "compare to last year the number of employees in sales"),
        (FRANCE, "compare to 2022 the salaries"),
        (CLIO, "Compare à la moyenne les salaires des ingénieurs"),
        (DOM, "Vergleiche mit dem Durchschnitt die Gehälter der Ingenieure"),
        (TOWER, "Compara con el promedio el salario de los ingenieros"),
        (SIEMENS, "Compare to Oracle the price"),
        (SIEMENS, "Compare to the average the Berlin salaries"),
        (DOM, "Im Vergleich zum Vorjahr, wie hat sich der Umsatz entwickelt?"),
        (DOM, "Im Vergleich zu 2022 ist der Umsatz wie stark gestiegen?"),
        (CLIO, "Par rapport à 2022, comment a évolué le chiffre d'affaires ?"),
        (TOWER, "Respecto al teletrabajo, ¿cuántos días puedo trabajar en casa?"),
        (TOWER, "Frente a un incendio, ¿qué debo hacer?"),
        (("Quanto costa il biglietto per Roma?", "50 euro."), "Rispetto al 2022, quanto è cresciuto il fatturato?"),
    ],
)
def test_a_question_that_begins_with_a_comparison_is_its_own(said: tuple[str, str], message: str) -> None:
    assert after(message, *said).parts == ()


def test_a_comparison_inside_a_message_is_one_part_of_it() -> None:
    parts = ("What does Kubernetes cost?", "How does it compare to Nomad?")
    assert parts_alone(parts, "en", names) == ("What does Kubernetes cost?", "What does Nomad cost?")


HOTELS = ("Which costs are not covered for hotels?", "Breakfast. [1]")
VISA = ("What is the visa fee in Spain?", "80 euros. [1]")


@pytest.mark.parametrize(
    ("said", "message", "text"),
    [
        (HOTELS, "and for meals?", "Which costs are not covered for meals?"),
        (HOTELS, "and not for meals?", "Which costs are not covered for hotels not for meals?"),
        (VISA, "and France?", "What is the visa fee in France?"),
        (VISA, "and not in France?", "What is the visa fee in Spain not in France?"),
        (VISA, "and without France?", "What is the visa fee in Spain without France?"),
        (DOM, "Und nicht das Ulmer Münster?", "Wann wurde der Kölner Dom gebaut nicht das Ulmer Münster?"),
        (CLIO, "Et sans la Peugeot 208 ?", "Quel est le prix de la Renault Clio sans la Peugeot 208 ?"),
        (TOWER, "¿y sin la Torre del Oro?", "¿Cuándo se construyó la Torre Eiffel sin la Torre del Oro?"),
    ],
)
def test_a_negation_in_a_new_focus_is_kept(said: tuple[str, str], message: str, text: str) -> None:
    assert after(message, *said).text == text


def test_what_was_compared_is_what_the_next_question_is_about() -> None:
    said = (*FRANCE, "compare that with Italy", "The capital of France is Paris. [1]")
    assert after("which of them is older?", *said).terms == ("France", "Italy")


@pytest.mark.parametrize(
    ("question", "message", "text"),
    [
        ("What is the daily allowance for meals?", "and for hotels?", "What is the daily allowance for hotels?"),
        ("How many days are there in the first year?", "and in winter?", "How many days are there in winter year?"),
        ("What is paid for meals for guests?", "and for hotels?", "What is paid for meals for guests for hotels?"),
        ("What is paid in March?", "and for hotels?", "What is paid in March for hotels?"),
    ],
)
def test_a_focus_takes_the_place_of_what_stands_behind_the_same_word(question: str, message: str, text: str) -> None:
    assert after(message, question, "28 euros. [1]").text == text


LEAVE = ("How many days of paid leave do employees have?", "They have 27 days. [1]")
REFUSAL = (
    "I don't know based on the provided documents. Try other words, or ask about what is there, such as “Canteen”."
)


@pytest.mark.parametrize("aside", ["thanks!", "tell me more", "why?", "simpler please", "go deeper"])
def test_what_only_goes_on_is_not_what_the_next_question_is_about(aside: str) -> None:
    found = after("And Germany?", *FRANCE, aside, "You're welcome!")
    assert found.text == "What is the capital of Germany?"


def test_a_chain_of_elliptical_questions_keeps_the_first_one() -> None:
    chain = (*FRANCE, "and Germany?", "Berlin. [1]", "and Spain?", "Madrid. [1]", "and Norway?", "Oslo. [1]")
    assert after("and Italy?", *chain).text == "What is the capital of Italy?"


def test_nothing_is_carried_out_of_a_refusal() -> None:
    found = after("what does it cost?", "What is the third stage of a deployment?", REFUSAL)
    assert "Canteen" not in found.text
    assert "stage" in found.text


@pytest.mark.parametrize(
    ("said", "message", "text"),
    [
        (("What does the Kittiwake 300 weigh?", "31 kg. [1]"), "And the 500?", "What does the Kittiwake 500 weigh?"),
        (("Wie viel Strom braucht der Milan 2?", "40 Watt. [1]"), "Und der 3?", "Wie viel Strom braucht der Milan 3?"),
    ],
)  # fmt: skip
def test_a_number_takes_the_place_of_the_last_one(said: tuple[str, str], message: str, text: str) -> None:
    assert after(message, *said).text == text


def test_of_two_nouns_none_is_replaced() -> None:
    text = after("and the suppliers?", "How do customers pay the invoice?", "By card. [1]").text
    assert "customers" in text
    assert "invoice" in text
    assert "suppliers" in text


@pytest.mark.parametrize("message", ["When do they expire?", "How many of them can be carried over?"])
def test_a_place_beside_the_subject_does_not_become_the_subject(message: str) -> None:
    found = after(message, *LEAVE, "What about France?", "25 days. [1]")
    assert found.text.startswith(message.rstrip("?"))
    assert {"France", "leave"} <= set(found.text.rstrip("?").split())


def test_a_person_is_named_in_the_sentence_that_answers() -> None:
    answer = "The board opens an office in Lyon in September. Lucía Ferrer leads the project. [1]"
    assert "Lucía Ferrer" in after("When did she decide that?", "Who leads the Lyon project?", answer).text


@pytest.mark.parametrize(
    ("question", "answer", "person"),
    [
        ("Where did Marie Curie work?", "In Paris.", "Marie Curie"),
        ("What did Ada Lovelace write?", "She wrote notes on the Analytical Engine. [1]", "Ada Lovelace"),
        ("When was Acme founded?", "Acme was founded in 1990 by Jane Doe. [1]", "Jane Doe"),
        ("Who founded Acme?", "Acme was founded by Jane Doe. [1]", "Jane Doe"),
    ],
)
def test_a_person_that_the_question_or_the_answer_names_is_kept(question: str, answer: str, person: str) -> None:
    assert person in after("where did she study?", question, answer).text


def test_several_names_take_the_place_of_one() -> None:
    assert after("And what about Germany and Italy?", *FRANCE).text == "What is the capital of Germany and Italy?"


def test_a_number_is_no_person() -> None:
    found = after("What was he famous for?", "When was Tesla rediscovered?", "1990s")
    assert found.text == "What was Tesla famous for?"


def test_a_kind_of_thing_needs_few_words_beside_it() -> None:
    said = ("Which two companies planned to merge their theatres in October of that year?", "They were rivals.")
    assert len(after("How long would this coalition last?", *said).terms) == 3


def test_clauses_are_no_list() -> None:
    answer = "The Kittiwake 500 has 500 ampere hours, weighs 49 kilograms and costs 3,900 euros."
    assert listed(answer) == ()


def test_a_message_may_lean_on_the_window_and_this_on_what_is_older() -> None:
    more = ["tell me more", "The Louvre is there. [1]"] * 3
    thanks = ["thanks", "You're welcome!"] * 3
    history = [turn("assistant" if place % 2 else "user", text) for place, text in enumerate((*FRANCE, *more))]
    assert carry("and Germany?", history, "en", names, window=5).text == "What is the capital of Germany?"
    history = [turn("assistant" if place % 2 else "user", text) for place, text in enumerate((*FRANCE, *thanks))]
    assert carry("and Germany?", history, "en", names, window=5).text == "and Germany?"


FMT = ("What does caddy fmt do?", "It formats the Caddyfile. [1]")


@pytest.mark.parametrize(
    "message",
    [
        "Which matchers are there?", "What matchers exist?", "List all the directives", "What are all the commands?",
        "Welche Befehle gibt es?", "Quelles directives y a-t-il ?", "¿Qué directivas hay?", "Quali direttive ci sono?",
    ],
)  # fmt: skip
def test_which_things_there_are_is_asked_of_all(message: str) -> None:
    assert after(message, *FMT).text == message


@pytest.mark.parametrize(
    "message",
    [
        "Which ones are there?", "Which options are there?", "Which options does it have?", "What are the limits?",
        "Welche Optionen gibt es?", "Quelles options y a-t-il ?", "¿Qué opciones hay?",
    ],
)  # fmt: skip
def test_which_parts_there_are_is_asked_of_what_was_spoken_of(message: str) -> None:
    assert "caddy fmt" in after(message, *FMT).text


@pytest.mark.parametrize(
    ("said", "message", "text"),
    [
        (("What is on-demand TLS?", "It gets certificates when needed, without DNS. [1]"), "When is it useful?",
         "When is on-demand TLS useful?"),
        (("What is staggered file versioning?", "It keeps more than Simple File Versioning."), "When is it useful?",
         "When is staggered file versioning useful?"),
        (("What does the tls directive do?", "It configures TLS by ACME."), "Is it needed?", "Is tls directive needed?"),
        (("Was ist das Archiv?", "Ein Ort der Borg GmbH."), "Wann ist es nötig?", "Wann ist es nötig Archiv?"),
        (("¿Qué es el tomate?", "Una fruta de México."), "¿Cuándo se come esto?", "¿Cuándo se come esto tomate?"),
        (FRANCE, "how big is it?", "how big is Paris?"),
        (("What is one two three four five?", "It is like DNS."), "When is it useful?", "When is DNS useful?"),
        (("What is big red old wood?", "It is like DNS."), "When is it useful?", "When is big red old wood useful?"),
        (("What is big red old wet wood?", "It is like DNS."), "When is it useful?", "When is DNS useful?"),
    ],
)  # fmt: skip
def test_what_was_asked_to_be_explained_is_spoken_of_and_not_a_name_of_the_answer(
    said: tuple[str, str], message: str, text: str
) -> None:
    assert after(message, *said).text == text


VERSIONING = ("What is staggered file versioning?", "It keeps versions in intervals.")


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (("What about simple?",), "What is staggered file versioning simple?"),
        (("What about simple?", "and trash can?"), "What is staggered file versioning trash can?"),
        (("What about simple?", "and the trash can?", "how about external?"),
         "What is staggered file versioning external?"),
        (("and simple?", "and trash can?"), "What is staggered file versioning trash can?"),
        (("and for contractors?", "and in Germany?"),
         "What is staggered file versioning for contractors in Germany?"),
    ],
)  # fmt: skip
def test_of_a_chain_of_what_about_each_replaces_the_one_before(messages: tuple[str, ...], text: str) -> None:
    said = [*VERSIONING, *(each for message in messages[:-1] for each in (message, "It keeps five."))]
    assert after(messages[-1], *said).text == text


@pytest.mark.parametrize(
    ("message", "language", "another"),
    [
        ("What about simple?", "en", True), ("How about deeper?", "en", True), ("and simple?", "en", True),
        ("und einfach?", "de", True), ("Et simple ?", "fr", True), ("¿Y simple?", "es", True), ("E semplice?", "it", True),
        ("and simpler?", "en", False), ("simple", "en", False), ("what about it?", "en", False), ("and why?", "en", False),
    ],
)  # fmt: skip
def test_what_about_is_no_wish_about_the_last_answer(message: str, language: str, *, another: bool) -> None:
    assert asks_of_another(message, language) is another


class NoExamples:
    async def match(self, *_: object, **__: object) -> None:
        return None


class Simplifies:
    """Exemplars to which every message is a wish for simpler words."""

    async def match(self, *_: object, **__: object) -> IntentMatch:
        return IntentMatch("simplify", 0.8, 1, "as an example")


@pytest.mark.parametrize(
    ("message", "intent", "text"),
    [
        ("What about simple?", "question", "What is staggered file versioning simple?"),
        ("and simple?", "question", "What is staggered file versioning simple?"),
        ("simpler please", "simplify", "simpler please staggered file versioning"),
        ("True or false: does it keep all?", "question", "does staggered file versioning keep all?"),
    ],
)
async def test_a_message_is_understood_by_what_it_asks(message: str, intent: str, text: str) -> None:
    async def look(words: Sequence[str]) -> Vocabulary:
        return Vocabulary(0, {})

    async def embed(texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 2), np.float32)

    exemplars: Any = Simplifies() if intent == "simplify" or "about" in message else NoExamples()
    history = [turn("user", VERSIONING[0]), turn("assistant", VERSIONING[1])]
    plan = await understand(
        message, history, vocabulary=look, embed=embed, chat=None, settings=Settings(), exemplars=exemplars
    )
    assert (plan.intent.intent, plan.text) == (intent, text)


@pytest.mark.parametrize(
    ("question", "message", "carried"),
    [
        ("How do I install mise?", "how long does that take?", "mise"),
        ("How do I install mise?", "and what would that cost me?", "mise"),
        ("¿Cómo instalo el reloj?", "¿puedo desactivarlo con el móvil?", "reloj"),
        ("¿Cómo instalo el reloj?", "¿y cómo lo activo en casa?", "reloj"),
        ("¿Cómo instalo el reloj?", "¿cuánto tiempo se tarda?", "reloj"),
        ("Come installo l'orologio?", "posso spegnerlo con il telefono?", "orologio"),
        ("Come installo l'orologio?", "come lo attivo a casa?", "orologio"),
        ("Come installo l'orologio?", "quanto tempo ci vuole?", "orologio"),
        ("Comment installer l'horloge ?", "comment la régler sous tension ?", "horloge"),
        ("Comment installer l'horloge ?", "combien de temps faut-il ?", "horloge"),
        ("Wie installiere ich die Uhr?", "Wie lange dauert es?", "Uhr"),
    ],
)
def test_what_is_asked_of_a_pronoun_leans_on_the_last_question(question: str, message: str, carried: str) -> None:
    assert carried in after(message, question, STEPS).text


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("How do I install mise?", "just in case it breaks, how do I make a backup?"),
        ("How do I install mise?", "do you know that a backup exists?"),
        ("Wie installiere ich die Uhr?", "Nur für den Fall, dass sie ausfällt, wie mache ich ein Backup?"),
        ("Comment installer l'horloge ?", "au cas où elle casse, comment faire une copie de sauvegarde ?"),
        ("Comment installer l'horloge ?", "comment le registre de la base change ?"),
        ("¿Cómo instalo el reloj?", "¿qué es lo mejor de la batería?"),
        ("¿Cómo instalo el reloj?", "¿cómo cambio la contraseña sin perderla?"),
        ("Come installo l'orologio?", "come lo studente cambia la password?"),
        ("Come installo l'orologio?", "come cambio la password senza perderla?"),
    ],
)
def test_what_has_its_own_subject_stays_as_it_is(question: str, message: str) -> None:
    assert after(message, question, STEPS).text == message


@pytest.mark.parametrize(
    ("question", "message", "carried"),
    [
        ("How do I install the clock?", "what about the last step?", "clock"),
        ("Wie installiere ich die Uhr?", "was ist mit dem letzten Schritt?", "Uhr"),
        ("Comment installer l'horloge ?", "et la dernière étape ?", "horloge"),
        ("¿Cómo instalo el reloj?", "¿y el último paso?", "reloj"),
        ("Come si installa l'orologio della cucina?", "e l'ultimo passo?", "orologio"),
    ],
)
def test_the_last_step_is_of_what_was_asked_about_where_none_are_listed(
    question: str, message: str, carried: str
) -> None:
    assert carried in after(message, question, "It is done there. [1]").text
    assert after("what is the last step of a waltz?", question, "It is done there. [1]").terms == ()


@pytest.mark.parametrize(
    ("question", "message", "text"),
    [
        ("How do I install the clock?", "also on Mac?", "How do I install the clock on Mac?"),
        ("How do I install the clock?", "even without internet?", "How do I install the clock without internet?"),
        ("Wie installiere ich die Uhr?", "auch unter Windows?", "Wie installiere ich die Uhr unter Windows?"),
        ("Comment installer l'horloge ?", "aussi sous Windows ?", "Comment installer l'horloge sous Windows ?"),
        ("¿Cómo instalo el reloj?", "¿también en Windows?", "¿Cómo instalo el reloj en Windows?"),
        ("Come installo l'orologio?", "anche su Windows?", "Come installo l'orologio su Windows?"),
    ],
)
def test_what_holds_there_too_is_asked_again_of_it(question: str, message: str, text: str) -> None:
    assert after(message, question, STEPS).text == text


def test_where_it_is_said_is_no_subject_to_go_on_with() -> None:
    for aside in ("where does it say that?", "in French please"):
        text = after("and Italy?", *FRANCE, aside, "In Paris, section 1. [1]").text
        assert text == "What is the capital of Italy?"


# --- what undoes it ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "message", "text"),
    [
        ("How do I enable the mirror?", "and how do I undo that?", "How do I disable the mirror?"),
        ("How do I enable the mirror?", "how do I revert this?", "How do I disable the mirror?"),
        ("How do I enable the mirror?", "Can that be undone?", "How do I disable the mirror?"),
        ("How do I install a tool?", "how to undo this?", "How do I uninstall a tool?"),
        ("How can I turn the mirror on?", "undo that", "How can I turn the mirror off?"),
        ("How do I archive a repository?", "can I undo that later?", "How do I restore a repository?"),
        ("Lock the branch", "how do I undo it?", "Unlock the branch"),
        ("How do I enable the mirror?", "et comment annuler cela ?", "How do I disable the mirror?"),
        ("Wie aktiviere ich den Spiegel?", "wie mache ich das rückgängig?", "Wie deaktiviere ich den Spiegel?"),
        ("Wie füge ich ein Feld hinzu?", "Kann man das rückgängig machen?", "Wie entferne ich ein Feld?"),
        ("Comment activer le miroir ?", "comment annuler cela ?", "Comment désactiver le miroir ?"),
        ("Comment activer le miroir ?", "comment revenir en arrière ?", "Comment désactiver le miroir ?"),
        ("¿Cómo activo el espejo?", "¿y cómo lo deshago?", "¿Cómo desactivo el espejo?"),
        ("Come attivo lo specchio?", "e come lo annullo?", "Come disattivo lo specchio?"),
    ],
)
def test_to_undo_what_was_asked_about_is_its_opposite(question: str, message: str, text: str) -> None:
    assert after(message, question, STEPS).text == text


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("how do I undo a commit?", "en"), ("undo", "de"), ("wie mache ich einen Commit rückgängig?", "de"),
        ("comment annuler une commande ?", "fr"), ("¿cómo deshacer un envío?", "es"), ("come annullo un ordine?", "it"),
    ],
)  # fmt: skip
def test_what_says_of_what_is_no_question_about_the_last_one(message: str, code: str) -> None:
    assert not asks_to_undo(message, code)


@pytest.mark.parametrize(("characters", "undoes"), [(80, True), (81, False)])
def test_who_asks_to_undo_it_says_so_in_eighty_characters(characters: int, undoes: bool) -> None:
    assert asks_to_undo("undo that".ljust(characters, "!"), "en") is undoes


@pytest.mark.parametrize(
    "question",
    ["What does prune remove?", "Which tool locks files?", "How do I change the start page?", "How do I rename it?"],
)
def test_of_what_does_it_or_is_called_so_there_is_no_opposite(question: str) -> None:
    assert undoing(question, "en") == ""


def test_who_asks_how_to_do_something_else_does_not_ask_how_to_do_the_first() -> None:
    assert "enable" not in after("how do I disable it?", "How do I enable the mirror?", STEPS).text
    assert "mirror" in after("how do I turn it off again?", "How do I enable the mirror?", STEPS).text
    assert "aktiviere " not in after("wie schalte ich ihn wieder ab?", "Wie aktiviere ich den Spiegel?", STEPS).text
