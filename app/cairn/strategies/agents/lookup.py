"""Finding what an answer misses: a symbol by its name, with what it is related to, else by a small search."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final
from uuid import UUID

from cairn.domain.graph import GraphContext, relation_id
from cairn.domain.passage import Passage, SearchResult
from cairn.errors import CairnError
from cairn.graph.code.symbols import find_symbols, symbol_passages
from cairn.language.text import fold
from cairn.runs.context import AT_ONCE, Run
from cairn.runs.gather import best_confidence
from cairn.store import qa_sessions
from cairn.strategies.agents.missing import symbols_of

MOST_SYMBOLS: Final = 3
MOST_OF_A_SYMBOL: Final = 6
"""Symbols of one gap, and passages of each look-up."""
SURE_ENOUGH_OF_GAP: Final = 0.3
"""Least confidence with which a search has found what was missing."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was found for a gap. `named`: the symbols themselves, which counts even if their passages were read before.
    `relations`: those that were followed, with those that were known."""

    passages: tuple[Passage, ...] = ()
    relations: tuple[UUID, ...] = ()
    graph: GraphContext | None = None
    named: bool = False
    ms: float = 0.0
    problem: str = ""


async def fetch(run: Run, gaps: Sequence[str], known: Sequence[UUID]) -> list[Fetched]:
    """Side by side, in the order of the gaps. `known`: relations that were followed before. Never raises for a database or a
    provider: one that fails has its problem."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(gap: str) -> Fetched:
        async with gate:
            began = perf_counter()
            try:
                found = await look_up(run, gap, known)
                if not found.named:
                    found = await _search(run, gap)
            except CairnError as error:
                found = Fetched(problem=f"{error.code}: {error.detail}")
            return replace(found, ms=round((perf_counter() - began) * 1000, 1))

    return list(await asyncio.gather(*map(one, gaps)))


async def look_up(run: Run, text: str, known: Sequence[UUID]) -> Fetched:
    """Symbols that a text names, with what they are related to. Raises CairnError."""
    queries, library = symbols_of(text), run.deps.library
    if not queries or run.question.filters or not run.settings.graph.enabled:
        return Fetched()
    principal, relations = library.principal, dict.fromkeys(known)
    async with library.database.transaction(principal, readonly=True) as connection:
        scope = await qa_sessions.collection(connection, principal, run.question.collection)
        symbols = await find_symbols(connection, principal, [scope], queries, limit=MOST_SYMBOLS) if scope else []
        for symbol in symbols:
            for other in symbol.neighbours:
                ends = (other.entity_id, symbol.entity_id) if other.incoming else (symbol.entity_id, other.entity_id)
                relations[relation_id(ends[0], other.relation, ends[1])] = None
        related = await qa_sessions.relations(connection, principal, list(relations))
    places = symbol_passages(symbols, queries[0])[:MOST_OF_A_SYMBOL]
    found = tuple(await library.passages([place.passage_id for place in places]))
    return Fetched(found, tuple(relations), GraphContext(relations=tuple(related)), bool(found))


async def _search(run: Run, gap: str) -> Fetched:
    """What a small search brings that is relevant; of a named symbol what has its name."""
    top_k = run.settings.iterative.targeted_top_k
    result: SearchResult = await run.search(gap, top_k, purpose="gap", filters=run.question.filters)
    if best_confidence(result) < SURE_ENOUGH_OF_GAP:
        return Fetched()
    names = {name for query in symbols_of(gap) for name in re.findall(r"\w+", fold(query.name))[-1:]}
    kept = [one for one in result.passages if not names or any(name in fold(one.content) for name in names)]
    return Fetched(tuple(kept), graph=result.graph)
