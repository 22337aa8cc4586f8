"""Spreadsheets (.xlsx, .xlsm, .xlsb, .xls, .ods) through calamine: each sheet is a section and a page, and shows its tables.

Formulas count by the values that were saved with them; hidden sheets are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any, Final

import python_calamine as calamine

from cairn.errors import EmptyDocumentError, EncryptedDocumentError, ParseError, ParserLimitError
from cairn.ingest.loaders import archive, render
from cairn.ingest.loaders.base import LoadedText, LoadLimits, counted
from cairn.ingest.loaders.cell_formats import CellFormats, NumberFormat, show_plainly
from cairn.ingest.loaders.sheet_tables import tables_of
from cairn.language.tables import COVERED

_Formats = Mapping[int, NumberFormat]
_LARGEST_MERGE: Final = 10_000
"""Cells. What is merged over more is a background."""


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises EncryptedDocumentError, EmptyDocumentError, ParserLimitError for a zip bomb or too much text, or ParseError."""
    zipped = content.startswith(b"PK")
    if zipped:
        archive.check(content, limits.max_unpacked_bytes)
    book = _open(content)
    formats = CellFormats(content) if zipped else None
    sheets: list[tuple[int, str]] = []
    for number, sheet in enumerate(counted(book.sheets_metadata), 1):
        if sheet.typ != calamine.SheetTypeEnum.WorkSheet or sheet.visible != calamine.SheetVisibleEnum.Visible:
            continue
        room = limits.max_text_chars - sum(len(text) for _, text in sheets)
        if text := _sheet_text(_read(book, sheet.name), formats, room):
            sheets.append((number, f"{render.heading(2, sheet.name)}\n\n{text}"))
    if not sheets:
        raise EmptyDocumentError(_why_empty(formats))
    text, pages = render.join_pages(sheets)
    only = book.sheet_names[0] if len(book.sheet_names) == 1 else None
    return LoadedText(text, title=(formats and formats.title) or only, pages=pages)


def _open(content: bytes) -> Any:
    try:
        return calamine.load_workbook(BytesIO(content))
    except calamine.PasswordError:
        raise EncryptedDocumentError("the workbook is protected by a password; remove it and send it again") from None
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise _damaged(error) from None


def _read(book: Any, name: str) -> Any:
    try:
        return book.get_sheet_by_name(name)
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise _damaged(error) from None


def _damaged(error: Exception) -> ParseError:
    return ParseError(
        f"the workbook is damaged ({str(error)[:200]}); open it in Excel or LibreOffice and save it again as .xlsx"
    )


def _why_empty(formats: CellFormats | None) -> str:
    if formats and formats.has_formulas():
        return (
            "the workbook holds formulas that were never calculated; open it in Excel or LibreOffice and save it again"
        )
    return "the workbook holds no text on any visible sheet"


def _sheet_text(sheet: Any, formats: CellFormats | None, room: int) -> str:
    """All tables of a sheet; `room`: characters that it may have. Raises ParserLimitError for more."""
    if sheet.start is None:
        return ""
    shown = _by_row(formats.of_sheet(sheet.name)) if formats else iter(())
    blocks = []
    for block in tables_of(_merged(_rows(sheet, shown), sheet)):
        room -= len(block)
        if room < 0:
            raise ParserLimitError(
                "the sheets have more characters than ingest.maxTextChars; split the workbook, or send only what matters"
            )
        blocks.append(block)
    return "\n\n".join(filter(None, blocks))


# --- cells as they are shown ----------------------------------------------------------------------------------------


def _rows(sheet: Any, formats: Iterator[tuple[int, _Formats]]) -> Iterator[list[str]]:
    top, left = sheet.start
    formatted, shown = next(formats, (-1, {}))
    for at, row in enumerate(sheet.iter_rows(), top):
        while 0 <= formatted < at:
            formatted, shown = next(formats, (-1, {}))
        if formatted == at:
            yield [_shown(value, shown.get(column)) for column, value in enumerate(row, left)]
        else:
            yield [_shown(value, None) for value in row]


def _by_row(cells: Iterator[tuple[int, int, NumberFormat]]) -> Iterator[tuple[int, _Formats]]:
    current, formats = -1, dict[int, NumberFormat]()
    for row, column, shown in cells:
        if row != current:
            if formats:
                yield current, formats
            current, formats = row, {}
        formats[column] = shown
    if formats:
        yield current, formats


def _shown(value: Any, number_format: NumberFormat | None) -> str:
    """Numbers by their format, dates and times as in ISO 8601, with a space."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return number_format.show(value) if number_format else show_plainly(value)
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes" if not value.second else "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else ""


def _merged(rows: Iterator[list[str]], sheet: Any) -> Iterator[list[str]]:
    """Rows in which merged cells are filled: downwards with their text, to the right with COVERED."""
    top, left = sheet.start
    begins: dict[int, list[tuple[int, int, int]]] = {}
    for (first_row, first), (last_row, last) in sheet.merged_cell_ranges or ():
        if (last_row - first_row + 1) * (last - first + 1) <= _LARGEST_MERGE and first >= left:
            begins.setdefault(first_row, []).append((last_row, first - left, last - left))
    covering: list[tuple[int, int, int, str]] = []
    for at, row in enumerate(rows, top):
        covering = [merge for merge in covering if merge[0] >= at]
        for last_row, first, last in begins.pop(at, ()):
            if first < len(row) and row[first]:
                covering.append((last_row, first, last, row[first]))
        for _, first, last, text in covering:
            row[first : last + 1] = [text, *[COVERED] * (min(last + 1, len(row)) - first - 1)]
        yield row
