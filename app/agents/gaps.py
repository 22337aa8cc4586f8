"""What the iterative strategy has read and what it misses, in one run and over the questions of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID

from app.agents.iterative_parse import normal, symbols_of
from app.agents.tools.tool import Used
from app.answering.context import Run
from app.answering.gather import best
from app.domain.graph import GraphContext, joined_contexts, relation_id
from app.domain.passage import Passage, SearchResult
from app.errors import CairnError
from app.graph.code.symbols import find_symbols, symbol_passages
from app.store import qa_sessions
from app.store.qa_sessions import StoredSession

LEADING = 5
"""Passages of the question's own search that are read before what gaps brought."""
MOST_SYMBOLS = 3
MOST_OF_A_SYMBOL = 6
"""Symbols of one gap, and passages of each look-up."""


@dataclass(slots=True)
class Work:
    """Of one run. Gaps are counted in their normal form: `wanted` as they were worded first, `found` those that brought
    something new, `not_found` those that did not, in this or an earlier question of the session."""

    run: Run
    held: StoredSession | None
    main: tuple[Passage, ...]
    visible: int
    cached: tuple[Passage, ...] = ()
    fetched: list[Passage] = field(default_factory=list)
    relations: dict[UUID, None] = field(default_factory=dict)
    graph: GraphContext | None = None
    wanted: dict[str, str] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)
    not_found: set[str] = field(default_factory=set)
    passes: int = 0

    def noted(self, gaps: Sequence[str]) -> list[str]:
        """Gaps, noted; those that are not yet known to be missing are returned."""
        for gap in gaps:
            self.wanted.setdefault(normal(gap), gap)
        return [gap for gap in gaps if normal(gap) not in self.not_found]

    def metadata(self) -> dict[str, Any]:
        return {
            "passes_used": max(1, self.passes),
            "gaps_identified": list(self.wanted.values()),
            "gaps_resolved": [gap for key, gap in self.wanted.items() if key in self.found],
            "gaps_unresolved": [gap for key, gap in self.wanted.items() if key not in self.found],
            "session_id": self.held.key.session_id if self.held else None,
            "context_from_cache": bool(self.cached),
        }


async def begin(run: Run) -> Work:
    """The first pass's search, and what the session holds. Raises CairnError when the search fails."""
    top_k = max(run.settings.answer.retrieved, run.settings.rag.top_k)
    result = await run.search(run.plan.text, top_k, filters=run.question.filters)
    work = Work(run, await _opened(run), result.passages, result.visible_passages, graph=result.graph)
    if work.held:
        work.not_found |= work.held.not_found
        work.relations = dict.fromkeys(work.held.relations)
        known = {passage.passage_id for passage in work.main}
        cached = await run.deps.library.passages(work.held.passages)
        work.cached = tuple(passage for passage in cached if passage.passage_id not in known)
    await _look_up(work, run.plan.text)
    return work


async def fetch(work: Work, gaps: Sequence[str]) -> None:
    """What is missing: symbols by name with one hop, else by a search; then those that brought nothing are noted."""
    missed: list[str] = []
    tools: list[dict[str, Any]] = []
    for gap in gaps:
        began, before, reason, new = perf_counter(), len(work.fetched), "", False
        try:
            new = await _look_up(work, gap) or await _search(work, gap)
            (work.found.add if new else missed.append)(normal(gap))
        except CairnError as error:
            reason = f"{error.code}: {error.detail}"
            work.run.record.degraded.append(f"retrieval for a gap failed ({reason})")
        ids, ms = tuple(one.passage_id for one in work.fetched[before:]), round((perf_counter() - began) * 1000, 1)
        tools.append(Used("gap", {"query": gap}, new, ms, ids, reason=reason).told())
    work.run.record.steps.append(
        {"step": work.passes, "thought": f"{len(gaps)} gaps of pass {work.passes}", "tools": tools}
    )
    work.not_found.update(missed)
    work.missed.update(missed)


async def finish(work: Work) -> None:
    """Remember for the session's next question what was read; that this fails costs only the memory."""
    if work.held is None:
        return
    settings, library = work.run.settings.iterative, work.run.deps.library
    read = [passage.passage_id for passage in reversed(order(work))]
    try:
        async with library.database.transaction(library.principal) as connection:
            await qa_sessions.keep(
                connection, library.principal, work.held.key, passages=read[-settings.session_nodes :],
                relations=list(work.relations), not_found=sorted(work.missed), nodes=settings.session_nodes,
            )  # fmt: skip
    except CairnError as error:
        work.run.record.degraded.append(f"the session could not be kept ({error.code}: {error.detail})")


def order(work: Work) -> list[Passage]:
    """What is read, most important first: the best of the question's search, what gaps brought, the rest, the session's."""
    lists = (work.main[:LEADING], work.fetched, work.main, work.cached)
    return list({passage.passage_id: passage for passages in lists for passage in passages}.values())


async def _opened(run: Run) -> StoredSession | None:
    """The session that the caller names; without one nothing is kept. Its memory is of the whole collection: with
    filters it is neither read, where it could show what they leave out, nor written: what they leave out is not missing."""
    session = run.question.context_session or run.question.session_id
    if session is None or run.question.filters:
        return None
    settings, library = run.settings.iterative, run.deps.library
    try:
        async with library.database.transaction(library.principal) as connection:
            return await qa_sessions.open_(
                connection, library.principal, run.question.collection, session,
                idle_minutes=settings.idle_minutes, nodes=settings.session_nodes,
            )  # fmt: skip
    except CairnError as error:
        run.record.degraded.append(f"the session could not be read ({error.code}: {error.detail})")
        return None


async def _look_up(work: Work, text: str) -> bool:
    """Symbols that a text names, with what they are related to; whether any was found."""
    queries, library = symbols_of(text), work.run.deps.library
    if not queries or work.run.question.filters or not work.run.settings.graph.enabled:
        return False
    principal = library.principal
    async with library.database.transaction(principal, readonly=True) as connection:
        scope = await qa_sessions.collection(connection, principal, work.run.question.collection)
        symbols = await find_symbols(connection, principal, [scope], queries, limit=MOST_SYMBOLS) if scope else []
        for symbol in symbols:
            for other in symbol.neighbours:
                ends = (other.entity_id, symbol.entity_id) if other.incoming else (symbol.entity_id, other.entity_id)
                work.relations[relation_id(ends[0], other.relation, ends[1])] = None
        known = await qa_sessions.relations(connection, principal, list(work.relations))
    work.graph = joined_contexts([work.graph, GraphContext(relations=tuple(known))])
    places = symbol_passages(symbols, queries[0])[:MOST_OF_A_SYMBOL]
    found = await library.passages([place.passage_id for place in places])
    work.fetched += found
    return bool(found)


async def _search(work: Work, gap: str) -> bool:
    """A small search; whether it brought something that is relevant and was not read yet."""
    settings = work.run.settings.iterative
    result: SearchResult = await work.run.search(
        gap, settings.targeted_top_k, purpose="gap", filters=work.run.question.filters
    )
    if best(result) < settings.min_confidence:
        return False
    known = {passage.passage_id for passage in order(work)}
    new = [passage for passage in result.passages if passage.passage_id not in known]
    work.fetched += new
    return bool(new)
