"""From what was parsed of a question to the computation that is run: what is said in one statement, and what is none."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.computation import CellCondition, CellInterval, Computation
from cairn.domain.table import ColumnCells, TableAddress, TableCells, TableSketch
from cairn.query.table_parse import ParsedCondition, ParsedQuestion
from cairn.query.table_program import MOST_TOLD, computation_of, is_one_word, kinds_of, names_one_too_many, names_table
from cairn.query.table_units import number_in
from cairn.query.table_view import mentions_in, view_of

NAME, FIELD, SINCE, YIELD, LAST, PAID = range(6)
D = datetime.date
DAYS = [D(2024, 3, 5), D(2024, 5, 1), None]
TABLE = TableSketch(
    TableAddress(UUID(int=0), 0), "Allotments 2024", (), ("Plot", "Field", "Since", "Potatoes (kg)", "Last visit", "Paid"), 3,
    ".", True, (False, False, True, True, False, False), (False, False, False, False, True, False),
    (None, None, "", "", None, None), "plots.xlsx", "Plots", yearly=(False, False, True, False, False, False),
    flags=(None, None, None, None, None, "yes"),
)  # fmt: skip
CELLS = TableCells(
    (
        ColumnCells(["A-7", "B-2", "C-1"], ["a 7", "b 2", "c 1"], [None] * 3),
        ColumnCells(["Mill Field", "Mill Field", "Hill"], ["mill field", "mill field", "hill"], [None] * 3),
        ColumnCells(["2019", "2020", "2021"], ["2019", "2020", "2021"], [None] * 3),
        ColumnCells(["41.5", "30", "12"], ["", "", ""], [None] * 3),
        ColumnCells(["2024-03-05", "2024-05-01", ""], ["2024", "2024", ""], DAYS),
        ColumnCells(["yes", "no", "yes"], ["yes", "no", "yes"], [None] * 3),
    ),
    [False] * 3,
    [0, 10, 20],
    [9, 19, 29],
)


def parsed(
    question: str, asked: Any, *conditions: ParsedCondition, many: bool = False, **more: Any
) -> Computation | None:
    """`conditions` without mentions get all that the question has."""
    said = tuple(mentions_in(question))
    filled = tuple(
        replace(one, mentions=said) if one.compared not in ("empty", "filled") else one for one in conditions
    )
    found = ParsedQuestion(
        asked, more.get("measure"), more.get("named"), more.get("group"), more.get("aggregate", "none"), more.get("second"),
        filled, said[0] if many else None, more.get("left", ()), 1.0,
    )  # fmt: skip
    view = view_of(question, TABLE.title, TABLE.header, kinds_of(TABLE), [one.texts for one in CELLS.columns])
    return computation_of(question, found, TABLE, CELLS, view)


def test_kinds_of_columns() -> None:
    assert kinds_of(TABLE) == ("text", "text", "number", "number", "date", "flag")


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("potatoes", True),
        ("Potatoes?", True),
        ("all potatoes", False),
        ("Gesamtkosten", False),
        ("Durchschnittsalter", False),
    ],
)
def test_one_word_alone_computes_nothing(question: str, alone: bool) -> None:
    assert is_one_word(question) == alone
    assert (parsed(question, "sum", measure=YIELD) is None) == alone


def test_the_best_of_rows_that_are_called_so() -> None:
    condition = ParsedCondition(FIELD, "=", ("Mill Field",))
    assert parsed("most spuds in mill field", "highest", condition, measure=YIELD, named=NAME) == Computation(
        "highest", YIELD, conditions=(CellCondition(FIELD, ("mill field",), ("Mill Field",)),), asked=NAME
    )
    other = parsed("most spuds, not in mill field", "highest", replace(condition, compared="not"), measure=YIELD)
    assert other is not None
    assert other.conditions == (CellCondition(FIELD, ("hill",), ("Hill",)),)


@pytest.mark.parametrize(
    ("question", "compared", "comparison", "bound"),
    [
        ("above 20", ">", "more", 20),
        ("20 or less", "<=", "at_most", 20),
        ("without any", "=", "equal", 0),
        ("with some", ">", "more", 0),
    ],
)
def test_numbers_are_compared(question: str, compared: Any, comparison: str, bound: int) -> None:
    made = parsed(question, "list", ParsedCondition(YIELD, compared), named=NAME)
    assert made == Computation(
        "listing", YIELD, asked=NAME, comparison=comparison, bound=Decimal(bound), compared=YIELD
    )  # type: ignore[arg-type]


def test_all_rows_are_not_counted_nor_years_added() -> None:
    assert parsed("how many plots", "count") is None, "mostly a condition that was not understood"
    assert parsed("total of years", "sum", measure=SINCE) is None
    assert parsed("total of potatoes", "sum", measure=YIELD) == Computation("sum", YIELD)


def test_one_cell_of_words_is_listed_and_one_number_told() -> None:
    one = ParsedCondition(NAME, "=", ("B-2",))
    listed = parsed("where is B-2", "value", one, measure=FIELD)
    assert listed is not None
    assert (listed.operation, listed.asked) == ("listing", FIELD)
    told = parsed("what did B-2 yield", "value", one, measure=YIELD)
    assert told is not None
    assert (told.operation, told.measure) == ("value", YIELD)


def test_a_table_is_named_by_the_words_of_its_title_and_file() -> None:
    asked = ("the best allotment", "which plots have most potatoes", "who is best")
    assert [names_table(text, TABLE) for text in asked] == [1, 2, 0]


def test_what_is_compared_with_no_number_or_with_two_is_none() -> None:
    assert parsed("less", "list", ParsedCondition(YIELD, "<"), named=NAME) is None
    assert parsed("above 20 or 30", "list", ParsedCondition(YIELD, ">"), named=NAME) is None
    assert parsed("between 20", "count", ParsedCondition(YIELD, "between")) is None


@pytest.mark.parametrize(
    ("question", "compared", "first", "last"),
    [
        ("in March", "=", D(2024, 3, 1), D(2024, 3, 31)),
        ("after 5 March 2024", ">", D(2024, 3, 6), None),
        ("before May 2024", "<", None, D(2024, 4, 30)),
        ("since 2024-04-01", ">=", D(2024, 4, 1), None),
        ("until May", "<=", None, D(2024, 5, 31)),
        ("in 2024", "=", D(2024, 1, 1), D(2024, 12, 31)),
        ("from March to May 2024", "between", D(2024, 3, 1), D(2024, 5, 31)),
    ],
)
def test_dates_are_days_of_the_years_that_the_column_has(
    question: str, compared: Any, first: D | None, last: D | None
) -> None:
    made = parsed(question, "count", ParsedCondition(LAST, compared))
    assert made is not None
    [interval] = made.within
    bounds = [None if day is None else Decimal(day.toordinal()) for day in (first, last)]
    assert (interval.position, interval.first, interval.last) == (LAST, *bounds)


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("after 1499", False), ("after 1500", True), ("after 2100", True), ("after 2101", False), ("after 31 May", True),
        ("after 32 May", False), ("after 30 February 2024", False), ("after March or May or 2024", False),
    ],
)  # fmt: skip
def test_what_is_no_date_is_none(question: str, known: bool) -> None:
    assert (parsed(question, "count", ParsedCondition(LAST, ">")) is not None) == known


def test_columns_of_words_that_a_statement_can_limit() -> None:
    names = [ParsedCondition(NAME, "=", ("A-7",)), ParsedCondition(FIELD, "=", ("Hill",)), ParsedCondition(PAID, "=")]
    assert parsed("any", "count", *names) is not None
    assert parsed("any", "count", *names, ParsedCondition(LAST, "empty")) is None


def test_empty_cells_and_flags_are_cells_by_their_keys() -> None:
    empty = parsed("no visit yet", "list", ParsedCondition(LAST, "empty"), named=NAME)
    filled = parsed("were visited", "list", ParsedCondition(LAST, "filled"), named=NAME)
    unpaid = parsed("who has not paid", "list", ParsedCondition(PAID, "not"), named=NAME)
    keys = [one and one.conditions[0].keys for one in (empty, filled, unpaid)]
    assert keys == [("",), ("2024",), ("no",)]


def test_a_number_that_limits_nothing_must_be_of_what_the_table_is_called() -> None:
    for said, known in (
        ("2024", True),
        ("2023", False),
        ("one", True),
        ("the 3", True),
        ("the 17", False),
        ("in May", False),
    ):
        made = parsed(f"most spuds {said}", "highest", measure=YIELD, left=tuple(mentions_in(said)))
        assert (made is not None) == known, said


def test_two_rows_are_compared_in_the_order_in_which_they_are_said() -> None:
    pair = ParsedCondition(NAME, "=", ("A-7", "B-2"))
    made = parsed("how much more has B-2 than A-7", "difference", pair, measure=YIELD)
    assert made is not None
    assert (made.pair, made.conditions[0].keys, made.apart) == (("A-7", "B-2"), ("a 7", "b 2"), True)


def test_two_columns_are_those_of_one_row() -> None:
    one = ParsedCondition(NAME, "=", ("B-2",))
    made = parsed("by how much", "growth", one, measure=YIELD, second=SINCE)
    assert made == Computation("growth", row=2, columns=(SINCE, YIELD), label="B-2")
    assert parsed("by how much", "growth", measure=YIELD, second=SINCE) is None, "of three rows"


def test_groups() -> None:
    each = parsed("average for each field", "average", measure=YIELD, group=FIELD)
    assert each == Computation("average", YIELD, asked=FIELD, grouped=True, averaged=True, each=True)
    counted = parsed("how many in each field", "count", group=FIELD)
    assert counted == Computation("count", asked=FIELD, grouped=True, each=True)
    best = parsed("field with most plots", "highest", group=FIELD, aggregate="count")
    assert best == Computation("highest", asked=FIELD, grouped=True)
    assert parsed("best field", "highest", group=FIELD, measure=YIELD) is None, "by what, is not said"


def test_how_many_of_the_best() -> None:
    made = parsed("3 worst plots", "bottom", many=True, measure=YIELD, named=NAME)
    assert made == Computation("top", YIELD, asked=NAME, place=3, turned=True)
    assert parsed("the 300 best", "top", many=True, measure=YIELD) is None
    assert parsed("the best", "top", measure=YIELD) is None


def test_shares_are_of_one_thing() -> None:
    hill = ParsedCondition(FIELD, "=", ("Hill",))
    made = parsed("share of the hill", "share", hill, measure=YIELD)
    assert made is not None
    assert made.target == CellCondition(FIELD, ("hill",), ("Hill",))
    assert parsed("share of old ones", "share", ParsedCondition(SINCE, "<"), measure=YIELD) is None


@pytest.mark.parametrize("asked", ["list", "share", "count_distinct", "ratio", "value", "sum"])
def test_what_lacks_a_part_is_no_computation(asked: Any) -> None:
    assert parsed("any", asked) is None


def test_two_intervals_beside_a_comparison_are_the_most() -> None:
    made = parsed("at least 20", "count", ParsedCondition(YIELD, ">="), ParsedCondition(SINCE, ">="))
    assert made is not None
    assert made.within == (CellInterval(SINCE, Decimal(20), None, "≥ 20"),)
    many = [ParsedCondition(at, ">=") for at in (YIELD, SINCE, SINCE, SINCE)]
    assert parsed("at least 20", "count", *many) is None


# --- places, units and periods ----------------------------------------------------------------------------------------------


def test_the_second_is_of_rank_two_from_above_or_below() -> None:
    second = Computation("rank", YIELD, asked=NAME, place=2)
    assert parsed("second most", "rank", many=True, measure=YIELD, named=NAME) == second
    turned = parsed("2nd worst", "rank_from_below", many=True, measure=YIELD, named=NAME)
    assert turned == replace(second, turned=True)
    assert parsed("the worst", "rank", measure=YIELD, named=NAME) is None


@pytest.mark.parametrize(
    ("question", "bound"),
    [
        ("over 20 kg", "20"),
        ("over 2000 grams", "2"),
        ("over 0.5 tonnes", "500"),
        ("over 20 plots", "20"),
        ("over 2 m", None),
        ("over 20 euros", None),
        ("over 2 hours", None),
    ],
)
def test_a_number_is_taken_in_the_unit_of_the_column(question: str, bound: str | None) -> None:
    made = parsed(question, "count", ParsedCondition(YIELD, ">"))
    assert (made.bound if made else None) == (Decimal(bound) if bound else None)


@pytest.mark.parametrize(
    ("header", "beside", "question", "bound"),
    [
        ("Min", "", "more than two hours", 120),
        ("Min", "", "over 90 min", 90),
        ("Mins", "", "over 90", 90),
        ("Min", "Max", "more than two hours", 2),  # the least of something
        ("Min", "", "above 500 euros", 500),
        ("G", "", "over 3 kg", 3),
        ("Points", "", "over 3 kg", 3),
    ],
)
def test_a_header_may_be_a_unit_and_nothing_else(header: str, beside: str, question: str, bound: int) -> None:
    """ "Went on for more than two hours", of a column "Min"."""
    names = list(TABLE.header)
    names[YIELD], names[FIELD] = header, beside or names[FIELD]
    [mention] = mentions_in(question)
    assert number_in(mention, replace(TABLE, header=tuple(names)), YIELD) == bound


def test_both_ends_have_the_unit_of_one() -> None:
    made = parsed("between 500 and 800 grams", "count", ParsedCondition(YIELD, "between"))
    assert made is not None
    assert made.within == (CellInterval(YIELD, Decimal("0.5"), Decimal("0.8"), "0.5–0.8"),)


@pytest.mark.parametrize(
    ("header", "unit", "question", "bound"),
    [
        ("Length (m)", "", "longer than 2 km", "2000"),
        ("length_m", "", "over 900 cm", "9"),
        ("Duration (h)", "", "over 90 minutes", "1.5"),
        ("Duration", "# h", "over 90 minutes", "1.5"),
        ("Speed (km/h)", "", "over 30 km/h", "30"),
        ("Speed (km/h)", "", "over 30 m/s", None),
        ("Price (€/kg)", "", "over 20 euros", "20"),
        ("Revenue (EUR k)", "", "over 500,000 euros", None),
        ("Revenue (EUR k)", "", "over 500000", None),
        ("Revenue (EUR k)", "", "over 500", "500"),
        ("Min stay", "", "over 3 days", "3"),
        ("Population", "", "over 5m people", None),
        ("€/word", "", "over 12 cents", None),
    ],
)
def test_what_a_column_counts_in(header: str, unit: str, question: str, bound: str | None) -> None:
    table = replace(
        TABLE,
        header=(*TABLE.header[:YIELD], header, *TABLE.header[YIELD + 1 :]),
        units=(None, None, "", unit, None, None),
    )
    condition = ParsedCondition(YIELD, ">", mentions=tuple(mentions_in(question)))
    found = ParsedQuestion("count", None, None, None, "none", None, (condition,), None, (), 1.0)
    view = view_of(question, "", table.header, kinds_of(table), [one.texts for one in CELLS.columns])
    made = computation_of(question, found, table, CELLS, view)
    assert (made.bound if made else None) == (Decimal(bound) if bound else None)


@pytest.mark.parametrize("question", ["more than one", "above average", "mehr als fünftausend", "over a million"])
def test_what_was_compared_with_and_not_read_is_not_nothing(question: str) -> None:
    assert not mentions_in(question)
    assert parsed(question, "count", ParsedCondition(YIELD, ">")) is None
    assert parsed("with some", "count", ParsedCondition(YIELD, ">")) is not None


def test_until_the_end_of_a_month() -> None:
    made = parsed("before the end of March", "count", ParsedCondition(LAST, "<"))
    assert made is not None
    assert made.within[0].last == D(2024, 3, 31).toordinal()


def test_a_word_of_the_table_is_no_row_of_another_name() -> None:
    named = replace(
        CELLS,
        columns=(
            CELLS.columns[0],
            ColumnCells(["Allotments North", "Hill", "Mill"], ["allotments north", "hill", "mill"], [None] * 3),
            *CELLS.columns[2:],
        ),
    )
    view = view_of("best of the allotments", "", TABLE.header, kinds_of(TABLE), [one.texts for one in named.columns])
    found = ParsedQuestion(
        "highest", YIELD, NAME, None, "none", None, (ParsedCondition(FIELD, "=", ("Allotments North",)),), None, (), 1.0
    )
    assert computation_of("best of the allotments", found, TABLE, named, view) is None
    assert computation_of("best of allotments north", found, TABLE, named, view) is not None


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("second most", True),
        ("most on the second field", False),
        ("most in the second half", False),
        ("second class most", False),
    ],
)
def test_an_ordinal_of_something_else_is_no_place(question: str, known: bool) -> None:
    assert (parsed(question, "rank", many=True, measure=YIELD, named=NAME) is not None) == known


HARVESTS = replace(
    TABLE, header=("Plot", "Field", "2022", "2023", "2024", "Mean"), numeric=(False, False, True, True, True, True),
    dated=(False,) * 6, units=(None,) * 6, yearly=(False,) * 6, flags=(None,) * 6,
)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "operation"),
    [
        ("highest_period", "highest"),
        ("lowest_period", "lowest"),
        ("sum_of_periods", "sum"),
        ("average_of_periods", "average"),
    ],
)
def test_years_months_and_quarters_are_columns_of_one_row(asked: Any, operation: Any) -> None:
    condition = ParsedCondition(NAME, "=", ("B-2",))
    found = ParsedQuestion(asked, None, None, None, "none", None, (condition,), None, (), 1.0)
    view = view_of("B-2", "", HARVESTS.header, kinds_of(HARVESTS), [one.texts for one in CELLS.columns])
    made = computation_of("in which year did B-2 best", found, HARVESTS, CELLS, view)
    assert made == Computation(operation, row=2, columns=(2, 3, 4), label="B-2")
    assert computation_of("in which year", replace(found, conditions=()), HARVESTS, CELLS, view) is None
    fields = replace(found, conditions=(ParsedCondition(FIELD, "=", ("Mill Field",)),))
    assert computation_of("in mill field", fields, HARVESTS, CELLS, view) is None, "two rows"
    assert computation_of("in which year did B-2 best", found, TABLE, CELLS, view) is None, "no years"
    said = replace(found, left=tuple(mentions_in("in 2023")))
    assert computation_of("B-2 in 2023", said, replace(HARVESTS, title="Harvests 2023"), CELLS, view) is None
    words = replace(
        CELLS,
        columns=(
            *CELLS.columns[:3],
            ColumnCells(["41.5", "30 (r)", "12"], ["", "30 r", ""], [None] * 3),
            *CELLS.columns[4:],
        ),
    )
    assert computation_of("in which year did B-2 best", found, HARVESTS, words, view) is None
    percent = replace(
        CELLS,
        columns=(ColumnCells(["A-7", "Margin (%)", "C-1"], ["a 7", "margin", "c 1"], [None] * 3), *CELLS.columns[1:]),
    )
    rate = replace(found, conditions=(ParsedCondition(NAME, "=", ("Margin (%)",)),))
    view = view_of("margin", "", HARVESTS.header, kinds_of(HARVESTS), [one.texts for one in percent.columns])
    assert (computation_of("margin", rate, HARVESTS, percent, view) is None) == (operation == "sum")


# --- what was read and not understood ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "plot with the second most potatoes", "who has the 2nd most", "le 2e plus grand", "most spuds but for A-7",
        "most on the 1st", "most except Hill", "am meisten außer Hill",
        "most spuds on the hill", "most spuds on 3 plots over 20", "above 2 million",
    ],
)  # fmt: skip
def test_what_nothing_says_makes_no_computation(question: str) -> None:
    left = tuple(mentions_in(question))
    assert parsed(question, "highest", measure=YIELD, named=NAME, left=left) is None


def test_a_year_and_another_are_not_those_between() -> None:
    assert parsed("in 2019 and 2021", "count", ParsedCondition(LAST, "=")) is None
    assert parsed("in March and April 2024", "count", ParsedCondition(LAST, "=")) is not None


def test_a_thousand_is_one_where_the_table_writes_decimals_otherwise() -> None:
    made = parsed("above 2,500", "count", ParsedCondition(YIELD, ">"))
    assert made is not None
    assert made.bound == 2500
    assert parsed("above 2.500", "count", ParsedCondition(YIELD, ">")) is None, (
        "with a table of points, it may be two and a half"
    )


def test_cells_without_a_key_are_neither_empty_nor_others() -> None:
    assert parsed("without a yield", "count", ParsedCondition(YIELD, "empty")) is None
    odd = replace(
        CELLS,
        columns=(
            *CELLS.columns[:FIELD],
            ColumnCells(["A+", "A-", "B"], ["a", "a", "b"], [None] * 3),
            *CELLS.columns[FIELD + 1 :],
        ),
    )
    found = ParsedQuestion(
        "count", None, None, None, "none", None, (ParsedCondition(FIELD, "=", ("A-",)),), None, (), 1.0
    )
    view = view_of("count A-", "", TABLE.header, kinds_of(TABLE), [one.texts for one in odd.columns])
    assert computation_of("count A-", found, TABLE, odd, view) is None
    other = replace(found, conditions=(ParsedCondition(FIELD, "=", ("B",)),))
    assert computation_of("count B", other, TABLE, odd, view) is not None


def test_cells_that_were_not_shown_may_be_meant_as_well() -> None:
    streets = [f"{at} Mill Road, Hill" for at in range(30)]
    many = TableCells(
        tuple(ColumnCells(texts, [text.lower().replace(",", "") for text in texts], [None] * 30) for texts in (streets,) * 6),
        [False] * 30, [0] * 30, [1] * 30,
    )  # fmt: skip
    view = view_of("how many in mill road", "", TABLE.header, ("text",) * 6, [streets] * 6)
    found = ParsedQuestion(
        "count",
        None,
        None,
        None,
        "none",
        None,
        (ParsedCondition(FIELD, "=", view.columns[FIELD].values),),
        None,
        (),
        1.0,
    )
    assert computation_of("how many in mill road", found, TABLE, many, view) is None


def test_years_grow_the_other_way_round() -> None:
    pair = ParsedCondition(NAME, "=", ("A-7", "B-2"))
    assert parsed("how much percent more has A-7 than B-2", "growth", pair, measure=YIELD) is not None
    years = ParsedCondition(SINCE, "=")
    assert parsed("by how much percent from 2019 to 2020", "growth", years, measure=YIELD) is None


def test_days_and_years_are_not_added_by_group() -> None:
    assert parsed("sum by field", "sum", measure=YIELD, group=FIELD) is not None
    assert parsed("sum by field", "sum", measure=SINCE, group=FIELD) is None
    assert parsed("sum by field", "average", measure=LAST, group=FIELD) is None


def test_a_condition_that_leaves_few_out_names_some_of_the_cells() -> None:
    names = [f"n{at}" for at in range(9)]
    held = TableCells(tuple(ColumnCells(names, names, [None] * 9) for _ in range(6)), [False] * 9, [0] * 9, [1] * 9)
    found = ParsedQuestion("count", None, None, None, "none", None, (ParsedCondition(NAME, "filled"),), None, (), 1.0)
    made = computation_of(
        "filled", found, TABLE, held, view_of("filled", "", TABLE.header, kinds_of(TABLE), [names] * 6)
    )
    assert made is not None
    assert (len(made.conditions[0].keys), len(made.conditions[0].texts)) == (9, MOST_TOLD)


@pytest.mark.parametrize(
    ("question", "names", "too_many"),
    [
        ("potatoes of Mill Field", ("Mill Field",), False),
        ("potatoes of Mill Field", ("Mill Field", "Mill Lane"), True),
        ("potatoes of Mill Field and Mill Lane", ("Mill Field", "Mill Lane"), False),
        ("potatoes at the Mill", ("Mill Field", "Mill Lane"), False),
        ("potatoes of Mill Field and abroad", ("Mill Field", "Export"), False),
    ],
)
def test_what_is_named_whole_is_not_another_one_as_well(question: str, names: tuple[str, ...], too_many: bool) -> None:
    assert names_one_too_many(question, names) == too_many


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("median of the potatoes", "average"),
        ("Standardabweichung der Potatoes", "average"),
        ("by how much did the potatoes of Mill Field fall", "value"),
    ],
)
def test_what_no_computation_makes_is_none(question: str, asked: Any) -> None:
    assert parsed(question, asked, ParsedCondition(FIELD, "=", ("Mill Field",)), measure=YIELD) is None


def test_the_latest_number_is_that_of_the_last_day() -> None:
    condition = ParsedCondition(FIELD, "=", ("Mill Field",))
    found = parsed("latest potatoes of Mill Field", "highest", condition, measure=YIELD)
    assert found is not None
    assert (found.operation, found.measure, found.asked) == ("highest", LAST, YIELD)
    assert parsed("latest potatoes of Mill Field", "lowest", condition, measure=YIELD) is None
    assert parsed("most potatoes of Mill Field", "highest", condition, measure=YIELD).measure == YIELD  # type: ignore[union-attr]
    assert parsed("last week's potatoes of Mill Field", "highest", condition, measure=YIELD) is None


def test_a_row_that_is_named_is_not_counted() -> None:
    assert parsed("how many potatoes came from A-7", "count", ParsedCondition(NAME, "=", ("A-7",))) is None


def test_a_column_is_not_compared_with_itself() -> None:
    condition = ParsedCondition(NAME, "=", ("A-7",))
    assert parsed("difference of A-7", "difference", condition, measure=YIELD, second=YIELD) is None


@pytest.mark.parametrize(("group", "counted"), [(None, FIELD), (FIELD, None)])  # of each unit, the sum is of one
def test_numbers_are_counted_in_what_a_column_of_units_says(
    group: int | None, counted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tuple("Unit" if at == FIELD else name for at, name in enumerate(TABLE.header))
    monkeypatch.setitem(parsed.__globals__, "TABLE", replace(TABLE, header=header))
    found = parsed("potatoes altogether", "sum", measure=YIELD, group=group)
    assert found is not None
    assert found.counted_in == counted


@pytest.mark.parametrize(
    ("question", "falls"), [("how much did A-7 fall", True), ("how much did A-7 rise", False), ("A-7, since", False)]
)
def test_a_fall_is_one_of_a_row(question: str, falls: bool) -> None:
    condition = ParsedCondition(NAME, "=", ("A-7",))
    found = parsed(question, "difference", condition, measure=YIELD, second=SINCE)
    assert found is not None
    assert found.falls == falls


def test_which_of_two_rows_is_the_later_one_is_not_known() -> None:
    pair = ParsedCondition(NAME, "=", ("A-7", "B-2"))
    assert parsed("fall from A-7 to B-2", "difference", pair, measure=YIELD) is None
    assert parsed("difference of A-7 and B-2", "difference", pair, measure=YIELD) is not None


def test_what_is_current_is_that_of_the_last_day() -> None:
    condition = ParsedCondition(FIELD, "=", ("Mill Field",))
    found = parsed("current potatoes of Mill Field", "value", condition, measure=YIELD)
    assert found is not None
    assert (found.operation, found.measure, found.asked) == ("highest", LAST, YIELD)
    assert parsed("current potatoes of Mill Field", "sum", condition, measure=YIELD) is None


def test_several_salaries_of_one_are_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    header = tuple("Salary" if at == YIELD else name for at, name in enumerate(TABLE.header))
    monkeypatch.setitem(parsed.__globals__, "TABLE", replace(TABLE, header=header))
    condition = ParsedCondition(FIELD, "=", ("Mill Field",))
    assert parsed("salary of Mill Field", "sum", condition, measure=YIELD) is None
    assert parsed("total salary of Mill Field", "sum", condition, measure=YIELD) is not None


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What are the Hill soil fields?", False),
        ("Which fields of Hill soils are there?", False),
        ("Quels fields de sols de Hill existent ?", False),
        ("Which plots are in the field Hill?", True),
        ("Which plots have the field of Hill?", True),
        ("Which Hill plot fields are there?", True),
        ("What soils has Hill?", True),
    ],
)
def test_a_cell_is_no_part_of_what_its_column_is_called_by(question: str, known: bool) -> None:
    assert (parsed(question, "list", ParsedCondition(FIELD, "=", ("Hill",)), named=NAME) is not None) == known


def test_a_column_may_be_called_by_a_word_that_else_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind is one, "types"."""
    header = tuple("Type" if one == "Field" else one for one in TABLE.header)
    monkeypatch.setitem(globals(), "TABLE", replace(TABLE, header=header))
    assert parsed("What are the Hill soil types?", "list", ParsedCondition(FIELD, "=", ("Hill",)), named=NAME) is None


