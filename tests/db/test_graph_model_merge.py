"""A model's part beside that of the rules: whatever is merged, replaced and deleted, every count is that of a fresh build."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.graph import DocumentGraph
from cairn.service.documents import get_collection
from cairn.store import extractions, graph_stage
from cairn.store.extractions import PendingDocument
from cairn.wiring import Services
from tests.db.graphs import contents, publish, random_document, remove
from tests.db.test_graph_writing import FRESH


async def merge(services: Services, document_id: UUID, version: int, graph: DocumentGraph) -> bool:
    found = await get_collection(services, "c")
    async with services.database.transaction(services.principal) as connection:
        rows = await extractions.passages(connection, services.principal, document_id)
        await graph_stage.stage(connection, found.id, graph, by_model=True)
        return await extractions.merge(
            connection, found.id, PendingDocument(document_id, version, own=True), "m 1", [row["id"] for row in rows]
        )


async def random_graph(services: Services, document_id: UUID, chance: random.Random) -> DocumentGraph:
    """That of another random document, on the passages of this one."""
    other = random_document("x", chance)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await extractions.passages(connection, services.principal, document_id)
    places = {one.id: rows[n]["id"] for n, one in enumerate(other.passages) if n < len(rows)}
    mentions = [replace(m, passage_id=places[m.passage_id]) for m in other.graph.mentions if m.passage_id in places]
    evidence = [replace(e, passage_id=places[e.passage_id]) for e in other.graph.evidence if e.passage_id in places]
    return DocumentGraph(tuple(mentions), tuple(evidence))


async def assert_counted(services: Services) -> None:
    found = await get_collection(services, "c")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        for table, recount in FRESH.items():
            columns = ["passage_count", "implied_count"] if table == "entities" else ["evidence_count", "strength"]
            wrong = await connection.fetchval(
                f"SELECT count(*) FROM ({recount}) AS fresh FULL JOIN "
                f"(SELECT * FROM rag.{table} WHERE collection_id = $1) AS kept USING (id) WHERE "
                + " OR ".join(f"fresh.{c} IS DISTINCT FROM kept.{c}" for c in columns), found.id,
            )  # fmt: skip
            assert wrong == 0, table
        wrong = await connection.fetchval("""
            SELECT count(*) FROM (SELECT entity_id, name, kind, count(*) AS n FROM rag.mentions GROUP BY 1, 2, 3) AS fresh
            FULL JOIN rag.entity_aliases kept USING (entity_id, name, kind) WHERE n IS DISTINCT FROM passage_count""")
        assert wrong == 0
        wrong = await connection.fetchval("""
            SELECT count(*) FROM rag.relations r JOIN rag.entities s ON s.id = r.source_id
            JOIN rag.entities t ON t.id = r.target_id FULL JOIN rag.adjacency a ON a.relation_id = r.id
            WHERE a.weight IS DISTINCT FROM rag.association(
              r.strength, s.passage_count + s.implied_count, t.passage_count + t.implied_count)""")
        assert wrong == 0


@pytest.mark.parametrize("turns", [15, pytest.param(35, marks=pytest.mark.siege)])
async def test_any_mix_of_writes_and_merges_is_counted_exactly(services: Services, turns: int) -> None:
    chance, stored, rules = random.Random(9), dict[str, Any](), dict[str, Any]()
    merged = removed = 0
    for turn in range(turns):
        name = f"d{chance.randrange(6)}"
        if name in stored and chance.random() < 0.5:
            graph = await random_graph(services, stored[name].document_id, chance)
            assert await merge(services, stored[name].document_id, stored[name].version, graph)
            merged += 1
        elif name in stored and chance.random() < 0.3:
            await remove(services, "c", stored.pop(name).document_id)
            del rules[name]
            removed += 1
        else:
            rules[name] = random_document(name, chance)
            stored[name] = await publish(services, "c", rules[name])
        if turn % 5 == 4:
            await assert_counted(services)
    assert min(merged, removed) > 0, "it is a mix"
    for one in stored.values():
        assert await merge(services, one.document_id, one.version, DocumentGraph())
    await assert_counted(services)
    collection = await get_collection(services, "c")
    without = await contents(services, collection.id)
    for name, one in stored.items():
        await remove(services, "c", one.document_id)
        await publish(services, "c", rules[name])
    assert await contents(services, collection.id) == without, "as if no model had said anything"


async def test_nothing_is_merged_into_another_version_or_other_passages(services: Services) -> None:
    chance = random.Random(3)
    first = await publish(services, "c", random_document("a", chance))
    graph = await random_graph(services, first.document_id, chance)
    second = await publish(services, "c", random_document("a", chance))
    collection = await get_collection(services, "c")
    before = await contents(services, collection.id)
    assert not await merge(services, first.document_id, first.version, graph)
    async with services.database.transaction(services.principal) as connection:
        await graph_stage.stage(connection, collection.id, DocumentGraph(), by_model=True)
        waiting = PendingDocument(second.document_id, second.version, own=True)
        assert not await extractions.merge(connection, collection.id, waiting, "m 1", [UUID(int=1)])
    assert await contents(services, collection.id) == before
