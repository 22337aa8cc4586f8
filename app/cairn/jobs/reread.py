"""Reading the documents of a collection anew that loaders of an earlier release read, while the old text serves.

Document by document, each in its own transaction that also says which loaders read it: run again, after a crash or after the
last one, it goes on with what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from cairn.graph.refresh import follow
from cairn.ingest.embed import Target
from cairn.ingest.loaders import REVISION
from cairn.ingest.model_jobs import order_model_jobs
from cairn.ingest.outlines import outline_reader
from cairn.ingest.pipeline import DOCUMENT_ERRORS
from cairn.ingest.reread import NotKeptError, reread_document
from cairn.ingest.reweight import order_index_if_due, reweight_if_drifted
from cairn.jobs.context import Handler, JobContext
from cairn.store import documents
from cairn.store.session import Database

REREAD: Final = "reread"
BATCH_DOCUMENTS: Final = 50
NAMED: Final = 200
"""Documents that were left as they are and are told of by name: a page of them. All are counted."""
FIRST: Final = UUID(int=0)


def reread(database: Database, target_for: Callable[[JobContext, UUID], Target]) -> Handler:
    """The handler of `reread`. Payload: collection_id, and document_id where only that one is meant. Result: documents reread,
    unchanged, overtaken and left, and of those that were left id and reason, NAMED at most."""

    async def handle(context: JobContext) -> dict[str, Any]:
        collection_id, principal = UUID(context.job.payload["collection_id"]), context.principal
        only = UUID(context.job.payload["document_id"]) if "document_id" in context.job.payload else None
        target, after = target_for(context, collection_id), UUID(int=only.int - 1) if only else FIRST
        counts: Counter[str] = Counter(reread=0, unchanged=0, overtaken=0, left=0)
        left: list[dict[str, str]] = []
        async with database.transaction(principal, readonly=True) as connection:
            older = await documents.count_older(connection, principal, collection_id, loaders=REVISION, rules=0)
            total = 1 if only else older.read
        async with outline_reader(target.settings) as outlines:
            while True:
                async with database.transaction(principal, readonly=True) as connection:
                    batch = await documents.list_outdated(
                        connection,
                        principal,
                        collection_id,
                        REVISION,
                        after=after,
                        limit=1 if only else BATCH_DOCUMENTS,
                    )
                batch = [found for found in batch if only in (None, found.id)]
                if not batch:
                    break
                for found in batch:
                    await context.progress(counts.total(), max(total, counts.total()), found.external_id[:200])
                    try:
                        counts[await reread_document(database, target, found, outlines)] += 1
                    except (NotKeptError, *DOCUMENT_ERRORS) as error:
                        counts["left"] += 1
                        if len(left) < NAMED:
                            left.append({"external_id": found.external_id, "reason": error.detail})
                after = batch[-1].id
        await _settle(database, target, changed=counts["reread"] > 0)
        await context.progress(counts.total(), counts.total(), "done")
        return {**counts, "left_documents": left}

    return handle


async def _settle(database: Database, target: Target, *, changed: bool) -> None:
    if changed:
        await reweight_if_drifted(database, target.principal, target.collection_id, target.settings)
        await order_index_if_due(database, target.principal, target.collection_id, target.settings.vector)
        await order_model_jobs(database, target)
        await follow(database, target.principal, target.collection_id, target.settings)
