"""Every call of files of code: written with a file, read by name and by where it stands. In the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.code import CodeCall
from cairn.domain.principal import Principal

SQL = load_queries("code_calls")


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call with the file that it stands in; `path` is the external id."""

    document_id: UUID
    path: str
    call: CodeCall


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file of code whose calls are not known."""

    document_id: UUID
    path: str
    text: str


async def write_calls(
    connection: Any, collection_id: UUID, calls_by_document: Mapping[UUID, Sequence[CodeCall] | None]
) -> None:
    """In the place of those that were there. None: the document is no code, or its code was not read."""
    if unread := [document_id for document_id, calls in calls_by_document.items() if calls is None]:
        await connection.execute(SQL["forget"], unread)
    for document_id, calls in calls_by_document.items():
        if calls is not None:
            columns = (
                [one.name for one in calls], [one.source for one in calls], [one.target for one in calls],
                [one.start for one in calls], [one.end for one in calls],
            )  # fmt: skip
            await connection.execute(SQL["write"], collection_id, document_id, *columns)


async def load_calls(connection: Any, tenant_id: int, document_id: UUID) -> tuple[CodeCall, ...] | None:
    """Those of a document, as they were written; None where none were."""
    if not await connection.fetchval(SQL["read"], tenant_id, document_id):
        return None
    rows = await connection.fetch(SQL["of_document"], tenant_id, document_id)
    return tuple(CodeCall(*row.values()) for row in rows)


async def find_calls(
    connection: Any, principal: Principal, collections: Sequence[UUID], name: str, limit: int
) -> list[PlacedCall]:
    """Calls by a name, whatever is meant by it, in order of files and places."""
    rows = await connection.fetch(SQL["of_name"], principal.tenant_id, collections, name, limit)
    return [_placed(row) for row in rows]


async def find_calls_inside(
    connection: Any, principal: Principal, document_id: UUID, definition: str, limit: int
) -> list[PlacedCall]:
    """Calls that stand in a definition of a document, in order."""
    rows = await connection.fetch(SQL["inside"], principal.tenant_id, document_id, definition, limit)
    return [_placed(row) for row in rows]


async def find_unread(
    connection: Any,
    principal: Principal,
    collections: Sequence[UUID],
    prose: Sequence[str],
    name: str,
    limit: int,
) -> list[UnreadFile]:
    """Files of code in which a name stands and whose calls are not known. `prose`: media types of what is no code."""
    rows = await connection.fetch(SQL["unread"], principal.tenant_id, collections, prose, name, limit)
    return [UnreadFile(*row.values()) for row in rows]


def _placed(row: Any) -> PlacedCall:
    document_id, path, *call = row.values()
    return PlacedCall(document_id, path, CodeCall(*call))
