"""Tables of PDFs: found by where words and lines stand, written as tables, on their right pages; and what is no table."""

from __future__ import annotations

import pytest

from cairn.domain.document import LoadedDocument, Source
from cairn.errors import ParserLimitError
from cairn.ingest.loaders import load, sniff
from cairn.ingest.parse import parse
from cairn.language.tables import Table, tables_in
from cairn.settings import IngestSettings
from tests.pdf_files import Sheet, pdf_file

LIMITS = IngestSettings()
SALES = (
    ("", "2019", "2018"),
    ("Fixed price", "1,452.4", "1,146.2"),
    ("Other", "44.1", "(56.7)"),
    ("Total sales", "1,496.5", "1,202.9"),
)
RENDERED = """\
|  | 2019 | 2018 |
| --- | --- | --- |
| Fixed price | 1,452.4 | 1,146.2 |
| Other | 44.1 | (56.7) |
| Total sales | 1,496.5 | 1,202.9 |"""


def read(*sheets: Sheet) -> LoadedDocument:
    content = pdf_file(*sheets)
    return load(content, sniff("a.pdf", content), LIMITS)


def tables_of(*sheets: Sheet) -> list[Table]:
    return tables_in(read(*sheets).text)


# --- kinds of tables ------------------------------------------------------------------------------------------------


def test_a_table_without_rulings_stands_where_it_is_printed() -> None:
    sheet = Sheet()
    sheet.text(50, 60, "Sales by type of contract were as follows in the two years:")
    sheet.rows(90, SALES, (320, 400))
    sheet.text(50, 180, "Sales of other contracts are recognised as costs incur.")
    assert read(sheet).text == (
        "Sales by type of contract were as follows in the two years:\n\n"
        f"{RENDERED}\n\nSales of other contracts are recognised as costs incur."
    )


def test_a_ruled_table_keeps_lines_of_a_cell_together_and_merged_cells_apart() -> None:
    sheet = Sheet()
    sheet.grid((50, 150, 300), (50, 70, 100, 120))
    for x, y, text in (
        (55, 64, "Variable"), (155, 64, "Meaning"), (55, 84, "CLIENT_HOST"), (155, 82, "Name of the host as"),
        (155, 94, "the system says it"), (55, 114, "CLIENT_PORT"), (155, 114, "Its port"),
    ):  # fmt: skip
        sheet.text(x, y, text)
    [table] = tables_of(sheet)
    assert table.header == ("Variable", "Meaning")
    assert [row.cells for row in table.rows] == [
        ("CLIENT_HOST", "Name of the host as the system says it"),
        ("CLIENT_PORT", "Its port"),
    ]


def test_a_currency_sign_in_a_column_of_its_own_joins_its_number() -> None:
    sheet = Sheet()
    rows = (
        ("", "", "2019", "", "2018"),
        ("Prepaid expenses", "$", "2,303", "$", "1,780"),
        ("Other current assets", "", "193", "", "167"),
        ("Total", "$", "2,496", "$", "1,947"),
    )
    sheet.rows(90, rows, (260, 320, 360, 420))
    [table] = tables_of(sheet)
    assert table.header == ("", "2019", "2018")
    assert [row.cells for row in table.rows] == [
        ("Prepaid expenses", "$ 2,303", "$ 1,780"),
        ("Other current assets", "193", "167"),
        ("Total", "$ 2,496", "$ 1,947"),
    ]


def test_a_label_of_two_lines_is_one_and_a_label_alone_is_a_group() -> None:
    sheet = Sheet()
    sheet.rows(60, (("", "2019", "2018"), ("Current assets:", "", "")), (320, 400), pitch=20)
    sheet.text(50, 100, "Prepaid expenses of all segments")
    sheet.text(50, 111, "and other current assets")
    sheet.text_to(320, 100, "2,303")
    sheet.text_to(400, 100, "1,780")
    sheet.rows(131, (("Cash", "193", "167"), ("Total", "2,496", "1,947")), (320, 400), pitch=20)
    [table] = tables_of(sheet)
    assert [(row.label, row.group) for row in table.rows] == [
        ("Current assets:", ""),
        ("Prepaid expenses of all segments and other current assets", "Current assets"),
        ("Cash", "Current assets"),
        ("Total", "Current assets"),
    ]


