"""What a question asks to compute of the cells of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Literal

from cairn.language.cells import is_year

Operation = Literal[
    "highest", "lowest", "sum", "average", "difference", "growth", "share", "count", "rank", "top", "listing", "value"
]
Comparison = Literal["more", "less", "at_least", "at_most", "equal"]

MOST_LISTED: Final = 20
"""Rows, or groups of them, that an answer lists."""


@dataclass(frozen=True, slots=True)
class CellCondition:
    """Rows whose cell of a column is called so."""

    position: int
    keys: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellInterval:
    """Rows whose number, or day (`datetime.date.toordinal`), in a column lies so; None: open to that side. `said`: as the answer
    says it."""

    position: int
    first: Decimal | None
    last: Decimal | None
    said: str


@dataclass(frozen=True, slots=True)
class Computation:
    """What to compute of which cells. Over a column (`measure`; None: rows are counted) of the rows that meet `conditions`, or
    over `columns` of one `row`. `asked`: the column whose value is the answer; `naming`: one that tells rows apart whose first
    cell is the same. `comparison` of column `compared` (None: the measure) with the number `bound` (where there is a `bound_row`,
    that of this row) or the column `other`;
    `within`: intervals of further columns. `minus`: a column that is taken from the measure in each row, `relative`: as a
    percentage of it. `counted_in`: a column that says what the row is counted in. `place`: which of a rank, how many of a top.
    `pair`: names of what is compared, the first one first. `turned`: the lowest comes first in a rank or a top. `totals`: rows
    that sum up others count, too. `stated`: how many rows the question says there are. `written`: the number may
    be one that is written, "the number of the player from Ohio". `one_row`:
    it says that the highest is one row, so that others may have the same value of what is asked for. `directed`: it says which of
    two is less, and that must be so; `apart`: it does not, and wants to know how far they are apart; `falls`: how far a number
    fell, which is told without a sign.
    `grouped`: not rows, but those that have the same value of what is asked for are compared, by how many they are or by the
    sum of the measure, `averaged`: by its average. `each`: all of them are the answer, and not the best one; of a count
    without it, how many they are; `ranked`: in the order of their numbers. `also`: what the same words may ask for as well;
    there is an answer only if both come to the same name; `instead`: what is meant where several rows have the same value of
    what is asked for, or meet the conditions of one number. `support`: how many words of the question the table's title,
    headings and document have."""

    operation: Operation
    measure: int | None = None
    row: int | None = None
    columns: tuple[int, ...] = ()
    label: str = ""
    conditions: tuple[CellCondition, ...] = ()
    asked: int | None = None
    naming: int | None = None
    comparison: Comparison | None = None
    bound: Decimal | None = None
    bound_row: CellCondition | None = None
    other: int | None = None
    compared: int | None = None
    within: tuple[CellInterval, ...] = ()
    minus: int | None = None
    relative: bool = False
    counted_in: int | None = None
    place: int = 1
    pair: tuple[str, str] | None = None
    turned: bool = False
    totals: bool = False
    stated: int | None = None
    written: bool = False
    one_row: bool = False
    directed: bool = False
    apart: bool = False
    falls: bool = False
    grouped: bool = False
    averaged: bool = False
    each: bool = False
    ranked: bool = False
    also: Computation | None = None
    instead: Computation | None = None
    support: int = 0

    @property
    def of_bound(self) -> Computation | None:
        """The number with which others are compared, where it is that of a row."""
        if self.bound_row is None or self.bound is not None:
            return None
        measure = self.measure if self.compared is None else self.compared
        return Computation("value", measure, conditions=(self.bound_row,), totals=True)

    @property
    def shares_rows(self) -> bool:
        """Of how many rows so many are is asked for, and of no sum."""
        return self.operation == "share" and self.measure is None

    @property
    def counts_groups(self) -> bool:
        """How many different values there are is asked for."""
        return self.operation == "count" and self.grouped and not self.each

    @property
    def turned_over(self) -> Computation:
        """The other end first."""
        other: Operation = "lowest" if self.operation == "highest" else "highest"
        return replace(
            self, turned=not self.turned, operation=other if self.operation in ("highest", "lowest") else self.operation
        )

    @property
    def other_way_round(self) -> Computation:
        """The second one taken from the first."""
        return replace(self, pair=self.pair and self.pair[::-1], columns=self.columns[::-1], falls=False)

    @property
    def order(self) -> str | None:
        """Which cells come first."""
        if self.operation in ("highest", "lowest"):
            return self.operation
        if self.operation in ("rank", "top") or self.ranked:
            return "lowest" if self.turned else "highest"
        return None

    def is_of_several(self, rows: int, asked: int) -> bool:
        """Whether of `rows` that meet its conditions more than one is of one thing; `asked`: how many things they are."""
        return rows > 1 if self.operation == "value" else asked < rows

    def says_less(self, other: Computation) -> bool:
        """Whether it is the same computation without what is asked for, by which the other one takes rows together: the highest
        revenue, and not of which month."""
        same = replace(
            self, grouped=True, asked=other.asked, naming=other.naming, counted_in=other.counted_in,
            instead=None, support=other.support,
        )  # fmt: skip
        return other.grouped and self.asked is None and not self.grouped and same == other

    @property
    def target(self) -> CellCondition | None:
        """Of a share the condition that its part meets: the only one, or the only one that is no year."""
        named = (
            [one for one in self.conditions if not all(map(is_year, one.keys))]
            if len(self.conditions) > 1
            else self.conditions
        )
        return named[0] if len(named) == 1 else None

    def arguments(self, most: int) -> tuple[str, tuple[Any, ...]]:
        """The statement of sql/queries/tables.sql that computes it, and its parameters after the table."""
        if self.row is not None:
            return "of_columns", (self.row, list(self.columns), self.comparison, self.bound, self.order)
        pairs = [(key, one.position) for one in self.conditions for key in one.keys]
        asked, share = self.asked if self.asked is not None else self.naming, None
        conditions = self.conditions
        if self.operation == "share" and self.pair is None:
            target = self.target
            assert target is not None
            asked, share = target.position, target.keys[0]
            conditions = tuple(one for one in conditions if one is not target)
            pairs = [(key, one.position) for one in conditions for key in one.keys]
        elif self.pair is not None:
            asked = next(one.position for one in self.conditions if len(one.keys) > 1)
        positions = [one.position for one in conditions]
        return "of_rows", (
            self.measure, positions, [key for key, _ in pairs], [place for _, place in pairs], asked, self.comparison,
            self.bound, self.other, most, self.order, share, self.totals,
            self.measure if self.compared is None else self.compared, self.minus, self.relative, self.counted_in,
            [one.position for one in self.within], [one.first for one in self.within], [one.last for one in self.within],
            self.grouped, self.averaged,
        )  # fmt: skip
