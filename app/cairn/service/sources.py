"""Sources that a collection is kept in step with, once for all surfaces. Everything here is for who operates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import SplitResult, unquote
from uuid import UUID

import structlog

from cairn.connectors.connector import SourceError
from cairn.connectors.registry import (
    check_address,
    directing_options,
    folders_of,
    list_fields,
    open_connector,
    split_address,
)
from cairn.connectors.seal_secrets import make_key, open_secrets, seal_secrets
from cairn.domain.access import check_access, check_prefix
from cairn.domain.connected_source import COUNTED, IMPORTED, ConnectedSource, FailedFile, SourceRun, SourceWish
from cairn.domain.document import Collection
from cairn.domain.ids import new_id
from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.errors import CairnError, ConflictError, InputError, NotFoundError
from cairn.graph.refresh import follow
from cairn.jobs.sources import SYNC_SOURCE, delete_file, sync_key
from cairn.language.text import normalise
from cairn.service.access import list_access_rules, remove_folder_access, set_folder_access
from cairn.service.documents import ensure_collection, get_collection, require_access_giver
from cairn.service.jobs import cancel_job, get_job
from cairn.store import access_rules, audit, jobs, sources
from cairn.wiring import Services

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 10.0
"""How often a worker looks which sources are due."""
LEAST_INTERVAL: Final = 60
LONGEST_INTERVAL: Final = 366 * 86_400
SLOWEST: Final = 0.01
FASTEST: Final = 1000.0
"""Requests in a second; who wants more sets no limit."""
ENDING_SECONDS: Final = 10.0
ENDING_LOOKS: Final = 50
"""How long and how often it is looked whether a synchronisation has ended that was told to."""
REMOVING: Final = "it is being removed: remove it again where that broke off, or resume it"
"""The note of a source that is paused for that."""
SHOWN_RUNS: Final = 20
SHOWN_FAILED: Final = 1000
"""Files that failed, of one source."""
PAGE: Final = 200

__all__ = ["list_fields", "make_key"]


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What is changed of a source; None: as it is. `secrets`: all of them anew, none: it has none."""

    options: Mapping[str, str] | None = None
    secrets: Mapping[str, str] | None = None
    interval_seconds: int | None = None
    access: Mapping[str, Sequence[str]] | None = None
    most_deleted: float | None = None
    requests_per_second: float | None = None
    paused: bool | None = None


async def list_sources(services: Services) -> list[ConnectedSource]:
    """All of the tenant, oldest first."""
    require_access_giver(services)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await sources.list_(connection, services.principal)


async def get_source(services: Services, source_id: UUID) -> ConnectedSource:
    """Raises NotFoundError."""
    require_access_giver(services)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await sources.get(connection, services.principal, source_id)
    if found is None:
        raise NotFoundError(f"no source {source_id}; see GET /sources")
    return found


