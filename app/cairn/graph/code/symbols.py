"""From a question to the symbols of code that it names: their definitions, neighbours and passages.

    wanted_symbols    what the question names and asks (questions.py)
    find_symbols      exact names, else parts of names; what calls, imports, contains and inherits; with files and lines
    symbol_passages   the passages of that, definitions first

A file says what it refers to as it imports it ("httpx.Client"), or by a name alone (".send"). Which definition that means
is decided here, by the names of all files of the collection at this moment (matching.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import SEPARATOR, Match, Neighbour, Symbol, SymbolPlace, SymbolQuery
from cairn.domain.principal import Principal
from cairn.graph.code.matching import (
    Meeting,
    Parts,
    fits,
    is_entry,
    qualify_name,
)
from cairn.graph.code.questions import is_file, wanted_symbols
from cairn.graph.keys import key_of
from cairn.store import graph_code
from cairn.store.graph_code import NamedSymbol, SymbolRelation, SymbolSpan

__all__ = ["SymbolPassage", "find_symbols", "symbol_passages", "wanted_symbols"]

MOST_NAMED: Final = 500
"""Definitions and references by one name that are looked at, per collection."""
MOST_SYMBOLS: Final = 5
"""Symbols that one name finds."""
MOST_TIES: Final = 300
"""Relations of one symbol or reference."""
MOST_HEIRS: Final = 20
"""Classes that inherit a method."""
_PARTIAL: Final = 0.5


@dataclass(frozen=True, slots=True)
class SymbolPassage:
    """A passage that a named symbol leads to. `score` 0 to 1: 1 defines it exactly, less for callers and other
    neighbours, half of that for symbols named in part."""

    passage_id: UUID
    document_id: UUID
    entity_id: UUID
    score: float


async def find_symbols(
    connection: Any,
    principal: Principal,
    collection_ids: Sequence[UUID],
    queries: Sequence[SymbolQuery],
    *,
    limit: int = MOST_SYMBOLS,
    partial: bool = True,
) -> list[Symbol]:
    """Symbols of each query in turn, best first, at most `limit` of each; none where the collections have nothing so
    called. A name without a definition that files refer to is found as well: it has neighbours only. `partial`: look for
    parts of names where no whole one is found."""
    found: dict[UUID, Symbol] = {}
    for query in queries:
        for one in await _find(_Reader(connection, principal, collection_ids), query, limit, partial):
            found.setdefault(one.entity_id, one)
    return list(found.values())


def symbol_passages(symbols: Iterable[Symbol], query: SymbolQuery | None = None) -> list[SymbolPassage]:
    """Passages of symbols, best first, each once: where they are defined, then their neighbours; first those that stand in
    the relation that `query` asks for. Pure."""
    best: dict[UUID, SymbolPassage] = {}
    for symbol in symbols:
        weight = 1.0 if symbol.match == "exact" else _PARTIAL
        places = [(place, 1.0) for place in symbol.definitions]
        places += [(one.place, _worth(one, query)) for one in symbol.neighbours]
        for place, score in places:
            made = SymbolPassage(place.passage_id, place.document_id, symbol.entity_id, weight * score)
            known = best.get(place.passage_id)
            if known is None or known.score < made.score:
                best[place.passage_id] = made
    return sorted(best.values(), key=lambda one: (-one.score, one.passage_id))


def _worth(one: Neighbour, query: SymbolQuery | None) -> float:
    asked = query is not None and query.relation == one.relation and query.incoming == one.incoming
    return 0.9 if asked else 0.6 if one.relation == "calls" and one.incoming else 0.4


@dataclass(frozen=True, slots=True)
class _Reader:
    connection: Any
    principal: Principal
    collections: Sequence[UUID]

    async def called(self, names: Iterable[str], path: str = "") -> list[NamedSymbol]:
        forms = {key_of(name) or name for name in names if name}
        if not forms:
            return []
        return await graph_code.find_by_name(
            self.connection, self.principal, self.collections, sorted(forms), path, MOST_NAMED
        )

    async def neighbours(self, ids: Iterable[UUID]) -> tuple[list[SymbolRelation], bool]:
        wanted = list(ids)
        if not wanted:
            return [], True
        return await graph_code.find_neighbours(self.connection, self.principal, wanted, MOST_TIES)


async def _find(reader: _Reader, query: SymbolQuery, limit: int, partial: bool) -> list[Symbol]:
    bare = query.name if is_file(query.name) else query.name.rpartition(".")[2]
    named = await reader.called([bare], query.path)
    match: Match = "exact"
    chosen = [one for one in named if one.family == "code" and fits(one.normal, query)]
    if not chosen:
        outside = [one for one in named if one.family == "reference" and f".{one.normal}".endswith(f".{query.name}")]
        chosen = outside if "." in query.name else []
    if not chosen and partial and len(bare) > 2:
        match = "partial"
        similar = await graph_code.find_similar(
            reader.connection, reader.principal, reader.collections, key_of(bare) or bare, MOST_NAMED
        )
        chosen = [one for one in similar if fits(one.normal, replace(query, name=""))]
    spelled = [one for one in chosen if f".{'.'.join(qualify_name(one.normal))}".endswith(f".{query.name}")]
    unique = list({one.id: one for one in spelled or chosen}.values())
    unique.sort(key=lambda one: (one.normal.rpartition(SEPARATOR)[2].count("."), len(one.normal), one.normal))
    return [await _symbol(reader, one, named, match) for one in unique[:limit]]


async def _symbol(reader: _Reader, one: NamedSymbol, named: Sequence[NamedSymbol], match: Match) -> Symbol:
    """With its definitions and neighbours."""
    meeting = await _meeting(reader, one, named)
    ties, complete = await reader.neighbours([one.id, *(met.id for met in meeting.met)])
    # a reference says nothing itself
    ties = [tie for tie in ties if tie.symbol_id == one.id or tie.incoming]
    defined = await graph_code.find_definitions(reader.connection, reader.principal, [one.id], MOST_SYMBOLS)
    outgoing = [tie for tie in ties if not tie.incoming and tie.family == "reference"]
    met = await _resolved(reader, outgoing)
    spots = [spot for _, spot in defined] + [tie.spot for tie in ties]
    at = await _places(reader, spots)
    return Symbol(
        one.id, one.normal, one.kind, match,
        tuple(at[spot] for _, spot in defined),
        tuple(_neighbours(ties, met, at)),
        complete,
        len(meeting.unsure),
    )  # fmt: skip


async def _meeting(reader: _Reader, one: NamedSymbol, named: Sequence[NamedSymbol]) -> Meeting:
    """References that mean a definition, under all of its names."""
    bare = qualify_name(one.normal)[-1]
    same = [other for other in named if other.form == (key_of(bare) or bare)] or await reader.called([bare])
    if one.family != "code" or not any(other.family == "reference" for other in same):
        return Meeting(())
    names = await _offered(reader, one)
    if one.kind == "method":
        names += await _inherited(reader, one, {other.normal for other in same})
    return Meeting.of(one, same, names)


async def _offered(reader: _Reader, one: NamedSymbol) -> list[Parts]:
    """Names by which packages offer a definition: those whose own file imports its module."""
    path, separator, name = one.normal.rpartition(SEPARATOR)
    if not separator:
        return []
    found = await reader.called(qualify_name(path)[-1:])
    modules = Meeting.of(replace(one, normal=path, kind="module"), found)
    importers, _ = await reader.neighbours(met.id for met in modules.met)
    entries = {tie.normal for tie in importers if tie.incoming and tie.relation == "imports" and is_entry(tie.normal)}
    return [(*qualify_name(entry), *name.split(".")) for entry in sorted(entries)]


async def _inherited(reader: _Reader, method: NamedSymbol, known: set[str]) -> list[Parts]:
    """Names of a method as a member of classes that inherit it, `known` definitions aside."""
    owner, _, bare = method.normal.rpartition(".")
    called = await reader.called([qualify_name(owner)[-1]])
    holder = next((one for one in called if one.family == "code" and one.normal == owner), None)
    if holder is None:
        return []
    meeting = Meeting.of(holder, called, await _offered(reader, holder))
    ties, _ = await reader.neighbours([holder.id, *(met.id for met in meeting.met)])
    names: list[Parts] = []
    for tie in [tie for tie in ties if tie.incoming and tie.relation == "inherits"][:MOST_HEIRS]:
        if f"{tie.normal}.{bare}" not in known:
            heir = replace(holder, id=tie.neighbour_id, normal=tie.normal)
            names += [(*name, bare) for name in (qualify_name(tie.normal), *await _offered(reader, heir))]
    return names


async def _resolved(reader: _Reader, ties: Sequence[SymbolRelation]) -> dict[UUID, NamedSymbol]:
    """References to the definition that each means, where one can be told."""
    if not ties:
        return {}
    wanted = {tie.neighbour_id for tie in ties}
    alike: dict[str, list[NamedSymbol]] = {}
    for one in await reader.called({tie.normal.rpartition(".")[2] for tie in ties}):
        if one.family == "code" or one.id in wanted:
            alike.setdefault(one.form, []).append(one)
    met: dict[UUID, NamedSymbol] = {}
    for same in alike.values():
        if any(one.family == "reference" for one in same):
            for one in same:
                met |= {reference.id: one for reference in Meeting.of(one, same).met if one.family == "code"}
    return met


async def _places(reader: _Reader, spots: Sequence[SymbolSpan]) -> dict[SymbolSpan, SymbolPlace]:
    last = {spot: max(spot.end - 1, spot.start) for spot in spots}
    at = [(spot.document_id, place) for spot in spots for place in (spot.start, last[spot])]
    lines = await graph_code.line_numbers(reader.connection, reader.principal, at)

    def place(spot: SymbolSpan) -> SymbolPlace:
        first, end = lines[spot.document_id, spot.start], lines[spot.document_id, last[spot]]
        return SymbolPlace(spot.passage_id, spot.document_id, spot.path, first, end, spot.start, spot.end)

    return {spot: place(spot) for spot in spots}


def _neighbours(
    ties: Iterable[SymbolRelation], met: dict[UUID, NamedSymbol], at: dict[SymbolSpan, SymbolPlace]
) -> Iterator[Neighbour]:
    """By relation, then by file and line; each passage that proves one once."""
    seen: set[tuple[Any, ...]] = set()
    made = []
    for tie in ties:
        other = met.get(tie.neighbour_id) if not tie.incoming else None
        entity_id, name, kind = (
            (other.id, other.normal, other.kind) if other else (tie.neighbour_id, tie.normal, tie.kind)
        )
        key = (entity_id, tie.relation, tie.incoming, tie.spot.passage_id)
        if key not in seen:
            seen.add(key)
            defined = bool(other) or tie.family == "code"
            made.append(Neighbour(entity_id, name, kind, tie.relation, tie.incoming, defined, at[tie.spot]))
    yield from sorted(made, key=lambda one: (one.relation, one.incoming, one.place.path, one.place.start, one.name))
