"""Points of time in questions about tables: what is before and after, in five languages."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from cairn.language.cells import day_order, plain_cell, read_day, tokens_of
from cairn.query.table_time import Period, periods_in
from cairn.query.table_words import is_verb_of

D = datetime.date


def periods(text: str) -> list[Period]:
    return periods_in(tokens_of(text))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("inspections before 1 January 2027", None, D(2026, 12, 31)),
        ("inspections before January 1, 2027", None, D(2026, 12, 31)),
        ("delivered on or before the 11 April 2025", None, D(2025, 4, 11)),
        ("delivered to Lyon and after 10 April 2025", D(2025, 4, 11), None),
        ("delivered on or after 11 April 2025", D(2025, 4, 11), None),
        ("inspections until 2027-01-01", None, D(2027, 1, 1)),
        ("who started before 2016", None, D(2015, 12, 31)),
        ("cars after 1975", D(1976, 1, 1), None),
        ("cars since March 1975", D(1975, 3, 1), None),
        ("orders in February 2024", D(2024, 2, 1), D(2024, 2, 29)),
        ("orders between 1 March 2026 and 5 May 2026", D(2026, 3, 1), D(2026, 5, 5)),
        ("from March 2025 to June 2025", D(2025, 3, 1), D(2025, 6, 30)),
        ("fertig vor dem 1. Juni 2025", None, D(2025, 5, 31)),
        ("fertig bis 15.05.2025", None, D(2025, 5, 15)),
        ("ab Juni 2024", D(2024, 6, 1), None),
        ("avant le 1er mars 2026", None, D(2026, 2, 28)),
        ("depuis 2018", D(2018, 1, 1), None),
        ("antes del 1 de marzo de 2026", None, D(2026, 2, 28)),
        ("dopo il 2019", D(2020, 1, 1), None),
        ("due before the end of 2026", None, D(2026, 12, 31)),
        ("due after the end of 2026", D(2027, 1, 1), None),
        ("until the end of March 2026", None, D(2026, 3, 31)),
        ("since the beginning of 2025", D(2025, 1, 1), None),
        ("before the start of 2025", None, D(2024, 12, 31)),
        ("after the start of 2025", D(2025, 1, 1), None),
        ("vor Ende 2026 fällig", None, D(2026, 12, 31)),
        ("seit Anfang März 2026", D(2026, 3, 1), None),
        ("avant la fin de 2026", None, D(2026, 12, 31)),
        ("antes de finales de 2026", None, D(2026, 12, 31)),
        ("entro la fine del 2026", None, D(2026, 12, 31)),
    ],
)
def test_what_is_before_and_after(text: str, first: D | None, last: D | None) -> None:
    [found] = periods(text)
    assert (found.first, found.last) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "at or before 11 April 2025",
        "before or on 11 April 2025",
        "before and after 11 April 2025",
        "in April 2025 or later",
        "since April 2025 and before",
        "before 2025 or open",
        "in 2025 or before",
        "am oder vor dem 3. Mai 2025",
        "am 3. Mai 2025 oder früher",
        "le 3 mai 2025 ou avant",
        "el 25 de mayo de 2025 o antes",
        "il 3 maggio 2025 o prima",
    ],
)
def test_half_of_what_is_said_is_not_read(text: str) -> None:
    [found] = periods(text)
    assert (found.first, found.last) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "in 2025",
        "from 2019 to 2022",
        "sales of May",
        "before the inspection",
        "after 5 March",
        "before 3/4",
        "as of 1 June 2025",
        "before or 1 June 2025",
        "in 2025 and for 2026",
    ],
)
def test_a_year_alone_a_range_of_years_and_half_a_date_are_no_period(text: str) -> None:
    assert periods(text) == []


def test_bounds_are_days_or_years() -> None:
    [found] = periods("since 2015")
    assert found.bounds(in_years=True) == (Decimal(2015), None)
    assert found.bounds(in_years=False) == (Decimal(D(2015, 1, 1).toordinal()), None)
    assert found.whole_years
    assert not periods("since May 2015")[0].whole_years


def test_the_longest_date_has_five_words() -> None:
    [found] = periods("desde el 3 de mayo de 2024")
    assert found.first == D(2024, 5, 3)


@pytest.mark.parametrize(
    ("token", "word", "said"),
    [
        ("delivered", "delivery", True),
        ("started", "start", True),
        ("hired", "hire", True),
        ("recogieron", "recogida", True),
        ("fertig", "fertigstellung", True),
        ("fert", "fertigstellung", False),
        ("end", "ended", False),
        ("check", "checkpoint", True),
        ("firmados", "firma", True),
        ("eröffnet", "eröffnung", True),
        ("livré", "livraison", True),
        ("consegnato", "consegna", True),
        ("inaugurado", "inauguración", True),
        ("hires", "hire", True),
        ("completed", "completion", True),
        ("completed", "complaint", False),
        ("ordered", "ordinal", False),
        ("delivered", "deliverance", False),
        ("commencé", "commande", False),
        ("contract", "contribution", False),
        ("2024", "2024a", False),
    ],
)
def test_a_verb_may_say_what_a_header_names(token: str, word: str, said: bool) -> None:
    [token], [word] = tokens_of(token), tokens_of(word)
    assert is_verb_of(token, word) is said


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["3/4/2019", "13/4/2019"], "day"),
        (["3/4/2019", "4/13/2019"], "month"),
        (["13/4/2019", "4/13/2019"], None),
        (["3/4/2019", "3/3/2019"], None),
    ],
)
def test_a_column_tells_what_comes_first_in_its_dates(cells: list[str], order: str | None) -> None:
    assert day_order(cells) == order


def test_between_points_the_day_comes_first() -> None:
    assert read_day("01.08.2025") == D(2025, 8, 1)
    assert read_day("3/4/2019") is None
    assert read_day("3/4/2019", "month") == D(2019, 3, 4)
    assert read_day("3/4/2019", "day") == D(2019, 4, 3)


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("**41.5**", "41.5"),
        ("[E-2](https://example.org/e2)", "E-2"),
        ("[E-2](https://example.org/e2 'Route (E)')", "E-2"),
        ('[E-2](<e 2.md> "Route")', "E-2"),
        ("`8`", "8"),
        ("2 * 3", "2 * 3"),
        ("12*", "12*"),
        ("snake_case", "snake_case"),
    ],
)
def test_marks_of_markdown_are_no_part_of_a_cell(cell: str, plain: str) -> None:
    assert plain_cell(cell) == plain