@pytest.mark.parametrize(
    ("keys", "compared", "meant"),
    [
        (["✅", "❌", "✅"], "=", ("✅",)),
        (["✅", "❌", "✅"], "not", ("❌",)),
        (["✅", "❌", "✅"], "empty", ("❌",)),
        (["✅", "❌", "✅"], "filled", ("✅",)),
        (["✅", "❌", ""], "not", ("❌",)),  # what is empty beside a no is not known
        (["✅", "", "✅"], "not", ("",)),
        (["✅", "", "✅"], "empty", ("",)),
    ],
)
def test_signs_say_yes_and_no(monkeypatch: pytest.MonkeyPatch, keys: list[str], compared: Any, meant: Any) -> None:
    columns = (*CELLS.columns[:PAID], ColumnCells(keys, keys, [None] * 3))
    monkeypatch.setitem(globals(), "CELLS", replace(CELLS, columns=columns))
    monkeypatch.setitem(globals(), "TABLE", replace(TABLE, flags=(*TABLE.flags[:PAID], "✅")))
    found = parsed("which plots have paid", "list", ParsedCondition(PAID, compared), named=NAME)
    assert found is not None
    assert found.conditions[0].keys == meant


@pytest.mark.parametrize(
    ("question", "flags", "known"),
    [
        ("Is A-7 watered?", 2, True),
        ("Is A-7 any good?", 2, False),
        ("Is A-7 any good?", 1, True),
    ],
)
def test_of_several_columns_that_say_yes_one_must_be_named(
    monkeypatch: pytest.MonkeyPatch, question: str, flags: int, known: bool
) -> None:
    said = (None, *["yes"] * flags, *[None] * (5 - flags))
    monkeypatch.setitem(
        globals(),
        "TABLE",
        replace(TABLE, header=("Plot", "Watered", *TABLE.header[2:]), flags=said, numeric=(False,) * 6),
    )
    asked = parsed(question, "value", ParsedCondition(NAME, "=", ("A-7",)), measure=FIELD)
    assert (asked is not None) == known
