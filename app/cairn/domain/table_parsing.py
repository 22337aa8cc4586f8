"""What the table parser reads, and what it says: a question and a table, and scores for all that is to be decided about them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Kind = Literal["text", "number", "date", "flag"]


@dataclass(frozen=True, slots=True)
class ColumnView:
    """`values`: some of its different cells, as they are written; those first that the question may name."""

    header: str
    kind: Kind
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableView:
    """`document`: what the document is called, where that is not its title."""

    title: str
    columns: tuple[ColumnView, ...]
    document: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A number, a month or a day that the question says: where, and what it may be read as: "2.500", with `mark` ".", as 2500 or
    2.5. No values: it cannot be read. `ordinal`: it is the place of something, "second"; `unit`: what it is counted in, as
    cairn.language.numbers calls it."""

    start: int
    end: int
    values: tuple[Decimal, ...]
    month: bool = False
    day: datetime.date | None = None
    mark: str = ""
    ordinal: bool = False
    unit: str = ""


# --- what is decided ------------------------------------------------------------------------------------------------------------

Asked = Literal[
    "none", "highest", "lowest", "top", "bottom", "sum", "average", "count", "count_distinct", "list", "value", "difference",
    "growth", "share", "ratio", "rank", "rank_from_below", "highest_period", "lowest_period", "sum_of_periods",
    "average_of_periods",
]  # fmt: skip
Aggregate = Literal["none", "sum", "average", "count"]
Compared = Literal[
    "none", "=", "not", ">", ">=", "<", "<=", "between", "empty", "filled", "col>", "col<", "col>=", "col<=", "col=",
]  # fmt: skip

ASKED: Final[tuple[Asked, ...]] = get_args(Asked)
AGGREGATES: Final[tuple[Aggregate, ...]] = get_args(Aggregate)
COMPARED: Final[tuple[Compared, ...]] = get_args(Compared)
ROLES: Final = ("measure", "asked", "group", "second")
"""What a column can be: whose numbers are computed, whose cells are the answer, by which rows are grouped, and what the measure
or a condition is compared with."""


@dataclass(frozen=True, slots=True)
class ParserScores:
    """Log odds of what the parser decides, for n columns and m mentions: `asked` (ASKED), `aggregate` (AGGREGATES), `roles`
    (ROLES x n + 1, the last one: no column has it), `compared` (n x COMPARED), `values` (of the shown cells of each column
    whether a condition means it), `mentions` (m x n + 2: the column that it limits; that it says how many, or which
    place; neither)."""

    asked: Floats
    aggregate: Floats
    roles: Floats
    compared: Floats
    values: tuple[tuple[float, ...], ...]
    mentions: Floats
