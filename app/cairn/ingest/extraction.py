"""The job by which a chat model adds to the graph of a collection, after its documents can be searched."""

from __future__ import annotations

from uuid import UUID

from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.ingest.embed import Target
from cairn.store import jobs
from cairn.store.session import Database

MODEL = "graph_model"
"""Kind of the job in cairn/jobs/graph_model.py."""
ATTEMPTS = 10
"""A provider that limits its rate is asked again for a long while before somebody has to look."""


async def order_extraction(database: Database, target: Target) -> None:
    """Enqueue the job where the settings ask for it and there is a model; at most one waits or runs at a time."""
    graph = target.settings.graph
    if graph.enabled and graph.model.enabled and target.has_chat:
        async with database.transaction(target.principal.house) as connection:
            await enqueue(connection, target.principal.house, target.collection_id)


async def enqueue(connection: object, principal: Principal, collection_id: UUID) -> Job:
    """The job, or the one that is waiting or running already."""
    payload = {"collection_id": str(collection_id)}
    key = f"{MODEL}:{collection_id}"
    return await jobs.enqueue(connection, principal, MODEL, payload, max_attempts=ATTEMPTS, dedupe_key=key)
