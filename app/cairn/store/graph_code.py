"""Symbols of code as they are read: by name, with where they are defined and what they are related to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal
from cairn.store.graph import LAST_CODE_POINT

SQL = load_queries("graph_code")


@dataclass(frozen=True, slots=True)
class NamedSymbol:
    """A definition (family code) or a name that files refer to (family reference), found by a form of its name."""

    collection_id: UUID
    id: UUID
    family: str
    normal: str
    kind: str
    form: str


@dataclass(frozen=True, slots=True)
class SymbolSpan:
    """A span of a document's text, in a passage; `path` is the external id of the document."""

    passage_id: UUID
    document_id: UUID
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SymbolRelation:
    """A relation of a symbol, and one passage that proves it. `incoming`: it leads to the symbol."""

    symbol_id: UUID
    neighbour_id: UUID
    incoming: bool
    relation: str
    family: str
    normal: str
    kind: str
    spot: SymbolSpan


async def find_by_name(
    connection: Any, principal: Principal, collections: Sequence[UUID], forms: Sequence[str], path: str, limit: int
) -> list[NamedSymbol]:
    """Symbols by a form of their name, at most so many of each collection and form; definitions in files whose path has
    `path`."""
    rows = await connection.fetch(SQL["called"], principal.tenant_id, collections, forms, path, limit)
    return [NamedSymbol(*row.values()) for row in rows]


async def find_similar(
    connection: Any, principal: Principal, collections: Sequence[UUID], part: str, limit: int
) -> list[NamedSymbol]:
    """Definitions with a name that begins with a form; where there are none, with it anywhere in a name."""
    end = part + LAST_CODE_POINT
    rows = await connection.fetch(SQL["begin"], principal.tenant_id, collections, part, end, limit)
    if not rows:
        rows = await connection.fetch(SQL["within"], principal.tenant_id, collections, part, limit)
    return [NamedSymbol(*row.values()) for row in rows]


async def find_definitions(
    connection: Any, principal: Principal, ids: Sequence[UUID], limit: int
) -> list[tuple[UUID, SymbolSpan]]:
    """Where symbols are defined, at most so many places of each."""
    rows = await connection.fetch(SQL["definitions"], principal.tenant_id, ids, limit)
    return [(row["entity_id"], SymbolSpan(*list(row.values())[1:])) for row in rows]


async def find_neighbours(
    connection: Any, principal: Principal, ids: Sequence[UUID], limit: int
) -> tuple[list[SymbolRelation], bool]:
    """Relations of symbols, at most so many of each, and whether these are all."""
    rows = await connection.fetch(SQL["neighbours"], principal.tenant_id, ids, limit)
    degrees = await connection.fetch(SQL["degrees"], principal.tenant_id, ids, limit + 1)
    ties = []
    for row in rows:
        symbol_id, neighbour_id, incoming, relation, family, normal, kind, *spot = row.values()
        ties.append(
            SymbolRelation(symbol_id, neighbour_id, incoming, relation, family, normal, kind, SymbolSpan(*spot))
        )
    return ties, all(row["relations"] <= limit for row in degrees)


async def line_numbers(
    connection: Any, principal: Principal, places: Iterable[tuple[UUID, int]]
) -> dict[tuple[UUID, int], int]:
    """The line, from 1, of each code point of a document. Counted here: in SQL every place would read its text anew."""
    wanted: dict[UUID, set[int]] = {}
    for document_id, place in places:
        wanted.setdefault(document_id, set()).add(place)
    rows = await connection.fetch(SQL["beginnings"], principal.tenant_id, list(wanted), list(map(max, wanted.values())))
    found: dict[tuple[UUID, int], int] = {}
    for row in rows:
        before, line = 0, 1
        for place in sorted(wanted[row["document_id"]]):
            line += row["text"].count("\n", before, place)
            found[row["document_id"], place], before = line, place
    return found


@dataclass(frozen=True, slots=True)
class SymbolStep:
    """A relation as seen from a node, with what stands at its other end."""

    node_id: UUID
    neighbour_id: UUID
    relation_id: UUID
    outgoing: bool
    weight: float
    family: str
    normal: str


async def find_steps(connection: Any, principal: Principal, nodes: Sequence[UUID], cap: int) -> list[SymbolStep]:
    """The strongest relations of nodes, at most so many of each."""
    rows = await connection.fetch(SQL["steps"], principal.tenant_id, nodes, cap)
    return [SymbolStep(*row.values()) for row in rows]


# --- All of a collection at once ---


async def load_names(connection: Any, principal: Principal, collection_id: UUID) -> tuple[list[Any], list[Any]]:
    """Definitions (id, normal, kind), and what files import and classes inherit from (relation, source, target, defined)."""
    return (
        await connection.fetch(SQL["every_definition"], principal.tenant_id, collection_id),
        await connection.fetch(SQL["every_tie"], principal.tenant_id, collection_id),
    )


async def find_proofs(
    connection: Any, principal: Principal, relations: Sequence[UUID]
) -> list[tuple[UUID, SymbolSpan]]:
    """Where relations are proved: in each passage the first place, in order."""
    rows = await connection.fetch(SQL["proofs"], principal.tenant_id, relations)
    return [(row["relation_id"], SymbolSpan(*list(row.values())[1:])) for row in rows]


async def find_passages_at(
    connection: Any, principal: Principal, places: Sequence[tuple[UUID, int]]
) -> dict[tuple[UUID, int], UUID]:
    """Of each code point of a document the passage that holds it."""
    documents, points = [one for one, _ in places], [at for _, at in places]
    rows = await connection.fetch(SQL["passages_at"], principal.tenant_id, documents, points)
    return {(row["document_id"], row["place"]): row["id"] for row in rows}


async def load_texts(connection: Any, principal: Principal, documents: Sequence[UUID]) -> dict[UUID, str]:
    """Texts of documents, whole."""
    rows = await connection.fetch(SQL["texts"], principal.tenant_id, documents)
    return {row["document_id"]: row["text"] for row in rows}


async def find_texts_with(
    connection: Any, principal: Principal, collection_id: UUID, name: str, prose: Sequence[str], limit: int
) -> list[tuple[UUID, str, str]]:
    """Files of code in whose text a name stands: id, path, text."""
    rows = await connection.fetch(SQL["texts_with"], principal.tenant_id, collection_id, name, prose, limit)
    return [tuple(row) for row in rows]
