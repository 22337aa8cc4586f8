"""Questions how two things are related, in four languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.query.classify import classify
from cairn.query.related import ends_of

ASKED = [
    ("How are Marie Curie and Warsaw related?", "en"),
    ("how is Marie Curie related to Warsaw", "en"),
    ("How is Marie Curie connected with Warsaw?", "en"),
    ("How does Marie Curie relate to Warsaw?", "en"),
    ("What is the relationship between Marie Curie and Warsaw?", "en"),
    ("What connection is there between Marie Curie and Warsaw?", "en"),
    ("Please explain the link between Marie Curie and Warsaw.", "en"),
    ("What connects Marie Curie and Warsaw?", "en"),
    ("What does Marie Curie have to do with Warsaw?", "en"),
    ("What is Marie Curie's connection to Warsaw?", "en"),
    ("How are Marie Curie and Warsaw connected to each other?", "en"),
    ("Quelle est la relation entre Marie Curie et Warsaw ?", "fr"),
    ("Quel lien existe-t-il entre Marie Curie et Warsaw ?", "fr"),
    ("Comment Marie Curie est-elle liée à Warsaw ?", "fr"),
    ("Comment sont liées Marie Curie et Warsaw ?", "fr"),
    ("Qu’est-ce qui relie Marie Curie à Warsaw ?", "fr"),
    ("¿Cuál es la relación entre Marie Curie y Warsaw?", "es"),
    ("¿Qué relación hay entre Marie Curie y Warsaw?", "es"),
    ("¿Cómo se relaciona Marie Curie con Warsaw?", "es"),
    ("¿Cómo están relacionadas Marie Curie y Warsaw?", "es"),
    ("¿Qué tiene que ver Marie Curie con Warsaw?", "es"),
    ("Welche Beziehung besteht zwischen Marie Curie und Warsaw?", "de"),
    ("Wie hängen Marie Curie und Warsaw zusammen?", "de"),
    ("Wie sind Marie Curie und Warsaw miteinander verbunden?", "de"),
    ("Was verbindet Marie Curie mit Warsaw?", "de"),
    ("Was hat Marie Curie mit Warsaw zu tun?", "de"),
    ("Wie ist Marie Curie mit Warsaw verbunden?", "de"),
]


@pytest.mark.parametrize(("question", "language"), ASKED)
def test_both_ends_are_read_as_they_are_written(question: str, language: str) -> None:
    assert ("Marie Curie", "Warsaw") in ends_of(question, language)
    assert classify(question, language).type == "RELATIONAL"


@pytest.mark.parametrize(
    "question",
    [
        "How is Marie Curie?", "Where was Marie Curie born?", "What is radium?", "Compare Paris and London.",
        "How do I connect the printer?", "Who worked with Marie Curie?", "What is the difference between Paris and London?",
        "How are you?", "", "How are Marie Curie and Warsaw related, and when was each of them founded, and by whom?",
        "Tell me about links", "How are they related?",
    ],
)  # fmt: skip
def test_other_questions_have_no_ends(question: str) -> None:
    assert ends_of(question, "en") == ()


def test_a_joining_word_within_a_name_gives_several_readings() -> None:
    found = ends_of("How are Johnson and Johnson and Pfizer related?", "en")
    assert found == (("Johnson", "Johnson and Pfizer"), ("Johnson and Johnson", "Pfizer"))


def test_case_and_accents_of_names_are_kept() -> None:
    assert ends_of("how is HTTPServer related to Łódź and ÉCOLE?", "en") == (("HTTPServer", "Łódź and ÉCOLE"),)


@given(st.text(max_size=400), st.sampled_from(["en", "fr", "es", "de", "xx"]))
def test_whatever_is_asked_ends_are_parts_of_it(text: str, language: str) -> None:
    for left, right in ends_of(f"how are {text} related", language):
        assert left in text
        assert right in text
