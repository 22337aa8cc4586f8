"""Comma-separated values (.csv, .tsv) as a table (`cairn.language.tables`).

The separator is a comma, semicolon, tab or bar, whichever splits the rows alike. A first row of words above
values, or of distinct words, is taken for the names of the columns; without one, a row is its values.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain, islice
from typing import Final

from cairn.errors import ParseError, ParserLimitError
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.text import decode
from cairn.language.tables import TableWriter

_SEPARATORS: Final = ",;\t|"
_DECLARED: Final = re.compile(r"sep=([,;|\t])[ \t]*\r?\n", re.IGNORECASE)
"""The first line of a file that was written for Excel."""
_SAMPLE_CHARS: Final = 1 << 16
_SAMPLE_ROWS: Final = 50
"""The rows that separator and names are told from."""
_LONGEST_NAME: Final = 100
_VALUE: Final = re.compile(r"(?!(?:19|20)\d\d$)[\W_]{0,16}\d[\d\W_]{0,60}\w{0,3}")
"""A number, date or amount, which is no name of a column; a year may be."""
_YEARS: Final = re.compile(r"(?:19|20)\d\d")
_NOTHING: Final = re.compile(r"\W*|[Nn]/?[Aa]")
_FEWEST_VALUES: Final = 2
_MOST_VALUES: Final = 0.8
"""Of the cells of a column that says whether the row above it has names."""


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParseError for quotation marks that do not match, ParserLimitError for too much text."""
    text = decode(content).removeprefix("\ufeff")
    declared = _DECLARED.match(text)
    text = text[declared.end() :] if declared else text
    separator = declared[1] if declared else _separator(text[:_SAMPLE_CHARS])
    rows = _rows(text, separator)
    head = list(islice(rows, _SAMPLE_ROWS))
    names = [_clean(cell)[:_LONGEST_NAME] for cell in head.pop(0)] if _has_names(head) else []
    width = max(map(len, [names, *head]))
    writer = TableWriter([*names, *[""] * (width - len(names))])
    for row in chain(head, rows):
        writer.add([_clean(cell) for cell in row])
        if writer.written > limits.max_text_chars:  # names repeated in each row can make much of a small file
            raise ParserLimitError(
                "the rows with the names of their columns have more characters than ingest.maxTextChars "
                f"({limits.max_text_chars}); split the file"
            )
    return LoadedText(writer.text())


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    """Rows that are not blank."""
    # tab-separated values may know no quotation; a mark there is a mark
    unquoted = separator == "\t" and not _quotes_match(text, separator)
    quoting: Final = csv.QUOTE_NONE if unquoted else csv.QUOTE_MINIMAL
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ParseError(f"line {line} of the table cannot be read: {_reason(str(error))}") from None
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield row


def _quotes_match(text: str, separator: str) -> bool:
    try:
        for _ in csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True):
            pass
    except csv.Error:
        return False
    return True


def _reason(error: str) -> str:
    if "unexpected end" in error:
        return "a quotation mark that opens there is never closed"
    if "field larger" in error:
        return f"a cell has more than {csv.field_size_limit():,} characters; a quotation mark may not be closed"
    if "expected after" in error:
        return "text follows a closing quotation mark; a quotation mark inside of a cell is written twice"
    return error


def _separator(sample: str) -> str:
    """The one that gives most rows the same number of columns, more than one; of equals the one with more columns."""

    def alike(separator: str) -> tuple[float, int]:
        try:
            rows = islice(csv.reader(StringIO(sample, newline=""), delimiter=separator), _SAMPLE_ROWS)
            widths = Counter(len(row) for row in rows if row)
        except csv.Error:
            return 0.0, 0
        width, times = widths.most_common(1)[0] if widths else (1, 0)
        return (times / widths.total(), width) if width > 1 else (0.0, 0)

    return max(_SEPARATORS, key=alike)


def _has_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: it has words above columns of values, and not more values above such; where
    no column tells, words, most of them distinct, none of which stands again in its column."""
    if len(rows) < 2:
        return False
    first = [_clean(cell) for cell in rows[0]]
    columns = [[_clean(row[at]) for row in rows[1:] if at < len(row)] for at in range(len(first))]
    above = [
        _is_value(name) for name, below in zip(first, columns, strict=True)
        if name and _NOTHING.fullmatch(name) is None and _holds_values(below)
    ]  # fmt: skip
    if not all(above) and len(above) >= 2 * sum(above):
        return True
    words = [cell for cell in first if cell]
    if (len(words) > 1 and 2 * len({*words}) <= len(words)) or any(_VALUE.fullmatch(cell) for cell in words):
        return False
    return not any(name and name in below for name, below in zip(first, columns, strict=True))


def _holds_values(cells: Sequence[str]) -> bool:
    """Whether most of what stands in a column are values, years too."""
    said = [cell for cell in cells if cell and _NOTHING.fullmatch(cell) is None]
    return len(said) >= _FEWEST_VALUES and _MOST_VALUES * len(said) <= sum(map(_is_value, said))


def _is_value(cell: str) -> bool:
    return _VALUE.fullmatch(cell) is not None or _YEARS.fullmatch(cell) is not None


def _clean(cell: str) -> str:
    return " ".join(cell.split())
