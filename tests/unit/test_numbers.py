"""Numbers and units, however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.language.numbers import Quantity, agrees, quantities


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,500", "1500", ""), ("1.500", "1500", ""), ("1 500", "1500", ""), ("1500", "1500", ""),
        ("1,500.50 €", "1500.5", "€"), ("1.500,50 €", "1500.5", "€"), ("€1500.5", "1500.5", "€"),
        ("2.5 million", "2500000", ""), ("2,5 Millionen", "2500000", ""), ("3 milliards d'euros", "3000000000", ""),
        ("five", "5", ""), ("cinq", "5", ""), ("cinco", "5", ""), ("fünf", "5", ""), ("zwölf", "12", ""),
        ("12 km", "12", "km"), ("12 kilomètres", "12", "km"), ("12 miles", "12", "mi"), ("50%", "50", "%"),
        ("50 Prozent", "50", "%"), ("20 Jahre", "20", "y"), ("3 heures", "3", "h"), ("0.750", "0.75", ""),
        ("the 15th", "15", ""), ("the 1990s", "1990", ""), ("version 3.11.2", "3.11.2", ""), ("007", "7", ""),
    ],
)  # fmt: skip
def test_one_number_has_one_spelling(text: str, value: str, unit: str) -> None:
    assert list(quantities(text)) == [Quantity(value, unit)]


@pytest.mark.parametrize(
    ("said", "told", "expected"),
    [
        ("330 m", "300 m high", False),
        ("300 feet", "300 metres high", False),
        ("300", "300 metres high", True),
        ("300 metres", "its height is 300", True),
        ("two million", "2,000,000 people", True),
    ],
)
def test_numbers_agree_where_value_and_unit_do(said: str, told: str, expected: bool) -> None:
    (quantity,) = quantities(said)
    assert agrees(quantity, frozenset(quantities(told))) is expected


@given(st.text(max_size=300))
def test_any_text_has_quantities_that_agree_with_themselves(text: str) -> None:
    found = list(quantities(text))
    assert all(agrees(quantity, frozenset(found)) for quantity in found)
