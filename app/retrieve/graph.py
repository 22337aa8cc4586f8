"""The graph leg: from the best passages of the text legs, and from what the query names, to passages that are linked with them
(docs/adr/0024-graph-leg.md).

It runs after the text legs, in their snapshot, because its seeds are theirs. Where it is asked alone, the passages that
mention what the query names are the seeds: one more statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from app.domain.code import SymbolQuery
from app.domain.graph import GraphContext, Linkage
from app.domain.passage import Fused, Hit, LegResult, Passage, SearchRequest
from app.domain.plan import Conditions
from app.domain.principal import Principal
from app.graph.code.symbols import (
    SymbolPassage,
    find_symbols,
    symbol_passages,
    wanted_symbols,
)
from app.graph.link import find_entities, keys_of
from app.graph.rank import MOST_PASSAGES, SEEDS, NamingPassage, RankedPassage, Seed, SharedEntity, rank
from app.language.tokens import STOP_WORDS
from app.retrieve.legs import lexical_text
from app.store import graph
from app.store.session import Database

MOST_LINKS: Final = 2000
"""Links of one collection that are looked at, and passages of an entity that the query names."""
PERHAPS: Final = 0.25
"""How sure it is that words mean an entity whose name they are, if they are not written as one: with 1 instead, searches
that asked the graph about such queries lost .055 nDCG@10 on cisi."""
MOST_RELATIONS: Final = 50
"""Relations that an answer is told of."""
MOST_SYMBOLS: Final = 2
"""Symbols of code that a query names, and definitions of one name, that are looked up."""
LEAST_DEPTH: Final = 50
"""Passages that the leg passes on at least, if there are any."""


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """One search as the graph sees it. `named`: entities that the query names besides those that its words say, and how
    surely, 0..1; the leg asks the store by them as it does by names. `state`: None inside a transaction."""

    request: SearchRequest
    collections: Sequence[UUID]
    conditions: Conditions | None = None
    named: Mapping[UUID, float] = field(default_factory=dict)
    state: State | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What the text legs saw of the only collection, where the connection has no transaction, and the time limit."""

    collection_id: UUID
    epoch: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class GraphFound:
    """What the leg found, and over which entity it came to each passage."""

    result: LegResult
    entities: Mapping[UUID, UUID]


@lru_cache(maxsize=64)  # asked for by the route, the cache and the leg
def question_keys(query: str) -> tuple[str, ...]:
    """What a query names, as the graph calls it. German writes all nouns as others write names."""
    words = query.lower().split()
    german, *others = (sum(word in STOP_WORDS[code] for word in words) for code in ("de", "en", "fr", "es"))
    return keys_of(query, "de" if german > max(others) else None)


def names_something(query: str) -> bool:
    """Whether the graph has anything to begin with."""
    return bool(question_keys(query) or wanted_symbols(query))


def one_statement(request: SearchRequest) -> bool:
    """Whether the leg after text legs of one collection needs no other statement than its own."""
    return bool(question_keys(request.query)) and not wanted_symbols(request.query)


async def search(connection: Any, principal: Principal, query: GraphQuery, text: Sequence[Fused]) -> GraphFound:
    """Passages that the graph adds to the order of the text legs, best first; `text` is empty where there are none.

    A query that names nothing is asked about entities that its words may mean, and about those alone. Without a transaction
    only where `one_statement` says so; then MovedOnError is raised where the collection is not what the text legs saw.
    """
    keys, named = question_keys(query.request.query), dict(query.named)
    wanted = wanted_symbols(query.request.query)[:MOST_SYMBOLS]
    alone = set(query.request.legs) == {"graph"}
    if not keys and (not wanted or query.request.explicit):
        named |= await _meant(connection, principal, query, alone=alone)
    seeds = _relative(text[:SEEDS]) if keys else {}
    linkages = await _read(connection, principal, query, keys, named, seeds)
    found = _ranked(linkages, seeds, named, alone=alone)
    if alone and found:
        # the root, because links count seeds squared: none is worth more than what it begins with
        seeds = _relative(found[:SEEDS], best=math.sqrt(found[0].score))
        linkages = await _read(connection, principal, query, keys, named, seeds)
        found = _ranked(linkages, seeds, named, alone=True)
    symbols = await _symbols(connection, principal, query, wanted)
    found = _with_symbols(found, symbols)
    how = {"keys": list(keys), "entities": len(named), "seeds": len(seeds), "links": sum(len(x.rows) for x in linkages)}
    if symbols:
        how["symbols"] = len({one.entity_id for one in symbols})
    documents = {row.passage_id: row.document_id for linkage in linkages for row in linkage.rows}
    documents.update((one.passage_id, one.document_id) for one in symbols)
    return _found(found[: max(LEAST_DEPTH, 3 * query.request.top_k)], documents, how)


