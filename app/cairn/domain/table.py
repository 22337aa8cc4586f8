"""Tables of documents by columns: what computations read."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Of each row, in order: the cell as it is written, its number with its unit ("$ #m", `#` for the digits; "" for a bare
    one), its date, and the words by which a question may call it ("": none). `filled`: cells that say something; `numbered`:
    those that are numbers; `dated`: days. `unit`: the one that all numbers share; None where they differ."""

    texts: Sequence[str]
    numbers: Sequence[Decimal | None]
    units: Sequence[str]
    dates: Sequence[datetime.date | None]
    keys: Sequence[str]
    filled: int
    numbered: int
    dated: int
    unit: str | None


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """One table of a document, its pieces joined; `start` and `end`, and `starts` and `ends` of its rows, are code points of the
    document's text. `title`: the line above it. `groups`: of each row the labels that it stands under; `totals`: whether
    it sums up other rows. `mark` writes decimals; None where the cells leave that open. `complete`: no row of it stands
    elsewhere, as lines or behind other text."""

    start: int
    end: int
    title: str
    headings: tuple[str, ...]
    header: tuple[str, ...]
    starts: Sequence[int]
    ends: Sequence[int]
    groups: Sequence[str]
    totals: Sequence[bool]
    mark: Literal[".", ","] | None
    complete: bool
    columns: tuple[TableColumn, ...]


# --- what is computed -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Which table of which document."""

    document_id: UUID
    ordinal: int


@dataclass(frozen=True, slots=True)
class TableSketch:
    """A table without its cells. `shared`: words that all its rows are called by ("county"). Of each column `numeric`: most of
    what stands in it are numbers, `dated`: all are dates, `yearly`: all are numbers that may be years, `units`: what its numbers
    share, None where that is nothing. `coded`: its rows are called by numbers, "P-101"; `serial`: those of the first
    column are whole and all different, so they may only number the rows, `numbered`: and rise from row to row, as numbers of
    rows do. `repeats`: several rows have the same first cell, so it is not what a row is. `flags`: of columns that say
    yes or no how the cells with yes are called, None of others."""

    address: TableAddress
    title: str
    headings: tuple[str, ...]
    header: tuple[str, ...]
    rows: int
    mark: str | None
    complete: bool
    numeric: tuple[bool, ...]
    dated: tuple[bool, ...]
    units: tuple[str | None, ...]
    external_id: str
    document_title: str
    shared: tuple[str, ...] = ()
    yearly: tuple[bool, ...] = ()
    coded: bool = False
    serial: bool = False
    numbered: bool = False
    repeats: bool = False
    flags: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedCells:
    """Cells of a column that are called alike and stand under the same labels: how many, the first row (from 1), and whether
    all are in rows that sum up others. `name`: what the question calls them, the key or what is left of it without the words
    that all rows have."""

    position: int
    key: str
    name: str
    group: str
    text: str
    cells: int
    row: int
    total: bool


@dataclass(frozen=True, slots=True)
class CellMention:
    """A cell of a column that says a name among other words, and what it may be called."""

    position: int
    name: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """Of each row, in order: the cell as it is written, what a question may call it, and its day."""

    texts: Sequence[str]
    keys: Sequence[str]
    dates: Sequence[datetime.date | None]


@dataclass(frozen=True, slots=True)
class TableCells:
    """The cells of a table; of its rows `totals`: whether they sum up others, `starts` and `ends`: code points of the document's
    text."""

    columns: tuple[ColumnCells, ...]
    totals: Sequence[bool]
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True, slots=True)
class ComputedCells:
    """What the database makes of cells. `lines`: rows that meet the conditions, `rows` without those that sum up others;
    `numbers`: how many hold one, `unread`: hold something else; `unbound`: have one without the other of two columns that
    are compared; `kept`: those that compare as wanted, whose `sum` and `average` these are. `asked`: different values of the
    column that is asked for, `counted` of the one that says what rows are counted in. `part`: what the sum, or the
    number of rows, is of those whose share is asked for. `kept_numbers`: numbers of the kept ones;
    `compared_units`: units of what is compared. `addends`: sum of the numbers from the first row that meets the conditions to
    before the last one; None where a row between sums up others.
    `doubtful`: rows left out as totals that are smaller than one of the others ("Total Corn Flakes").
    `groups`: of rows that are taken together, how many there are. `all_rows`: as `rows`, of the whole table.
    `decimals` and `grouped`: how the numbers are written. `cells`: the first ones, in order."""

    rows: int
    numbers: int
    units: Sequence[str] | None
    kept: int
    sum: Decimal | None
    average: Decimal | None
    ordered: Sequence[Decimal | None] | None
    difference: Decimal | None
    growth: Decimal | None
    decimals: int | None
    grouped: bool | None
    cells: Sequence[Mapping[str, Any]] | None
    lines: int = 0
    unread: int = 0
    unbound: int = 0
    asked: int = 0
    doubtful: int = 0
    counted: int = 0
    kept_numbers: int = 0
    all_rows: int = 0
    groups: int = 0
    addends: Decimal | None = None
    compared_units: Sequence[str] | None = None
    share: Decimal | None = None
    part: Decimal | None = None
    char_start: int = 0
    char_end: int = 0

    @property
    def all_below_zero(self) -> bool:
        known = [one for one in self.ordered or () if one is not None]
        return bool(known) and max(known) <= 0

    def as_amounts(self) -> ComputedCells:
        """The same of costs that a statement writes in parentheses: 181.7 more were spent, and not -181.7."""
        difference, total, average = (
            None if one is None else -one for one in (self.difference, self.sum, self.average)
        )
        return replace(self, difference=difference, sum=total, average=average)
