"""Spreadsheets, presentations and word processors: what their loaders make of real files."""

from __future__ import annotations

import zipfile
from datetime import date, datetime
from io import BytesIO
from typing import Any

import openpyxl
import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from cairn.domain.document import LoadedDocument
from cairn.errors import EmptyDocumentError, ParseError, ParserLimitError
from cairn.ingest.loaders import load, sniff
from cairn.ingest.loaders.cell_formats import parse_format, show_plainly
from cairn.ingest.loaders.sheet_tables import tables_of
from cairn.settings import IngestSettings
from tests import office_files as files

LIMITS = IngestSettings()


def read(content: bytes, name: str = "x") -> LoadedDocument:
    return load(content, sniff(name, content), LIMITS)


def sheet(fill: Any) -> str:
    return read(files.workbook(fill)).text.removeprefix("## Sales\n\n")


# --- spreadsheets ---------------------------------------------------------------------------------------------------


def test_each_sheet_is_a_page_under_its_name() -> None:
    book = openpyxl.load_workbook(BytesIO(files.workbook()))
    book.properties.title = "All sales"
    book.create_sheet("Nothing")
    book.create_sheet("Remarks").append(["Amounts in thousands."])
    hidden = book.create_sheet("Lookup")
    hidden.append(["secret"])
    hidden.sheet_state = "hidden"
    loaded = read(files.saved(book), "a.xlsx")
    assert loaded.text == (
        "## Sales\n\n| Region | 2023 | 2024 |\n| --- | --- | --- |\n| North | 1200 | 1300 |\n\n"
        "## Remarks\n\nAmounts in thousands."
    )
    assert [(loaded.text[page.start :].split("\n")[0], page.number) for page in loaded.pages] == [
        ("## Sales", 1),
        ("## Remarks", 3),
    ]
    assert loaded.title == "All sales"
    assert loaded.markup == "markdown"


def test_a_file_may_not_unpack_to_more_than_the_settings_allow() -> None:
    content = files.workbook()
    with zipfile.ZipFile(BytesIO(content)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    kind = sniff("a.xlsx", content)
    assert load(content, kind, IngestSettings(max_unpacked_bytes=unpacked)).text
    with pytest.raises(ParserLimitError):
        load(content, kind, IngestSettings(max_unpacked_bytes=unpacked - 1))


def test_cells_are_written_as_the_sheet_shows_them() -> None:
    def fill(sheet: Any) -> None:
        sheet.append(["Item", "Price", "Share", "Units", "Since", "Checked", "Open"])
        sheet.append(["Chair", 1200.5, 0.0828, 1234567, date(2024, 5, 17), datetime(2024, 5, 17, 13, 30), True])
        sheet.append(["Table", -3, 0.15, 7, date(2024, 5, 18), datetime(2024, 5, 18, 9, 0, 5), False])
        for row in (2, 3):
            for column, code in ((2, '"$"#,##0.00;[Red]\\-"$"#,##0.00'), (3, "0.0%"), (4, "#,##0")):
                sheet.cell(row, column).number_format = code

    assert sheet(fill).split("\n")[2:] == [
        "| Chair | $1,200.50 | 8.3% | 1,234,567 | 2024-05-17 | 2024-05-17 13:30 | TRUE |",
        "| Table | -$3.00 | 15.0% | 7 | 2024-05-18 | 2024-05-18 09:00:05 | FALSE |",
    ]


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0%", 0.5, "50%"), ("0.00%", 0.12345, "12.35%"), ("#,##0.00", 1234.5, "1,234.50"), ("0.00", -0.001, "0.00"),
        ('#,##0 "€"', 1300, "1,300 €"), ("[$£-809]#,##0.00", 5, "£5.00"), ("[$CHF] 0.00", 5, "CHF 5.00"),
        ('_-* #,##0.00\\ "kr"_-', 12.5, "12.50 kr"), ("$#,##0_);($#,##0)", -12, "-$12"), ("0.0x", 2.5, None),
        ("General", 2.5, None), ("@", 2.5, None), ("0", 2.5, None), ("0.00E+00", 2.5, None), ("yyyy-mm-dd", 2.5, None),
        ("# ?/?", 2.5, None), ("#,##0,", 2500, None), ("", 2.5, None), ('0.0"x"', 2.5, "2.5x"),
    ],
)  # fmt: skip
def test_number_formats(code: str, value: float, shown: str | None) -> None:
    found = parse_format(code)
    assert (found and found.show(value)) == shown


