"""What the iterative strategy has read and what it misses, in one run and over the questions of a session.

A gap is looked for once. It is resolved where that brought something new: of a gap that names a symbol the symbol itself,
or a passage that has its name. It is unresolved where it did not, and where the model asks for it again, in these or other
words, after it has read what was found.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import SymbolQuery
from cairn.domain.graph import GraphContext, joined_contexts, relation_id
from cairn.domain.passage import Passage, SearchResult
from cairn.errors import CairnError
from cairn.graph.code.symbols import find_symbols, symbol_passages, wanted_symbols
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import terms
from cairn.runs.context import AT_ONCE, Run
from cairn.runs.gather import best_confidence
from cairn.store import qa_sessions
from cairn.store.qa_sessions import StoredSession
from cairn.strategies.agents.tools.tool import Used

LEADING = 5
"""Passages of the question's own search that are read before what gaps brought."""
MOST_SYMBOLS = 3
MOST_OF_A_SYMBOL = 6
"""Symbols of one gap, and passages of each look-up."""
SURE_ENOUGH_OF_GAP: Final = 0.3
"""Least confidence with which a search has found what was missing."""
NOT_FOUND: Final = "not found"
UNRESOLVED: Final = "unresolved: it was looked for before"
"""Why a gap is not resolved, for the trace."""
_SPECIFIC: Final = bounded(
    r"::|\bin `[^`]+`|\bin [\w./\\-]+\.\w{1,4}\b|\b(?:function|class|method|struct|trait|interface|enum|module)\b[ `'\"]+\w|"
    r"\b\w+[ `'\"]+(?:function|class|method)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Reading:
    """Of one run. Gaps are counted in their normal form: `wanted` as they were worded first, `found` those that brought
    something new, `not_found` those that did not, in this or an earlier question of the session. `looked_for`: by what they
    mean; `again`: those that were asked for again after they had been looked for."""

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
    looked_for: dict[frozenset[str], str] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    passes: int = 0

    def note(self, gaps: Sequence[str]) -> list[str]:
        """Gaps, noted; those that are to be looked for are returned, each once."""
        new: dict[frozenset[str], str] = {}
        for gap in gaps:
            key = self.key(gap)
            self.wanted.setdefault(key, gap)
            if meaning(gap) in self.looked_for:
                self.found.discard(key)
                self.again.add(key)
            elif key not in self.not_found:
                new.setdefault(meaning(gap), gap)
        return list(new.values())

    def key(self, gap: str) -> str:
        """What a gap is counted as: the one that it repeats, or itself in its normal form."""
        return self.looked_for.get(meaning(gap), normal(gap))

    @property
    def in_vain(self) -> list[str]:
        """What need not be asked for any more."""
        return sorted(self.not_found | self.again)

    @property
    def unresolved(self) -> Iterator[str]:
        """What is missing in the end, in words for the reader of the answer."""
        for key, gap in self.wanted.items():
            if key in self.again or key in self.not_found:
                yield f"Looked for and not found: {gap}."
            elif key not in self.found:
                yield f"Missing, and not looked for any more: {gap}."

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
    _keep(reading, await _look_up(reading, run.plan.text))
    return reading


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was found for a gap. `named`: the symbols themselves, which counts even if their passages were read before."""

    passages: tuple[Passage, ...] = ()
    relations: tuple[UUID, ...] = ()
    graph: GraphContext | None = None
    named: bool = False
    ms: float = 0.0
    problem: str = ""


async def fetch_gaps(reading: Reading, gaps: Sequence[str]) -> None:
    """What is missing, side by side: symbols by name with one hop, else by a search; then those that brought nothing are
    noted. What each brought is kept in the order of the gaps. One that fails is reported, and may be asked for again."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def fetch(gap: str) -> Fetched:
        async with gate:
            return await _fetch(reading, gap)

    tools: list[dict[str, Any]] = []
    for gap, found in zip(gaps, await asyncio.gather(*map(fetch, gaps)), strict=True):
        key, new = normal(gap), _keep(reading, found)
        if found.problem:
            reading.run.record.degraded.append(f"retrieval for a gap failed ({found.problem})")
        else:
            reading.looked_for[meaning(gap)] = key
            resolved = bool(new) or found.named
            (reading.found if resolved else reading.missed).add(key)
        reason = found.problem or ("" if key in reading.found else NOT_FOUND)
        ids = tuple(passage.passage_id for passage in new)
        tools.append(Used("gap", {"query": gap}, key in reading.found, found.ms, ids, reason=reason).told())
    reading.not_found |= reading.missed
    _note_step(reading, f"{len(gaps)} gaps of pass {reading.passes}", tools)


def note_repeated(reading: Reading, gaps: Sequence[str]) -> None:
    """Tell the trace of gaps that were asked for again, or are known to be nowhere, and are not looked for."""
    asked = [gap for gap in gaps if reading.key(gap) in reading.in_vain]
    if asked:
        tools = [Used("gap", {"query": gap}, False, 0.0, repeated=True, reason=UNRESOLVED).told() for gap in asked]
        _note_step(reading, f"{len(asked)} gaps of pass {reading.passes} are unresolved", tools)


def _note_step(reading: Reading, thought: str, tools: list[dict[str, Any]]) -> None:
    reading.run.record.steps.append({"step": reading.passes, "thought": thought, "tools": tools})


async def _fetch(reading: Reading, gap: str) -> Fetched:
    """Never raises for a database or a provider."""
    began = perf_counter()
    try:
        found = await _look_up(reading, gap)
        if not found.named:
            found = await _search(reading, gap)
    except CairnError as error:
        found = Fetched(problem=f"{error.code}: {error.detail}")
    return replace(found, ms=round((perf_counter() - began) * 1000, 1))


def _keep(reading: Reading, found: Fetched) -> list[Passage]:
    """What of it was not read yet."""
    known = {passage.passage_id for passage in in_order(reading)}
    new = [passage for passage in found.passages if passage.passage_id not in known]
    reading.fetched += found.passages if found.named else new
    reading.relations |= dict.fromkeys(found.relations)
    reading.graph = joined_contexts([reading.graph, found.graph])
    return new


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


async def _look_up(reading: Reading, text: str) -> Fetched:
    """Symbols that a text names, with what they are related to."""
    queries, library = symbols_of(text), reading.run.deps.library
    if not queries or reading.run.question.filters or not reading.run.settings.graph.enabled:
        return Fetched()
    principal, relations = library.principal, dict(reading.relations)
    async with library.database.transaction(principal, readonly=True) as connection:
        scope = await qa_sessions.collection(connection, principal, reading.run.question.collection)
        symbols = await find_symbols(connection, principal, [scope], queries, limit=MOST_SYMBOLS) if scope else []
        for symbol in symbols:
            for other in symbol.neighbours:
                ends = (other.entity_id, symbol.entity_id) if other.incoming else (symbol.entity_id, other.entity_id)
                relations[relation_id(ends[0], other.relation, ends[1])] = None
        known = await qa_sessions.relations(connection, principal, list(relations))
    places = symbol_passages(symbols, queries[0])[:MOST_OF_A_SYMBOL]
    found = tuple(await library.passages([place.passage_id for place in places]))
    return Fetched(found, tuple(relations), GraphContext(relations=tuple(known)), bool(found))


async def _search(reading: Reading, gap: str) -> Fetched:
    """What a small search brings that is relevant; of a named symbol what has its name."""
    settings = reading.run.settings.iterative
    result: SearchResult = await reading.run.search(
        gap, settings.targeted_top_k, purpose="gap", filters=reading.run.question.filters
    )
    if best_confidence(result) < SURE_ENOUGH_OF_GAP:
        return Fetched()
    names = {name for query in symbols_of(gap) for name in re.findall(r"\w+", fold(query.name))[-1:]}
    kept = [one for one in result.passages if not names or any(name in fold(one.content) for name in names)]
    return Fetched(tuple(kept), graph=result.graph)


# --- what is missing, in words -------------------------------------------------------------------------------------


def normal(gap: str) -> str:
    """The form in which a gap is remembered."""
    return " ".join(fold(gap).replace("`", " ").replace('"', " ").split()).strip(" .:;,?!'")


def meaning(gap: str) -> frozenset[str]:
    """What two wordings of one gap have in common: the symbols that they name, else their words but for stop words."""
    named = {f"{query.path} {query.name}" for query in symbols_of(gap)}
    return frozenset(named or terms(gap) or [normal(gap)])


def symbols_of(gap: str) -> tuple[SymbolQuery, ...]:
    """The symbols that a specific gap names; none for a vague one, which is searched for."""
    named = tuple(wanted_symbols(gap))
    return named if named and (_SPECIFIC.search(gap) or len(gap.split()) <= 2) else ()
