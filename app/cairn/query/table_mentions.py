"""Cells that hold more than one thing: rows that a condition means besides those whose whole cell it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cairn.domain.computation import CellCondition, Computation
from cairn.domain.table import CellMention
from cairn.language.cells import is_year, tokens_of
from cairn.language.lexicon import any_of

_WIDENED: Final = frozenset({"count", "listing", "highest", "lowest", "rank", "top"})
"""What may be asked of all rows that have a thing among others; of sums and averages a row would count for two things."""
_BETWEEN: Final = re.compile(rf"[,;/|&+()\[\]\n•·]|\s{any_of(lambda one: one.numbers.joins)}\s", re.IGNORECASE)


def mentions_wanted(found: Computation) -> list[tuple[int, str]]:
    """Columns with what its conditions name there."""
    return [(one.position, key) for one in found.conditions for key in one.keys]


def widen(found: Computation, mentions: Sequence[CellMention]) -> Computation | None:
    """With rows whose cell has what a condition names as one of several things ("Pashto, Dari"); None where it stands in one in
    another way, so that it may be meant or not: "Canadian Army, 1941 to 1945" has it, "dark red" may be none of the red."""
    # a row that is called so is the one that is meant: "Georgia", beside "South Georgia"
    mentions = [one for one in mentions if one.position or _is_one_of(one)]
    if not mentions:
        return found
    if found.operation not in _WIDENED or found.pair is not None or found.grouped:
        return None
    conditions = []
    for one in found.conditions:
        beside = [mention for mention in mentions if mention.position == one.position and mention.name in one.keys]
        if any(not _is_one_of(mention) for mention in beside):
            return None
        further = dict.fromkeys(mention.key for mention in beside)
        conditions.append(CellCondition(one.position, (*one.keys, *further), one.texts))
    return replace(found, conditions=tuple(conditions))


def _is_one_of(mention: CellMention) -> bool:
    if is_year(mention.name):
        return {word for word in tokens_of(mention.text) if is_year(word)} == {mention.name}
    return any(" ".join(tokens_of(part)) == mention.name for part in _BETWEEN.split(mention.text))
