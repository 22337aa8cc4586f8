"""Questions that go through other ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.language.bridge import bridge, spread


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
        ("Who is Mozart's grandmother?", "en"),
        ("What is the most popular hotel in Gisvi's city of birth?", "en"),
        ("When was the place of birth of the performer of Decade founded?", "en"),
        ("Who is the mother of the man who wrote Emma?", "en"),
        ("Who is the spouse of Big Eye's main director?", "en"),
        ("What currency predated the Euro in the country Signmark is from?", "en"),
        ("When did the country containing Nugegoda leave the British Empire?", "en"),
        ("Quel est le lieu de naissance de l'interprète de Ne me quitte pas ?", "fr"),
        ("Qui est la grand-mère de Mozart ?", "fr"),
        ("Où est né le réalisateur de Playtime ?", "fr"),
        ("¿Cuál es el lugar de nacimiento del director de Volver?", "es"),
        ("¿Quién es la abuela de Mozart?", "es"),
        ("Wer ist die Großmutter von Mozart?", "de"),
        ("Was ist der Geburtsort des Regisseurs von Metropolis?", "de"),
        ("When did Mozart's mother die?", "en"),
        ("Where was the father of Clara Schumann born?", "en"),
        ("What nationality is Ada Lovelace's husband?", "en"),
        ("Who is Clara Schumann (Pianist)'s stepmother?", "en"),
        ("Which country is the director of Solaris from?", "en"),
        ("Was ist der Geburtsort der Großmutter von Mozart?", "de"),
        ("Wer ist die Stiefmutter von Clara Schumann?", "de"),
        ("¿Quién es la madrastra de Clara Schumann?", "es"),
        ("Quel est le lieu de naissance du grand-père de Mozart ?", "fr"),
        ("Dove è nato il pittore che ha dipinto Guernica?", "it"),
        ("Dove è nato il regista di Playtime?", "it"),
        ("Qual è il luogo di nascita dell'interprete di Volare?", "it"),
        ("Chi è la nonna di Mozart?", "it"),
        ("Qual è la capitale del paese della città in cui nacque?", "it"),
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
        ("Who is Big Eyes's director?", "en"),
        ("Who was the mother of Mozart?", "en"),
        ("Qui est la mère de Mozart ?", "fr"),
        ("¿Quién es el director de Volver?", "es"),
        ("Wer ist der Vater von Mozart?", "de"),
        ("Who is Clara Schumann's husband?", "en"),
        ("What is the name of the capital?", "en"),
        ("Chi è la madre di Mozart?", "it"),
        ("Chi è il regista di Volver?", "it"),
        ("Qual è la capitale della Francia?", "it"),
        ("Quanti giorni di ferie ci sono?", "it"),
        ("Quels sont les horaires de la mairie ?", "fr"),
        ("¿Cuántos días de permiso hay?", "es"),
        ("Wie viele Urlaubstage gibt es?", "de"),
        ("x " * 1000 + "the man who is", "en"),
    ],
)
def test_a_question_that_names_what_it_asks_about_is_one_fact(question: str, language: str) -> None:
    assert bridge(question, language) is None


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Compare attention mechanisms across transformer variants", "en"),
        ("How has the field's understanding of scaling laws evolved?", "en"),
        ("How do safety rules differ across the plants?", "en"),
        ("How did our prices change over the years?", "en"),
        ("Vergleiche die Urlaubsregeln in den verschiedenen Ländern", "de"),
        ("Wie hat sich das Verständnis von Skalierungsgesetzen entwickelt?", "de"),
        ("Comparez les règles de congé selon les pays", "fr"),
        ("Comment la compréhension des lois d'échelle a-t-elle évolué ?", "fr"),
        ("¿Cómo ha evolucionado la comprensión de las leyes de escala?", "es"),
        ("Compara los mecanismos de atención entre las distintas variantes", "es"),
        ("Come si è evoluta la comprensione delle leggi di scala?", "it"),
        ("Confronta i meccanismi di attenzione tra le diverse varianti", "it"),
    ],
)
def test_an_answer_may_be_spread_over_many_places(question: str, language: str) -> None:
    assert spread(question, language)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("How did revenue change in 2019?", "en"),
        ("How has revenue changed since 2019?", "en"),
        ("How has the company developed the product that it sells?", "en"),
        ("Compare BM25 and TF-IDF", "en"),
        ("What are the differences between annual leave and sick leave?", "en"),
        ("Wie hat sich der Umsatz entwickelt?", "de"),
        ("Vergleiche Fundus und Stella", "de"),
        ("Comment demander un congé ?", "fr"),
        ("¿Cómo ha cambiado el horario?", "es"),
        ("compare " + "x " * 400 + "across y", "en"),
    ],
)
def test_what_one_place_may_answer_is_not_spread(question: str, language: str) -> None:
    assert spread(question, language) is None


@pytest.mark.measurement
@pytest.mark.parametrize(
    ("data", "language"), [("router_mix/dev", "en"), ("spf_fr/queries", "fr"), ("xquad_de/queries", "de")]
)
def test_ordinary_questions_are_not_taken_for_spread_ones(shared_data: Path, data: str, language: str) -> None:
    lines = (shared_data / f"{data}.jsonl").read_text(encoding="utf-8").splitlines()
    assert not [text for text in (json.loads(line)["text"] for line in lines) if spread(text, language)]


@pytest.mark.measurement
def test_chains_of_facts_are_told_from_single_facts(shared_data: Path) -> None:
    """What docs/quality.md says, on the real messages."""
    lines = (shared_data / "router_mix" / "dev.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    found = {
        label: [bool(bridge(row["text"], "en")) for row in rows if row["label"] == label]
        for label in ("multi_hop", "single_fact")
    }
    assert sum(found["multi_hop"]) / len(found["multi_hop"]) > 0.75
    assert sum(found["single_fact"]) / len(found["single_fact"]) < 0.05


@pytest.mark.measurement
@pytest.mark.parametrize(
    ("data", "language", "least", "most"),
    [
        ("musique100", "en", 0.9, 1),
        ("xquad_en", "en", 0, 0.14),
        ("cranfield", "en", 0, 0.14),
        ("spf_fr", "fr", 0, 0.04),
    ],
)
def test_chains_and_false_alarms(shared_data: Path, data: str, language: str, least: float, most: float) -> None:
    lines = (shared_data / data / "queries.jsonl").read_text().splitlines()
    seen = [bool(bridge(json.loads(line)["text"], language)) for line in lines]
    assert least <= sum(seen) / len(seen) <= most


@pytest.mark.parametrize(
    "unit",
    ["a b's ", "the country A", "of ", "A's wife ", "the mother of the ", "what a is b's ", "la madre della ", "grand"],
)
def test_reading_takes_linear_time(unit: str) -> None:
    """What is longer than LONGEST is not read at all; below it, twice the text takes about twice as long."""
    import time

    def spent(times: int) -> float:
        text = (unit * 300)[: 150 * times]
        best = 1.0
        for _ in range(5):
            begun = time.thread_time()
            for language in ("en", "fr", "es", "de", "it"):
                bridge(text, language)
            best = min(best, time.thread_time() - begun)
        return best

    assert spent(4) < 12 * spent(1) + 0.01
