"""Sources that collections keep in step with, once for all surfaces: added, changed, looked at, and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from cairn.connectors.connector import SourceRefused
from cairn.connectors.registry import check_address
from cairn.domain.ids import new_id
from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.domain.sources import (
    LONGEST_EVERY,
    MOST_PREFIX_CHARS,
    SHORTEST_EVERY,
    FollowedSource,
    KnownFile,
    place_of,
)
from cairn.errors import CairnError, ForbiddenError, InputError, NotFoundError
from cairn.graph.refresh import follow
from cairn.jobs.sources import SYNC_SOURCE
from cairn.language.text import normalise
from cairn.providers.sealing import seal
from cairn.service.access import set_folder_access
from cairn.service.documents import ensure_collection, get_collection
from cairn.store import audit, documents, jobs
from cairn.store import sources as store
from cairn.wiring import Services

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 15.0
"""How often a server asks which sources are due."""
MOST_DUE: Final = 100
"""Sources that one such question finds: the next one finds the others."""
MOST_FAILED: Final = 100
"""Files that could not be read, shown of a source."""
DEFAULT_EVERY: Final = timedelta(hours=1)
DEFAULT_MOST_DELETED: Final = 0.5


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source with what is known of its files: `documents` of them are documents, `failed` could not be read, the first of which
    are shown."""

    source: FollowedSource
    documents: int
    failed: int
    failed_files: Sequence[KnownFile] = field(default=())


async def add_source(
    services: Services, collection: str, address: str, *, prefix: str = "", options: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None, every: timedelta | None = DEFAULT_EVERY,
    access: Mapping[str, Sequence[str]] | None = None, most_deleted: float = DEFAULT_MOST_DELETED,
) -> tuple[FollowedSource, Job]:  # fmt: skip
    """Let a collection, made if need be, follow a source, and order the first look. `access`: who may read its folders, by
    folder (empty: all of it), in place before a document is there.

    Raises ForbiddenError from who does not operate, InputError for what cannot be meant, ConflictError where another source has
    the prefix, SettingsError for secrets without a key that encrypts them.
    """
    _require_operator(services)
    options, secrets = dict(options or {}), dict(secrets or {})
    _check(address, options, secrets, every, most_deleted)
    prefix, source_id = _check_prefix(prefix), new_id()
    sealed = seal(services.environment.secrets_key, secrets, place_of(source_id)) if secrets else None
    for folder, readers in (access or {}).items():
        await set_folder_access(services, collection, _below(prefix, folder), readers)
    found = await ensure_collection(services, collection)
    fields = store.SourceFields(options, sealed, sorted(secrets), every, most_deleted)
    async with services.database.transaction(services.principal) as connection:
        await store.add(connection, services.principal, source_id, found.id, address.strip(), prefix, fields)
        made = await _get(connection, services.principal, source_id)
        detail = {"collection": found.name, "address": made.address, "prefix": prefix}
        await audit.record(connection, services.principal, "source.add", str(source_id), detail)
        return made, await _order(services, connection, made)


async def list_sources(services: Services, collection: str | None = None) -> list[SourceState]:
    """Of one collection, or all. Raises ForbiddenError, NotFoundError."""
    _require_operator(services)
    only = None if collection is None else (await get_collection(services, collection)).id
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await store.list_(connection, services.principal, collection_id=only)
        return [await _state(connection, services.principal, one) for one in found]


async def get_source(services: Services, source_id: UUID) -> SourceState:
    """With the files that could not be read. Raises ForbiddenError, NotFoundError."""
    _require_operator(services)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        source = await _get(connection, services.principal, source_id)
        failed = await store.list_failed(connection, services.principal, source_id, MOST_FAILED)
        return await _state(connection, services.principal, source, failed)


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """What of a source is to be otherwise; None: as it is. `every`: zero is "only when asked". `secrets`: all of them, none where
    empty. `access`: of these folders; nobody is everybody in the tenant."""

    options: Mapping[str, str] | None = None
    secrets: Mapping[str, str] | None = None
    every: timedelta | None = None
    most_deleted: float | None = None
    paused: bool | None = None
    access: Mapping[str, Sequence[str]] | None = None


async def change_source(services: Services, source_id: UUID, wanted: SourceChanges) -> FollowedSource:
    """Raises what `add_source` raises, and NotFoundError."""
    _require_operator(services)
    principal = services.principal
    async with services.database.transaction(principal) as connection:
        source = await _get(connection, principal, source_id)
        sealed, names = await store.get_sealed(connection, principal, source_id), tuple(source.secrets)
        options = dict(source.options if wanted.options is None else wanted.options)
        every = source.every if wanted.every is None else (wanted.every or None)
        most_deleted = source.most_deleted if wanted.most_deleted is None else wanted.most_deleted
        if wanted.secrets is not None:
            key, names = services.environment.secrets_key, tuple(sorted(wanted.secrets))
            sealed = seal(key, wanted.secrets, source.place) if wanted.secrets else None
        _check(source.address, options, dict.fromkeys(names, ""), every, most_deleted)
        paused = source.paused if wanted.paused is None else ("by hand" if wanted.paused else None)
        fields = store.SourceFields(options, sealed, names, every, most_deleted, paused)
        await store.change(connection, principal, source_id, fields)
        told = {"collection": source.collection, "paused": paused is not None}
        await audit.record(connection, principal, "source.change", str(source_id), told)
    for folder, readers in (wanted.access or {}).items():
        await set_folder_access(services, source.collection, _below(source.prefix, folder), readers)
    return (await get_source(services, source_id)).source


