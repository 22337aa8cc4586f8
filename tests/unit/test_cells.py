"""Cells of tables as values: numbers with their units, dates, and what is neither."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path

import pytest

from cairn.language.cells import (
    NO_SIGNS,
    YES_SIGNS,
    combine_units,
    decimal_mark,
    key_of,
    mark_beside_small,
    plain_cell,
    read_cell,
    read_number,
)


@pytest.mark.parametrize(
    ("text", "mark", "number", "unit"),
    [
        ("1,234.5", ".", "1234.5", ""),
        ("1.234,5", ",", "1234.5", ""),
        ("1 234,5", ",", "1234.5", ""),
        ("1'234.50", ".", "1234.50", ""),
        ("(12.5)", ".", "-12.5", ""),
        ("-3", ".", "-3", ""),
        ("−3", ".", "-3", ""),
        ("12 %", ".", "12", "#%"),
        ("(0.5)%", ".", "-0.5", "#%"),
        ("$ 3m", ".", "3", "$#m"),
        ("$(12.5)", ".", "-12.5", "$#"),
        ("45,3 €", ",", "45.3", "#€"),
        ("€ 3 Mio.", ".", "3", "€#Mio."),
        ("EUR 1,000", ".", "1000", "EUR#"),
        ("7 km/h", ".", "7", "#km/h"),
        ("12 (1)", ".", "12", ""),
        ("2019", ".", "2019", ""),
        (".5", ".", "0.5", ""),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, mark: str, number: str, unit: str) -> None:
    cell = read_cell(text, mark)  # type: ignore[arg-type]
    assert (cell.kind, cell.number, cell.unit) == ("number", Decimal(number), unit)


@pytest.mark.parametrize("text", ["", "  ", "—", "-", "n/a", "N/A", "k. A.", "null", "..."])
def test_what_says_that_there_is_nothing_is_nothing(text: str) -> None:
    assert read_cell(text, ".").kind == "nothing"


@pytest.mark.parametrize(
    "text",
    [
        "3.11.2",
        "1,23,456",
        "2009 W. 6th St.",
        "12 of 30",
        "3/4",
        "10-20",
        "65.4%)",
        "approximately 5",
        "v2",
        "+49 30 1234",
        "1.2.3,4",
    ],
)
def test_what_is_not_one_number_is_text(text: str) -> None:
    assert read_cell(text, ".").kind == "text"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2012/01/31", (2012, 1, 31)),
        ("2012-01-31", (2012, 1, 31)),
        ("2012-01-31 10:30:00", (2012, 1, 31)),
        ("Jan 3 2000", (2000, 1, 3)),
        ("3 January 2000", (2000, 1, 3)),
        ("31.12.2024", (2024, 12, 31)),
        ("3. März 2024", (2024, 3, 3)),
    ],
)
def test_a_day_is_read(text: str, day: tuple[int, int, int]) -> None:
    cell = read_cell(text, ".")
    assert cell.date == datetime.date(*day)
    assert key_of(text, cell) == str(day[0])


@pytest.mark.parametrize("text", ["3/4/2019", "2019-02-30", "May", "2024-13-01"])
def test_what_may_be_two_days_or_none_is_no_date(text: str) -> None:
    assert read_cell(text, ".").date is None


@pytest.mark.parametrize(
    ("texts", "language", "mark"),
    [
        (["1,234.5", "12"], None, "."),
        (["1.234,5", "1.234"], "de", ","),
        (["12,5"], "de", ","),
        (["1.5", "2.125"], "de", "."),
        (["1,234"], "en", "."),
        (["1,234", "5,678"], None, "."),
        (["1.234"], "de", None),  # a thousand, or one and a bit
        (["1,234"], "fr", None),
        (["1,5", "1.5"], None, None),
        (["0.125"], "de", "."),
        (["31.12.2024"], "de", "."),
        ([], "de", "."),
    ],
)
def test_how_a_table_writes_decimals(texts: list[str], language: str | None, mark: str | None) -> None:
    assert decimal_mark(texts, language) == mark


@pytest.mark.parametrize(
    ("texts", "least", "mark"),
    [
        (["1.650", "1.090", "980", "875"], 3, ","),  # rents: nothing else can be meant, in any language
        (["1,650", "1,090", "980"], 3, "."),
        (["1.650", "1.090", "12"], 3, None),  # kilograms, perhaps
        (["1.650", "1.090", "12"], 1, ","),
        (["1.650", "980"], 3, None),  # one of them says too little
        (["1.650", "1.090", "1234"], 1, None),
        (["1.650", "1.5", "980"], 3, None),
    ],
)
def test_a_point_beside_hundreds_is_of_thousands(texts: list[str], least: int, mark: str | None) -> None:
    assert mark_beside_small(texts, least) == mark


def test_what_is_sure_of_points_holds_in_any_language() -> None:
    rents = ["1.650", "1.090", "980"]
    assert [decimal_mark(rents, language, None, ",") for language in (None, "en", "es")] == [","] * 3
    assert decimal_mark(rents, "en", ",") == ".", "what is only likely holds where points are of thousands"
    assert decimal_mark(["1.5"], None, None, ",") == ".", "a number that tells by itself is surer"


def test_numbers_of_different_units_are_not_added() -> None:
    assert combine_units(["$#", ""]) == "$#"
    assert combine_units(["$ #", "$#"]) is not None
    assert combine_units([""]) == ""
    assert combine_units(["#%", ""]) is None
    assert combine_units(["$#", "€#"]) is None
    assert combine_units(["$#m", "$#bn"]) is None
    assert combine_units(["#kg", ""]) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("✅", "✅"), ("✔️", "✔"), ("❌ ⁸", "❌"), ("✅ ⁵, ⁷", "✅"), ("✓ (1)", "✓"), (":x:", "❌"), (":white_check_mark:", "✅"),
        ("🔶", ""), ("×", ""), ("–", ""), ("x", "x"), ("✅ since 4", "since 4"), (":warning:", "warning"),
    ],
)  # fmt: skip
def test_a_sign_says_yes_or_no(text: str, key: str) -> None:
    assert key_of(text, read_cell(text, ".")) == key


def test_the_statement_knows_the_signs_for_yes_and_no() -> None:
    text = (Path(__file__).parents[2] / "sql" / "queries" / "tables.sql").read_text(encoding="utf-8")
    known, yes = ({*found.split(",")} for found in re.findall(r"'\{([^{}']*,x,[^{}']*)\}'", text))
    assert known >= YES_SIGNS | NO_SIGNS
    assert yes >= YES_SIGNS
    assert yes.isdisjoint(NO_SIGNS)


def test_a_label_is_called_without_its_footnote() -> None:
    assert key_of("Research & development (1)", read_cell("Research & development (1)", ".")) == "research development"
    assert key_of("12.5", read_cell("12.5", ".")) == ""
    assert key_of("2019", read_cell("2019", ".")) == "2019"


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("-£5", -5, "£#"), ("£-5", -5, "£#"), ("£(5)", -5, "£#"), ("(£5)", -5, "£#"), ("(5)", -5, ""), ("\u22125", -5, ""),
        ("£\u22125", -5, "£#"), ("-5 €", -5, "#€"), ("£5.00-", -5, "£#"), ("5.20- €", -5.2, "#€"), ("1,204.50-", -1204.5, ""),
        ("5.00\u2212", -5, ""),
    ],
)  # fmt: skip
def test_signs_of_amounts(text: str, number: float, unit: str) -> None:
    found = read_number(text, ".")
    assert found is not None
    assert (float(found.number or 0), found.unit) == (number, unit)


@pytest.mark.parametrize(
    "text",
    [
        "2-",
        "2019-",
        "3.5-",
        "12.5-",
        "1,200-",
        "$5-",
        "5- €",
        "1.250-",
        "5-star",
        "5.0-kg",
        "-5.0-",
        "5.00 -",
        "(5.0-)",
        "5.0-7",
    ],
)
def test_a_line_behind_a_number_is_not_always_a_sign(text: str) -> None:
    assert read_number(text, ".") is None


@pytest.mark.parametrize("mark", ['"', "'"])
def test_a_title_of_a_link_is_read_up_to_a_bound(mark: str) -> None:
    assert plain_cell(f"[a](b {mark}{'x' * 200}{mark})") == "a"
    assert plain_cell(long := f"[a](b {mark}{'x' * 201}{mark})") == long  # each beginning of one costs as much time
