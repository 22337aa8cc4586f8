"""The jobs by which a chat model reads a collection after its documents can be searched: for the graph, and for the contexts of
chunks."""

from __future__ import annotations

from uuid import UUID

from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.ingest.embed import Target
from cairn.store import jobs
from cairn.store.session import Database

MODEL = "graph_model"
"""Kind of the job in cairn/jobs/graph_model.py."""
ENRICH = "enrich"
"""Kind of the job in cairn/jobs/enrich.py."""
ATTEMPTS = 10
"""A provider that limits its rate is asked again for a long while before somebody has to look."""


async def order_model_jobs(database: Database, target: Target) -> None:
    """Enqueue those that the settings ask for and there is a model for; of each at most one waits or runs at a time."""
    graph = target.settings.graph
    wanted = {MODEL: graph.enabled and graph.model.enabled and target.has_chat, ENRICH: target.has_enricher}
    for kind in filter(wanted.get, wanted):
        async with database.transaction(target.principal.house) as connection:
            await enqueue(connection, target.principal.house, kind, target.collection_id)


async def enqueue(connection: object, principal: Principal, kind: str, collection_id: UUID) -> Job:
    """The job, or the one that is waiting or running already."""
    payload = {"collection_id": str(collection_id)}
    key = f"{kind}:{collection_id}"
    return await jobs.enqueue(connection, principal, kind, payload, max_attempts=ATTEMPTS, dedupe_key=key)
