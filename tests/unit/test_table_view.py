"""What the table parser reads of a question and of a table: numbers, months and days, and the cells that are shown."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from cairn.query.table_view import FEW, LONGEST_CELL, MOST_SHOWN, OTHERS_SHOWN, closeness, mentions_in, view_of


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("above 2500 m", [("2500",)]),
        ("more than 2,500 m", [("2500", "2.500")]),
        ("mehr als 2.500,5 kg", [("2500.5",)]),
        ("over 1,234,567", [("1234567",)]),
        ("at least 0.5", [("0.5",)]),
        ("above 2,50", [("2.50",)]),
        ("above 1234,567", [("1234.567",)]),
        ("deals of 40k or more", [("40000",)]),
        ("40 kg or more", [("40",)]),
        ("the three oldest", [("3",)]),
        ("die drei ältesten", [("3",)]),
        ("between 10 and 20", [("10",), ("20",)]),
        ("below 0.125", [("0.125",)]),
        ("über 1 500 kg", [("1500",)]),
        ("50k/year, 10K-20K", [("50000",), ("10000",), ("20000",)]),
        ("it's 1'500", [("1500",)]),
        ("2 m long", [("2",)]),
        ("2023¹ or ③", [("2023",)]),
        ("above -5", [()]),
        ("more than 2 million, 5 Mio or 3 milliards", [(), (), ()]),
        ("two million people, zwei Millionen, 5 mln, 500 TEUR or $5M", [(), (), (), (), ()]),
        ("more than once", [()]),
        ("1,2,3", [()]),
    ],
)
def test_numbers_are_read_in_each_way_they_may_be_meant(question: str, values: list[tuple[str, ...]]) -> None:
    assert [one.values for one in mentions_in(question)] == [tuple(map(Decimal, one)) for one in values]


def test_months_and_days_are_told_from_numbers() -> None:
    [march, year, day] = mentions_in("from March 2024 to 2024-05-31")
    assert (march.month, march.values, year.month, year.values) == (True, (3,), False, (2024,))
    assert day.day == datetime.date(2024, 5, 31)
    assert mentions_in("01.03.2025")[0].day == datetime.date(2025, 3, 1)
    assert [(one.day, one.values) for one in mentions_in("3/4/2024 or 1.6.24")] == [(None, ())] * 2, (
        "may be several days"
    )
    assert not mentions_in("may I see all of them"), "a month needs a capital where it is a word of another kind"
    assert mentions_in("in May")[0].values == (5,)
    assert mentions_in("in june")[0].month
    assert mentions_in("in Sept")[0].month
    assert not mentions_in("sept jours")[0].month
    assert not mentions_in("im mai")


@pytest.mark.parametrize(
    ("question", "place", "said"),
    [
        ("the second highest", 2, "second"),
        ("2nd oldest", 2, "2nd"),
        ("the 3rd-highest", 3, "3rd"),
        ("zweitgrößte Stadt", 2, "zweitgrößte"),
        ("drittletzter", 3, "drittletzter"),
        ("der neunte", 9, "neunte"),
        ("the tenth", 10, "tenth"),
        ("la huitième", 8, "huitième"),
        ("el noveno", 9, "noveno"),
        ("settima", 7, "settima"),
        ("quartultimo", 4, "quartultimo"),
        ("achtgrößte", 8, "achtgrößte"),
        ("der vorletzte Platz", 2, "vorletzte"),
        ("la 3e plus chère", 3, "3e"),
        ("le deuxième", 2, "deuxième"),
        ("el tercer piso", 3, "tercer"),
        ("il terzultimo", 3, "terzultimo"),
        ("am 2. Mai", 2, "2."),
    ],
)
def test_a_place_is_told_from_a_number(question: str, place: int, said: str) -> None:
    [found, *_] = mentions_in(question)
    assert (found.values, found.ordinal, question[found.start : found.end]) == ((place,), True, said)


@pytest.mark.parametrize(
    "question",
    [
        "fünftausend Euro",
        "zweitürig",
        "ein Drittel",
        "8 oder 2",
        "acht Tage",
        "two years",
        "the 2 oldest",
        "2.5",
        "2024er",
        "achtzig",
    ],
)
def test_a_number_is_no_place(question: str) -> None:
    assert not any(one.ordinal for one in mentions_in(question))
    assert mentions_in("drei Viertel")[-1].values == (3,)


@pytest.mark.parametrize(
    ("question", "value", "unit"),
    [
        ("over 2 kg", "2", "kg"),
        ("more than twenty-five pounds", "25", "£"),
        ("twenty five", "25", ""),
        ("two hundred metres", "200", "m"),
        ("trente-deux jours", "32", "d"),
        ("mehr als 2 Wochen", "2", "w"),
        ("2nd floor", "2", ""),
        ("30 km/h", "30", "km/h"),
        ("30 kilometres per hour", "30", "kilometres per hour"),
        ("12 cents", "12", "cents"),
        ("5 miles", "5", "mi"),
    ],
)
def test_numbers_in_words_and_their_units(question: str, value: str, unit: str) -> None:
    [found] = mentions_in(question)
    assert (found.values, found.unit) == ((Decimal(value),), unit)


def test_mentions_stand_where_they_are_said() -> None:
    question = "the 3 cheapest under 40"
    assert [question[one.start : one.end] for one in mentions_in(question)] == ["3", "40"]


def test_cells_that_the_question_may_name_are_shown_first() -> None:
    cells = ["owner", "stray", "owner", "transfer"]
    assert view_of("came in as strays", "Dogs", ["origin"], ["text"], [cells]).columns[0].values == (
        "stray",
        "owner",
        "transfer",
    )
    names = [f"name {chr(97 + at)}" for at in range(FEW)] + ["Hector"]
    shown = view_of("what about Hector", "", ["name"], ["text"], [names]).columns[0].values
    assert shown[0] == "Hector"
    assert len(shown) == 1 + OTHERS_SHOWN
    assert (MOST_SHOWN, FEW, OTHERS_SHOWN) == (8, 12, 4), "as the parser was trained"
    few = [f"kind {at}" for at in range(FEW)]
    assert len(view_of("any", "", ["kind"], ["text"], [few]).columns[0].values) == MOST_SHOWN


def test_a_document_that_is_called_as_its_table_is_said_once() -> None:
    """What is asked says which club or which list it means, in words of either."""
    for title, document, kept in (
        ("Dogs", "dogs", ""),
        ("Dogs", "Fernhill vets", "Fernhill vets"),
        ("", "Vets", "Vets"),
    ):
        assert view_of("any", title, ["kg"], ["number"], [[]], document).document == kept


def test_of_numbers_two_are_shown_and_nothing_of_empty_cells() -> None:
    view = view_of("any", "", ["kg", "note"], ["number", "text"], [["1", "2", "3"], ["", " ", ""]])
    assert [one.values for one in view.columns] == [("1", "2"), ()]


@pytest.mark.parametrize(
    ("question", "cell", "share"),
    [
        (["strays"], "stray", 1.0),
        (["old", "town"], "Old Town", 1.0),
        (["town"], "Old Town", 4 / 7),
        (["star"], "stray", 0.0),
        (["2024"], "2023", 0.0),
        (["mur"], "Murmeln", 0.0),
        (["strange"], "strays", 0.0),
        (["tree"], "trees", 1.0),
        (["tea"], "teas", 0.0),
        (["end"], "a" * LONGEST_CELL + " end", 0.0),
        (["end"], "a" * (LONGEST_CELL - 4) + " end", 3 / (LONGEST_CELL - 1)),
    ],
)
def test_closeness_is_the_share_of_a_cell_that_is_said(question: list[str], cell: str, share: float) -> None:
    assert closeness(question, cell) == pytest.approx(share)
