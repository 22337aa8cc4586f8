"""The graph retriever: from the best passages of the text retrievers, and from what the query names, to passages that are
linked with them (docs/adr/0024-graph-leg.md).

It runs after the text retrievers, in their snapshot, because its seeds are theirs. Where it is asked alone, the passages that
mention what the query names are the seeds: one more statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import SymbolQuery
from cairn.domain.graph import GraphContext, Linkage
from cairn.domain.passage import Fused, Hit, LegResult, Passage
from cairn.domain.principal import Principal
from cairn.graph.code.symbols import (
    SymbolPassage,
    find_symbols,
    symbol_passages,
    wanted_symbols,
)
from cairn.graph.link import find_entities, keys_of
from cairn.graph.rank import (
    EVERYWHERE,
    LEAST,
    MOST_PASSAGES,
    SEEDS,
    NamingPassage,
    RankedPassage,
    Seed,
    SharedEntity,
    rank,
)
from cairn.language.identify import likely_language
from cairn.retrieve.context import CollectionState, SearchContext
from cairn.retrieve.lexical import lexical_text
from cairn.store import graph
from cairn.store.session import Database

MOST_LINKS: Final = 2000  # bound: tests/unit/test_edges_retrieve.py
"""Links of one collection that are looked at, and passages of an entity that the query names."""
PERHAPS: Final = 0.25  # measured: tests/db/test_graph_leg.py
"""How sure it is that words mean an entity whose name they are, if they are not written as one: with 1 instead, searches
that asked the graph about such queries lost .055 nDCG@10 on cisi."""
MOST_RELATIONS: Final = 50  # bound: tests/db/test_graph_leg.py
"""Relations that an answer is told of."""
MOST_SYMBOLS: Final = 2  # bound: tests/db/test_graph_code.py
"""Symbols of code that a query names, and definitions of one name, that are looked up."""
LEAST_DEPTH: Final = 50  # bound: tests/unit/test_edges_retrieve.py
"""Passages that the retriever passes on at least, if there are any."""


@dataclass(frozen=True, slots=True)
class GraphFound:
    """What the retriever found, and over which entity it came to each passage."""

    result: LegResult
    entities: Mapping[UUID, UUID]


@lru_cache(maxsize=64)  # asked for by planning, the cache and the retriever
def question_keys(query: str) -> tuple[str, ...]:
    """What a query names, as the graph calls it."""
    return keys_of(query, likely_language(query))


def fits_one_statement(text: str) -> bool:
    """Whether `search_at` finds what `search` does after text retrievers."""
    return bool(question_keys(text)) and not wanted_symbols(text)


async def search(
    connection: Any, context: SearchContext, scope: Sequence[CollectionState], text: Sequence[Fused]
) -> GraphFound:
    """Passages that the graph adds to the order of the text retrievers, best first; `text` is empty where there are none.

    A query that names nothing is asked about entities that its words may mean, and about those alone.
    """
    keys, wanted = question_keys(context.text), wanted_symbols(context.text)[:MOST_SYMBOLS]
    alone, meant = set(context.legs) == {"graph"}, {}
    if not keys and (not wanted or context.request.explicit):
        meant = await _find_meant(connection, context, scope, alone=alone)
    seeds = _relative_scores(text[:SEEDS]) if keys else {}
    linkages = await _read_links(connection, context, scope, keys, meant, seeds, alone=alone)
    found = _rank_all(linkages, seeds, meant, alone=alone)
    if alone and found:
        # the root, because links count seeds squared: none is worth more than what it begins with
        seeds = _relative_scores(found[:SEEDS], best=math.sqrt(found[0].score))
        linkages = await _read_links(connection, context, scope, keys, meant, seeds, alone=alone)
        found = _rank_all(linkages, seeds, meant, alone=True)
    symbols = await _find_symbols(connection, context, scope, wanted)
    return _as_found(
        context, _with_symbols(found, symbols), linkages, keys, seeds, entities=len(meant), symbols=symbols
    )


async def search_at(
    connection: Any, context: SearchContext, state: CollectionState, text: Sequence[Fused]
) -> GraphFound | None:
    """The same after text retrievers of one collection, in one statement without a transaction, where `fits_one_statement` says
    that it suffices. None: the collection is not any more what the text retrievers saw."""
    keys, seeds = question_keys(context.text), _relative_scores(text[:SEEDS])
    linkages = await graph.find_linked_at_epoch(
        connection, context.principal, (state.id, state.epoch), lexical_text(context.text), list(seeds), keys,
        MOST_PASSAGES, MOST_LINKS, EVERYWHERE, context.settings.retrieve.statement_timeout_ms,
    )  # fmt: skip
    if linkages is None:
        return None
    return _as_found(context, _rank_all(linkages, seeds, {}, alone=False), linkages, keys, seeds)


async def _find_symbols(
    connection: Any, context: SearchContext, scope: Sequence[CollectionState], wanted: Sequence[SymbolQuery]
) -> list[SymbolPassage]:
    """Passages of symbols of code that the query names in full; under conditions none, as they know of none."""
    if not wanted or context.request.filters or context.conditions:
        return []
    ids = [collection.id for collection in scope]
    symbols = await find_symbols(connection, context.principal, ids, wanted, limit=MOST_SYMBOLS, partial=False)
    return symbol_passages(symbols, wanted[0])[:LEAST_DEPTH]


def _with_symbols(found: Sequence[RankedPassage], symbols: Sequence[SymbolPassage]) -> list[RankedPassage]:
    """A passage counts by the better way to it."""
    best = {one.passage_id: one for one in found}
    for one in symbols:
        if one.passage_id not in best or best[one.passage_id].score < one.score:
            best[one.passage_id] = RankedPassage(one.passage_id, one.score, one.entity_id)
    return sorted(best.values(), key=lambda one: (-one.score, one.passage_id))


async def _find_meant(
    connection: Any, context: SearchContext, scope: Sequence[CollectionState], *, alone: bool
) -> dict[UUID, float]:
    """Entities that the words of the query may mean, none of which is written as a name, and how surely, 0..1. Beside other
    retrievers whole names alone count, and little."""
    found: dict[UUID, float] = {}
    for collection in scope:
        for link in await find_entities(connection, context.principal, collection.id, context.text):
            if alone or link.how != "words":
                found[link.entity_id] = link.score * (1.0 if alone else PERHAPS)
    return found


async def _read_links(
    connection: Any,
    context: SearchContext,
    scope: Sequence[CollectionState],
    keys: Sequence[str],
    meant: Mapping[UUID, float],
    seeds: Mapping[UUID, float],
    *,
    alone: bool,
) -> list[Linkage]:
    if not (keys or meant or seeds):
        return []
    return await graph.find_linked(
        connection, [collection.id for collection in scope], lexical_text(context.text), list(seeds), keys, list(meant),
        MOST_PASSAGES, MOST_LINKS, context.request.filters or None, context.conditions, None if alone else EVERYWHERE,
    )  # fmt: skip


def _relative_scores(seeds: Sequence[Fused | RankedPassage], best: float = 1.0) -> dict[UUID, float]:
    """Seeds with their scores relative to the best one, which is `best`."""
    highest = max((item.score for item in seeds), default=0.0)
    return {item.passage_id: best * max(0.0, item.score / highest) for item in seeds} if highest > 0 else {}


def _rank_all(
    linkages: Sequence[Linkage], seeds: Mapping[UUID, float], named: Mapping[UUID, float], *, alone: bool
) -> list[RankedPassage]:
    """Of all collections; no link leads from one to another. Beside other retrievers, what is worth little is left out, unless
    the query names nothing: then the caller asked for what its words may mean."""
    found = [one for linkage in linkages for one in _rank_collection(linkage, seeds, named, alone=alone)]
    if not (alone or named):
        found = [one for one in found if one.score >= LEAST]
    return sorted(found, key=lambda one: (-one.score, one.passage_id))


def _rank_collection(
    linkage: Linkage, seeds: Mapping[UUID, float], named: Mapping[UUID, float], *, alone: bool
) -> list[RankedPassage]:
    asked = {row.entity_id for row in linkage.rows if row.seed_id is None}
    given, links, terms = [], [], {}
    for row in linkage.rows:
        if row.seed_id == row.passage_id:
            given.append(Seed(row.passage_id, seeds[row.passage_id], row.held, row.topic))
        elif row.seed_id and row.entity_id and row.passages and (alone or row.entity_id not in asked):
            links.append(SharedEntity(row.seed_id, row.passage_id, row.entity_id, row.passages, row.topic, row.said))
            terms[row.passage_id] = row.held
    return rank(linkage.weights, given, links, terms, list(_list_mentions(linkage, named, alone=alone)))


def _list_mentions(linkage: Linkage, named: Mapping[UUID, float], *, alone: bool) -> Iterator[NamingPassage]:
    """Passages that mention what the query names. Alone, the retriever has to order them itself, by the words of the query that
    they hold, and finds those of hubs as well."""
    total = sum(linkage.weights.values()) or 1.0
    for row in linkage.rows:
        if row.seed_id is not None or row.entity_id is None or not row.passages:
            continue
        sure, passages, about = named.get(row.entity_id, 1.0), row.passages, row.about or 0
        if alone:
            sure *= (1 + sum(linkage.weights.get(word, 0.0) for word in row.held) / total) / 2
            passages, about = min(passages, MOST_PASSAGES), min(about, MOST_PASSAGES)
        yield NamingPassage(row.passage_id, row.entity_id, passages, False, sure)
        if row.topic:
            yield NamingPassage(row.passage_id, row.entity_id, about, True, sure)


def _as_found(
    context: SearchContext,
    ranked: Sequence[RankedPassage],
    linkages: Sequence[Linkage],
    keys: Sequence[str],
    seeds: Mapping[UUID, float],
    *,
    entities: int = 0,
    symbols: Sequence[SymbolPassage] = (),
) -> GraphFound:
    best = ranked[: max(LEAST_DEPTH, 3 * context.request.top_k)]
    documents = {row.passage_id: row.document_id for linkage in linkages for row in linkage.rows}
    documents.update((one.passage_id, one.document_id) for one in symbols)
    how = {"keys": list(keys), "entities": entities, "seeds": len(seeds), "links": sum(len(x.rows) for x in linkages)}
    if symbols:
        how["symbols"] = len({one.entity_id for one in symbols})
    hits = tuple(Hit(one.passage_id, documents[one.passage_id], one.score) for one in best)
    confidence = min(1.0, best[0].score) if best else 0.0
    result = LegResult("graph", hits, confidence, exact=True, complete=True, how=how)
    return GraphFound(result, {one.passage_id: one.entity_id for one in best})


async def graph_context(
    database: Database, principal: Principal, linked: Mapping[UUID, UUID], kept: Sequence[Passage]
) -> GraphContext | None:
    """What the graph says about the passages of a result: the entities that led to them, and relations of these."""
    passages = [passage.passage_id for passage in kept]
    entities = dict.fromkeys(linked[key] for key in passages if key in linked)
    async with database.transaction(principal, readonly=True, config={"statement_timeout": "2000"}) as connection:
        return await graph.context(connection, principal, list(entities), passages, MOST_RELATIONS) or None