async def _symbols(
    connection: Any, principal: Principal, query: GraphQuery, wanted: Sequence[SymbolQuery]
) -> list[SymbolPassage]:
    """Passages of symbols of code that the query names in full; under conditions none, as they know of none."""
    if not wanted or query.request.filters or query.conditions:
        return []
    symbols = await find_symbols(connection, principal, query.collections, wanted, limit=MOST_SYMBOLS, partial=False)
    return symbol_passages(symbols, wanted[0])[:LEAST_DEPTH]


def _with_symbols(found: Sequence[RankedPassage], symbols: Sequence[SymbolPassage]) -> list[RankedPassage]:
    """A passage counts by the better way to it."""
    best = {one.passage_id: one for one in found}
    for one in symbols:
        if one.passage_id not in best or best[one.passage_id].score < one.score:
            best[one.passage_id] = RankedPassage(one.passage_id, one.score, one.entity_id)
    return sorted(best.values(), key=lambda one: (-one.score, one.passage_id))


async def _meant(connection: Any, principal: Principal, query: GraphQuery, *, alone: bool) -> dict[UUID, float]:
    """Entities that the words of the query may mean, none of which is written as a name. Beside other legs whole names alone
    count, and little."""
    found: dict[UUID, float] = {}
    for collection in query.collections:
        for link in await find_entities(connection, principal, collection, query.request.query):
            if alone or link.how != "words":
                found[link.entity_id] = link.score * (1.0 if alone else PERHAPS)
    return found


async def _read(
    connection: Any,
    principal: Principal,
    query: GraphQuery,
    keys: Sequence[str],
    named: Mapping[UUID, float],
    seeds: Mapping[UUID, float],
) -> list[Linkage]:
    if not (keys or named or seeds):
        return []
    asked, filters = lexical_text(query.request.query), query.request.filters or None
    if (state := query.state) is not None:
        of = (state.collection_id, state.epoch)
        return await graph.find_linked_at_epoch(
            connection, principal, of, asked, list(seeds), keys, MOST_PASSAGES, MOST_LINKS, state.timeout_ms
        )
    return await graph.find_linked(
        connection, query.collections, asked, list(seeds), keys, list(named), MOST_PASSAGES, MOST_LINKS, filters,
        query.conditions,
    )  # fmt: skip


def _relative(seeds: Sequence[Fused | RankedPassage], best: float = 1.0) -> dict[UUID, float]:
    """Seeds with their scores relative to the best one, which is `best`."""
    highest = max((item.score for item in seeds), default=0.0)
    return {item.passage_id: best * max(0.0, item.score / highest) for item in seeds} if highest > 0 else {}


def _ranked(
    linkages: Sequence[Linkage], seeds: Mapping[UUID, float], named: Mapping[UUID, float], *, alone: bool
) -> list[RankedPassage]:
    """Of all collections; no link leads from one to another."""
    found = [one for linkage in linkages for one in _of_collection(linkage, seeds, named, alone=alone)]
    return sorted(found, key=lambda one: (-one.score, one.passage_id))


def _of_collection(
    linkage: Linkage, seeds: Mapping[UUID, float], named: Mapping[UUID, float], *, alone: bool
) -> list[RankedPassage]:
    given, links, terms = [], [], {}
    for row in linkage.rows:
        if row.seed_id == row.passage_id:
            given.append(Seed(row.passage_id, seeds[row.passage_id], row.held, row.topic))
        elif row.seed_id and row.entity_id and row.passages:
            links.append(SharedEntity(row.seed_id, row.passage_id, row.entity_id, row.passages, row.topic, row.said))
            terms[row.passage_id] = row.held
    return rank(linkage.weights, given, links, terms, list(_mentions(linkage, named, alone=alone)))


def _mentions(linkage: Linkage, named: Mapping[UUID, float], *, alone: bool) -> Iterator[NamingPassage]:
    """Passages that mention what the query names. Alone, the leg has to order them itself, by the words of the query that
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


def _found(best: Sequence[RankedPassage], documents: Mapping[UUID, UUID], how: Mapping[str, Any]) -> GraphFound:
    hits = tuple(Hit(one.passage_id, documents[one.passage_id], one.score) for one in best)
    confidence = min(1.0, best[0].score) if best else 0.0
    result = LegResult("graph", hits, confidence, exact=True, complete=True, how=how)
    return GraphFound(result, {one.passage_id: one.entity_id for one in best})


async def said_of(
    database: Database, principal: Principal, linked: Mapping[UUID, UUID], kept: Sequence[Passage]
) -> GraphContext | None:
    """What the graph says about the passages of a result: the entities that led to them, and relations of these."""
    passages = [passage.passage_id for passage in kept]
    entities = dict.fromkeys(linked[key] for key in passages if key in linked)
    async with database.transaction(principal, readonly=True, config={"statement_timeout": "2000"}) as connection:
        return await graph.context(connection, principal, list(entities), passages, MOST_RELATIONS) or None