def test_numbers_without_a_format_keep_the_digits_that_excel_keeps() -> None:
    assert [show_plainly(value) for value in (1300.0, 0.1 + 0.2, -2.5, 1e20)] == ["1300", "0.3", "-2.5", "1e+20"]


def test_tables_of_one_sheet_are_told_apart() -> None:
    """By empty rows and columns; titles and remarks stand around them."""

    def fill(sheet: Any) -> None:
        sheet["C2"] = "Sales by region"
        for row, cells in enumerate([["Region", "Total"], ["North", 5], [None, None], ["Sum", 5]], 3):
            for column, value in enumerate(cells, 3):
                sheet.cell(row, column, value)
        sheet["H3"], sheet["I3"], sheet["H4"], sheet["I4"] = "Owner", "Ann", "Deputy", "Bob"
        sheet["C9"] = "Staff"
        sheet["C10"], sheet["D10"], sheet["C11"], sheet["D11"] = "Name", "Started", "Eve", 2021
        sheet["C12"] = "Source: ledger"

    assert sheet(fill) == (
        "Sales by region\n\n| Region | Total |\n| --- | --- |\n| North | 5 |\n| Sum | 5 |\n\n"
        "| Owner | Ann |\n| --- | --- |\n| Deputy | Bob |\n\n"
        "Staff\n\n| Name | Started |\n| --- | --- |\n| Eve | 2021 |\n\nSource: ledger"
    )


def test_a_spacer_column_parts_no_table() -> None:
    rows = [["", "", "2019", "", "2018"], ["Cash", "", "5", "", "4"], ["Debt", "", "2", "", "3"]]
    (table,) = tables_of(rows)
    assert table.split("\n")[2:] == ["| Cash | 5 | 4 |", "| Debt | 2 | 3 |"]


def test_merged_cells_are_repeated() -> None:
    def fill(sheet: Any) -> None:
        sheet.append(["", "Years", ""])
        sheet.append(["Region", "2023", "2024"])
        sheet.append(["North", 1, 2])
        sheet.append([None, 3, 4])
        sheet.merge_cells("B1:C1")
        sheet.merge_cells("A3:A4")

    assert sheet(fill).split("\n") == [
        "| Region | Years / 2023 | Years / 2024 |", "| --- | --- | --- |", "| North | 1 | 2 |", "| North | 3 | 4 |",
    ]  # fmt: skip


def test_formulas_count_by_their_saved_values() -> None:
    content = files.workbook(lambda sheet: sheet.append(["=1+1"]))
    with pytest.raises(EmptyDocumentError, match="never calculated; open it in Excel"):
        read(content)
    entries = files.unzipped(content)
    part = "xl/worksheets/sheet1.xml"
    entries[part] = (
        entries[part].replace(b"<v></v>", b"<v>2</v>").replace(b"<v />", b"<v>2</v>").replace(b"<v/>", b"<v>2</v>")
    )
    assert read(files.zipped(entries)).text == "## Sales\n\n2"


def test_old_workbooks_are_read() -> None:
    loaded = read(files.OLD_WORKBOOK, "stock.xls")
    assert loaded.text.endswith("| Bolt | 1200 |\n| Nut | 7.5 |\n| Counted | 2024-05-17 |")
    assert (loaded.title, loaded.media_type) == ("Stock", "application/vnd.ms-excel")


def test_an_empty_workbook_is_an_empty_document() -> None:
    with pytest.raises(EmptyDocumentError, match="no text on any visible sheet"):
        read(files.workbook(lambda sheet: None))


