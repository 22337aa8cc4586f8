"""The job by which a chat model writes contexts for the chunks of a collection, after its documents can be searched."""

from __future__ import annotations

from uuid import UUID

from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.ingest.embed import Target
from cairn.store import jobs
from cairn.store.session import Database

ENRICH = "enrich"
"""Kind of the job in cairn/jobs/enrich.py."""
ATTEMPTS = 10
"""A provider that limits its rate is asked again for a long while before somebody has to look."""


async def order_enrichment(database: Database, target: Target) -> None:
    """Enqueue the job where the settings ask for it and there is a model; at most one waits or runs at a time."""
    if target.has_enricher:
        async with database.transaction(target.principal.house) as connection:
            await enqueue_enrichment(connection, target.principal.house, target.collection_id)


async def enqueue_enrichment(connection: object, principal: Principal, collection_id: UUID) -> Job:
    """The job, or the one that is waiting or running already."""
    payload = {"collection_id": str(collection_id)}
    key = f"{ENRICH}:{collection_id}"
    return await jobs.enqueue(connection, principal, ENRICH, payload, max_attempts=ATTEMPTS, dedupe_key=key)
