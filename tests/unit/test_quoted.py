"""Where an answer has the words that it quotes."""

from __future__ import annotations

import pytest

from cairn.language.quoted import locate_quotation


@pytest.mark.parametrize(
    ("answer", "quote", "found"),
    [
        ("One here. It costs 4 euros. [1] Three.", "It costs 4 euros.", "It costs 4 euros."),
        (
            "See the guide for more. [1] Go.",
            "See the [guide](http://example.org/a) for\nmore.",
            "See the guide for more.",
        ),
        ("See a guide for it. [1] Go.", "See [a](b.md 'Title') guide for it.", "See a guide for it."),
        ("It costs. It costs 4. [1]\n\nAlso in:\n- b [2]", "It costs 4.", "It costs 4."),
        ("It costs 4 euros. [1]", "It costs 4 euros.", None),  # that is all there is
        ("- It costs 4 euros [1]\n- not more", "It costs 4 euros", "It costs 4 euros"),
        ("Total | 2018 | 7 [1]\n\n| a |", "Total | 9 | 7", None),
        ("Nothing is cited.", "Nothing", None),
        ("Far away. [1]", "", None),
    ],
)
def test_it_is_found_by_its_first_words_before_its_number(answer: str, quote: str, found: str | None) -> None:
    place = locate_quotation(answer, 1, quote)
    assert (answer[slice(*place)] if place else None) == found


def test_the_beginning_of_a_quotation_and_its_length_are_enough() -> None:
    answer = f"Before it. {'word ' * 80}end. [1] Behind it."
    place = locate_quotation(answer, 1, "word word word", 404)
    assert place is not None
    assert answer[slice(*place)].endswith("end.")
