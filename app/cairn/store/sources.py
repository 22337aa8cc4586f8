"""Sources that collections follow, and what is known of their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal
from cairn.domain.sources import FollowedSource, KnownFile, SyncCounts
from cairn.errors import ConflictError, InputError
from cairn.language.text import normalise
from cairn.store.jobs import UNIQUE_VIOLATION

SQL = load_queries("sources")
_COPIED = set(FollowedSource.__dataclass_fields__) - {"secrets", "counts", "options"}


@dataclass(frozen=True, slots=True)
class SourceFields:
    """What somebody may say of a source, with its secrets encrypted; as in FollowedSource."""

    options: Mapping[str, str]
    sealed: bytes | None
    secrets: Sequence[str]
    every: timedelta | None
    most_deleted: float
    paused: str | None = None


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Of a source: files that are documents, and those that could not be read."""

    documents: int
    failed: int


async def add(
    connection: Any, principal: Principal, source_id: UUID, collection_id: UUID, address: str, prefix: str, fields: SourceFields
) -> None:  # fmt: skip
    """Raises ConflictError where another source has the prefix, InputError on a distributed database."""
    if await connection.fetchval("SELECT rag.is_distributed()"):
        raise InputError("a distributed database follows no sources: a worker could not tell which of them are due")
    try:
        await connection.execute(
            SQL["add"], principal.tenant_id, source_id, collection_id, address, prefix, dict(fields.options), fields.sealed,
            list(fields.secrets), fields.every, fields.most_deleted,
        )  # fmt: skip
    except Exception as error:
        if getattr(error, "sqlstate", None) == UNIQUE_VIOLATION:
            where = f"the folder {prefix}" if prefix else "no folder of its own"
            raise ConflictError(f"another source of the collection has {where}: name another prefix") from None
        raise


async def list_(
    connection: Any, principal: Principal, *, collection_id: UUID | None = None, source_id: UUID | None = None
) -> list[FollowedSource]:
    """In the order in which they were made; for who does not read everything, none where anything is restricted."""
    rows = await connection.fetch(SQL["list"], principal.tenant_id, collection_id, source_id)
    return [_source(row) for row in rows]


def _source(row: Any) -> FollowedSource:
    known = SyncCounts.__dataclass_fields__
    counts = SyncCounts(**{name: number for name, number in row["counts"].items() if name in known})
    values = {name: row[name] for name in _COPIED}
    return FollowedSource(**values, options=row["options"], secrets=tuple(row["secrets"]), counts=counts)


async def get(connection: Any, principal: Principal, source_id: UUID) -> FollowedSource | None:
    return next(iter(await list_(connection, principal, source_id=source_id)), None)


async def get_sealed(connection: Any, principal: Principal, source_id: UUID) -> bytes | None:
    """Its secrets, encrypted; None: it has none."""
    sealed: bytes | None = await connection.fetchval(SQL["sealed"], principal.tenant_id, source_id)
    return sealed


async def change(connection: Any, principal: Principal, source_id: UUID, fields: SourceFields) -> None:
    await connection.execute(
        SQL["change"], principal.tenant_id, source_id, dict(fields.options), fields.sealed, list(fields.secrets),
        fields.every, fields.most_deleted, fields.paused,
    )  # fmt: skip


async def remove(connection: Any, principal: Principal, source_id: UUID) -> None:
    """With what is known of its files; its documents stay."""
    await connection.execute(SQL["remove"], principal.tenant_id, source_id)


# --- a look -----------------------------------------------------------------------------------------------------------


async def begin(connection: Any, principal: Principal, source_id: UUID) -> bool:
    """A look begins; whether the last listing was empty. The time of the next one is set."""
    return bool(await connection.fetchval(SQL["begin"], principal.tenant_id, source_id))


async def end(
    connection: Any, principal: Principal, source_id: UUID, *, error: str | None = None, failures: int = 0,
    counts: SyncCounts | None = None, emptied: bool = False, wait: timedelta = timedelta(),
) -> None:  # fmt: skip
    """`failures` in a row: each doubles the time to the next look, which comes after `wait` at the earliest. `counts`: None
    leaves those of the look before."""
    said = None if error is None else normalise(error)
    found = None if counts is None else asdict(counts)
    await connection.execute(SQL["end"], principal.tenant_id, source_id, said, failures, found, emptied, wait)


async def list_files(connection: Any, principal: Principal, source_id: UUID) -> dict[str, KnownFile]:
    """By path."""
    rows = await connection.fetch(SQL["files"], principal.tenant_id, source_id)
    return {row["path"]: KnownFile(**row) for row in rows}


async def list_failed(connection: Any, principal: Principal, source_id: UUID, limit: int) -> list[KnownFile]:
    """The first by path."""
    return [
        KnownFile(**row) for row in await connection.fetch(SQL["failed_files"], principal.tenant_id, source_id, limit)
    ]


async def count_files(connection: Any, principal: Principal, source_id: UUID) -> FileCounts:
    row = await connection.fetchrow(SQL["count_files"], principal.tenant_id, source_id)
    return FileCounts(row["documents"], row["failed"])


async def note_files(connection: Any, principal: Principal, source_id: UUID, files: Sequence[KnownFile]) -> None:
    """What was read of a source: it is not read again while its version is this."""
    columns: list[list[Any]] = [
        [file.path for file in files],
        [file.version for file in files],
        [file.content_id for file in files],
        [None if file.error is None else normalise(file.error) for file in files],
    ]
    await connection.execute(SQL["note"], principal.tenant_id, source_id, *columns)


async def forget_files(connection: Any, principal: Principal, source_id: UUID, paths: Iterable[str]) -> None:
    await connection.execute(SQL["forget"], principal.tenant_id, source_id, list(paths))


async def forget_failed(connection: Any, principal: Principal, source_id: UUID) -> None:
    """So that they are tried again."""
    await connection.execute(SQL["forget_failed"], principal.tenant_id, source_id)


async def find_strangers(
    connection: Any, principal: Principal, source: FollowedSource, external_ids: Sequence[str]
) -> set[str]:
    """Of these external ids those of documents that did not come from the source."""
    ids = (principal.tenant_id, source.collection_id, list(external_ids), str(source.id))
    return {row["external_id"] for row in await connection.fetch(SQL["strangers"], *ids)}


async def find_documents(
    connection: Any, principal: Principal, source: FollowedSource, external_ids: Sequence[str] | None = None
) -> list[UUID]:
    """Documents that came from the source, all or those of these external ids."""
    owner = (principal.tenant_id, source.collection_id)
    if external_ids is None:
        rows = await connection.fetch(SQL["all_documents"], *owner, str(source.id))
    else:
        rows = await connection.fetch(SQL["documents"], *owner, list(external_ids), str(source.id))
    return [row["id"] for row in rows]


async def list_due(connection: Any, most: int) -> list[tuple[int, UUID]]:
    """Ids of tenants and sources whose time has come. Takes a bare connection."""
    return [(row["tenant_id"], row["id"]) for row in await connection.fetch(SQL["due"], most)]
