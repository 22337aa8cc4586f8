"""Whether what is stored is what a fresh build of the same texts would be: passages, chunks, vectors, graph and communities."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from cairn.service import documents, models
from cairn.wiring import Services
from tests.db.graphs import contents
from tests.documents import text_source
from tests.faults.by_seed.world import COLLECTION, MODELS, Violation, World

PIECES: Final = """
SELECT d.external_id, k.ordinal, k.char_start, k.char_end, k.content, p.content, e.content_hash, e.embedding::text,
  l.length, cardinality(l.keys)
FROM rag.chunks k JOIN rag.documents d ON d.id = k.document_id JOIN rag.passages p ON p.id = k.passage_id
JOIN rag.collections c ON c.id = k.collection_id
JOIN rag.embeddings e ON e.chunk_id = k.id AND e.model_id = c.model_id
JOIN rag.lexical_index l ON l.passage_id = p.id
WHERE k.collection_id = $1 ORDER BY 1, 2
"""
COMMUNITIES: Final = """
SELECT array_agg(e.normal ORDER BY e.normal) FROM rag.community_members m JOIN rag.entities e ON e.id = m.entity_id
JOIN rag.communities c ON c.id = m.community_id WHERE m.collection_id = $1 GROUP BY m.community_id ORDER BY 1
"""


async def compare_with_fresh(world: World) -> None:
    """Raises Violation. The collections are made anew: nothing can be asked of them afterwards but that."""
    texts = await world.stored_texts()
    for tenant, services in enumerate(world.tenants[0]):
        found = await documents.get_collection(services, COLLECTION)
        await documents.refresh_communities(services, COLLECTION, force=True)
        before = await stored(services, found.id)
        served = await world.owner.fetchval(
            "SELECT m.name FROM rag.collections c JOIN rag.embedding_models m ON m.id = c.model_id WHERE c.id = $1",
            found.id,
        )
        await documents.delete_collection(services, COLLECTION)
        if left := [name for name, rows in (await stored(services, found.id)).items() if rows]:
            raise Violation("a deleted collection leaves nothing", left)
        async with services.database.transaction(services.principal) as connection:  # the graph hashes its id
            await connection.execute(
                "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, $3, 1)",
                services.principal.tenant_id, found.id, COLLECTION,
            )  # fmt: skip
        mine = [text_source(name, text) for (owner, name), text in sorted(texts.items()) if owner == tenant]
        await documents.index_now(services, COLLECTION, mine)
        if served not in (None, MODELS[0]):
            await models.start_backfill(services, COLLECTION, served)
            await services.worker().run_until_idle()
            await models.flip_model(services, COLLECTION, served)
        await services.worker().run_until_idle()
        await documents.refresh_communities(services, COLLECTION, force=True)
        fresh = await stored(services, found.id)
        for part, rows in fresh.items():
            if before[part] != rows:
                differing = (
                    [one for one in before[part] if one not in rows],
                    [one for one in rows if one not in before[part]],
                )
                raise Violation(f"equal to a fresh build: {part}", [side[:3] for side in differing])


async def stored(services: Services, collection_id: UUID) -> dict[str, list[Any]]:
    graph: dict[str, list[Any]] = dict(await contents(services, collection_id))
    async with services.database.transaction(services.principal, readonly=True) as connection:
        pieces = [tuple(row) for row in await connection.fetch(PIECES, collection_id)]
        found = [row[0] for row in await connection.fetch(COMMUNITIES, collection_id)]
    return {"pieces": pieces, "communities": found, **graph}
