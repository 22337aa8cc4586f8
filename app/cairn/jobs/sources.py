"""The job that brings a collection into step with a source.

It lists to the end before it reads, reads and publishes file by file and records each when it is published, and deletes last. Run
again after a crash it lists anew and meets what was recorded as unchanged, so nothing is read twice but what was on its way.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from cairn.connectors.connector import (
    Connector,
    RemoteFile,
    SourceError,
    SourceFileElsewhere,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from cairn.connectors.plan_sync import KnownFile, SyncPlan, find_moved, judge_deletions, plan_sync
from cairn.domain.connected_source import ConnectedSource, FileState
from cairn.domain.document import Outcome, Rejected, Source
from cairn.domain.names import MAX_EXTERNAL_ID, check_external_id
from cairn.domain.principal import Principal
from cairn.errors import CairnError, EmptyDocumentError, FetchError, InputError, SettingsError, UnsupportedTypeError
from cairn.graph.refresh import follow
from cairn.ingest.keep_readers import RestrictedContents, keep_readers
from cairn.ingest.loaders import sniff
from cairn.ingest.pipeline import Target, ingest
from cairn.ingest.remove import pass_on_readers, remove_document
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.outcome import HadItsTurnError, NotHereError
from cairn.language.text import normalise
from cairn.store import documents, sources
from cairn.store.session import Database

SYNC_SOURCE: Final = "sync_source"
CLAIMED: Final = 32
"""Files that are claimed, read and published together. A kill repeats the reading of so many at most."""
MOST_FILES: Final = 200_000
"""Of a source: what is known of all of them is held while it is brought into step, some 600 bytes each."""
SHOWN: Final = 80
"""Characters of a path that is too long."""
TOLD: Final = 500
"""Files of a listing between two reports."""
READ_ATTEMPTS: Final = 3
LONGEST_WAIT_SECONDS: Final = 60.0
"""For a source that asks to be left alone; where it asks for longer, the synchronisation ends and comes back later."""

OpenSource = Callable[[Principal, ConnectedSource, bytes | None], Connector]
"""The connector of a source, given its secrets as they were sealed. Raises SourceError, InputError."""


TURN_SECONDS = 300.0
"""How long a source is read in one go: a worker does one job after another, and files that somebody hands over should not wait
for a large or slow source to its end."""


READERS_SECONDS = 10.0
"""How long it is taken for known which documents have access lists of their own: somebody may give one its list meanwhile, and to
ask takes a look at each document of the collection."""


def sync_key(source_id: UUID) -> str:
    """One synchronisation of a source at a time."""
    return f"{SYNC_SOURCE}:{source_id}"


def sync_source(
    database: Database, target_for: Callable[[JobContext, UUID], Target], open_source: OpenSource
) -> Handler:
    """The handler. Payload: source_id, collection_id, retry_failed, accept_deletions. Its result has the numbers of COUNTED, what
    was left undone (`note`), and whether the source is paused for it, or was paused before, and left alone."""

    async def handle(context: JobContext) -> dict[str, Any]:
        principal, source_id = context.principal, UUID(context.job.payload["source_id"])
        async with database.transaction(principal) as connection:
            source = await sources.get(connection, principal, source_id)
            if source is None:
                return {"removed": True}
            if source.paused:
                return {"paused": True}
            sealed = await sources.load_secrets(connection, principal, source_id)
            await sources.begin(connection, principal, source_id)
        run = _Run(database, context, source, target_for(context, source.collection_id))
        try:
            connector = open_source(principal, source, sealed)
            try:
                return await run.bring_in_step(connector)
            finally:
                await connector.close()
        except (SourceError, InputError) as error:
            said, wait = str(error), getattr(error, "retry_after_s", None)
            async with database.transaction(principal) as connection:
                await sources.fail(connection, principal, source_id, said, wait)
            raise FetchError(f"{source.wish.address}: {said}") from None
        except NotHereError:  # it goes on later
            raise
        except SettingsError as error:  # a process that is set otherwise does the job
            async with database.transaction(principal) as connection:
                await sources.hold_up(connection, principal, source_id, error.detail)
            raise
        except Exception as error:
            with suppress(CairnError, OSError):  # it may be the database that is away
                async with database.transaction(principal) as connection:
                    await sources.fail(connection, principal, source_id, _say_unforeseen(error))
            raise

    return handle


def _say_unforeseen(error: Exception) -> str:
    """What users read of it. The text of what nobody foresaw may quote anything, secrets too."""
    if isinstance(error, CairnError):
        return error.detail
    return f"the synchronisation broke off ({type(error).__name__}); the log of the worker says where"


class _Run:
    """One synchronisation."""

    def __init__(self, database: Database, context: JobContext, source: ConnectedSource, target: Target) -> None:
        self._database = database
        self._context = context
        self._principal = context.principal
        self._source = source
        self._target = target
        self._contents: dict[str, str] = {}
        """Ids of the contents that were read and published, or are about to be, by path."""
        self._failed = 0
        self._too_long: list[str] = []
        self._skipped: set[str] = set()
        self._astray: set[str] = set()
        """Paths with documents of their own that lead elsewhere by now."""
        self._known: Mapping[str, KnownFile] = {}
        self._restricted: RestrictedContents = {}
        self._ask_readers = 0.0
        self._next_read = 0.0
        self._turn_ends = time.monotonic() + TURN_SECONDS
        self._left = False

    async def bring_in_step(self, connector: Connector) -> dict[str, Any]:
        """What was done, in figures. Raises SourceError where the source does not answer; what was published until then stays."""
        payload, wish = self._context.job.payload, self._source.wish
        listed = await self._list(connector)
        async with self._database.transaction(self._principal, readonly=True) as connection:
            begun = self._context.job.created_at
            rows = await sources.list_known(connection, self._principal, self._source.id, begun)
        known = {
            row.path: KnownFile(
                row.external_id,
                listed[row.path].version if row.passed_over and row.path in listed else row.version,
                row.content_id,
                row.state == "failed" and not row.passed_over,
                row.state not in ("skipped", "foreign"),
                row.arrived,
            )
            for row in rows
        }
        self._known = known
        self._astray = {row.path for row in rows if row.passed_over and known[row.path].owned and row.path in listed}
        plan = plan_sync(listed, known, retry_failed=bool(payload.get("retry_failed")))
        await self._read(connector, listed, plan)
        moved = self._find_moved(plan, listed)
        left = (*plan.gone, *sorted(self._astray))
        gone = [path for path in left if path not in moved]
        finding = judge_deletions(  # what is no document, or not its own, is not deleted
            sum(known[path].owned for path in gone), sum(file.owned for file in known.values()),
            len(listed) + len(self._too_long), most_deleted=wish.most_deleted,
            empty_before=self._source.empty_listings, accepted=bool(payload.get("accept_deletions")),
        )  # fmt: skip
        await self._delete([path for path in left if path in moved])
        deleted = await self._delete(gone, may_return=True) if finding.verdict == "delete" else 0
        await follow(self._database, self._principal, self._target.collection_id, self._target.settings)
        elsewhere = self._skipped.union(moved.values())
        counts = {
            "new": len({*plan.new} - elsewhere), "changed": len({*plan.changed} - elsewhere), "moved": len(moved),
            "deleted": deleted, "unchanged": plan.unchanged, "failed": self._failed + len(self._too_long),
            "skipped": len(self._skipped),
        }  # fmt: skip
        note = " ".join(filter(None, (finding.note, self._say_too_long(), await self._say_elsewhere()))) or None
        seen_any = listed or self._too_long
        async with self._database.transaction(self._principal) as connection:
            await sources.end(
                connection, self._principal, self._source.id, counts, note=note,
                pause=finding.verdict == "pause", empty_listings=0 if seen_any else self._source.empty_listings + 1,
            )  # fmt: skip
        await self._context.progress(len(listed), len(listed), "done")
        return {**counts, "note": note, "paused": finding.verdict == "pause"}

    def _find_moved(self, plan: SyncPlan, listed: Mapping[str, RemoteFile]) -> dict[str, str]:
        """Old paths with the new ones, also of files that were read before this job had its turn, or by one that broke off."""
        there = listed.keys() - self._astray
        before = {path: file.content_id for path, file in self._known.items() if file.arrived and path in there}
        arrived = {path: content for path, content in (before | self._contents).items() if content}
        return find_moved(arrived, {path: self._known[path].content_id for path in (*plan.gone, *self._astray)})

    async def _list(self, connector: Connector) -> dict[str, RemoteFile]:
        listed: dict[str, RemoteFile] = {}
        async for file in connector.list_files():
            path = normalise(file.path)
            if len(path) > MAX_EXTERNAL_ID:  # no document could have its id, and no index hold it
                self._too_long.append(path[:SHOWN])
            else:
                listed.setdefault(path, file)
            if len(listed) + len(self._too_long) > MOST_FILES:
                raise SourceRefused(
                    f"it has more than {MOST_FILES:,} files: let the source be a folder of it, or choose some"
                )
            if len(listed) % TOLD == 0:
                await self._context.progress(0, None, f"{len(listed):,} files listed")
        self._context.check_cancelled()
        return listed

    def _say_too_long(self) -> str | None:
        if not self._too_long:
            return None
        return (
            f"{len(self._too_long):,} files are left out, since their paths have more than {MAX_EXTERNAL_ID} characters: "
            f"{self._too_long[0]}... is the first"
        )

    async def _say_elsewhere(self) -> str | None:
        async with self._database.transaction(self._principal, readonly=True) as connection:
            files, first = await sources.count_elsewhere(connection, self._principal, self._source.id)
        if not files:
            return None
        return f"{files:,} pages are left out, since they lead elsewhere, where they may have other readers: {first}"

    # --- reading ------------------------------------------------------------------------------------------------------

    async def _read(self, connector: Connector, listed: Mapping[str, RemoteFile], plan: SyncPlan) -> None:
        """Read and publish what is new or changed, some at a time: ingestion waits for neighbours of small documents, and what a
        slow source has given should not wait for all of the rest."""
        paths = (*plan.new, *plan.changed)
        for at in range(0, len(paths), CLAIMED):
            await self._context.progress(at, len(paths), "reading files")  # no path: jobs are shown to all readers
            own = await self._claim(paths[at : at + CLAIMED])
            await self._publish(connector, {path: listed[path] for path in own})
            if time.monotonic() > self._turn_ends and (self._left or at + CLAIMED < len(paths)):
                raise HadItsTurnError("it goes on when other jobs have had their turn")

    async def _publish(self, connector: Connector, files: Mapping[str, RemoteFile]) -> None:
        """Each is recorded when its document is published."""
        by_id: dict[str, str] = {}
        ended: asyncio.Queue[Outcome | None] = asyncio.Queue()

        async def arriving() -> AsyncIterator[Source]:
            for path, file in files.items():
                self._context.check_cancelled()
                if by_id and time.monotonic() > self._turn_ends:
                    self._left = True  # the others stay claimed, and unread
                    return
                if (source := await self._fetch(connector, path, file)) is not None:
                    by_id[source.external_id] = path
                    yield source

        async def record() -> None:
            going_on = True
            while going_on:
                outcomes = [await ended.get()]
                while not ended.empty():
                    outcomes.append(ended.get_nowait())
                going_on = outcomes[-1] is not None
                if some := [(by_id[one.external_id], one) for one in outcomes if one is not None]:
                    await self._record(some, files)

        recording = asyncio.create_task(record())
        try:
            await ingest(
                self._database,
                self._target,
                arriving(),
                on_outcome=ended.put_nowait,
                check=self._context.check_cancelled,
            )
        finally:
            ended.put_nowait(None)
            await recording

    async def _claim(self, paths: tuple[str, ...]) -> list[str]:
        wish = self._source.wish
        named, refused = list[tuple[str, str]](), list[sources.ReadFile]()
        for path in paths:
            try:
                named.append((path, check_external_id(normalise(wish.external_id(path)))))
            except InputError as error:
                named.append((path, wish.external_id(path)))
                refused.append(sources.ReadFile(path, "", None, "failed", error.detail))
        async with self._database.transaction(self._principal) as connection:
            own = await sources.claim_files(connection, self._principal, self._source, named)
            if time.monotonic() >= self._ask_readers:
                self._restricted = await documents.restricted_contents(
                    connection, self._principal, self._target.collection_id
                )
                self._ask_readers = time.monotonic() + READERS_SECONDS
            if refused:
                await sources.record_files(connection, self._principal, self._source.id, refused)
        own -= {file.path for file in refused}
        self._failed += len(paths) - len(own)
        return [path for path in paths if path in own]

    async def _fetch(self, connector: Connector, path: str, file: RemoteFile) -> Source | None:
        """None where there is nothing to publish: it is gone, which the next listing says; or too large, or another one, which is
        recorded."""
        try:
            content = await self._patiently(connector, file)
        except SourceFileGone:
            return None
        except SourceFileTooLarge as error:
            await self._fail(path, file, str(error))
            return None
        except SourceFileElsewhere as error:
            await self._pass_over(path, str(error))
            return None
        try:
            sniff(path.rpartition("/")[2], content)
        except (EmptyDocumentError, UnsupportedTypeError) as error:
            external_id = normalise(self._source.wish.external_id(path))
            if any(known.get(external_id) for known in self._restricted.values()):
                # it may just be being written: what it holds next is for the same readers, whom only the document knows
                why = (
                    f"{error.title.lower()}; as its document is for some readers alone, it stays until the file is gone"
                )
                await self._fail(path, file, why)
            else:
                await self._skip(path, file, error.title.lower())
            return None
        self._contents[path] = file.content_id or hashlib.sha256(content).hexdigest()
        source = Source(
            normalise(self._source.wish.external_id(path)),
            path.rpartition("/")[2],
            content,
            metadata={"url": file.address},
        )
        return await asyncio.to_thread(keep_readers, source, self._restricted) if self._restricted else source

    async def _fail(self, path: str, file: RemoteFile, why: str) -> None:
        self._failed += 1
        failed = sources.ReadFile(path, file.version, file.content_id, "failed", why)
        async with self._database.transaction(self._principal) as connection:
            await sources.record_files(connection, self._principal, self._source.id, [failed])

    async def _skip(self, path: str, file: RemoteFile, why: str) -> None:
        """Note a file that is no document, and remove the one that it was."""
        self._skipped.add(path)
        before = self._known.get(path)
        async with self._database.transaction(self._principal) as connection:
            if before is not None and before.owned:
                await _delete_document(connection, self._principal, self._source, before.external_id, may_return=True)
            skipped = sources.ReadFile(path, file.version, file.content_id, "skipped", why)
            await sources.record_files(connection, self._principal, self._source.id, [skipped])

    async def _pass_over(self, path: str, why: str) -> None:
        """Note a file that leads elsewhere, to be asked for again each time. A document that it has goes with those of files that
        are gone, for which there is a bound."""
        self._skipped.add(path)
        noted = sources.ReadFile(path, sources.ELSEWHERE, None, "skipped", why)
        before = self._known.get(path)
        if before is not None and before.owned:
            self._astray.add(path)
            noted = sources.ReadFile(path, sources.ELSEWHERE, before.content_id, "failed", why)
        async with self._database.transaction(self._principal) as connection:
            await sources.record_files(connection, self._principal, self._source.id, [noted])

    async def _patiently(self, connector: Connector, file: RemoteFile) -> bytes:
        """Not faster than was asked for; again after a while where the source does not answer for now."""
        most_bytes, attempt = self._target.settings.ingest.max_file_bytes, 0
        while True:
            await self._keep_pace()
            attempt += 1
            try:
                return await connector.read_file(file, most_bytes)
            except SourceUnreachable as error:
                wait = 2.0**attempt / 2 if error.retry_after_s is None else error.retry_after_s
                if attempt >= READ_ATTEMPTS or wait > LONGEST_WAIT_SECONDS:
                    raise
                await asyncio.sleep(wait)
                self._context.check_cancelled()

    async def _keep_pace(self) -> None:
        rate = self._source.wish.requests_per_second
        if rate is None:
            return
        now = time.monotonic()
        self._next_read = max(self._next_read, now) + 1 / rate
        await asyncio.sleep(self._next_read - 1 / rate - now)

    async def _record(self, outcomes: list[tuple[str, Outcome]], listed: Mapping[str, RemoteFile]) -> None:
        files = list[sources.ReadFile]()
        for path, outcome in outcomes:
            refused = outcome.error if isinstance(outcome, Rejected) else None
            state: FileState = "indexed" if refused is None else "failed"
            files.append(sources.ReadFile(path, listed[path].version, self._contents.get(path), state, refused))
            if refused is not None:
                self._failed += 1
                self._contents.pop(path, None)  # it is not there
        async with self._database.transaction(self._principal) as connection:
            await sources.record_files(connection, self._principal, self._source.id, files)

    # --- deleting -----------------------------------------------------------------------------------------------------

    async def _delete(self, paths: Sequence[str], *, may_return: bool = False) -> int:
        """How many of the files had a document, which is deleted with what is known of them."""
        deleted = 0
        for path in paths:
            self._context.check_cancelled()
            known = self._known[path]
            if known.owned:
                await self._pass_on_readers(known.external_id)
            async with self._database.transaction(self._principal) as connection:
                if path in self._astray:
                    deleted += await _delete_document(
                        connection, self._principal, self._source, known.external_id, may_return=may_return
                    )
                    await sources.leave_out(connection, self._principal, self._source.id, path)
                elif known.owned:
                    deleted += await delete_file(
                        connection, self._principal, self._source, path, known.external_id, may_return=may_return
                    )
                else:
                    await sources.forget_file(connection, self._principal, self._source.id, path)
        return deleted

    async def _pass_on_readers(self, external_id: str) -> None:
        """To where its content has come since the last synchronisation that came to its end: one that broke off read it, too."""
        collection_id = self._source.collection_id
        since = self._source.last_finished_at or self._source.created_at
        async with self._database.transaction(self._principal, readonly=True) as connection:
            document_id = await documents.find_id(connection, self._principal, collection_id, external_id)
        if document_id is not None:
            await pass_on_readers(self._database, self._principal, collection_id, document_id, since)


async def delete_file(
    connection: Any,
    principal: Principal,
    source: ConnectedSource,
    path: str,
    external_id: str,
    *,
    may_return: bool = False,
) -> bool:
    """The document of a file that is the source's own, and what is known of the file; whether there was one."""
    deleted = await _delete_document(connection, principal, source, external_id, may_return=may_return)
    await sources.forget_file(connection, principal, source.id, path)
    return deleted


async def _delete_document(
    connection: Any, principal: Principal, source: ConnectedSource, external_id: str, *, may_return: bool = False
) -> bool:
    document_id = await documents.find_id(connection, principal, source.collection_id, external_id)
    return document_id is not None and await remove_document(
        connection, principal, source.collection_id, source.collection, document_id, may_return=may_return
    )