async def list_runs(services: Services, source_id: UUID) -> list[SourceRun]:
    """Its last SHOWN_RUNS synchronisations, newest first, as long as their jobs are kept (jobs.retentionDays). Raises
    NotFoundError."""
    await get_source(services, source_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await jobs.list_of_key(connection, services.principal, sync_key(source_id), SHOWN_RUNS)
    return list(map(run_of, found))


def run_of(job: Job) -> SourceRun:
    """What the job of a synchronisation did, as far as it is."""
    result = job.result or {}
    counts = {name: result[name] for name in COUNTED if name in result}
    state = "paused" if result.get("paused") else job.status
    return SourceRun(job.id, state, job.started_at, job.finished_at, counts or None, result.get("note"), job.error)


async def list_failed_files(services: Services, source_id: UUID, limit: int = 50) -> list[FailedFile]:
    """Its files that are not indexed, by path, each with the reason. Raises NotFoundError."""
    await get_source(services, source_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await sources.list_failed(connection, services.principal, source_id, min(limit, SHOWN_FAILED))


async def add_source(
    services: Services,
    collection: str,
    wish: SourceWish,
    secrets: Mapping[str, str] | None = None,
    *,
    local: bool = False,
) -> tuple[ConnectedSource, Job]:
    """Keep the collection, which is made if there is none, in step with a source from now on; with the job that reads it first.
    `local`: folders of this machine may be read.

    Raises InputError for an address, options, secrets or figures that cannot be, and without a key for secrets; ConflictError
    where documents of two sources could have one id, or somebody has given one of its folders other readers;
    ForbiddenError from who does not operate."""
    require_access_giver(services)
    given = dict(secrets or {})
    wish = _check_wish(services, replace(wish, secret_names=sorted(given)), given, local=local)
    source_id, principal = new_id(), services.principal
    sealed = seal_secrets(given, services.environment.secrets_key, principal.tenant_id, source_id) if given else None
    found = await ensure_collection(services, collection)
    async with services.database.transaction(principal) as connection:
        await _refuse_overlap(connection, principal, found, wish)
    wish = await _give_access(services, found.name, wish, {})  # before a first document of it can be there
    async with services.database.transaction(principal) as connection:
        await _refuse_overlap(connection, principal, found, wish)
        await sources.add(connection, principal, source_id, found.id, wish)
        await sources.keep_secrets(connection, principal, source_id, sealed)
        await audit.record(connection, principal, "source.add", str(source_id), _told(wish, found))
    return await get_source(services, source_id), await sync(services, source_id)


async def _refuse_overlap(connection: object, principal: Principal, found: Collection, wish: SourceWish) -> None:
    there = await sources.list_prefixes(connection, principal, found.id)
    folded = await access_rules.fold(connection, [wish.prefix, *(prefix for prefix, _ in there)])
    for prefix, address in there:
        if _overlap(folded[prefix], folded[wish.prefix]):
            begin = f"begin with {prefix}/" if prefix else "begin with anything"
            raise ConflictError(
                f"collection {found.name} follows {address} already, with ids that {begin}: give this source another prefix, "
                "or another collection"
            )


async def change_source(
    services: Services, source_id: UUID, change: SourceChange, *, local: bool = False
) -> ConnectedSource:
    """All but its address and prefix. A source that is resumed has no note any more. `local`: one that came with a tenant file
    may read a folder of this machine from now on. Raises as add_source, and NotFoundError; InputError where other options would
    show the secrets that it has to another server."""
    before = await get_source(services, source_id)
    if change.paused is False and not local and before.note == IMPORTED and folders_of(before.wish.address):
        raise InputError(
            f"source {source_id} came with a tenant file and would read a folder of this machine: it is resumed at its command "
            f"line, cairn sources resume {source_id}"
        )
    if change.options is not None and change.secrets is None and before.wish.secret_names:
        _refuse_redirected(source_id, before.wish, change.options)
    fields = ("options", "interval_seconds", "access", "most_deleted", "requests_per_second")
    asked = {name: value for name in fields if (value := getattr(change, name)) is not None}
    names = before.wish.secret_names if change.secrets is None else sorted(change.secrets)
    asked_for = replace(before.wish, **asked, secret_names=names)
    wish = _check_wish(services, asked_for, change.secrets, local=True)  # its address was let in before
    paused = before.paused if change.paused is None else change.paused
    principal = services.principal
    if change.access is not None:  # before it is said that it is so, and again where that was not done
        wish = await _give_access(services, before.collection, wish, before.wish.access)
    async with services.database.transaction(principal) as connection:
        await sources.change(connection, principal, source_id, wish, paused=paused)
        if change.secrets is not None:
            key = services.environment.secrets_key
            sealed = seal_secrets(change.secrets, key, principal.tenant_id, source_id) if change.secrets else None
            await sources.keep_secrets(connection, principal, source_id, sealed)
        detail = {"changed": sorted([*asked, *(["secrets"] if change.secrets is not None else [])]), "paused": paused}
        await audit.record(connection, principal, "source.change", str(source_id), detail)
    gone = {folder: names for folder, names in before.wish.access.items() if folder not in wish.access}
    await _remove_own_rules(services, before, gone)
    return await get_source(services, source_id)


def _refuse_redirected(source_id: UUID, before: SourceWish, options: Mapping[str, str]) -> None:
    """Who changes a source need not know its secrets, and does not send them to where they like."""
    directing = directing_options(before.address)
    changed = sorted(name for name in directing if before.options.get(name) != options.get(name))
    if changed:
        raise InputError(
            f"option {changed[0]} says to whom source {source_id} shows its secrets: give them anew with it "
            f"({', '.join(before.secret_names)}), or leave it as it is"
        )


async def remove_source(services: Services, source_id: UUID, *, documents: bool) -> int:
    """Follow it no more. `documents`: those that were read from it go too; how many. What is being read of it ends. Raises
    NotFoundError; ConflictError where that goes on all the same, with the source paused."""
    await get_source(services, source_id)
    principal, deleted, is_removed = services.principal, 0, False
    while not is_removed:  # somebody may have resumed it meanwhile: what that brought goes as well, before its rules do
        source = await _lay_to_rest(services, source_id)
        if documents:
            deleted += await _delete_documents(services, source)
        async with services.database.transaction(principal) as connection:
            if is_removed := await sources.remove(connection, principal, source_id, sync_key(source_id)):
                detail = {"address": source.wish.address, "collection": source.collection, "documents": deleted}
                await audit.record(connection, principal, "source.remove", str(source_id), detail)
    if documents:
        await _remove_own_rules(services, source, source.wish.access)
        await follow(services.database, principal, source.collection_id, services.settings.current)
    return deleted


async def _lay_to_rest(services: Services, source_id: UUID) -> ConnectedSource:
    """The source, paused before the synchronisation that goes on is ended, so that none follows it. Raises NotFoundError;
    ConflictError where one goes on all the same."""
    principal = services.principal
    async with services.database.transaction(principal) as connection:
        await sources.pause(connection, principal, source_id, REMOVING)
        job_id = await sources.unfinished_job(connection, principal, sync_key(source_id))
    if job_id is not None:
        await _end_sync(services, source_id, job_id)
    return await get_source(services, source_id)


async def _end_sync(services: Services, source_id: UUID, job_id: UUID) -> None:
    await cancel_job(services, job_id)
    for _ in range(ENDING_LOOKS):
        if (await get_job(services, job_id)).ended:
            return
        await asyncio.sleep(ENDING_SECONDS / ENDING_LOOKS)
    raise ConflictError(
        f"source {source_id} is being synchronised, and does not stop: it is paused now, try again in a minute"
    )


async def _delete_documents(services: Services, source: ConnectedSource) -> int:
    """Those that were read from it; how many."""
    principal, deleted, after = services.principal, 0, ""
    while True:
        async with services.database.transaction(principal, readonly=True) as connection:
            page = await sources.list_owned(connection, principal, source.id, after, PAGE)
        if not page:
            return deleted
        for path, external_id in page:
            async with services.database.transaction(principal) as connection:
                deleted += await delete_file(connection, principal, source, path, external_id)
        after = page[-1][0]


async def sync(
    services: Services,
    source_id: UUID,
    *,
    retry_failed: bool = False,
    accept_deletions: bool = False,
    local: bool = False,
) -> Job:
    """Bring the collection into step now; the job that does it, or that is about to. `retry_failed`: files that failed are read
    again, too. `accept_deletions`: however many files are gone, their documents go; a source that was paused for that
    goes on. `local`: as change_source has it. Raises NotFoundError; ConflictError where it is paused."""
    source = await get_source(services, source_id)
    if source.paused and not accept_deletions:
        raise ConflictError(f"source {source_id} is paused: {source.note or 'somebody has paused it. Resume it first'}")
    if source.paused:
        await change_source(services, source_id, SourceChange(paused=False), local=local)
    # of the house: what a source brings does not depend on who asks for it
    house = services.principal.house
    async with services.database.transaction(house) as connection:
        asked = {"retry_failed": retry_failed, "accept_deletions": accept_deletions}
        return await _enqueue(services, connection, house, source_id, source.collection_id, asked)


async def _enqueue(
    services: Services, connection: object, principal: Principal, source_id: UUID, collection_id: UUID,
    asked: Mapping[str, bool],
) -> Job:  # fmt: skip
    payload = {"source_id": str(source_id), "collection_id": str(collection_id), **asked}
    attempts = services.settings.current.jobs.max_attempts
    job = await jobs.enqueue(
        connection, principal, SYNC_SOURCE, payload, max_attempts=attempts, dedupe_key=sync_key(source_id)
    )
    await sources.note_job(connection, principal, source_id, job.id)
    return job


async def reseal_secrets(services: Services) -> int:
    """Encrypt the secrets of all sources of the tenant with the first key of CAIRN_SECRETS_KEY; of how many sources. Raises
    InputError where none of the keys fits, with nothing changed."""
    require_access_giver(services)
    principal, keys = services.principal, services.environment.secrets_key
    async with services.database.transaction(principal) as connection:
        found = await sources.list_sealed(connection, principal)
        for source_id, sealed in found:
            secrets = open_secrets(sealed, keys, principal.tenant_id, source_id)
            anew = seal_secrets(secrets, keys, principal.tenant_id, source_id)
            await sources.keep_secrets(connection, principal, source_id, anew)
    return len(found)


# --- the schedule -----------------------------------------------------------------------------------------------------


async def keep_schedule(services: Services, stop: asyncio.Event) -> None:
    """Start what is due, of all tenants, until `stop` is set. Every process may: each source is taken by one of them."""
    while not stop.is_set():
        try:
            await start_due(services)
        except CairnError as error:
            log.warning("sources.not_started", problem=error.detail)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_SECONDS)


async def start_due(services: Services) -> int:
    """Enqueue the synchronisations that are due now; how many. Raises DatabaseUnavailableError."""
    database, started = services.database.primary, 0
    async with database.connection() as connection:
        tenants = await sources.tenants_with_due(connection)
    for tenant_id in tenants:
        principal = Principal(tenant_id, "")
        async with database.transaction(principal) as connection:
            for source_id, collection_id in await sources.take_due(connection, principal):
                await _enqueue(services, connection, principal, source_id, collection_id, {})
                started += 1
    return started


# --- what is asked ----------------------------------------------------------------------------------------------------


def default_prefix(address: str) -> str:
    """What ids begin with where nobody says: the last part of the path, else the host. Raises InputError."""
    parsed = _split(address)
    return normalise(unquote(parsed.path).rstrip("/").rpartition("/")[2] or parsed.hostname or "")


def _check_wish(services: Services, wish: SourceWish, secrets: Mapping[str, str] | None, *, local: bool) -> SourceWish:
    """With prefix and access lists in their one form. `secrets`: None where they are those it has. Raises InputError."""
    if not local and _split(wish.address).scheme == "file":
        raise InputError("folders of this machine are added at its command line: cairn sources add FOLDER")
    if wish.interval_seconds and not LEAST_INTERVAL <= wish.interval_seconds <= LONGEST_INTERVAL:
        raise InputError(
            f"a source is synchronised every {LEAST_INTERVAL} to {LONGEST_INTERVAL:,} seconds, or 0: only when somebody asks"
        )
    if not 0 <= wish.most_deleted <= 1:
        raise InputError("most_deleted is a share of the files, from 0 to 1")
    rate = wish.requests_per_second or None
    if rate is not None and not SLOWEST <= rate <= FASTEST:
        raise InputError(f"requests_per_second lies from {SLOWEST} to {FASTEST:,.0f}; 0: no limit")
    try:
        check_address(wish.address, wish.options, wish.secret_names)
        if secrets is not None:  # what only its kind knows; nothing is asked of it yet
            open_connector(
                wish.address, wish.options, secrets, allow=services.settings.current.urls,
                folders=folders_of(wish.address) if local else (),
            )  # fmt: skip
    except SourceError as error:
        raise InputError(str(error)) from None
    access = {_folder(folder): list(check_access(names)) for folder, names in wish.access.items()}
    prefix = check_prefix(wish.prefix.strip("/"))
    return replace(wish, address=wish.address.strip(), prefix=prefix, access=access, requests_per_second=rate)


def _split(address: str) -> SplitResult:
    try:
        return split_address(address)
    except SourceError as error:
        raise InputError(str(error)) from None


def _folder(folder: str) -> str:
    return check_prefix(folder.strip("/"))


def _overlap(one: str, other: str) -> bool:
    """Whether an id may begin with both."""
    return not one or not other or f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


async def _give_access(
    services: Services, collection: str, wish: SourceWish, before: Mapping[str, Sequence[str]]
) -> SourceWish:
    """Set rules of the collection as the source has them, by folder of its documents; `before`: those that it had. The wish with
    rules that are its own: one that was there already, with the same readers, is whose it was. Raises ConflictError, with nothing
    set, where somebody else has said who may read a folder that the source would give other readers."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        places = [_place(wish, folder) for folder in wish.access]
        now = await access_rules.rules_alike(connection, services.principal, found.id, places)
        folded = await access_rules.fold(connection, [*wish.access, *before])
    respelled = {folded[folder]: names for folder, names in before.items()}
    lacking, own = dict[str, Sequence[str]](), dict[str, Sequence[str]]()
    for folder, names in wish.access.items():
        said, had = now.get(place := _place(wish, folder)), respelled.get(folded[folder])
        is_new = had is None or sorted(had) != sorted(names)
        if is_new and said is not None and said not in (sorted(names), sorted(names if had is None else had)):
            readers = f"is only for {', '.join(said)}" if said else "is for everybody in the tenant"
            raise ConflictError(
                f"{place or 'the collection'} {readers}, as somebody has said: give the source the same readers for it, or first "
                "give the folder those of the source"
            )
        if said is None or (is_new and said != sorted(names)) or (had is not None and folder not in before):
            lacking[place] = names  # in the new spelling, before the old one goes
        if had is not None or said is None:
            own[folder] = names
    for place, names in lacking.items():
        await set_folder_access(services, collection, place, names)
    return replace(wish, access=own)


async def _remove_own_rules(services: Services, source: ConnectedSource, own: Mapping[str, Sequence[str]]) -> None:
    """Rules that the source has no longer. One that somebody has changed since is theirs, and one from which documents of others
    have their readers stays: it would open them."""
    now, principal = await _rules_by_folder(services, source.collection), services.principal
    for folder, names in own.items():
        if now.get(place := _place(source.wish, folder)) != sorted(names):
            continue
        async with services.database.transaction(principal, readonly=True) as connection:
            kept = await sources.shelters_others(connection, principal, source.collection_id, place, source.id)
        if not kept:
            await remove_folder_access(services, source.collection, place)


async def _rules_by_folder(services: Services, collection: str) -> dict[str, list[str]]:
    return {rule.prefix: sorted(rule.access) for rule in await list_access_rules(services, collection)}


def _place(wish: SourceWish, folder: str) -> str:
    """The folder of documents that a folder of the source becomes."""
    return wish.external_id(folder).rstrip("/")


def _told(wish: SourceWish, found: Collection) -> dict[str, object]:
    return {
        "address": wish.address, "collection": found.name, "prefix": wish.prefix,
        "secrets": list(wish.secret_names), "interval_seconds": wish.interval_seconds,
    }  # fmt: skip
