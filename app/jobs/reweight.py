"""The job that renews BM25 weights of a language in a collection. Run again after a crash it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from app.ingest.reweight import reweight_in_batches
from app.jobs.context import Handler, JobContext
from app.settings import LexicalSettings
from app.store.session import Database


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