def test_dots_between_a_label_and_its_number_go() -> None:
    sheet = Sheet()
    rows = (
        ("", "2019", "2018"),
        ("Modules", "1,460", "502"),
        ("Systems", "1,603", "1,742"),
        ("Sales", "3,063", "2,244"),
    )
    for at, (label, one, two) in enumerate(rows):
        y = 60 + 16 * at
        if label:
            sheet.text(50, y, label)
            sheet.text(110, y, "." * 40)
        sheet.text_to(320, y, one)
        sheet.text_to(400, y, two)
    [table] = tables_of(sheet)
    assert [row.cells for row in table.rows] == [*rows[1:]]


def test_a_table_over_a_page_break_repeats_its_header_and_keeps_each_row_on_its_page() -> None:
    first, second = Sheet(), Sheet()
    body = tuple((f"Region {at}", f"{100 + at}.5", f"{200 + at}.5") for at in range(40))
    first.rows(100, (("", "2019", "2018"), *body[:38]), (320, 400))
    second.rows(60, body[38:], (320, 400))
    second.text(50, 200, "The regions are those of the annual report for the year.")
    loaded = read(first, second)
    tables = tables_in(loaded.text)
    assert {table.header for table in tables} == {("", "2019", "2018")}
    rows = [(loaded.text[row.start : row.end], row.start) for table in tables for row in table.rows]
    assert [text for text, _ in rows] == [" | ".join(row) for row in body]
    [_, break_] = loaded.pages
    assert [start >= break_.start for _, start in rows] == [at >= 38 for at in range(40)]
    assert loaded.text[break_.start :].startswith("|  | 2019 | 2018 |\n")


def test_a_turned_page_is_read_as_its_reader_sees_it() -> None:
    sheet = Sheet()
    sheet.operators.append(b"0 1 -1 0 600 0 cm")  # drawn along the long side; /Rotate shows it upright
    sheet.rows(260, SALES, (320, 400))
    content = pdf_file(sheet).replace(b"/MediaBox", b"/Rotate 90 /MediaBox")
    assert RENDERED in load(content, sniff("a.pdf", content), LIMITS).text


# --- what is no table -----------------------------------------------------------------------------------------------

PROSE = "the quick brown fox jumps over a lazy dog and"


def two_columns() -> Sheet:
    sheet = Sheet()
    for x in (50, 320):
        for at in range(30):
            sheet.text(x, 60 + 12 * at, f"{PROSE} {2000 + at}")
    return sheet


def numbered_list() -> Sheet:
    sheet = Sheet()
    for at in range(8):
        sheet.text(50, 60 + 14 * at, f"{at + 1}.")
        sheet.text(75, 60 + 14 * at, f"{PROSE} in item {at}")
    return sheet


def contents() -> Sheet:
    sheet = Sheet()
    for at in range(8):
        sheet.text(50, 60 + 14 * at, f"{at + 1}.1")
        sheet.text(80, 60 + 14 * at, f"Chapter of things {at}")
        sheet.text(200, 60 + 14 * at, " ".join("." * 40))
        sheet.text_to(520, 60 + 14 * at, str(3 * at + 1))
    return sheet


def formulas() -> Sheet:
    sheet = Sheet()
    for at in range(5):
        sheet.text(200, 60 + 30 * at, f"a = b + {at} c")
        sheet.text_to(520, 60 + 30 * at, f"({at + 1})")
    return sheet


def code() -> Sheet:
    sheet = Sheet()
    for at in range(6):
        sheet.text(50, 60 + 12 * at, f"value{at} = other{at}")
        sheet.text(300, 60 + 12 * at, f"/* step {at} */")
        sheet.text(420, 60 + 12 * at, "= 1")
    return sheet


