"""What is kept because of a person. Each function runs inside a transaction of the principal's tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.person import Kept, Person
from cairn.domain.principal import PERSON, Principal
from cairn.errors import ConflictError
from cairn.store.session import stream

SQL = load_queries("persons")
PREFETCH: Final = 50
"""Records read at a time."""


async def forgotten_as(connection: Any, principal: Principal) -> str | None:
    """What stands in the place of the caller, if they were forgotten within the hour; if not, they are not while this transaction
    lasts."""
    mark: str | None = await connection.fetchval(SQL["forgotten_as"], principal.caller.id)
    return mark


async def require_kept(connection: Any, principal: Principal) -> None:
    """Asked first by what writes something down because of the caller: they are not forgotten before the transaction ends. Raises
    ConflictError for one who was forgotten within the hour."""
    if await forgotten_as(connection, principal) is not None:
        raise ConflictError("nothing of this caller is kept: they were forgotten within the last hour")


async def keys_called(connection: Any, principal: Principal, name: str) -> tuple[UUID, ...]:
    """Keys of that name."""
    return tuple(row["id"] for row in await connection.fetch(SQL["keys_called"], principal.tenant_id, name))


async def note_forgotten(connection: Any, person: Person, mark: str) -> None:
    """From the commit on nothing of them is written, for an hour. Waits for what is being written."""
    await connection.execute(SQL["note"], list(person.callers), mark)


async def kept(connection: Any, person: Person) -> AsyncIterator[Kept]:
    """All that is kept because of them, a record at a time; of what others asked, or they may not read, that it is there."""
    async for row in stream(connection, SQL["kept"], *_arguments(person), prefetch=PREFETCH):
        yield Kept(row["kind"], {name: value for name, value in row["record"].items() if name != "tenant_id"})


async def told(connection: Any, principal: Principal, person: Person) -> frozenset[tuple[str, str]]:
    """What an export of the person tells the principal of others: conversation, run or document, and its id. Of conversations,
    and of runs outside of them, those that somebody else asked; of documents, those whose lists do not name the principal."""
    who = (list(person.callers), list(person.names), list(person.keys))
    rows = await connection.fetch(SQL["told"], *who, principal.caller.id, list(principal.caller.names))
    return frozenset((row["kind"], row["id"]) for row in rows)


async def access_lists(
    connection: Any, principal: Principal, person: Person, mark: str
) -> list[tuple[UUID, UUID, tuple[str, ...]]]:
    """Documents that name the person, their collections, and their own access lists without: one that would be empty has the
    mark, which is nobody, since an empty list lets everybody read. No list that names them changes until the transaction ends."""
    rows = await connection.fetch(SQL["listed"], principal.tenant_id, list(person.names))
    left = [(row, tuple(one for one in row["access"] if one not in person.names)) for row in rows if row["own"]]
    return [(row["collection_id"], row["id"], others or (f"{PERSON}:{mark}",)) for row, others in left]


async def forget(connection: Any, person: Person, mark: str) -> dict[str, int]:
    """Remove all but what stands in access lists; how much of each kind."""
    rows = await connection.fetch(SQL["forget"], *_arguments(person), mark)
    return {row["kind"]: row["gone"] for row in rows}


def _arguments(person: Person) -> tuple[list[Any], ...]:
    return list(person.callers), list(person.names), list(person.keys), list(person.counted)
