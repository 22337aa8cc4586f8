"""rag.sources and what was seen of their files: row in, domain value out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.connected_source import ConnectedSource, FailedFile, FileState, SourceWish
from cairn.domain.principal import Principal
from cairn.language.text import normalise

SQL = load_queries("sources")
ELSEWHERE: Final = "elsewhere"
"""The version of a file that led elsewhere when it was asked for: none that a source tells, so that it is asked for again."""
FOREIGN: Final = (
    "a document with this id came otherwise, and a source does not take its place: delete it, or give the source "
    "another prefix"
)


@dataclass(frozen=True, slots=True)
class FileRow:
    """What is known of a file; `version` is empty where no reading of it came to its end. `arrived`: since the last
    synchronisation that came to its end. `passed_over`: it led elsewhere when the synchronisation that asks looked at it."""

    path: str
    external_id: str
    version: str
    content_id: str | None
    state: FileState
    arrived: bool
    passed_over: bool


@dataclass(frozen=True, slots=True)
class ReadFile:
    """How the reading of a file went."""

    path: str
    version: str
    content_id: str | None
    state: FileState
    error: str | None = None


async def list_(connection: Any, principal: Principal, source_id: UUID | None = None) -> list[ConnectedSource]:
    """All of the tenant, oldest first, or that one."""
    return [_source(row) for row in await connection.fetch(SQL["list"], principal.tenant_id, source_id)]


async def get(connection: Any, principal: Principal, source_id: UUID) -> ConnectedSource | None:
    found = await list_(connection, principal, source_id)
    return found[0] if found else None


def _source(row: Any) -> ConnectedSource:
    values = dict(row)
    wish = SourceWish(**{name: values.pop(name) for name in SourceWish.__dataclass_fields__})
    return ConnectedSource(**values, wish=wish)


async def list_prefixes(connection: Any, principal: Principal, collection_id: UUID) -> list[tuple[str, str]]:
    """Prefix and address of the sources of a collection, to which none is added until the transaction ends."""
    await connection.execute(SQL["lock_collection"], principal.tenant_id, collection_id)
    rows = await connection.fetch(SQL["prefixes"], principal.tenant_id, collection_id)
    return [(row["prefix"], row["address"]) for row in rows]


async def shelters_others(
    connection: Any, principal: Principal, collection_id: UUID, prefix: str, source_id: UUID
) -> bool:
    """Whether documents that are not of the source have their access list from the rule of that folder."""
    return bool(
        await connection.fetchval(SQL["shelters_others"], principal.tenant_id, collection_id, prefix, source_id)
    )


async def add(connection: Any, principal: Principal, source_id: UUID, collection_id: UUID, wish: SourceWish) -> None:
    await connection.execute(
        SQL["add"], principal.tenant_id, source_id, collection_id, wish.address, wish.prefix, dict(wish.options),
        list(wish.secret_names), wish.interval_seconds, _lists(wish.access), wish.most_deleted, wish.requests_per_second,
        wish.replaces,
    )  # fmt: skip


async def change(connection: Any, principal: Principal, source_id: UUID, wish: SourceWish, *, paused: bool) -> None:
    """All but its address and prefix, by which its documents are known."""
    await connection.execute(
        SQL["change"], principal.tenant_id, source_id, dict(wish.options), list(wish.secret_names), wish.interval_seconds,
        _lists(wish.access), wish.most_deleted, wish.requests_per_second, paused,
    )  # fmt: skip


def _lists(access: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {folder: list(names) for folder, names in access.items()}


async def pause(connection: Any, principal: Principal, source_id: UUID, note: str) -> None:
    """What waits to be synchronised leaves it alone. One that is paused keeps its note."""
    await connection.execute(SQL["pause"], principal.tenant_id, source_id, note)


async def unfinished_job(connection: Any, principal: Principal, sync_key: str) -> UUID | None:
    """The synchronisation with that key that waits or goes on."""
    found: UUID | None = await connection.fetchval(SQL["unfinished_job"], principal.tenant_id, sync_key)
    return found


async def remove(connection: Any, principal: Principal, source_id: UUID, sync_key: str) -> bool:
    """With its secrets and what was seen of its files; its documents stay. False, with nothing done, while a synchronisation
    waits or goes on: one that begins later waits for this transaction, and finds no source."""
    await connection.execute(SQL["lock"], principal.tenant_id, source_id)
    if await unfinished_job(connection, principal, sync_key) is not None:
        return False
    await connection.execute(SQL["remove"], principal.tenant_id, source_id)
    return True


async def keep_secrets(connection: Any, principal: Principal, source_id: UUID, sealed: bytes | None) -> None:
    """None: it has none."""
    if sealed is None:
        await connection.execute(SQL["unseal"], principal.tenant_id, source_id)
    else:
        await connection.execute(SQL["seal"], principal.tenant_id, source_id, sealed)


async def load_secrets(connection: Any, principal: Principal, source_id: UUID) -> bytes | None:
    """As they were sealed; None where there are none, or they stayed behind at another server."""
    found: bytes | None = await connection.fetchval(SQL["secrets"], principal.tenant_id, source_id)
    return found


async def list_sealed(connection: Any, principal: Principal) -> list[tuple[UUID, bytes]]:
    """Of all sources of the tenant, locked until the transaction ends."""
    return [(row["source_id"], row["sealed"]) for row in await connection.fetch(SQL["sealed"], principal.tenant_id)]


# --- the schedule -----------------------------------------------------------------------------------------------------


async def tenants_with_due(connection: Any) -> list[int]:
    """Over all tenants; takes a bare connection."""
    return [row["tenant_id"] for row in await connection.fetch(SQL["tenants_with_due"])]


async def take_due(connection: Any, principal: Principal) -> list[tuple[UUID, UUID]]:
    """Ids of sources, with their collections, that are to be synchronised now; nobody gets them again before they are due."""
    rows = await connection.fetch(SQL["take_due"], principal.tenant_id)
    return [(row["id"], row["collection_id"]) for row in rows]


async def note_job(connection: Any, principal: Principal, source_id: UUID, job_id: UUID) -> None:
    await connection.execute(SQL["note_job"], principal.tenant_id, source_id, job_id)


# --- a synchronisation ------------------------------------------------------------------------------------------------


async def begin(connection: Any, principal: Principal, source_id: UUID) -> None:
    await connection.execute(SQL["begin"], principal.tenant_id, source_id)


async def end(
    connection: Any, principal: Principal, source_id: UUID, counts: Mapping[str, int], *,
    empty_listings: int, pause: bool, note: str | None,
) -> None:  # fmt: skip
    await connection.execute(SQL["end"], principal.tenant_id, source_id, dict(counts), empty_listings, pause, note)


async def fail(
    connection: Any, principal: Principal, source_id: UUID, error: str, retry_after_s: float | None = None
) -> None:
    """The schedule waits twice as long after each failure, and not less than the source asked for."""
    asked = min(retry_after_s or 0.0, 86_400.0)
    await connection.execute(SQL["fail"], principal.tenant_id, source_id, normalise(error), asked)


async def hold_up(connection: Any, principal: Principal, source_id: UUID, error: str) -> None:
    """Why the process that took it cannot read it: that is no failure of the source."""
    await connection.execute(SQL["hold_up"], principal.tenant_id, source_id, normalise(error))


async def list_known(connection: Any, principal: Principal, source_id: UUID, begun: datetime) -> list[FileRow]:
    """Files that were read, also by synchronisations that broke off. `begun`: when the one that asks was ordered."""
    rows = await connection.fetch(SQL["known"], principal.tenant_id, source_id, begun, ELSEWHERE)
    return [FileRow(**row) for row in rows]


async def count_elsewhere(connection: Any, principal: Principal, source_id: UUID) -> tuple[int, str]:
    """Files that lead elsewhere, with what is said of the first."""
    row = await connection.fetchrow(SQL["elsewhere"], principal.tenant_id, source_id, ELSEWHERE)
    return row["files"], row["first"] or ""


async def leave_out(connection: Any, principal: Principal, source_id: UUID, path: str) -> None:
    """A file that leads elsewhere has no document any more."""
    await connection.execute(SQL["leave_out"], principal.tenant_id, source_id, path)


async def claim_files(
    connection: Any, principal: Principal, source: ConnectedSource, files: Sequence[tuple[str, str]]
) -> set[str]:
    """Say of (path, external id) that they are read next; the paths of those that are the source's to read. Of the others it is
    recorded that their documents are somebody else's."""
    rows = await connection.fetch(
        SQL["claim"], principal.tenant_id, source.id, source.collection_id, [path for path, _ in files],
        [external_id for _, external_id in files], source.wish.replaces, FOREIGN,
    )  # fmt: skip
    return {row["path"] for row in rows if row["state"] != "foreign"}


async def record_files(connection: Any, principal: Principal, source_id: UUID, files: Sequence[ReadFile]) -> None:
    columns = zip(*((file.path, file.version, file.content_id, file.state, file.error) for file in files), strict=True)
    await connection.execute(SQL["record"], principal.tenant_id, source_id, *map(list, columns))


async def forget_file(connection: Any, principal: Principal, source_id: UUID, path: str) -> None:
    await connection.execute(SQL["forget"], principal.tenant_id, source_id, path)


async def list_failed(connection: Any, principal: Principal, source_id: UUID, limit: int) -> list[FailedFile]:
    rows = await connection.fetch(SQL["failed"], principal.tenant_id, source_id, limit)
    return [FailedFile(**row) for row in rows]


async def list_owned(
    connection: Any, principal: Principal, source_id: UUID, after: str, limit: int
) -> list[tuple[str, str]]:
    """Path and external id of files whose documents are its own, by path."""
    rows = await connection.fetch(SQL["documents"], principal.tenant_id, source_id, after, limit)
    return [(row["path"], row["external_id"]) for row in rows]
