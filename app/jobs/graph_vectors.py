"""The job that embeds the names of entities and, where the settings say so, merges those that mean the same (ADR 28).

Run again after a crash it goes on with the names that have no vector yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from app.graph.similar import Named, proposals
from app.ingest.embed import ModelInUse, Target, in_use
from app.ingest.extraction import VECTORS as KIND
from app.jobs.context import Handler, JobContext
from app.store import collections, entity_vectors, graph
from app.store.session import Database

__all__ = ["KIND", "REASON", "embed_names"]

BATCH: Final = 256
REASON: Final = "embedding"
"""Why an entity was merged, in the log of merges."""


def embed_names(database: Database, target_for: Callable[[JobContext, UUID], Target]) -> Handler:
    """The handler. Payload: collection_id. Result: names embedded, entities merged."""

    async def handle(context: JobContext) -> dict[str, Any]:
        target = target_for(context, UUID(context.job.payload["collection_id"]))
        settings = target.settings.graph.vectors
        async with database.transaction(context.principal, readonly=True) as connection:
            there = await collections.by_id(connection, context.principal, target.collection_id)
        if there is None or not settings.enabled:
            return {"embedded": 0, "merged": 0}
        used, done = (await in_use(database, target))[0], 0
        while added := await _embed_batch(database, target, used):
            done += added
            await context.progress(done, None, "embedding names of entities")
        async with database.transaction(context.principal) as connection:
            most = settings.max_entities
            await entity_vectors.prune(connection, context.principal, target.collection_id, used.model.id, most)
        merged = await _merge(database, target, used, settings.merge_from) if settings.merge_from < 1 else 0
        return {"embedded": done, "merged": merged}

    return handle


async def _embed_batch(database: Database, target: Target, used: ModelInUse) -> int:
    principal, collection_id, model_id = target.principal, target.collection_id, used.model.id
    async with database.transaction(principal, readonly=True) as connection:
        names = await entity_vectors.missing(
            connection, principal, collection_id, model_id,
            most=target.settings.graph.vectors.max_entities, limit=BATCH,
        )  # fmt: skip
    if not names:
        return 0
    made = await used.embedder.embed(list(names.values()))
    rows = [(*one, HalfVector(vector.astype(np.float16))) for one, vector in zip(names.items(), made, strict=True)]
    async with database.transaction(principal) as connection:
        await entity_vectors.put(connection, principal, collection_id, model_id, rows)
    return len(rows)


async def _merge(database: Database, target: Target, used: ModelInUse, least: float) -> int:
    """How many entities are now others; each can be undone, and is not proposed again then."""
    principal, collection_id, merged = target.principal, target.collection_id, 0
    async with database.transaction(principal, readonly=True) as connection:
        rows = await entity_vectors.of_collection(connection, principal, collection_id, used.model.id)
        decided = await entity_vectors.decided(connection, principal, collection_id)
    if not rows:
        return 0
    entities = [Named(row["id"], row["normal"], row["kind"], row["passage_count"]) for row in rows]
    matrix = np.array([row["embedding"].to_numpy() for row in rows], dtype=np.float32)
    for one in await asyncio.to_thread(proposals, entities, matrix, least, decided):
        async with database.transaction(principal) as connection:
            done = await graph.merge(connection, collection_id, one.entity.id, one.into.id, REASON)
            merged += done is not None
    return merged
