"""What a number of a question is in the unit of a column: "over 2 kg" of what is counted in grams. Pure."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from cairn.domain.table import TableSketch
from cairn.domain.table_parsing import Mention
from cairn.language.linear import bounded
from cairn.language.numbers import amount_in, unit_named
from cairn.language.text import fold
from cairn.language.title_scale import unit_at_end
from cairn.query.table_words import scale_of

_IN_BRACKETS: Final = bounded(r"[(\[]([^()\[\]]{1,20})[)\]]")
_BEHIND_IN: Final = re.compile(r"\b(?:in|en)\s([^\W\d_]{1,12}|[€$£%])\s*\Z", re.IGNORECASE)
_OPEN: Final = re.compile(r"m|cent.*|pence|c[eé]nt.*")
"""Metres or millions; hundredths of what is in a column without a unit, or not."""


def number_in(mention: Mention, table: TableSketch, column: int) -> Decimal | None:
    """The first way to read a mention, in the unit of a column. None where the units are not of one kind, or one cannot be
    read."""
    [value, *_], said = mention.values, unit_of(table, column)
    scale = scale_of(table)
    if scale is not None and (mention.unit or value >= scale):
        return None  # "more than 500,000 euros" of what is in thousands
    if not mention.unit:
        return value
    if not said:
        bare = _unit_called(table, column)
        converted = amount_in(value, mention.unit, bare) if bare else None
        return converted if converted is not None else None if _OPEN.fullmatch(mention.unit) else value
    if fold(said) == fold(mention.unit):
        return value
    known = unit_named(said) or unit_named(re.split(r"/|\bper\b|\bpro\b|\bpar\b", said)[0].strip())
    return amount_in(value, mention.unit, known) if known else None


def unit_of(table: TableSketch, column: int) -> str:
    """What the cells or the header of a column say that its numbers are counted in, as it is written; "" where they do not."""
    header = table.header[column]
    found = _IN_BRACKETS.search(header) or _BEHIND_IN.search(header)
    return (table.units[column] or "").replace("#", "").strip() or unit_at_end(header) or (found[1] if found else "")


def _unit_called(table: TableSketch, column: int) -> str:
    """Of a column that is called as a unit and nothing else, "Min", that unit; a letter may mean anything, and so may "Min"
    beside "Max"."""
    header = table.header[column]
    least = fold(header) == "min" and any(fold(one).startswith("max") for one in table.header)
    return "" if least or len(header) < len("kg") else unit_named(header) or ""