async def sync_source(services: Services, source_id: UUID, *, retry_failed: bool = False) -> Job:
    """Order a look now, of a paused source too; the one that is under way, if there is one. `retry_failed`: files that could not
    be read are tried again. Raises ForbiddenError, NotFoundError."""
    _require_operator(services)
    async with services.database.transaction(services.principal) as connection:
        source = await _get(connection, services.principal, source_id)
        if retry_failed:
            await store.forget_failed(connection, services.principal, source_id)
        return await _order(services, connection, source)


async def remove_source(services: Services, source_id: UUID, *, delete_documents: bool) -> int:
    """Stop following it; how many documents went with it. Raises ForbiddenError, NotFoundError."""
    _require_operator(services)
    principal = services.principal
    async with services.database.transaction(principal) as connection:
        source = await _get(connection, principal, source_id)
        # without the source a look that is under way notes nothing, and what it still adds is found below
        await store.remove(connection, principal, source_id)
        detail = {"collection": source.collection, "address": source.address, "documents": delete_documents}
        await audit.record(connection, principal, "source.remove", str(source_id), detail)
    if not delete_documents:
        return 0
    async with services.database.transaction(principal, readonly=True) as connection:
        found = await store.find_documents(connection, principal, source)
    removed = 0
    for document_id in found:
        async with services.database.transaction(principal) as connection:
            removed += await documents.delete(connection, source.collection_id, document_id)
    await follow(services.database, principal, source.collection_id, services.settings.current)
    return removed


# --- the schedule -----------------------------------------------------------------------------------------------------


async def watch_sources(services: Services) -> None:
    """Order looks at the sources of all tenants when their time comes, for as long as the server runs. Several servers may do so:
    a look that is ordered is not ordered again."""
    while True:
        try:
            await order_due(services)
        except CairnError as error:
            log.warning("sources.not_ordered", problem=error.detail)
        await asyncio.sleep(LOOK_SECONDS)


async def order_due(services: Services) -> int:
    """Order looks at the sources whose time has come; how many."""
    async with services.database.primary.connection() as connection:
        due = await store.list_due(connection, MOST_DUE)
    for tenant_id, source_id in due:
        principal = Principal(tenant_id, "")
        async with services.database.transaction(principal) as connection:
            if source := await store.get(connection, principal, source_id):
                await _enqueue(services, connection, principal, source)
    return len(due)


async def _order(services: Services, connection: object, source: FollowedSource) -> Job:
    # by the house: it reads what it has read before, whoever asks for it
    return await _enqueue(services, connection, services.principal.house, source)


async def _enqueue(services: Services, connection: object, principal: Principal, source: FollowedSource) -> Job:
    payload = {"collection": source.collection, "collection_id": str(source.collection_id), "source_id": str(source.id)}
    attempts = services.settings.current.jobs.max_attempts
    return await jobs.enqueue(
        connection, principal, SYNC_SOURCE, payload, max_attempts=attempts, dedupe_key=f"{SYNC_SOURCE}:{source.id}"
    )


# --- what can be meant ------------------------------------------------------------------------------------------------


def _require_operator(services: Services) -> None:
    if not services.principal.caller.reads_all:
        raise ForbiddenError("admin")


def _check(
    address: str, options: Mapping[str, str], secrets: Mapping[str, str], every: timedelta | None, most_deleted: float
) -> None:
    try:
        check_address(address, options, secrets)
    except SourceRefused as error:
        raise InputError(str(error)) from None
    if every is not None and not SHORTEST_EVERY <= every <= LONGEST_EVERY:
        raise InputError(f"a source is looked at every minute at most, and every 31 days at least, not every {every}")
    if not 0 <= most_deleted <= 1:
        raise InputError("mostDeleted is a share from 0 to 1")


def _check_prefix(prefix: str) -> str:
    parts = [part for part in normalise(prefix).strip().strip("/").split("/") if part]
    if any(part.strip() in ("", ".", "..") for part in parts) or len(prefix) > MOST_PREFIX_CHARS:
        raise InputError(f"{prefix[:100]!r} cannot be a prefix: name a folder, such as wiki or team-a/wiki")
    return "/".join(parts)


def _below(prefix: str, folder: str) -> str:
    return "/".join(part for part in (prefix, folder.strip("/")) if part)


async def _get(connection: object, principal: Principal, source_id: UUID) -> FollowedSource:
    found = await store.get(connection, principal, source_id)
    if found is None:
        raise NotFoundError(f"no source {source_id}")
    return found


async def _state(
    connection: object, principal: Principal, source: FollowedSource, failed: Sequence[KnownFile] = ()
) -> SourceState:
    counted = await store.count_files(connection, principal, source.id)
    return SourceState(source, counted.documents, counted.failed, failed)
