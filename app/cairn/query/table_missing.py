"""What has not happened to a row: "which books have not been returned", where the column of the date is empty. Pure."""

from __future__ import annotations

from typing import Final

from cairn.domain.computation import CellCondition
from cairn.language.cells import NO_SIGNS
from cairn.query.table_limits import is_all_said
from cairn.query.table_reading import TableReading
from cairn.query.table_words import NEGATIONS

_EMPTY: Final = ""
"""The key of a cell that says nothing; in a column of dates no other cell has it."""
_NO: Final = ("no", "n", "false", "nein", "falsch", "non", "faux", "falso", *sorted(NO_SIGNS))
"""Keys of cells that say no, in a column that says no more than yes or no; an empty one may be not known."""


def read_missing(reading: TableReading) -> None:
    """Nothing is read where something else is denied than what one column of dates, or of yes and no, says."""
    denied = [at for at, token in enumerate(reading.tokens) if token in NEGATIONS and at not in reading.explained]
    head = reading.header_after(reading.after_idle(denied[0] + 1)) if denied else None
    if head is None or len(head.headers) != 1:
        return
    [at] = head.headers
    table = reading.table
    flag = at < len(table.flags) and table.flags[at] is not None
    if not (table.dated[at] or flag) or not is_all_said(reading, table.header[at]):
        return
    keys = _NO if flag else (_EMPTY,)
    reading.missing = CellCondition(at, keys, (f"≠ {table.flags[at]}" if flag else "–",))
    reading.explained |= {*denied}
    reading.spans.remove(head)
