"""Rows that are written as lines of `header: value` are tables again."""

from __future__ import annotations

import pytest

from cairn.ingest.table_cells import document_tables
from cairn.language.records import records_in
from cairn.language.tables import render_table, tables_in

HEADER = ["Place", *(f"Share of what was asked in question {n} of the survey" for n in range(1, 16))]


def test_a_sheet_with_a_long_header_comes_back_as_it_was() -> None:
    rows = [[name, *(str(n * at) if (n + at) % 5 else "" for n in range(1, 16))] for at, name in enumerate("abcd", 1)]
    text = "## Survey\n\n" + render_table([HEADER, *rows]) + "\n\nEnd of it."
    assert tables_in(text) == []
    [table] = records_in(text)
    assert table.header == tuple(HEADER)
    assert [list(row.cells) for row in table.rows] == rows
    assert text[table.rows[1].start : table.rows[1].end].startswith("Place: b\n")
    first, cells = table.rows[0], table.rows[0].cell_spans
    assert [text[slice(*span)] for span in cells] == list(first.cells)


def test_a_row_with_most_cells_empty_is_one_where_its_columns_are_often_empty() -> None:
    rows = [[name, *(str(n) if n < 4 or n % 6 == at else "" for n in range(1, 16))] for at, name in enumerate("abcdef")]
    [table] = records_in(render_table([HEADER, *rows]))
    assert [sum(map(bool, row.cells)) for row in table.rows] == [6, 6, 6, 6, 6, 6]
    assert {*table.header} == {*HEADER}
    other = "\n".join(f"{name}: 7" for name in HEADER[10:14])
    assert not records_in(f"{render_table([HEADER, *rows])}\n\n{other}")  # of none of the usual columns


def test_the_name_of_a_column_may_be_a_whole_question_but_no_paragraph() -> None:
    for length, tables in ((160, 1), (161, 0)):
        row = f"Place: a\nSize: 1\n{'q' * length}: 3\n"
        assert len(records_in(f"{row}\n{row}")) == tables


@pytest.mark.parametrize(
    "text",
    [
        "Name: a\nSize: 1\n\nName: b\nSize: 2\n",  # two lines are a definition
        "Name: a\nSize: 1\nAge: 3\n\nAge: 4\nName: b\nSize: 2\n",  # no one order
        "Name: a\nSize: 1\nSize: 3\n\nName: b\nSize: 2\nSize: 4\n",  # a column twice
        "Name: a\nSize: 1\nAge: 3\n\nSome words.\n\nName: b\nSize: 2\nAge: 1\n",  # apart
        "Name: a\nSize: 1\nAge: 3\n\nTime: 9\nRoom: 2\nTopic: x\nBy: y\n",  # of other things
        "```\nName: a\nSize: 1\nAge: 3\n\nName: b\nSize: 2\nAge: 1\n\nName: c\nSize: 2\nAge: 1\n```\n",
    ],
)
def test_what_is_no_table_stays_text(text: str) -> None:
    assert records_in(text) == []


def test_the_long_rows_of_another_table_are_none_of_their_own() -> None:
    table = "| Name | Size | Remark |\n| --- | --- | --- |\n| a | 1 | x |\n| b | 2 | y |\n"
    long = "Name: c\nSize: 3\nRemark: z\n\nName: d\nSize: 4\nRemark: z\n"
    for text in (f"{table}\n{long}", f"{long}\n{table}"):
        found = document_tables(text, tables_in(text), lambda _: (), "en", records=records_in(text))
        assert [(one.header, one.complete) for one in found] == [(("Name", "Size", "Remark"), False)]
    apart = f"{table}\nSome words.\n\n{long}"
    found = document_tables(apart, tables_in(apart), lambda _: (), "en", records=records_in(apart))
    assert [one.complete for one in found] == [False, False]  # the same header under one heading