def form() -> Sheet:
    sheet = Sheet()
    for at, name in enumerate(("Name", "Street", "Town", "Country")):
        sheet.text(50, 60 + 24 * at, f"{name}:")
        sheet.text(300, 60 + 24 * at, "Signature:")
        sheet.line(100, 62 + 24 * at, 280, 62 + 24 * at)
    return sheet


@pytest.mark.parametrize("sheet", [two_columns(), numbered_list(), contents(), formulas(), code(), form()])
def test_prose_in_columns_lists_contents_formulas_code_and_forms_are_no_tables(sheet: Sheet) -> None:
    text = read(sheet).text
    assert "|" not in text
    assert len(text.split()) >= 8


# --- files made to be slow ------------------------------------------------------------------------------------------


async def test_a_page_of_a_hundred_thousand_lines_is_read_in_time() -> None:
    sheet = Sheet()
    sheet.text(50, 50, "A map of a hundred thousand lines with its caption in words")
    lines = b"\n".join(b"%d %d m %d %d l S" % (at % 600, at % 797, at % 600, at % 797 + 5) for at in range(100_000))
    loaded = await parse(Source("a.pdf", "a.pdf", pdf_file(sheet.stream + b"\n" + lines)), LIMITS)
    assert loaded.text.startswith("A map of a hundred thousand lines")


