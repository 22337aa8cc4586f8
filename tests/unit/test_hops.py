"""Questions that go through other ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.query.hops import bridge


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Who was the first president of the company that published the Journal of Optics?", "en"),
        ("Where was the director of the film Solaris born and who is the actor starring in it?", "en"),
        ("What country was the author of Brand a citizen of?", "en"),
        ("When did the producer of Songs I Wrote with Amy die?", "en"),
        ("What is the capital of the country of the river's source?", "en"),
        ("Où est né le peintre qui a peint Guernica ?", "fr"),
        ("Quelle est la capitale de la ville du pays dont il est originaire ?", "fr"),
        ("¿Dónde nació el pintor que pintó el Guernica?", "es"),
        ("Wo wurde der Maler, der Guernica gemalt hat, geboren?", "de"),
    ],
)
def test_a_description_in_place_of_a_name_is_a_hop(question: str, language: str) -> None:
    assert bridge(question, language)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("How many days of leave do employees have?", "en"),
        ("Who is the author of Brand?", "en"),
        ("What is the capital of France?", "en"),
        ("Quels sont les horaires de la mairie ?", "fr"),
        ("¿Cuántos días de permiso hay?", "es"),
        ("Wie viele Urlaubstage gibt es?", "de"),
        ("x " * 1000 + "the man who is", "en"),
    ],
)
def test_a_question_that_names_what_it_asks_about_is_one_fact(question: str, language: str) -> None:
    assert bridge(question, language) is None


def test_chains_of_facts_are_told_from_single_facts(shared_data: Path) -> None:
    """What docs/quality.md says, on the real messages."""
    lines = (shared_data / "router_mix" / "dev.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    found = {
        label: [bool(bridge(row["text"], "en")) for row in rows if row["label"] == label]
        for label in ("multi_hop", "single_fact")
    }
    assert sum(found["multi_hop"]) / len(found["multi_hop"]) > 0.6
    assert sum(found["single_fact"]) / len(found["single_fact"]) < 0.05
