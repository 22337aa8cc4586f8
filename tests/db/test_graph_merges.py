"""Merging entities is a redirect: the adjacency follows it, mentions do not, and undoing it restores every table."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

from cairn.domain.graph import entity_id
from cairn.service.documents import get_collection, list_documents
from cairn.store import graph
from cairn.wiring import Services
from tests.db.graphs import NAMES, contents, key, plain, publish, random_document, remove, with_graph
from tests.sharing import SHARED

pytestmark = SHARED


async def _id(services: Services, name: str) -> UUID:
    return entity_id((await get_collection(services, "c")).id, key(name))


async def merge(services: Services, name: str, into: str) -> UUID | None:
    found = await get_collection(services, "c")
    async with services.database.transaction(services.principal) as connection:
        return await graph.merge(
            connection, found.id, await _id(services, name), await _id(services, into), "the same in a test"
        )


async def unmerge(services: Services, merge_id: UUID) -> bool:
    found = await get_collection(services, "c")
    async with services.database.transaction(services.principal) as connection:
        return await graph.unmerge(connection, found.id, merge_id)


async def neighbours(services: Services, name: str) -> set[str]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch(
            "SELECT e.name FROM rag.adjacency a JOIN rag.entities e ON e.id = a.neighbour_id WHERE a.node_id = $1",
            await _id(services, name),
        )
    return {row["name"] for row in rows}


async def two_names(services: Services) -> None:
    first = with_graph(plain("a", "Ada met Ben."), [["Ada", "Ben"]], [[("Ada", "met", "Ben")]])
    second = with_graph(plain("b", "Lovelace met Cy."), [["Lovelace", "Cy"]], [[("Lovelace", "met", "Cy")]])
    both = with_graph(plain("c", "Ada is Lovelace."), [["Ada", "Lovelace"]], [[("Ada", "is", "Lovelace")]])
    for document in (first, second, both):
        await publish(services, "c", document)


async def test_a_merge_joins_neighbourhoods_and_undoing_it_restores_them(services: Services) -> None:
    await two_names(services)
    collection = await get_collection(services, "c")
    before = await contents(services, collection.id)
    merged = await merge(services, "Lovelace", "Ada")
    assert merged is not None
    assert (await get_collection(services, "c")).epoch > collection.epoch
    assert await neighbours(services, "Ada") == {"Ben", "Cy"}, "and nothing between what is one now"
    assert await neighbours(services, "Lovelace") == set()
    after = await contents(services, collection.id)
    assert after["mentions"] == before["mentions"], "mentions keep their entity"
    assert await merge(services, "Lovelace", "Ada") is None, "they are one already"
    assert await merge(services, "Ada", "Lovelace") is None
    assert await unmerge(services, merged)
    assert await contents(services, collection.id) == before
    assert not await unmerge(services, merged), "it is undone already"


async def test_chains_are_followed_and_undone_in_any_order(services: Services) -> None:
    await two_names(services)
    collection = await get_collection(services, "c")
    before = await contents(services, collection.id)
    first = await merge(services, "Lovelace", "Ada")
    second = await merge(services, "Ada", "Ben")
    assert first is not None
    assert second is not None
    assert await neighbours(services, "Ben") == {"Cy"}
    assert await unmerge(services, first)
    assert await neighbours(services, "Ben") == {"Lovelace"}
    assert await unmerge(services, second)
    assert await contents(services, collection.id) == before


async def test_an_entity_that_comes_back_is_merged_again(services: Services) -> None:
    """Ids are hashes of names, so the log still holds for what was deleted and indexed again."""
    await two_names(services)
    assert await merge(services, "Lovelace", "Ada")
    found = {d.external_id: d.id for d in await list_documents(services, "c")}
    await remove(services, "c", found["b"])
    await remove(services, "c", found["c"])
    assert await neighbours(services, "Ada") == {"Ben"}
    await two_names(services)
    assert await neighbours(services, "Ada") == {"Ben", "Cy"}


async def test_when_the_target_goes_the_merged_stands_for_itself(services: Services) -> None:
    await two_names(services)
    assert await merge(services, "Lovelace", "Ada")
    found = {d.external_id: d.id for d in await list_documents(services, "c")}
    await remove(services, "c", found["a"])
    await remove(services, "c", found["c"])
    assert await neighbours(services, "Lovelace") == {"Cy"}
    await two_names(services)
    assert await neighbours(services, "Lovelace") == set()
    assert await neighbours(services, "Ada") == {"Ben", "Cy"}


async def test_writes_and_merges_in_any_order_leave_what_the_log_says(services: Services) -> None:
    """At the end all merges are undone: the graph equals one that was never merged."""
    chance, ids, stored, log = random.Random(5), dict[str, UUID](), dict[str, Any](), list[UUID]()
    for turn in range(60):
        name = f"d{chance.randrange(10)}"
        if turn > 10 and chance.random() < 0.3:
            if log and chance.random() < 0.4:
                await unmerge(services, log.pop(chance.randrange(len(log))))
            elif done := await merge(services, *chance.sample(NAMES, 2)):
                log.append(done)
        elif name in ids and chance.random() < 0.3:
            await remove(services, "c", ids.pop(name))
            del stored[name]
        else:
            stored[name] = random_document(name, chance)
            ids[name] = (await publish(services, "c", stored[name])).document_id
        await assert_adjacency_follows(services)
    assert log
    for merged in log:
        await unmerge(services, merged)
    collection = await get_collection(services, "c")
    before = await contents(services, collection.id)
    for name, document in stored.items():
        await remove(services, "c", ids[name])
        await publish(services, "c", document)
    assert await contents(services, collection.id) == before


async def assert_adjacency_follows(services: Services) -> None:
    """Recounted: each relation stands at the canonical entities of its ends, unless these are one."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        wrong = await connection.fetchval("""
            WITH expected AS (
              SELECT r.id AS relation_id, o.outgoing,
                CASE WHEN o.outgoing THEN s.canonical_id ELSE t.canonical_id END AS node_id,
                CASE WHEN o.outgoing THEN t.canonical_id ELSE s.canonical_id END AS neighbour_id,
                rag.association(
                  r.strength, s.passage_count + s.implied_count, t.passage_count + t.implied_count) AS weight
              FROM rag.relations r JOIN rag.entities s ON s.id = r.source_id JOIN rag.entities t ON t.id = r.target_id
              CROSS JOIN (VALUES (true), (false)) o (outgoing) WHERE s.canonical_id <> t.canonical_id)
            SELECT count(*) FROM expected e FULL JOIN rag.adjacency a USING (relation_id, outgoing)
            WHERE (e.node_id, e.neighbour_id, e.weight) IS DISTINCT FROM (a.node_id, a.neighbour_id, a.weight)""")
        assert wrong == 0
        wrong = await connection.fetchval(
            "SELECT count(*) FROM rag.entities WHERE canonical_id <> rag.canonical_entity(collection_id, id)"
        )
        assert wrong == 0