async def test_a_page_of_thousands_of_numbers_ends_by_itself_or_by_its_limit() -> None:
    sheet = Sheet()
    for at in range(8_000):
        sheet.text(5 + (at * 37) % 560, 20 + at // 16, str(at), size=3)
    try:
        loaded = await parse(Source("a.pdf", "a.pdf", pdf_file(sheet)), LIMITS)
    except ParserLimitError:
        return
    assert "7999" in loaded.text


async def test_a_page_of_any_size_is_read() -> None:
    sheet = Sheet()
    sheet.rows(90, SALES, (320, 400))
    huge = pdf_file(sheet, media_box="0 0 14400000 14400000")
    assert "1,496.5" in (await parse(Source("a.pdf", "a.pdf", huge), LIMITS)).text


# --- rulings that are no rows ---------------------------------------------------------------------------------------


def test_rulings_around_groups_of_rows_do_not_make_one_row_of_a_group() -> None:
    sheet = Sheet()
    sheet.grid((45, 150, 250, 350), (50, 70, 110, 150))
    sheet.rows(64, (("State", "Permits", "Checks"),), (240, 340))
    sheet.rows(84, (("Alabama", "18,870", "23,022"), ("Alaska", "209", "3,062")), (240, 340), pitch=14)
    sheet.rows(124, (("Arizona", "2,303", "12,382"), ("Arkansas", "3,298", "6,359")), (240, 340), pitch=14)
    [table] = tables_of(sheet)
    assert [row.label for row in table.rows] == ["Alabama", "Alaska", "Arizona", "Arkansas"]


def test_the_frame_of_a_page_is_no_table() -> None:
    sheet = Sheet()
    sheet.grid((40, 60, 560), (40, 60, 700))
    sheet.text(45, 55, "A")
    sheet.text(65, 55, "Heading")
    sheet.text(45, 90, "1")
    for at in range(20):
        sheet.text(65, 90 + 14 * at, f"{PROSE} so on")
    assert "|" not in read(sheet).text


# --- titles and names of several columns ------------------------------------------------------------------------------


def centred(sheet: Sheet, y: float, *texts: str, middle: float = 300) -> None:
    """Lines below each other, 16 points apart."""
    for at, text in enumerate(texts):
        sheet.text(middle - 2.5 * len(text), y + 16 * at, text)


RIGHTS = (330, 400, 480, 550)
INCOME = (
    ("Net sales", "$ 3,023,000", "100.0%", "$ 2,729,000", "100.0%"),
    ("Cost of sales", "1,889,000", "62.5", "1,692,000", "62.0"),
    ("Gross profit", "1,134,000", "37.5", "1,037,000", "38.0"),
)


def test_titles_of_a_table_are_lines_above_it_and_its_columns_keep_their_years() -> None:
    """As earnings releases are set: titles centred over the page, dates over two columns each."""
    sheet = Sheet()
    sheet.text(500, 30, "Exhibit 1")
    centred(
        sheet, 60, "Ulta Beauty, Inc.", "Consolidated Statements of Income", "(In thousands, except per share data)"
    )
    centred(sheet, 140, "13 Weeks Ended", middle=415)
    for middle, day, year in ((340, "January 28,", "2023"), (490, "January 29,", "2022")):
        centred(sheet, 156, day, year, middle=middle)
    sheet.rows(200, INCOME, RIGHTS)
    text = read(sheet).text
    [table] = tables_in(text)
    newer, older = "13 Weeks Ended / January 28, / 2023", "13 Weeks Ended / January 29, / 2022"
    assert table.header == ("", newer, newer, older, older)
    assert [row.cells for row in table.rows] == list(INCOME)
    assert text[: table.span[0]].split("\n") == [
        "Exhibit 1", "Ulta Beauty, Inc.", "Consolidated Statements of Income", "(In thousands, except per share data)", "", "",
    ]  # fmt: skip


def test_titles_apart_from_the_columns_are_none_of_their_names() -> None:
    sheet = Sheet()
    centred(sheet, 60, "Exhibit 5", "2022 Store Update")
    rows = (
        ("", "Opened", "Closed", "At the end"),
        ("1st Quarter", "10", "0", "1,318"),
        ("2nd Quarter", "7", "0", "1,325"),
    )
    sheet.rows(108, rows, (250, 400, 550))
    [table] = tables_of(sheet)
    assert table.header == ("", "Opened", "Closed", "At the end")


@pytest.mark.parametrize("over_all", [("Year ended December 31,",), ("Year ended", "December 31,")])
def test_what_goes_on_in_the_years_below_is_their_name(over_all: tuple[str, ...]) -> None:
    sheet = Sheet()
    centred(sheet, 60, *over_all, middle=410)
    sheet.rows(60 + 16 * len(over_all), SALES, (350, 480))
    [table] = tables_of(sheet)
    assert [name.endswith("December 31, / 2019") for name in table.header] == [False, True, False]
    assert table.header[1].startswith("Year ended")


def test_a_name_of_two_lines_in_the_middle_of_a_table_is_no_title() -> None:
    sheet = Sheet()
    centred(sheet, 60, "Fixed rate", "assets", middle=300)
    sheet.rows(
        92,
        (("", "Total", "Fixed", "Floating"), ("2019", "12", "8", "4"), ("2018", "13", "9", "4")),
        (200, 315, 550),
        left=50,
    )
    [table] = tables_of(sheet)
    assert "Fixed rate" in " ".join(table.header)


def test_a_currency_in_a_column_of_its_own_has_the_name_of_its_number() -> None:
    sheet = Sheet()
    centred(sheet, 60, "Year ended December 31,", middle=475)
    sheet.rows(76, (
        ("", "", "2022", "", "2021"), ("Revenue", "$", "1,452", "$", "1,300"), ("Net income", "", "120", "", "98"),
        ("Earnings per share", "$", "1.2", "$", "1.0"),
    ), (430, 475, 510, 555))  # fmt: skip
    [table] = tables_of(sheet)
    assert table.header == ("", "Year ended December 31, / 2022", "Year ended December 31, / 2021")
    assert [row.cells for row in table.rows] == [
        ("Revenue", "$ 1,452", "$ 1,300"), ("Net income", "120", "98"), ("Earnings per share", "$ 1.2", "$ 1.0"),
    ]  # fmt: skip


def test_a_caption_and_a_header_of_its_own_begin_another_table() -> None:
    sheet = Sheet()
    sheet.rows(90, SALES, (320, 400))
    sheet.text(50, 170, "Yards", 12)
    sheet.rows(188, (("Yard", "Since", "Staff"), ("Holm", "1968", "240"), ("Ness", "1983", "115")), (320, 400))
    first, second = tables_of(sheet)
    assert (first.header, second.header) == (("", "2019", "2018"), ("Yard", "Since", "Staff"))
    assert [row.cells[0] for row in second.rows] == ["Holm", "Ness"]