# --- presentations --------------------------------------------------------------------------------------------------


def test_slides_are_pages_with_title_list_table_and_notes() -> None:
    loaded = read(files.presentation(), "a.pptx")
    assert loaded.text == (
        "# Quarterly review\n\nFinance team\n\n# Goals\n\n- Grow revenue\n  - in Europe\n\n"
        "Notes: Mention the Paris office.\n\n# Numbers\n\n"
        "|  | 2023 | 2024 |\n| --- | --- | --- |\n| Revenue | 10 | 12 |\n| Cost | 8 | 7 |"
    )
    assert [loaded.text[page.start :].split("\n")[0] for page in loaded.pages] == [
        "# Quarterly review",
        "# Goals",
        "# Numbers",
    ]


def test_charts_show_their_numbers_and_groups_their_texts() -> None:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[6])  # blank
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    inner = slide.shapes.add_group_shape().shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(1), Inches(1))
    inner.text_frame.text = "Deep text"
    data = CategoryChartData()
    data.categories = [date(2024, 5, 17), date(2024, 5, 18)]
    data.add_series("Q1", (19.2, None))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(3), data)
    assert (
        read(files.saved(deck)).text
        == "# Deep text\n\nDeep text\n\n|  | Q1 |\n| --- | --- |\n| 2024-05-17 | 19.2 |\n| 2024-05-18 |  |"
    )


# --- OpenDocument ---------------------------------------------------------------------------------------------------


def test_open_document_text() -> None:
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        '<text:h text:outline-level="2">Lakes</text:h>'
        "<text:p>Deep<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In metres.</text:p>"
        '</text:note-body></text:note>,<text:s text:c="2"/>cold'
        "<office:annotation><text:p>why?</text:p></office:annotation>.</text:p>"
        "<text:list><text:list-item><text:p>first</text:p><text:list><text:list-item><text:p>inner</text:p></text:list-item>"
        "</text:list></text:list-item></text:list><text:section><text:p>In a section"
        "<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame></text:p>"
        "</text:section><table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Lake</text:p>"
        '</table:table-cell><table:table-cell table:number-columns-spanned="2"><text:p>Depth</text:p></table:table-cell>'
        "<table:covered-table-cell/></table:table-row></table:table-header-rows><table:table-row><table:table-cell>"
        "<text:p>Baikal</text:p></table:table-cell><table:table-cell><text:p>1642</text:p></table:table-cell><table:table-cell>"
        '<text:p>m</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="1048576">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>'
    )
    loaded = read(files.open_text(body), "a.odt")
    assert loaded.text == (
        "## Lakes\n\nDeep,  cold.\n\n- first\n  - inner\n\nIn a section\n\nboxed\n\n"
        "| Lake | Depth | Depth |\n| --- | --- | --- |\n| Baikal | 1642 | m |\n\nIn metres."
    )


def test_a_protected_open_document_says_so() -> None:
    manifest = {"META-INF/manifest.xml": "<manifest><file-entry><encryption-data/></file-entry></manifest>"}
    with pytest.raises(ParseError, match="password"):
        read(files.open_text("<text:p>x</text:p>", extra=manifest))


# --- RTF ------------------------------------------------------------------------------------------------------------


def test_rich_text() -> None:
    content = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title R\'fcles}{\author Ann}}{\stylesheet{\s1 heading 1;}}"
        rb"\pard\s1\outlinelevel0\b Travel\b0\par\pard Gr\'f6\'dfe \u8364? 5 \\cell \{x\}.\par"
        rb"\trowd\cellx1000\cellx2000\intbl Name\cell Role\cell\row"
        rb"\trowd\intbl Ada\par Lovelace\cell engineer\cell\row\pard After.\par}"
    )
    loaded = read(content, "a.rtf")
    assert loaded.text == (
        "# Travel\n\nGröße € 5 \\cell {x}.\n\n| Name | Role |\n| --- | --- |\n| Ada Lovelace | engineer |\n\nAfter."
    )
    assert loaded.title == "Rüles"
