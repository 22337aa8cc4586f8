"""The jobs about documents: uploaded files are indexed, BM25 weights of a language in a collection are renewed.

An upload that is run again after a crash meets its finished files as duplicates; the files stay until the statement that ends the
job, so that no crash loses a file or its outcome. Weights go on where they stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

from cairn.domain.document import Indexed, Rejected, Source, upload_result
from cairn.domain.principal import Principal
from cairn.graph.refresh import follow
from cairn.ingest.pipeline import Target, ingest
from cairn.ingest.reweight import reweight_in_batches
from cairn.jobs.context import Handler, JobContext
from cairn.settings import LexicalSettings
from cairn.store import collections, jobs
from cairn.store.session import Database

INDEX_UPLOADS = "index_uploads"


def index_uploads(database: Database, target_for: Callable[[JobContext, UUID], Target]) -> Handler:
    """The handler. Its result is that of an upload which was waited for: {uploaded, failed}."""

    async def handle(context: JobContext) -> dict[str, Any]:
        async with database.transaction(context.principal, readonly=True) as connection:
            waiting = await jobs.list_uploads(connection, context.principal, context.job.id)
        target = target_for(context, UUID(context.job.payload["collection_id"]))
        begun, shares = (0, ""), dict[str, float]()  # how much is read, and of large files embedded

        async def sources() -> AsyncIterator[Source]:
            nonlocal begun
            for number, upload_id in enumerate(waiting):
                async with database.transaction(context.principal, readonly=True) as connection:
                    upload = await jobs.get_upload(connection, context.principal, upload_id)
                if upload is not None:
                    begun = number, upload.source.name
                    await context.progress(number, len(waiting), upload.source.name, shares)
                    yield upload.source

        def forget_share(outcome: Indexed | Rejected) -> None:
            shares.pop(outcome.external_id, None)

        async def note_share(external_id: str, share: float | None) -> None:
            if share is None:
                shares.pop(external_id, None)
            else:
                shares[external_id] = share
            await context.progress(begun[0], len(waiting), begun[1], shares)

        outcomes = await ingest(
            database, target, sources(), on_outcome=forget_share, on_share=note_share, check=context.check_cancelled,
        )  # fmt: skip
        await follow(database, context.principal, target.collection_id, target.settings)
        await context.progress(len(waiting), len(waiting), "done")
        return upload_result(outcomes, await epoch_of(database, context.principal, target.collection_id))

    return handle


async def epoch_of(database: Database, principal: Principal, collection_id: UUID) -> int:
    """0 where the collection was deleted meanwhile."""
    async with database.transaction(principal, readonly=True) as connection:
        found = await collections.by_id(connection, principal, collection_id)
    return found.epoch if found else 0


def reweight(database: Database, settings: Callable[[], LexicalSettings]) -> Handler:
    """The handler. Its result is {passages}: how many were weighted by this attempt."""

    async def handle(context: JobContext) -> dict[str, Any]:
        config = str(context.job.payload["config"])

        async def report(done: int, total: int) -> None:
            await context.progress(done, total, f"weighting {config} passages")

        passages = await reweight_in_batches(
            database, context.principal, UUID(context.job.payload["collection_id"]), config, settings(), report
        )
        return {"passages": passages}

    return handle
