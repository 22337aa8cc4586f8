"""The fast check, against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.ground.score import fast_score, languages_differ, trigrams

SOURCE = "The bridge was built in 1889 by Italian engineers. It spans the river Po."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SOURCE, 1.0),
        # content: bridge built 1889 (all there); trigrams with two of them: "built in 1889" (there), "bridge was built"
        ("The bridge was built in 1889.", 1.0),
        # content: bridge built 1895 -> 2/3; of the trigrams "bridge was built", "built in 1895" the first is there
        ("The bridge was built in 1895.", 0.6 * 2 / 3 + 0.4 * 1 / 2),
        # content: engineers spans bridge -> 3/3; "engineers spans bridge" is not there
        ("Engineers spans bridge", 0.6),
        # two words make no trigram: words alone
        ("Italian bridge", 1.0),
        ("Italian dinosaur", 0.5),
        ("Whales eat krill daily", 0.0),
        ("It is what it is.", 0.0),
        ("", 0.0),
    ],
)
def test_six_tenths_words_and_four_tenths_trigrams(answer: str, expected: float) -> None:
    assert fast_score(answer, [SOURCE]) == pytest.approx(expected)


def test_a_trigram_needs_two_content_words() -> None:
    assert trigrams(["the", "old", "bridge", "of", "the"]) == {("the", "old", "bridge"), ("old", "bridge", "of")}


def test_a_trigram_does_not_reach_from_one_source_into_the_next() -> None:
    together, apart = ["red bridge collapsed"], ["red bridge", "collapsed"]
    assert fast_score("red bridge collapsed", together) == 1.0
    assert fast_score("red bridge collapsed", apart) == pytest.approx(0.6)


def test_case_and_accents_do_not_matter() -> None:
    assert fast_score("LE MUSÉE rouvre", ["le musee rouvre"]) == 1.0


EN = "The museum is open on every day of the week, but it was closed for the whole of the winter."
FR = "Le musée est ouvert tous les jours de la semaine, mais il était fermé pendant tout l'hiver."
ES = "El museo está abierto todos los días de la semana, pero estuvo cerrado durante el invierno."
DE = "Das Museum ist an jedem Tag der Woche geöffnet, aber im Winter war es für Wochen geschlossen."


@pytest.mark.parametrize("answer", [EN, FR, ES, DE])
@pytest.mark.parametrize("source", [EN, FR, ES, DE])
def test_answers_in_another_language_than_the_sources_are_recognised(answer: str, source: str) -> None:
    assert languages_differ(answer, [source]) == (answer != source)


@pytest.mark.parametrize("answer", ["Paris", "1889", "ACME GmbH & Co. KG", "x = foo(bar)", ""])
def test_what_could_be_any_language_differs_from_none(answer: str) -> None:
    assert not languages_differ(answer, [FR])


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_has_a_score(answer: str, sources: list[str]) -> None:
    assert 0 <= fast_score(answer, sources) <= 1
    assert fast_score(answer, [*sources, answer]) >= fast_score(answer, sources)
