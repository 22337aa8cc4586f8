"""The language of a message: short texts by their own words; what says nothing keeps the default."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.language.identify import by_words, detect


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("when was it founded?", "en"), ("why?", "en"), ("What is BM25?", "en"), ("hello", "en"),
        ("et son prix ?", "fr"), ("pourquoi ?", "fr"), ("et en Allemagne ?", "fr"), ("c'est quoi un index GIN", "fr"),
        ("¿y cuánto cuesta?", "es"), ("y cuanto cuesta", "es"), ("¿y en 2020?", "es"), ("hola", "es"),
        ("und wie hoch ist er?", "de"), ("warum", "de"), ("und 2020?", "de"), ("Wo liegt Bern?", "de"),
        ("Wozu dient COOKIE_ALLOW_LIST?", "de"), ("À quoi sert `keep the last`, le paramètre ?", "fr"),
    ],
)  # fmt: skip
def test_short_messages_in_four_languages(message: str, language: str) -> None:
    assert by_words(message) == language
    assert detect(message, "xx") == language


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Come cambio la lingua?", "it"), ("Come posso usare meno memoria", "it"), ("Posso tornare indietro?", "it"),
        ("come on", "de"), ("Come to Paris", "en"), ("come back to the point", "en"), ("Como cambio mi clave", "es"),
    ],
)  # fmt: skip
def test_a_word_that_opens_a_question_tells_its_language(message: str, language: str) -> None:
    assert detect(message, "en" if language == "en" else "de") == language


@pytest.mark.parametrize("message", ["BM25", "pg_stat_io", "Apple", "2020", "", "?", "🙂", "Siemens AG"])
def test_what_says_nothing_keeps_the_default(message: str) -> None:
    assert detect(message, "fr") == "fr"


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Che cosa è la capitale d'Italia?", "it"),
        ("Wat is de hoofdstad van Nederland?", "nl"),
        ("Какая столица России?", "ru"),
        ("日本の首都はどこですか", "ja"),
    ],
)
def test_other_languages_are_recognised_by_statistics(message: str, language: str) -> None:
    assert detect(message, "en") == language


@given(st.text())
def test_any_text_has_a_language_or_the_default(message: str) -> None:
    assert 2 <= len(detect(message, "en")) <= 3


@pytest.mark.measurement
@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("multilingual_queries/miracl_en_train.jsonl", "en"),
        ("multilingual_queries/miracl_fr_train.jsonl", "fr"),
        ("multilingual_queries/miracl_es_train.jsonl", "es"),
        ("xquad_de/queries.jsonl", "de"),
    ],
)
def test_native_questions_are_recognised(shared_data: Path, path: str, language: str) -> None:
    with (shared_data / path).open() as lines:
        questions = [json.loads(line)["text"] for line in lines]
    right = sum(detect(question, "xx") == language for question in questions)
    assert right / len(questions) > 0.98
