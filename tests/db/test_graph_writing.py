"""A document brings exactly its part of the graph, and takes exactly that along."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cairn.service import models as model_service
from cairn.service.documents import delete_collection, ensure_collection, get_collection, index_now
from cairn.service.editing import change_document
from cairn.service.jobs import get_job
from cairn.settings import GraphSettings, JobsSettings, Settings, SettingsStore
from cairn.wiring import Services
from tests.db.graphs import TABLES, contents, plain, publish, random_document, remove, with_graph
from tests.documents import index_texts, text_source
from tests.sharing import SHARED

pytestmark = SHARED

FRESH = {
    "entities": """
        SELECT m.entity_id AS id, count(DISTINCT m.passage_id) FILTER (WHERE m.occurrences > 0) AS passage_count,
          count(DISTINCT m.passage_id) - count(DISTINCT m.passage_id) FILTER (WHERE m.occurrences > 0) AS implied_count
        FROM rag.mentions m WHERE m.collection_id = $1 GROUP BY 1""",
    "relations": """
        SELECT v.relation_id AS id, count(*) AS evidence_count, sum(v.strength) AS strength FROM rag.evidence v
        WHERE v.collection_id = $1 GROUP BY 1""",
}


async def assert_as_fresh(services: Services, name: str, stored: dict[str, Any]) -> None:
    """Every table of the graph equals that of a new collection with the same documents, each published once.

    Ids hash the collection, so the new one is given the id of the old one, under another tenant.
    """
    found = await get_collection(services, name)
    before = await contents(services, found.id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        for table, recount in FRESH.items():
            wrong = await connection.fetchval(
                f"SELECT count(*) FROM ({recount}) AS fresh FULL JOIN "
                f"(SELECT * FROM rag.{table} WHERE collection_id = $1) AS kept USING (id) "
                "WHERE " + " OR ".join(f"fresh.{c} IS DISTINCT FROM kept.{c}" for c in _columns(table)), found.id,
            )  # fmt: skip
            assert wrong == 0, table
        assert await connection.fetchval(
            "SELECT count(*) = 2 * count(DISTINCT relation_id) AND count(DISTINCT relation_id) = "
            "(SELECT count(*) FROM rag.relations WHERE collection_id = $1) FROM rag.adjacency WHERE collection_id = $1",
            found.id,
        )
    await delete_collection(services, name)
    assert {table: rows for table, rows in (await contents(services, found.id)).items() if rows} == {}
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, $3, 1)",
            services.principal.tenant_id, found.id, name,
        )  # fmt: skip
    for document in stored.values():
        await publish(services, name, document)
    fresh = await contents(services, found.id)
    for table in TABLES:
        assert before[table] == fresh[table], table


def _columns(table: str) -> list[str]:
    return ["passage_count", "implied_count"] if table == "entities" else ["evidence_count", "strength"]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("seed", range(4))
async def test_any_mix_of_writes_leaves_the_graph_of_a_fresh_build(services: Services, seed: int) -> None:
    chance, stored, ids = random.Random(seed), {}, {}
    for _ in range(60):
        name = f"d{chance.randrange(12)}"
        if name in ids and chance.random() < 0.35:
            assert await remove(services, "mixed", ids.pop(name))
            del stored[name]
        else:
            stored[name] = random_document(name, chance)
            ids[name] = (await publish(services, "mixed", stored[name])).document_id
    assert len(stored) > 3
    await assert_as_fresh(services, "mixed", stored)


@pytest.mark.siege
async def test_concurrent_writers_leave_the_graph_of_a_fresh_build(services: Services) -> None:
    """Four writers with documents of their own that share all entities: no deadlock, exact counts."""
    stored: dict[str, Any] = {}
    await ensure_collection(services, "mixed")

    async def write(number: int) -> None:
        chance, ids = random.Random(100 + number), dict[str, UUID]()
        for _ in range(25):
            name = f"w{number}-{chance.randrange(6)}"
            if name in ids and chance.random() < 0.3:
                await remove(services, "mixed", ids.pop(name))
                del stored[name]
            else:
                document = random_document(name, chance)
                ids[name] = (await publish(services, "mixed", document)).document_id
                stored[name] = document

    await asyncio.gather(*(write(number) for number in range(4)))
    await assert_as_fresh(services, "mixed", stored)


async def test_frequencies_that_cross_a_power_of_two_reweight_what_is_there(services: Services) -> None:
    """Ada and Ben meet once; weights fall as Ada becomes frequent elsewhere, and rise again when that goes."""
    met = with_graph(plain("met", "Ada met Ben."), [["Ada", "Ben"]], [[("Ada", "co_occurs", "Ben")]])
    await publish(services, "c", met)
    weights = [await _weight(services)]
    others = []
    for number in range(4):
        other = with_graph(plain(f"o{number}", f"Ada alone {number}."), [["Ada"]])
        others.append((await publish(services, "c", other)).document_id)
        weights.append(await _weight(services))
    # 1, 2, 3, 4, 5 passages: classes 0, 1, 1, 2, 2
    assert weights == pytest.approx([0.5, 0.5 / 2**0.5, 0.5 / 2**0.5, 0.25, 0.25])
    for document_id in others:
        await remove(services, "c", document_id)
    assert await _weight(services) == pytest.approx(0.5)


async def test_passages_that_only_imply_an_entity_make_it_no_hub(services: Services) -> None:
    """A title is related to all that its document names, in every passage; hub caps count those that name it."""
    body = "\n\n".join(f"Old Mill number {n} stands near Silver Lake. " + "Water runs on. " * 180 for n in range(6))
    await index_now(services, "c", [text_source("a", body, "Anna Kowalski")])
    async with services.database.transaction(services.principal, readonly=True) as connection:
        row = await connection.fetchrow(
            "SELECT e.passage_count, e.implied_count, c.passage_count AS total FROM rag.entities e "
            "JOIN rag.collections c ON c.id = e.collection_id WHERE e.normal = 'anna kowalski'"
        )
    assert row["total"] > 3
    assert row["passage_count"] == 1, "the first one has it as its title"
    assert 0 < row["implied_count"] < row["total"]


async def _weight(services: Services) -> float:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await connection.fetch("SELECT weight FROM rag.adjacency")
    assert len(found) == 2
    assert found[0] == found[1]
    return float(found[0][0])


async def test_a_document_without_a_graph_disturbs_nothing(services: Services) -> None:
    with_one = with_graph(plain("a", "Ada met Ben."), [["Ada", "Ben"]], [[("Ada", "leads", "Ben")]])
    first = await publish(services, "c", with_one)
    collection = await get_collection(services, "c")
    before = await contents(services, collection.id)
    second = await publish(services, "c", plain("b", "Nothing here."))
    await remove(services, "c", second.document_id)
    assert await contents(services, collection.id) == before
    await publish(services, "c", plain("a", "Ada is gone."))
    assert not any((await contents(services, collection.id)).values())
    await remove(services, "c", first.document_id)


async def test_deletion_blanks_summaries_that_may_quote(services: Services) -> None:
    """Design section 3: what a community says of a deleted document goes with it."""
    indexed = await publish(services, "c", with_graph(plain("a", "Ada met Ben."), [["Ada", "Ben"]]))
    collection = await get_collection(services, "c")
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.communities (tenant_id, collection_id, id, level, title, summary, document_ids, epoch, "
            "summarised_at) VALUES ($1, $2, $2, 0, 'Ada', 'Ada met Ben.', $3, 1, now())",
            services.principal.tenant_id, collection.id, [indexed.document_id],
        )  # fmt: skip
        await connection.execute(
            "INSERT INTO rag.community_members SELECT tenant_id, collection_id, collection_id, id, 1 FROM rag.entities"
        )
    await remove(services, "c", indexed.document_id)
    async with services.database.transaction(services.principal) as connection:
        row = await connection.fetchrow("SELECT title, summary, document_ids, summarised_at FROM rag.communities")
        assert tuple(row) == ("", "", [], None)
        assert await connection.fetchval("SELECT count(*) FROM rag.community_members") == 0


async def test_deletion_blanks_what_was_written_of_a_restricted_document(services: Services) -> None:
    """It is in no graph, so nothing of that changes; and when it is gone, nothing says any more that it was restricted."""
    indexed = await publish(services, "c", with_graph(plain("a", "Ada met Ben."), [["Ada", "Ben"]]))
    collection = await get_collection(services, "c")
    await change_document(services, "c", indexed.document_id, access=["group:hr"])
    async with services.database.transaction(services.principal) as connection:
        for number, documents in enumerate(([indexed.document_id], [collection.id])):
            await connection.execute(
                "INSERT INTO rag.communities (tenant_id, collection_id, id, level, title, summary, document_ids, epoch, "
                "summarised_at) VALUES ($1, $2, $3, 0, 'Ada', 'Ada met Ben.', $4, 1, now())",
                services.principal.tenant_id, collection.id, UUID(int=number), documents,
            )  # fmt: skip
    await remove(services, "c", indexed.document_id)
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch("SELECT title, summary, document_ids FROM rag.communities ORDER BY id")
    assert [tuple(row) for row in rows] == [("", "", []), ("Ada", "Ada met Ben.", [collection.id])]


async def test_reindexing_gives_older_documents_their_graph(services: Services) -> None:
    """A collection that is older than the graph, or was indexed without it, has an empty one until then."""
    off = Settings(graph=GraphSettings(enabled=False), jobs=JobsSettings(retry_seconds=0))
    without = replace(services, settings=SettingsStore(initial=off))
    text = "Marie Curie was born in Warsaw. Marie Curie founded the Radium Institute."
    await index_texts(without, {"a": text, "b": "nothing named here"})
    collection = await get_collection(services, "test")
    assert not any((await contents(services, collection.id)).values())
    for expected in (1, 0):
        job = await model_service.start_reindex(services, "test", force=False)
        await services.worker().run_until_idle()
        done = await get_job(services, job.id)
        assert done.result == {"redone": expected, "unchanged": 2 - expected, "overtaken": 0}
    graph = await contents(services, collection.id)
    assert any("Marie Curie" in row[0] for row in graph["entities"])
    assert graph["relations"]
    assert graph["evidence"]
