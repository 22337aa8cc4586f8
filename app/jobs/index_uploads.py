"""The job that indexes uploaded files. Run again after a crash it meets its finished files as duplicates.

The uploads stay until the statement that ends the job, so that no crash loses a file or its outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

from app.domain.document import Source, upload_result
from app.graph.refresh import follow
from app.ingest.pipeline import Target, ingest
from app.jobs.context import Handler, JobContext
from app.store import jobs
from app.store.session import Database

KIND = "index_uploads"


def index_uploads(database: Database, target_for: Callable[[JobContext, UUID], Target]) -> Handler:
    """The handler. Its result is that of an upload which was waited for: {uploaded, failed}."""

    async def handle(context: JobContext) -> dict[str, Any]:
        async with database.transaction(context.principal, readonly=True) as connection:
            waiting = await jobs.list_uploads(connection, context.principal, context.job.id)
        target = target_for(context, UUID(context.job.payload["collection_id"]))

        async def sources() -> AsyncIterator[Source]:
            for number, upload_id in enumerate(waiting):
                async with database.transaction(context.principal, readonly=True) as connection:
                    upload = await jobs.get_upload(connection, context.principal, upload_id)
                if upload is not None:
                    await context.progress(number, len(waiting), upload.source.name)
                    yield upload.source

        outcomes = await ingest(database, target, sources(), check=context.check_cancelled)
        await follow(database, context.principal, target.collection_id, target.settings)
        await context.progress(len(waiting), len(waiting), "done")
        return upload_result(outcomes)

    return handle
