"""What the table parser takes a question to ask of a table: the most probable operation, columns and conditions, and how probable
they are together. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cairn.domain.table_parsing import (
    AGGREGATES,
    ASKED,
    COMPARED,
    Aggregate,
    Asked,
    Compared,
    Floats,
    Mention,
    ParserScores,
    TableView,
)

_MEASURED: Final = frozenset(
    (
        "highest", "lowest", "top", "bottom", "sum", "average", "value", "difference", "growth", "ratio", "rank",
        "rank_from_below",
    )
)  # fmt: skip
_NAMES: Final = frozenset(("highest", "lowest", "top", "bottom", "list", "count_distinct", "rank", "rank_from_below"))
_OF_PLACE: Final[dict[Asked, bool]] = {"top": False, "bottom": False, "rank": True, "rank_from_below": True}
"""What has a number: of rows, or the place of one."""
_OF_TWO: Final = frozenset({"difference", "growth"})


@dataclass(frozen=True, slots=True)
class ParsedCondition:
    column: int
    compared: Compared
    values: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    other: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """`left`: numbers and months of the question that limit nothing and say no number of rows. `certainty`: probability of all
    that was decided, as if each decision were independent of the others."""

    asked: Asked
    measure: int | None
    named: int | None
    group: int | None
    aggregate: Aggregate
    second: int | None
    conditions: tuple[ParsedCondition, ...]
    many: Mention | None
    left: tuple[Mention, ...]
    certainty: float


def parse(scores: ParserScores, view: TableView, mentions: Sequence[Mention]) -> ParsedQuestion:
    columns = len(view.columns)
    log = 0.0

    def choose(logits: Floats) -> int:
        nonlocal log
        best = int(np.argmax(logits))
        log += float(logits[best] - _log_sum(logits))
        return best

    asked = ASKED[choose(scores.asked)]
    if asked == "none":
        return ParsedQuestion(asked, None, None, None, "none", None, (), None, tuple(mentions), math.exp(log))
    compared = [COMPARED[choose(row)] for row in scores.compared]
    limits = [choose(row) for row in scores.mentions]
    group = _column(choose(scores.roles[2]), columns)
    grouped_best = group is not None and asked in ("highest", "lowest", "top", "bottom")
    aggregate = AGGREGATES[choose(scores.aggregate)] if grouped_best else "none"
    counted = group is not None and (asked == "count" or aggregate == "count")
    measure = None
    if asked in _MEASURED and not counted:
        measure = int(np.argmax(scores.roles[0][:columns]))
        log += float(scores.roles[0][measure] - _log_sum(scores.roles[0]))
    elif asked == "share":
        measure = _column(choose(scores.roles[0]), columns)
    named = None
    if asked in _NAMES and group is None:
        named = _column(int(np.argmax(scores.roles[1])), columns)
        same = _told_alike(asked, named, columns)
        log += _log_sum(scores.roles[1][same]) - _log_sum(scores.roles[1])
    of_columns = asked == "ratio" or any(one.startswith("col") for one in compared)
    second = None
    if of_columns or asked in _OF_TWO:
        second = _column(choose(scores.roles[3]), columns)
    conditions = []
    for at, one in enumerate(compared):
        if one == "none":
            continue
        values = []
        if one in ("=", "not") and view.columns[at].kind == "text":
            for cell, score in zip(view.columns[at].values, scores.values[at], strict=False):
                log += -math.log1p(math.exp(-abs(score)))
                if score > 0:
                    values.append(cell)
        said = tuple(mention for mention, limit in zip(mentions, limits, strict=True) if limit == at)
        conditions.append(ParsedCondition(at, one, tuple(values), said, second if one.startswith("col") else None))
    many = [mention for mention, limit in zip(mentions, limits, strict=True) if limit == columns]
    counts = len(many) == 1 and many[0].ordinal == _OF_PLACE.get(asked)
    used = {mention for one in conditions for mention in one.mentions} | {*(many if counts else ())}
    left = tuple(mention for mention in mentions if mention not in used)
    return ParsedQuestion(
        asked,
        measure,
        named,
        group,
        aggregate,
        second,
        tuple(conditions),
        many[0] if counts else None,
        left,
        math.exp(log),
    )


def _told_alike(asked: Asked, named: int | None, columns: int) -> list[int]:
    """Which answers read the same. Where a number comes out it is told with the name of its row, and the other way round: who
    asks for one alone ("the most that anybody paid") is answered, too. A row without such a name is called by its first cell."""
    if asked in ("list", "count_distinct"):
        return [columns if named is None else named]
    return [0 if named is None else named, columns]


def _column(choice: int, columns: int) -> int | None:
    return choice if choice < columns else None


def _log_sum(logits: Floats) -> float:
    top = float(np.max(logits))
    return top + math.log(float(np.sum(np.exp(logits - top))))
