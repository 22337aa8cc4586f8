"""Entities that may be one because their names mean nearly the same: vectors propose, guards refuse. Pure (ADR 28).

Vectors of names take what belongs together for what is the same: North and South, 1914 and 1918, a country and its people.
So only names that differ in every way like spellings of one name pass, and by default none is merged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.domain.graph import EntityKind
from app.graph.resolve import compatible
from app.language.text import folded_words

BLOCK: Final = 500
"""Rows of the matrix of cosines that are computed at a time."""
_NUMBER: Final = re.compile(r"\d|^[ivx]+$")
_APART: Final = folded_words(
    "north south east west northern southern eastern western upper lower inner outer old new first second third last "
    "left right male female men women boys girls senior junior sr jr nord sud est ouest norte sur este oeste süd ost alt "
    "neu ober unter haut bas alto bajo pre post anti pro"
)
"""Words that tell names apart: one of them in the difference, and the two are not the same."""


@dataclass(frozen=True, slots=True)
class Named:
    """An entity with the normal form of its name."""

    id: UUID
    normal: str
    kind: EntityKind
    passage_count: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """That one entity be another; `cosine` of their names."""

    entity: Named
    into: Named
    cosine: float


def may_be_one(a: Named, b: Named) -> bool:
    """Whether nothing in the names or kinds speaks against it. A name inside the other (Paris, Paris Hilton), another
    number or initial, and opposites do."""
    if not compatible(a.kind, b.kind):
        return False
    ours, theirs = set(a.normal.split()), set(b.normal.split())
    only_ours, only_theirs = ours - theirs, theirs - ours
    if not only_ours or not only_theirs:
        return False
    difference = only_ours | only_theirs
    if difference & _APART or any(map(_NUMBER.search, difference)):
        return False
    return sorted(word[0] for word in a.normal.split()) == sorted(word[0] for word in b.normal.split())


def proposals(
    entities: Sequence[Named], vectors: NDArray[np.float32], least: float, decided: AbstractSet[frozenset[UUID]]
) -> list[Proposal]:
    """Pairs of at least this cosine that pass the guards, nearest first, each entity in one of them: so a chain of names,
    each near the next, is not drawn into one. `decided`: pairs that were merged before, undone or not."""
    found = []
    for left, right, cosine in _near(vectors, least):
        a, b = entities[left], entities[right]
        if frozenset((a.id, b.id)) not in decided and may_be_one(a, b):
            into, entity = sorted((a, b), key=lambda one: (-one.passage_count, one.normal))
            found.append(Proposal(entity, into, cosine))
    taken: set[UUID] = set()
    chosen = []
    for one in sorted(found, key=lambda one: (-one.cosine, one.entity.normal)):
        if not taken & {one.entity.id, one.into.id}:
            taken |= {one.entity.id, one.into.id}
            chosen.append(one)
    return chosen


def _near(vectors: NDArray[np.float32], least: float) -> Iterator[tuple[int, int, float]]:
    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors.T
        for row, column in zip(*np.where(cosines >= least), strict=True):
            if start + row < column:
                yield int(start + row), int(column), float(cosines[row, column])
