"""How an Excel workbook (.xlsx) shows its numbers: 0.153 as "15.3%", 1200.5 as "$ 1,200.50".

calamine gives values without their formats, so those are read here: which format a cell has stands in its sheet, what it is in
the workbook's styles. Of the codes of ECMA-376 part 1, 18.8.30, those are followed that change what a reader understands:
percent, decimals, thousands, currency and other fixed text. Dates are told by calamine.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from posixpath import join, normpath
from typing import Final

from lxml import etree

from cairn.language.linear import bounded

_BUILT_IN: Final[Mapping[int, str]] = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00",
}  # fmt: skip
_CELL: Final = re.compile(
    rb'<(?:\w{1,20}:)?c (?=[^<>]{0,200}?\br="([A-Z]{1,3})(\d{1,7})")(?=[^<>]{0,200}?\bs="(\d{1,6})")'
)
_FORMULA: Final = re.compile(rb"<(?:\w{1,20}:)?f[ >/]")
_TOKEN: Final = bounded(
    r'"([^"]*)"|\[\$([^\]\-]*)[^\]]*\]|\[[^\]]*\]|\\(.)|[_*].|([0#?][0#?,]*(?:\.[0#?]*)?)|(.)', re.DOTALL
)
_MOST_DECIMALS: Final = 10
_GENERAL_DIGITS: Final = 15
"""Significant digits that Excel keeps."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """`before` and `after`: fixed text around the number, a currency sign for instance."""

    decimals: int
    thousands: bool
    percent: bool
    before: str = ""
    after: str = ""

    def show(self, value: float) -> str:
        scaled = value * 100 if self.percent else value
        number = f"{abs(scaled):{',' if self.thousands else ''}.{self.decimals}f}"
        sign = "-" if scaled < 0 and number.strip("0,.") else ""
        return f"{sign}{self.before}{number}{'%' if self.percent else ''}{self.after}"


def show_plainly(value: float) -> str:
    """A number without a format: "1300" for 1300.0."""
    whole = float(value).is_integer() and abs(value) < 10**_GENERAL_DIGITS
    return str(int(value)) if whole else format(value, f".{_GENERAL_DIGITS}g")


def parse_format(code: str) -> NumberFormat | None:
    """What the format of positive numbers says; None where it says nothing but the digits themselves."""
    before, after, digits, percent = "", "", "", False
    for quoted, currency, escaped, number, other in _TOKEN.findall(code.split(";", 1)[0][:200]):
        if number:
            if digits:
                return None  # fractions, dates and telephone numbers
            digits = number
        elif other == "%":
            percent = True
        elif other and other not in "$€£¥₹ -+()/:,":
            return None  # a date, "General", "@", an exponent
        elif text := quoted or currency or escaped or (other if other in "$€£¥₹ " else ""):
            before, after = (before, after + text) if digits else (before + text, after)
    decimals = len(digits.partition(".")[2])
    scale = digits.endswith(",")  # shown in thousands: the value itself is clearer
    if (
        not digits
        or scale
        or decimals > _MOST_DECIMALS
        or not (percent or decimals or "," in digits or before or after)
    ):
        return None
    return NumberFormat(decimals, "," in digits, percent, before.lstrip(), after.rstrip())


class CellFormats:
    """The formats of a workbook that archive.check has let through. What cannot be read of them is not there: the values are
    read all the same."""

    def __init__(self, content: bytes) -> None:
        self._archive = zipfile.ZipFile(BytesIO(content))
        self._names = frozenset(self._archive.namelist())
        self._formats = self._styles()
        self._sheets = self._sheet_parts()

    @property
    def title(self) -> str | None:
        root = self._part("docProps/core.xml")
        return None if root is None else root.findtext("{http://purl.org/dc/elements/1.1/}title")

    def of_sheet(self, name: str) -> Iterator[tuple[int, int, NumberFormat]]:
        """Row and column, counted from 0, and format of the cells that have one, in the order of the file."""
        part = self._sheets.get(name)
        if not self._formats or part not in self._names:
            return
        for match in _CELL.finditer(self._archive.read(part)):
            if shown := self._formats.get(int(match[3])):
                yield int(match[2]) - 1, _column(match[1]), shown

    def has_formulas(self) -> bool:
        return any(_FORMULA.search(self._archive.read(part)) for part in self._sheets.values() if part in self._names)

    def _part(self, name: str) -> etree._Element | None:
        if name not in self._names:
            return None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        return etree.fromstring(self._archive.read(name), parser)

    def _styles(self) -> dict[int, NumberFormat]:
        """Number of a cell's style -> its format."""
        root = self._part("xl/styles.xml")
        if root is None:
            return {}
        codes = dict(_BUILT_IN)
        for node in root.iterfind("{*}numFmts/{*}numFmt"):
            codes[_number(node.get("numFmtId"))] = node.get("formatCode") or ""
        formats = {
            at: parse_format(codes.get(_number(node.get("numFmtId")), ""))
            for at, node in enumerate(root.iterfind("{*}cellXfs/{*}xf"))
        }
        return {at: shown for at, shown in formats.items() if shown}

    def _sheet_parts(self) -> dict[str, str]:
        """Name of a sheet -> its part in the archive."""
        book, relations = self._part("xl/workbook.xml"), self._part("xl/_rels/workbook.xml.rels")
        if book is None or relations is None:
            return {}
        targets = {node.get("Id"): node.get("Target") or "" for node in relations}
        parts = {}
        for sheet in book.iterfind("{*}sheets/{*}sheet"):
            keys = [value for key, value in sheet.attrib.items() if key.endswith("}id")]
            target = targets.get(keys[0], "") if keys else ""
            parts[sheet.get("name") or ""] = (
                target.lstrip("/") if target.startswith("/") else normpath(join("xl", target))
            )
        return parts


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number - 1


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else 0
