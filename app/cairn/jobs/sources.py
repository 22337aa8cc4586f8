"""The job that brings a collection in step with a source: what is new, changed, moved and gone since it was last looked at.

A listing is read to its end before anything is done, and one that breaks off deletes nothing. Each file is noted when its
document is stored, so a job that is run again after a crash reads only what is left.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from cairn.connectors.changes import Changes, find_changes, refuse_deletions
from cairn.connectors.connector import (
    Connector,
    RemoteFile,
    SourceError,
    SourceFileGone,
    SourceFileTooLarge,
    SourceUnreachable,
)
from cairn.domain.document import Outcome, Rejected, Source
from cairn.domain.sources import FollowedSource, KnownFile, SyncCounts
from cairn.errors import CairnError, EmptyDocumentError, FetchError, NotFoundError, UnsupportedTypeError
from cairn.graph.refresh import follow
from cairn.ingest.loaders import sniff
from cairn.ingest.pipeline import Target, ingest
from cairn.jobs.context import Handler, JobContext
from cairn.settings import SourceSettings
from cairn.store import documents
from cairn.store import sources as store
from cairn.store.session import Database

SYNC_SOURCE = "sync_source"
_WAITED = 0.001
"""Seconds; a shorter wait is none."""

OpenSource = Callable[[FollowedSource, bytes | None], Connector]
"""A source with its secrets, encrypted; raises SourceRefused, or SettingsError where they cannot be read."""


@dataclass
class _Look:
    """One look at a source. `read`: files whose documents are on their way, by external id; `noted`: what has become of them and
    is not written down yet; `failed`, `skipped`, `vanished`: paths of what became no document."""

    context: JobContext
    source: FollowedSource
    settings: SourceSettings
    most_bytes: int
    read: dict[str, RemoteFile] = field(default_factory=dict)
    noted: list[KnownFile] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    vanished: set[str] = field(default_factory=set)
    next_at: float = 0.0

    def note(self, file: RemoteFile, error: str | None = None) -> None:
        self.noted.append(KnownFile(file.path, file.version, file.content_id, error))

    def note_outcome(self, outcome: Outcome) -> None:
        file = self.read.pop(outcome.external_id, None)
        if file is not None:
            if isinstance(outcome, Rejected):
                self.failed.add(file.path)
            self.note(file, outcome.error if isinstance(outcome, Rejected) else None)

    async def take_turn(self) -> None:
        """Wait so that no more files are asked for in a second than the settings allow."""
        pace = self.settings.files_per_second
        if pace:
            wait = self.next_at - time.monotonic()
            if wait > _WAITED:
                await asyncio.sleep(wait)
            self.next_at = max(self.next_at, time.monotonic()) + 1 / pace


def sync_source(
    database: Database,
    target_for: Callable[[JobContext, UUID], Target],
    open_source: OpenSource,
    settings: Callable[[], SourceSettings],
) -> Handler:
    """The handler. Payload: collection_id, source_id. Its result: what was found and done, in files, and a `note` where documents
    were kept that are gone from the source."""

    async def handle(context: JobContext) -> dict[str, Any]:
        principal, source_id = context.principal, UUID(context.job.payload["source_id"])
        async with database.transaction(principal) as connection:
            source = await store.get(connection, principal, source_id)
            sealed = await store.get_sealed(connection, principal, source_id)
            if source is None:
                raise NotFoundError(f"no source {source_id}: it was removed meanwhile")
            source = replace(source, emptied=await store.begin(connection, principal, source_id))
        try:
            return await _look(database, context, source, sealed)
        except SourceError as error:
            wait = error.retry_after_s if isinstance(error, SourceUnreachable) else None
            await _fail(context, source, str(error), timedelta(seconds=wait or 0))
            raise FetchError(str(error)) from None
        except asyncio.CancelledError:  # JobCancelled, or of the task that it runs in
            if context.signal == "cancel":
                await _fail(context, source, "the look was cancelled", timedelta())
            raise
        except CairnError as error:
            await _fail(context, source, error.detail, timedelta())
            raise

    async def _fail(context: JobContext, source: FollowedSource, error: str, wait: timedelta) -> None:
        async with database.transaction(context.principal) as connection:
            failures = source.failures + 1
            await store.end(
                connection, context.principal, source.id, error=error, failures=failures, emptied=source.emptied, wait=wait
            )  # fmt: skip

    async def _look(
        database: Database, context: JobContext, source: FollowedSource, sealed: bytes | None
    ) -> dict[str, Any]:
        target = target_for(context, source.collection_id)
        look = _Look(context, source, settings(), target.settings.ingest.max_file_bytes)
        connector = open_source(source, sealed)
        try:
            listed = await _list(look, connector)
            async with database.transaction(context.principal, readonly=True) as connection:
                known = await store.list_files(connection, context.principal, source.id)
            changes = find_changes(listed, known)
            await _read(database, look, connector, target, changes)
        finally:
            await connector.close()
        note = refuse_deletions(
            changes, len(listed), known, most_deleted=source.most_deleted, emptied_before=source.emptied
        )
        kept = set(changes.gone) - set(changes.moved.values()) if note else set[str]()
        await _delete(database, look, [path for path in changes.gone if path not in kept])
        await follow(database, context.principal, source.collection_id, target.settings)
        done = _count(look, listed, changes, kept)
        async with database.transaction(context.principal) as connection:
            emptied = not listed and bool(known)
            await store.end(connection, context.principal, source.id, error=note, counts=done, emptied=emptied)
        return {**{name: getattr(done, name) for name in SyncCounts.__dataclass_fields__}, "note": note}

    return handle


async def _list(look: _Look, connector: Connector) -> list[RemoteFile]:
    listed: list[RemoteFile] = []
    async for file in connector.list_files():
        listed.append(file)
        if len(listed) > look.settings.most_files:
            raise FetchError(
                f"the source has more than {look.settings.most_files:,} files (setting sources.mostFiles): name a folder of "
                "it, or leave some out by exclude"
            )
        await look.context.progress(0, None, f"{len(listed):,} files listed")
    return listed


async def _read(database: Database, look: _Look, connector: Connector, target: Target, changes: Changes) -> None:
    """Index what is new or changed; what became of each file is written down while the next ones are read."""
    wanted = [*changes.added, *changes.changed]
    if not wanted:
        return
    strangers = await _find_strangers(database, look, changes.added)

    async def sources() -> AsyncIterator[Source]:
        for number, file in enumerate(wanted):
            await look.context.progress(number, len(wanted), file.path)
            await _write_notes(database, look)
            external_id = look.source.external_id(file.path)
            if external_id in strangers:
                look.failed.add(file.path)
                look.note(file, f"{external_id} is a document that did not come from this source")
            elif (content := await _fetch(look, connector, file)) is not None:
                look.read[external_id] = file
                yield Source(
                    external_id,
                    PurePosixPath(file.path).name,
                    content,
                    metadata={"source": str(look.source.id), "url": file.address},
                )

    try:
        await ingest(database, target, sources(), on_outcome=look.note_outcome, check=look.context.check_cancelled)
    finally:  # what is stored need not be read again, however it ended
        await _write_notes(database, look)
    await look.context.progress(len(wanted), len(wanted), "done")


async def _find_strangers(database: Database, look: _Look, files: tuple[RemoteFile, ...]) -> set[str]:
    ids = [look.source.external_id(file.path) for file in files]
    async with database.transaction(look.context.principal, readonly=True) as connection:
        return await store.find_strangers(connection, look.context.principal, look.source, ids)


async def _fetch(look: _Look, connector: Connector, file: RemoteFile) -> bytes | None:
    """The bytes of a document; None, noted, for what is none. Raises SourceError when nothing more can be had."""
    await look.take_turn()
    try:
        if file.size is not None and file.size > look.most_bytes:
            raise SourceFileTooLarge
        content = await connector.read_file(file, look.most_bytes)
        sniff(PurePosixPath(file.path).name, content)
    except SourceFileGone:  # the next listing will say so
        look.vanished.add(file.path)
        return None
    except SourceFileTooLarge:
        look.failed.add(file.path)
        look.note(file, f"the file has more than {look.most_bytes:,} bytes (setting ingest.maxFileBytes)")
        return None
    except (EmptyDocumentError, UnsupportedTypeError) as error:
        look.skipped.add(file.path)
        look.note(file, error.title.lower())
        return None
    return content


async def _write_notes(database: Database, look: _Look) -> None:
    if look.noted:
        noted, look.noted = look.noted, []
        async with database.transaction(look.context.principal) as connection:
            await store.note_files(connection, look.context.principal, look.source.id, noted)


async def _delete(database: Database, look: _Look, gone: list[str]) -> None:
    """The documents of files that are not there any more, each with what was known of its file."""
    principal, source = look.context.principal, look.source
    for number, path in enumerate(gone):
        await look.context.progress(number, len(gone), f"removing {path}")
        async with database.transaction(principal) as connection:
            for document_id in await store.find_documents(connection, principal, source, [source.external_id(path)]):
                await documents.delete(connection, source.collection_id, document_id)
            await store.forget_files(connection, principal, source.id, [path])


def _count(look: _Look, listed: list[RemoteFile], changes: Changes, kept: set[str]) -> SyncCounts:
    moved = len(changes.moved)
    none = look.failed | look.skipped | look.vanished
    return SyncCounts(
        listed=len(listed),
        added=sum(file.path not in none and file.path not in changes.moved for file in changes.added),
        changed=sum(file.path not in none for file in changes.changed),
        moved=moved,
        deleted=len(changes.gone) - moved - len(kept),
        unchanged=changes.unchanged,
        failed=len(look.failed),
        skipped=len(look.skipped),
    )
