"""What the iterative strategy has read and what it misses, in one run and over the questions of a session."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final
from uuid import UUID

from app.agents.tools.tool import Used
from app.answering.context import Run
from app.answering.gather import best_confidence
from app.domain.code import SymbolQuery
from app.domain.graph import GraphContext, joined_contexts, relation_id
from app.domain.passage import Passage, SearchResult
from app.errors import CairnError
from app.graph.code.symbols import find_symbols, symbol_passages, wanted_symbols
from app.language.text import fold
from app.store import qa_sessions
from app.store.qa_sessions import StoredSession

LEADING = 5
"""Passages of the question's own search that are read before what gaps brought."""
MOST_SYMBOLS = 3
MOST_OF_A_SYMBOL = 6
"""Symbols of one gap, and passages of each look-up."""
_SPECIFIC: Final = re.compile(
    r"::|\bin `[^`]+`|\bin [\w./\\-]+\.\w{1,4}\b|\b(?:function|class|method|struct|trait|interface|enum|module)\b[ `'\"]+\w|"
    r"\b\w+[ `'\"]+(?:function|class|method)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Reading:
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

    def note(self, gaps: Sequence[str]) -> list[str]:
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


async def open_reading(run: Run) -> Reading:
    """The first pass's search, and what the session holds. Raises CairnError when the search fails."""
    top_k = max(run.settings.answer.retrieved, run.settings.rag.top_k)
    result = await run.search(run.plan.text, top_k, filters=run.question.filters)
    reading = Reading(run, await _open_session(run), result.passages, result.visible_passages, graph=result.graph)
    if reading.held:
        reading.not_found |= reading.held.not_found
        reading.relations = dict.fromkeys(reading.held.relations)
        known = {passage.passage_id for passage in reading.main}
        cached = await run.deps.library.passages(reading.held.passages)
        reading.cached = tuple(passage for passage in cached if passage.passage_id not in known)
    await _look_up(reading, run.plan.text)
    return reading


async def fetch_gaps(reading: Reading, gaps: Sequence[str]) -> None:
    """What is missing: symbols by name with one hop, else by a search; then those that brought nothing are noted."""
    missed: list[str] = []
    tools: list[dict[str, Any]] = []
    for gap in gaps:
        began, before, reason, new = perf_counter(), len(reading.fetched), "", False
        try:
            new = await _look_up(reading, gap) or await _search(reading, gap)
            (reading.found.add if new else missed.append)(normal(gap))
        except CairnError as error:
            reason = f"{error.code}: {error.detail}"
            reading.run.record.degraded.append(f"retrieval for a gap failed ({reason})")
        ids, ms = tuple(one.passage_id for one in reading.fetched[before:]), round((perf_counter() - began) * 1000, 1)
        tools.append(Used("gap", {"query": gap}, new, ms, ids, reason=reason).told())
    reading.run.record.steps.append(
        {"step": reading.passes, "thought": f"{len(gaps)} gaps of pass {reading.passes}", "tools": tools}
    )
    reading.not_found.update(missed)
    reading.missed.update(missed)


async def keep_session(reading: Reading) -> None:
    """Remember for the session's next question what was read; that this fails costs only the memory."""
    if reading.held is None:
        return
    settings, library = reading.run.settings.iterative, reading.run.deps.library
    read = [passage.passage_id for passage in reversed(in_order(reading))]
    try:
        async with library.database.transaction(library.principal) as connection:
            await qa_sessions.keep(
                connection, library.principal, reading.held.key, passages=read[-settings.session_nodes :],
                relations=list(reading.relations), not_found=sorted(reading.missed), nodes=settings.session_nodes,
            )  # fmt: skip
    except CairnError as error:
        reading.run.record.degraded.append(f"the session could not be kept ({error.code}: {error.detail})")


def in_order(reading: Reading) -> list[Passage]:
    """What is read, most important first: the best of the question's search, what gaps brought, the rest, the session's."""
    lists = (reading.main[:LEADING], reading.fetched, reading.main, reading.cached)
    return list({passage.passage_id: passage for passages in lists for passage in passages}.values())


async def _open_session(run: Run) -> StoredSession | None:
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


async def _look_up(reading: Reading, text: str) -> bool:
    """Symbols that a text names, with what they are related to; whether any was found."""
    queries, library = symbols_of(text), reading.run.deps.library
    if not queries or reading.run.question.filters or not reading.run.settings.graph.enabled:
        return False
    principal = library.principal
    async with library.database.transaction(principal, readonly=True) as connection:
        scope = await qa_sessions.collection(connection, principal, reading.run.question.collection)
        symbols = await find_symbols(connection, principal, [scope], queries, limit=MOST_SYMBOLS) if scope else []
        for symbol in symbols:
            for other in symbol.neighbours:
                ends = (other.entity_id, symbol.entity_id) if other.incoming else (symbol.entity_id, other.entity_id)
                reading.relations[relation_id(ends[0], other.relation, ends[1])] = None
        known = await qa_sessions.relations(connection, principal, list(reading.relations))
    reading.graph = joined_contexts([reading.graph, GraphContext(relations=tuple(known))])
    places = symbol_passages(symbols, queries[0])[:MOST_OF_A_SYMBOL]
    found = await library.passages([place.passage_id for place in places])
    reading.fetched += found
    return bool(found)


async def _search(reading: Reading, gap: str) -> bool:
    """A small search; whether it brought something that is relevant and was not read yet."""
    settings = reading.run.settings.iterative
    result: SearchResult = await reading.run.search(
        gap, settings.targeted_top_k, purpose="gap", filters=reading.run.question.filters
    )
    if best_confidence(result) < settings.min_confidence:
        return False
    known = {passage.passage_id for passage in in_order(reading)}
    new = [passage for passage in result.passages if passage.passage_id not in known]
    reading.fetched += new
    return bool(new)


# --- what is missing, in words -------------------------------------------------------------------------------------


def normal(gap: str) -> str:
    """The form in which a gap is remembered."""
    return " ".join(fold(gap).replace("`", " ").replace('"', " ").split()).strip(" .:;,?!'")


def symbols_of(gap: str) -> tuple[SymbolQuery, ...]:
    """The symbols that a specific gap names; none for a vague one, which is searched for."""
    named = tuple(wanted_symbols(gap))
    return named if named and (_SPECIFIC.search(gap) or len(gap.split()) <= 2) else ()
