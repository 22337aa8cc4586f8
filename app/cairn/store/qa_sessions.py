"""Sessions of the iterative strategy: ids of what was read, never its text; and what was not found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.graph import ContextRelation
from cairn.domain.principal import Principal
from cairn.store import persons

SQL = load_queries("qa_sessions")
MOST_EDGES = 500
"""Relations that one question adds at most."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """`session_id`: as it is stored, which tells apart who could read more than everybody when it was opened. `epoch`: state of
    the collection then."""

    collection_id: UUID
    session_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class StoredSession:
    """What a session has at hand: passages that it read last first, relations it followed, what it did not find."""

    key: SessionKey
    passages: tuple[UUID, ...] = ()
    relations: tuple[UUID, ...] = ()
    not_found: frozenset[str] = frozenset()


async def open_(
    connection: Any, principal: Principal, collection: str, session_id: str, *, idle_minutes: int, nodes: int
) -> StoredSession | None:
    """The session as it is, begun if need be; those idle for too long are forgotten first. None for no collection. Raises
    ConflictError."""
    tenant = principal.tenant_id
    await persons.require_kept(connection, principal)
    await connection.execute(SQL["expire"], tenant, idle_minutes)
    found = await connection.fetchrow(SQL["collection"], tenant, collection)
    if found is None:
        return None
    key = SessionKey(found["id"], await connection.fetchval(SQL["own"], session_id), found["epoch"])
    of = (tenant, key.collection_id, key.session_id)
    if not await connection.fetchval(SQL["open"], *of, [principal.caller.id]):
        return StoredSession(key)
    await connection.execute(SQL["forget_gaps"], *of, key.epoch)
    return StoredSession(
        key,
        tuple(row["passage_id"] for row in await connection.fetch(SQL["nodes"], *of, nodes)),
        tuple(row["relation_id"] for row in await connection.fetch(SQL["followed"], *of)),
        frozenset(row["gap"] for row in await connection.fetch(SQL["gaps"], *of)),
    )


async def collection(connection: Any, principal: Principal, name: str) -> UUID | None:
    """The id of a collection."""
    found = await connection.fetchrow(SQL["collection"], principal.tenant_id, name)
    return found["id"] if found else None


async def keep(
    connection: Any,
    principal: Principal,
    key: SessionKey,
    *,
    passages: Sequence[UUID],
    relations: Sequence[UUID],
    not_found: Sequence[str],
    nodes: int,
) -> None:
    """Remember what a question has read, the least important first; beyond `nodes` passages the oldest go. Raises
    ConflictError."""
    of = (principal.tenant_id, key.collection_id, key.session_id)
    await persons.require_kept(connection, principal)
    await connection.execute(SQL["open"], *of, [principal.caller.id])
    await connection.execute(SQL["keep_nodes"], *of, passages)
    await connection.execute(SQL["trim_nodes"], *of, nodes)
    await connection.execute(SQL["keep_edges"], *of, relations, MOST_EDGES)
    await connection.execute(SQL["keep_gaps"], *of, not_found, key.epoch)


async def relations(connection: Any, principal: Principal, ids: Sequence[UUID]) -> list[ContextRelation]:
    """Relations by name, with the passages that prove them; without those that are gone."""
    rows = await connection.fetch(SQL["edges"], principal.tenant_id, ids)
    return [ContextRelation(row["source"], row["kind"], row["target"], tuple(row["passages"])) for row in rows]


async def delete(connection: Any, principal: Principal, session_id: str) -> bool:
    """Forget a session in all collections; False where there is none."""
    own = await connection.fetchval(SQL["own"], session_id)
    return str(await connection.execute(SQL["delete"], principal.tenant_id, session_id, own)) != "DELETE 0"
