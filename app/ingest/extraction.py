"""The jobs that add to the graph of a collection after its documents can be searched: by a chat model, by vectors."""

from __future__ import annotations

from uuid import UUID

from app.domain.job import Job
from app.domain.principal import Principal
from app.ingest.embed import Target
from app.store import jobs
from app.store.session import Database

MODEL = "graph_model"
"""Kind of the job in app/jobs/graph_model.py."""
VECTORS = "graph_vectors"
"""Kind of the job in app/jobs/graph_vectors.py."""
ATTEMPTS = 10
"""Of either: a provider that limits its rate is asked again for a long while before somebody has to look."""


async def order_extraction(database: Database, target: Target) -> None:
    """Enqueue what the settings ask for; each at most once at a time."""
    graph = target.settings.graph
    due = (graph.enabled and graph.model.enabled and target.has_chat, MODEL), (graph.vectors.enabled, VECTORS)
    if any(wanted for wanted, _ in due):
        async with database.transaction(target.principal) as connection:
            for wanted, kind in due:
                if wanted:
                    await enqueue(connection, target.principal, kind, target.collection_id)


async def enqueue(connection: object, principal: Principal, kind: str, collection_id: UUID) -> Job:
    """The job, or the one that is waiting or running already."""
    payload = {"collection_id": str(collection_id)}
    key = f"{kind}:{collection_id}"
    return await jobs.enqueue(connection, principal, kind, payload, max_attempts=ATTEMPTS, dedupe_key=key)
