"""The vector retriever: which regime each collection is searched in, and one list out of all (docs/adr/0012).

Small sets are scanned exactly, and so are collections whose vectors are being moved from index to index. A large collection
with an HNSW index of its own is searched there; the others share the index of their model. Where an index yields fewer rows
than there are to be had, the exact scan takes over: always min(top_k, visible) passages. Of a collection of which the caller may
read little, that is compared, and no index asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from cairn.domain.passage import Hit, LegResult
from cairn.retrieve.context import SearchContext
from cairn.settings import VectorSettings
from cairn.store import vector_indexes, vectors
from cairn.store.vectors import MAX_INDEXED_DIMENSIONS, EmbeddingModel, Neighbours, Regime


@dataclass(frozen=True, slots=True)
class ServedCollection:
    """A collection as this retriever sees it: the model whose vectors are compared, and its chunks after filters and
    conditions. Under filters `chunks` is exact up to vector.exactBelow, above that a number of which there are at least so
    many. `withheld`: chunks besides, which the caller may not read."""

    id: UUID
    chunks: int
    model: EmbeddingModel
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class RegimeGroup:
    """Collections that are searched by one statement."""

    regime: Regime
    model: EmbeddingModel
    collections: tuple[UUID, ...]
    visible: int


@dataclass(frozen=True, slots=True)
class _Nearest:
    """What was found of the collections of one model: rows, nearest first, and of each of its groups how."""

    model: EmbeddingModel
    rows: Sequence[Any]
    exact: bool
    complete: bool
    how: Sequence[dict[str, Any]]


def first_chunks(wanted: int, settings: VectorSettings) -> int:
    """Chunks to look for first. Neighbouring chunks share passages, so twice as many as passages are wanted: a second,
    broader search costs more than a broader first one."""
    return max(settings.candidates, 2 * wanted)


def choose_regimes(
    collections: Sequence[ServedCollection],
    places: Mapping[tuple[UUID, int], bool],
    settings: VectorSettings,
    *,
    restricted: bool = False,
    compared: int = 0,
) -> list[RegimeGroup]:
    """The regime of each collection. `places`: (collection, model) pairs whose vectors are not, or not all, in the shared index,
    with whether their own index can be used. Pure.

    `restricted`: by conditions, which no index knows, so that all are scanned. `compared`: of so many chunks that are wanted
    first, so that all that may be read of a collection is compared where that is quicker; 0: there are filters.
    """
    parts: list[RegimeGroup] = []
    groups: tuple[tuple[Regime, list[ServedCollection]], ...]
    for model in sorted({item.model for item in collections}, key=lambda model: model.id):
        members = [item for item in collections if item.model == model and item.chunks]
        scanned: list[ServedCollection] = members
        shared: list[ServedCollection] = []
        if not restricted and _size(members) > settings.exact_below:
            many = [m for m in members if not _may_read_few(m, compared)]
            own = [m for m in many if places.get((m.id, model.id)) and m.chunks > settings.exact_below]
            parts += [RegimeGroup("dedicated", model, (m.id,), m.chunks) for m in own]
            shared = [m for m in many if (m.id, model.id) not in places]
            if _size(shared) <= settings.exact_below or model.dimensions > MAX_INDEXED_DIMENSIONS:
                shared = []
            scanned = [m for m in members if m not in own and m not in shared]
        groups = (("exact", scanned), ("shared", shared))
        for regime, group in groups:
            if group:
                parts.append(RegimeGroup(regime, model, tuple(m.id for m in group), _size(group)))
    return parts


COMPARED_FOR_ONE: Final = 15  # bound: tests/db/test_vector_regimes.py
"""Rows that are compared in the time in which an index, of which most is dropped, yields one for each that it holds."""


def _may_read_few(item: ServedCollection, wanted: int) -> bool:
    """As rag.most_compared has it."""
    everything = item.chunks + item.withheld
    return bool(item.withheld) and item.chunks <= round(math.sqrt(COMPARED_FOR_ONE * wanted * everything))


def _size(collections: Iterable[ServedCollection]) -> int:
    return sum(item.chunks for item in collections)


async def search(connection: Any, context: SearchContext, served: Sequence[ServedCollection], wanted: int) -> LegResult:
    """Nearest chunks, each passage with its best one: of as many chunks as `wanted` passages take, mostly, and at least
    min(top_k, visible) passages. With conditions every regime
    gives way to the exact scan over the passages that they leave.

    rag.search_collection does the same for one collection without filters and conditions.
    """
    settings, restricted = context.settings.vector, context.conditions is not None
    scanned = restricted or _size(served) <= settings.exact_below
    places = {} if scanned else await vector_indexes.places(connection, context.principal, [item.id for item in served])
    compared = 0 if context.request.filters else first_chunks(wanted, settings)
    groups = choose_regimes(served, places, settings, restricted=restricted, compared=compared)
    found = [
        await _search_model(connection, context, list(of_model), wanted)
        for _, of_model in groupby(sorted(groups, key=_model_of), _model_of)
    ]
    is_secret = not scanned and any(item.withheld for item in served)
    cut_short = bool(context.request.filters) and any(item.chunks > settings.exact_below for item in served)
    return LegResult(
        "vector",
        _merge(found),
        confidence=max((max(0.0, min(1.0, part.rows[0]["score"])) for part in found if part.rows), default=0.0),
        exact=not is_secret and all(part.exact for part in found),
        complete=all(part.complete for part in found),
        how={
            "parts": [_without_ways(part, cut_short=cut_short) for part in found]
            if is_secret
            else [how for part in found for how in part.how]
        },
    )


def _model_of(group: RegimeGroup) -> int:
    return group.model.id


async def _search_model(connection: Any, context: SearchContext, groups: list[RegimeGroup], wanted: int) -> _Nearest:
    """The nearest of all groups, as many as one statement would give: how the collections are grouped goes by what the caller may
    not read, too. Deeper, where many chunks lie in few passages."""
    regimes: list[Regime] = [group.regime for group in groups]
    breadths: list[int | None] = [None] * len(groups)
    limit = first_chunks(wanted, context.settings.vector)
    while True:
        found = [
            await _search_group(connection, context, group, regime, limit)
            for group, regime in zip(groups, regimes, strict=True)
        ]
        regimes = [how["regime"] for _, how in found]
        breadths = [how["ef_search"] or before for before, (_, how) in zip(breadths, found, strict=True)]
        rows = [row for part, _ in found for row in part]
        if len(groups) > 1:
            rows = sorted(rows, key=lambda row: (-row["score"], row["chunk_id"]))[:limit]
        if len({row["passage_id"] for row in rows}) >= context.request.top_k or len(rows) < limit:
            break
        limit *= 4
    how = [
        {**how, "regime": group.regime, "fell_back": how["regime"] != group.regime, "ef_search": breadth}
        for group, (_, how), breadth in zip(groups, found, breadths, strict=True)
    ]
    return _Nearest(groups[0].model, rows, all(one == "exact" for one in regimes), len(rows) < limit, how)


async def _search_group(
    connection: Any, context: SearchContext, part: RegimeGroup, regime: Regime, limit: int
) -> tuple[Sequence[Any], dict[str, Any]]:
    """By the index, and by the exact scan where that yields fewer rows than there are to be had; with the regime that it was."""
    settings, filters, conditions = context.settings.vector, context.request.filters or None, context.conditions
    vector = context.vectors.by_model[part.model.id]
    ask = Neighbours(part.model, part.collections, vector, limit, filters, conditions)
    breadth, rows = None, None
    if regime != "exact":
        breadth = await vectors.configure(connection, limit, part.visible, settings)
        rows = await vectors.find_nearest(connection, context.principal, regime, ask)
        if len(rows) < (limit if filters else min(limit, part.visible)):
            regime, rows = "exact", None
    if rows is None:
        rows = await vectors.find_nearest(connection, context.principal, "exact", ask)
    how = {
        "regime": regime,
        "model": part.model.name,
        "collections": len(part.collections),
        "visible_chunks": part.visible,
        "ef_search": breadth,
        **({"restricted": True} if conditions is not None else {}),
        **({"at_least": True} if filters and conditions is None and part.regime != "exact" else {}),
    }
    return rows, how


def _without_ways(found: _Nearest, *, cut_short: bool) -> dict[str, Any]:
    """As it is told where chunks are withheld: which way is gone, and whether an index yielded enough, goes by all there are.
    `cut_short`: what a filter leaves was not counted to the end."""
    counted = {name: sum(how[name] for how in found.how) for name in ("collections", "visible_chunks")}
    at_least = {"at_least": True} if cut_short else {}
    way = {"regime": "readable", "ef_search": None, "fell_back": False}
    return {**way, "model": found.model.name, **counted, **at_least}


def _merge(found: Sequence[_Nearest]) -> tuple[Hit, ...]:
    """One list, nearest first. Cosines of different models are not comparable, so each counts relative to its model's
    best where there is more than one."""
    answering = [part for part in found if part.rows]
    best = {part.model.id: max(0.0, part.rows[0]["score"]) for part in answering} if len(answering) > 1 else {}
    scored = [(row["score"] / (best.get(part.model.id) or 1.0), row) for part in answering for row in part.rows]
    if len(answering) > 1:
        scored.sort(key=itemgetter(0), reverse=True)
    return _best_per_passage(scored)


def _best_per_passage(scored: Iterable[tuple[float, Any]]) -> tuple[Hit, ...]:
    best: dict[UUID, Hit] = {}
    for score, row in scored:  # nearest first
        best.setdefault(row["passage_id"], Hit(row["passage_id"], row["document_id"], score, row["chunk_id"]))
    return tuple(best.values())
