"""Tables in text: what is written can be read back, whole or from the middle, and a row says what it means."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.language.tables import COVERED, PIECE_CHARS, describe_row, is_value, render_table, tables_in
from tests.waiting import patience

SALES = [
    ["", "", "Years Ended September 30,", ""],
    ["", "2019", "2018", "2017"],
    ["Fixed  Price", "$  1,452.4", "$ 1,146.2", "$ 1,036.9"],
    ["Total sales", "$1,496.5", "$1,202.9", "$1,107.7"],
]


def header(rows: list[list[str]]) -> tuple[str, ...]:
    return tables_in(render_table(rows))[0].header


def test_header_rows_become_one_line_of_paths() -> None:
    assert render_table(SALES).splitlines() == [
        "|  | Years Ended September 30, / 2019 | Years Ended September 30, / 2018 | Years Ended September 30, / 2017 |",
        "| --- | --- | --- | --- |",
        "| Fixed Price | $ 1,452.4 | $ 1,146.2 | $ 1,036.9 |",
        "| Total sales | $1,496.5 | $1,202.9 | $1,107.7 |",
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["", "2019", "2018"], ["", "€m", "€m"], ["Taxes", "5", "4"]], ("", "2019 / €m", "2018 / €m")),
        ([["Costs", "", ""], ["", "2019", "2018"], ["Rent", "5", "4"]], ("Costs", "2019", "2018")),
        ([["", "Fiscal", ""], ["", "2019", "2018"], ["", "", "(in millions)"], ["Rent", "5", "4"]],
         ("(in millions)", "Fiscal / 2019", "Fiscal / 2018")),
        ([["", "Plans", "", "Funds", ""], ["", "2019", "2018", "2019", "2018"], ["Rate", "4%", "3%", "2%", "1%"]],
         ("", "Plans / 2019", "Plans / 2018", "Funds / 2019", "Funds / 2018")),
        ([["", "2019", COVERED, "2018", COVERED], ["", "Sum", "%", "Sum", "%"], ["East", "5", "50", "6", "60"]],
         ("", "2019 / Sum", "2019 / %", "2018 / Sum", "2018 / %")),
        ([["Days past due", "1-90", "91-180", "Total"], ["Low", "3", "4", "7"]],
         ("Days past due", "1-90", "91-180", "Total")),
        ([["", "1", "2"], ["A", "5", "6"]], ("", "1", "2")),
        ([["Name", "Role"], ["Ada", "Engineer"], ["Bob", "Cook"]], ("Name", "Role")),
        ([["Assets", "5"], ["Debts", "4"]], ("", "")),
        ([["name:", "Of the file"], ["Returns:", "Its size"]], ("", "")),
        ([["(In thousands)", "Total", "2020", "2021-2022"], ["Leases", "$9", "$4", "$5"]],
         ("(In thousands)", "Total", "2020", "2021-2022")),
    ],
)  # fmt: skip
def test_header_rows_are_told_from_values(rows: list[list[str]], expected: tuple[str, ...]) -> None:
    assert header(rows) == expected


def test_signs_and_brackets_of_their_own_columns_join_their_numbers() -> None:
    rows = [
        ["", "2019", COVERED, COVERED, "", "2018", COVERED, COVERED],
        ["Sales", "$", "1,452", "", "", "$", "1,146", ""],
        ["Loss", "", "(5", ")", "", "", "(6", ")"],
        ["Growth", "12", COVERED, "%", "", "11", COVERED, "%"],
    ]
    [table] = tables_in(render_table(rows))
    assert table.header == ("", "2019", "2018")
    assert [row.cells for row in table.rows] == [
        ("Sales", "$ 1,452", "$ 1,146"), ("Loss", "(5)", "(6)"), ("Growth", "12%", "11%")
    ]  # fmt: skip


def test_a_dash_is_no_value_and_joins_nothing() -> None:
    [table] = tables_in(render_table([["", "Shares", ""], ["Granted", "-", "5"], ["Sold", "-", "6"]]))
    assert [row.cells for row in table.rows] == [("Granted", "-", "5"), ("Sold", "-", "6")]


def test_merged_cells_are_repeated_and_a_label_over_all_columns_is_a_group() -> None:
    rows = [["Day", "Room 1", "Room 2"], ["Monday", COVERED, COVERED], ["9:00", "Opening", COVERED]]
    [table] = tables_in(render_table(rows, header_rows=1))
    assert [row.cells for row in table.rows] == [("Monday", "", ""), ("9:00", "Opening", "Opening")]
    assert [row.is_group for row in table.rows] == [True, False]
    assert table.rows[1].group == "Monday"


def test_rows_have_spans_without_bars_and_belong_to_groups() -> None:
    text = "Before.\n\n" + render_table(
        [["", "2019"], ["Assets", ""], ["Current assets:", ""], ["Cash", "5"], ["Debts:", ""], ["Loans", "-"]]
    )
    [table] = tables_in(text + "\n\nAfter | that.")
    assert [text[row.start : row.end] for row in table.rows] == [
        "Assets", "Current assets:", "Cash | 5", "Debts:", "Loans | -"
    ]  # fmt: skip
    assert [row.group for row in table.rows] == ["", "Assets", "Assets / Current assets", "", "Debts"]
    assert [row.is_group for row in table.rows] == [True, True, False, True, False]
    assert text[slice(*table.rows[2].cell_spans[1])] == "5"
    assert text[slice(*table.span)] == text[9:]
    assert text[slice(*table.header_span)] == "|  | 2019 |\n| --- | --- |"


def test_a_label_over_words_in_two_columns_is_a_row_unless_it_ends_in_a_colon() -> None:
    [table] = tables_in(
        render_table([["Operator", "Note"], ["Abs", ""], ["Add", "Not for text"], ["Old:", ""], ["Pow", "Slow"]])
    )
    assert [(row.group, row.is_group) for row in table.rows] == [
        ("", False), ("", False), ("", True), ("Old", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("above", "label", "below", "group"),
    [
        ("Manage Assets", "manage-chatpal", "Manage Email Inbox", "Users"),
        ("View Logs", "manage-chatpal", "Manage Email Inbox", "manage-chatpal"),
        ("Manage Assets", "Manage mail:", "Manage Email Inbox", "Manage mail"),
        ("Manage Assets", "**Manage mail**", "Manage Email Inbox", "**Manage mail**"),
        ("Manage", "Manage", "Manage", "Manage"),
    ],
)
def test_a_row_of_which_nothing_is_said_is_no_group_where_its_neighbours_are_called_so(
    above: str, label: str, below: str, group: str
) -> None:
    rows = [["Name", "Key", "Text"], ["Users", "", ""], [above, "k", "Words."], [label, "", ""], [below, "k", "Words."]]
    [table] = tables_in(render_table(rows, header_rows=1))
    assert [row.group for row in table.rows][-1] == group
    assert table.rows[2].is_group == (group != "Users")
    numbers = [["Name", "2019", "2018"], [above, "1", "2"], [label, "", ""], [below, "3", "4"]]
    assert tables_in(render_table(numbers, header_rows=1))[0].rows[1].is_group


def test_a_row_of_which_nothing_is_said_is_not_repeated() -> None:
    rows = [[f"Manage n{n}", "", "" if n == 3 else "words " * 20] for n in range(40)]
    tables = tables_in(render_table([["Name", "Key", "Text"], *rows], header_rows=1))
    assert len(tables) > 2
    assert {(row.group, row.is_group) for table in tables for row in table.rows} == {("", False)}


KEYS = [["Crossfade", "G", "H"], ["Talkover", "`", "`"]]


@pytest.mark.parametrize(
    ("row", "tables"),
    [
        (["", "Deck 1", "Deck 2"], 2),
        (["", "2017", "2016"], 2),
        (["", "Deck 1", ""], 1),
        (["", "G", "Y"], 1),
        (["", "17", "Y"], 1),
        (["", "(in thousands)", "(of all)"], 1),
        (["", "Deck", "Deck"], 1),
        (["", "Deck 1", "Deck " + "x" * 35], 2),
        (["", "Deck 1", "Deck " + "x" * 36], 1),
        (["", "b", "second"], 1),  # as above
    ],
)
def test_a_row_further_down_may_name_the_columns_anew(row: list[str], tables: int) -> None:
    rows = [["", "Left", "Right"], *KEYS, row, ["Cue", "T", "Y"]]
    found = tables_in(render_table(rows, header_rows=1))
    assert len(found) == tables
    assert found[-1].header == (tuple(row) if tables == 2 else ("", "Left", "Right"))
    assert len(tables_in(render_table([["Action", "Left", "Right"], *rows[1:]], header_rows=1))) == 1
    assert len(tables_in(render_table(rows[:-1], header_rows=1))) == 1


def test_many_labels_below_each_other_are_rows() -> None:
    [table] = tables_in(render_table([["name", "mail"], *([f"n{n}", ""] for n in range(9)), ["Ada", "a@b.c"]]))
    assert {(row.group, row.is_group) for row in table.rows} == {("", False)}


def test_a_row_says_what_its_cells_mean() -> None:
    [table] = tables_in(
        render_table([["", "2019", "2018"], ["Debts:", "", ""], ["Total sales", "$ 1,496.5", "$ 1,202.9"]])
    )
    row = table.rows[1]
    assert describe_row(table, row) == "Debts / Total sales: 2019 $ 1,496.5; 2018 $ 1,202.9"
    assert describe_row(table, row, [1]) == "Debts / Total sales | 2019 | $ 1,496.5"
    assert describe_row(table, row, [2, 1]) == "Debts / Total sales: 2018 $ 1,202.9; 2019 $ 1,496.5"
    assert describe_row(table, table.rows[0]) == "Debts:"
    [box] = tables_in(render_table([["Born:", "1815"], ["Died:", "1852"]], header_rows=0))
    assert describe_row(box, box.rows[0]) == "Born: 1815"
    [sales] = tables_in(render_table(SALES))
    assert describe_row(sales, sales.rows[1]) == (
        "Total sales: Years Ended September 30, / 2019 $1,496.5; 2018 $1,202.9; 2017 $1,107.7"
    )


def test_a_long_table_repeats_header_and_group() -> None:
    rows = [["", "2019", "2018"], ["Sales:", "", ""], *([f"Country {n}", f"{n},000", f"{n},500"] for n in range(150))]
    text = render_table(rows)
    tables = tables_in(text)
    assert len(tables) > 3
    assert all(len(piece) <= PIECE_CHARS for piece in text.split("\n\n"))
    assert {table.header for table in tables} == {("", "2019", "2018")}
    assert [row.label for table in tables for row in table.rows if not row.is_group] == [row[0] for row in rows[2:]]
    assert {row.group for table in tables for row in table.rows if not row.is_group} == {"Sales"}


def test_rows_too_long_for_a_piece_are_lines_that_name_their_columns() -> None:
    text = render_table([["Name", "Story"], ["Ada", "word " * 400], ["Bob", "short"]])
    assert text.startswith("Name: Ada\nStory: word word")
    assert tables_in(text)[0].rows[0].cells == ("Bob", "short")
    wide = render_table([[f"column number {n}" for n in range(60)], [str(n) for n in range(60)]])
    assert wide.splitlines()[59] == "column number 59: 59"


def test_tables_of_markdown_sources() -> None:
    text = "Text\n\nName | Age\n:--|--:\nAda | 36\nA \\| B | 7\n\n```\n| no | table |\n| -- | -- |\n```\n"
    [table] = tables_in(text)
    assert table.header == ("Name", "Age")
    assert [row.cells for row in table.rows] == [("Ada", "36"), ("A | B", "7")]
    assert [text[row.start : row.end] for row in table.rows] == ["Ada | 36", "A \\| B | 7"]


def test_the_rest_of_a_table_has_rows_and_no_header() -> None:
    [table] = tables_in("| Cash | 5 |\n| Loans | 6 |\n\nThe choice is a | b here.")
    assert (table.header, [row.cells for row in table.rows]) == ((), [("Cash", "5"), ("Loans", "6")])
    assert describe_row(table, table.rows[0]) == "Cash: 5"
    [below_dashes] = tables_in("| --- | --- |\n| Cash | 5 |")
    assert [row.cells for row in below_dashes.rows] == [("Cash", "5")]


@pytest.mark.parametrize(
    "cell", ["5", "$ 1,452.4", "(7,227)", "12.5%", "—", "$—", "1.2x", "€5m", "CHF 3", "US$ 7.1", "- - %"]
)
def test_values(cell: str) -> None:
    assert is_value(cell)


@pytest.mark.parametrize(
    "cell", ["2019", "2019 €m", "2019/20", "FY 2019", "$'000", "£m", "%", "Dec 29, 2018", "Level 1", ""]
)
def test_names_of_columns(cell: str) -> None:
    assert not is_value(cell)


cells = st.text(st.sampled_from("ab1 $%()|\\-\n\t.é漢/:"), max_size=8)
grids = st.lists(st.lists(st.one_of(cells, st.sampled_from(["", "2019", "$", "5", COVERED])), max_size=5), max_size=9)


@given(grids)
def test_all_text_of_a_grid_is_written_and_read_back(rows: list[list[str]]) -> None:
    text = render_table(rows)
    tables = tables_in(text)
    written = "".join(text.replace("\\|", "|").split())
    for row in rows:
        for cell in row:
            assert cell == COVERED or "".join(cell.split()) in written
    for table in tables:
        assert len({len(row.cells) for row in table.rows} | {len(table.header)}) == 1
        for row in table.rows:
            assert [" ".join(text[a:b].replace("\\|", "|").split()) for a, b in row.cell_spans] == [*row.cells]
            assert "\n" not in text[row.start : row.end]


@given(st.text(st.sampled_from("a1|-\n\\ :`"), max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    position = 0
    for table in tables_in(text):
        assert position <= table.span[0] <= table.header_span[1] <= table.span[1] <= len(text)
        position = table.span[1]
        for row in table.rows:
            assert table.span[0] <= row.start < row.end <= table.span[1]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "text", ["|" * 200_000, "| a " * 100_000, "|-" * 100_000 + "\n", "| a |\n" * 30_000, "|" + " " * 300_000 + "x",
             "a | b\n" * 30_000, "| a | |\n" * 30_000, "\\" * 200_000 + "|", "|\n---\n" * 20_000]
)  # fmt: skip
def test_time_is_linear(text: str) -> None:
    begun = time.thread_time()
    tables_in(text)
    render_table([["a", "5" + " " * 1000 + "x"]] * 200 + [text.split("|")] + [[text]])
    assert time.thread_time() - begun < patience(6, least=0)


def test_the_sum_of_a_group_is_its_last_row() -> None:
    rows = [
        ["", "2019", "2018"], ["Current assets:", "", ""], ["Cash", "4", "5"], ["Total current assets", "4", "5"],
        ["Goodwill", "6", "7"],
    ]  # fmt: skip
    (table,) = tables_in(render_table(rows))
    assert [row.group for row in table.rows if not row.is_group] == ["Current assets", "Current assets", ""]


def test_a_fence_whose_beginning_was_cut_off_hides_no_table() -> None:
    text = "| not | a table |\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\n| nor | this |\n```\n"
    assert [(table.header, [row.cells for row in table.rows]) for table in tables_in(text)] == [
        (("a", "b"), [("1", "2")])
    ]


_YEARS = [["", "Year ended December 31,", COVERED], ["", "2022", "2021"]]
_VALUES = [["Revenue", "1,452", "1,300"], ["Net", "120", "98"]]


def test_what_is_merged_over_all_columns_above_their_names_is_the_title() -> None:
    """Its unit stays with the names: each piece of a long table has it."""
    title = [["Statements of Income", COVERED, COVERED]]
    unit = [["(in thousands, except per share)", COVERED, COVERED]]
    written = render_table([*title, *unit, *_YEARS, *_VALUES])
    [table] = tables_in(written)
    assert written[: table.span[0]] == "Statements of Income\n\n"
    assert table.header == (
        "(in thousands, except per share)", "Year ended December 31, / 2022", "Year ended December 31, / 2021",
    )  # fmt: skip
    named = render_table([*title, ["Region", "2022", "2021"], *_VALUES], header_rows=2)
    assert named.startswith("Statements of Income\n\n| Region | 2022 | 2021 |\n")
    assert render_table([["# Not a | heading", COVERED], ["a", "b"], ["c", "1"]]).startswith(
        "\\# Not a \\| heading\n\n| a | b |"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [["Assets", COVERED, COVERED], *_VALUES],
        [["Duck", COVERED], ["Kingdom", "Animalia"], ["Class", "Aves"]],
    ],
)
def test_a_group_and_a_list_of_fields_have_no_title(rows: list[list[str]]) -> None:
    [table] = tables_in(render_table(rows))
    assert rows[0][0] in (table.header[0], table.rows[0].label)


def test_columns_of_signs_take_no_part_in_what_names_stand_over() -> None:
    rows = [
        ["", "", "Year ended December 31,", COVERED, COVERED, COVERED, COVERED, COVERED],
        ["", "", "2022", COVERED, "", "", "2021", COVERED],
        ["Revenue", "", "$", "1,452", "", "", "$", "1,300"],
        ["Net", "", "", "(120", ")", "", "", "98"],
    ]
    [table] = tables_in(render_table(rows))
    assert table.header == ("", "Year ended December 31, / 2022", "Year ended December 31, / 2021")
    assert [row.cells for row in table.rows] == [("Revenue", "$ 1,452", "$ 1,300"), ("Net", "(120)", "98")]


def test_a_column_of_signs_with_a_name_of_its_own_stays() -> None:
    [table] = tables_in(render_table([["Item", "Currency", "Price"], ["a", "$", "12"], ["b", "€", "13"]]))
    assert table.header == ("Item", "Currency", "Price")
    assert table.rows[0].cells == ("a", "$", "12")
