"""Vectors of names: merges that can be undone, and links of questions that name no entity (issue 5, items 2 and 5)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from pgvector import HalfVector

from app.graph.link import Meaning, find_entities
from app.service import jobs as job_actions
from app.service.documents import delete_document, get_collection, list_documents
from app.settings import SettingsStore, parse_settings
from app.store import graph
from app.wiring import Services
from tests.documents import index_texts

TEXTS = {
    "a": "The Castle Studios were founded by Anna Kowalski in Krakow. The Castle Studios were large.",
    "b": "He recorded with Peter Meier at Castle Studio in Krakow.",
}


def with_vectors(services: Services, **vectors: Any) -> Services:

    raw = json.dumps({"graph": {"vectors": {"enabled": True, **vectors}}, "jobs": {"retrySeconds": 0}})
    return replace(services, settings=SettingsStore(initial=parse_settings(raw.encode())))


async def work(services: Services) -> dict[str, Any]:
    await services.worker().run_until_idle()
    job = next(one for one in await job_actions.list_jobs(services) if one.kind == "graph_vectors")
    assert job.status == "succeeded", job.error
    return dict(job.result or {})


async def query(services: Services, sql: str) -> list[Any]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found: list[Any] = await connection.fetch(sql)
        return found


async def links(services: Services, question: str, least: float) -> list[tuple[str, str]]:
    collection = await get_collection(services, "test")
    [made] = await services.retriever.embedder.embed([question])
    meaning = Meaning(services.retriever.model.id, HalfVector(made.astype(np.float16)), least)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await find_entities(connection, services.principal, collection.id, question, meaning=meaning)
    return [(link.name, link.how) for link in found]


async def test_off_by_default(services: Services) -> None:
    await index_texts(services, TEXTS)
    assert not [one for one in await job_actions.list_jobs(services) if one.kind == "graph_vectors"]
    assert await links(services, "zzz", 0.0) == []


async def test_a_question_that_names_nothing_links_by_meaning(services: Services, other_tenant: Services) -> None:
    on = with_vectors(services)
    await index_texts(on, TEXTS)
    result = await work(on)
    assert result["embedded"] == (await query(on, "SELECT count(*) FROM rag.entities"))[0][0] > 3
    assert result["merged"] == 0, "linking only, unless mergeFrom says otherwise"
    found = await links(on, "recordings in a fortress", 0.2)
    assert found
    assert found[0][0].startswith("Castle Studio")
    assert {how for _, how in found} == {"vector"}
    assert await links(on, "recordings in a fortress", 0.99) == []
    assert ("Anna Kowalski", "name") in await links(on, "Who is Anna Kowalski?", 0.0), "names come first"
    await index_texts(other_tenant, {"c": "Nothing is named here."})
    assert await links(other_tenant, "recordings in a fortress", 0.0) == []


async def test_merges_are_guarded_logged_and_never_repeated(services: Services) -> None:
    on = with_vectors(services, mergeFrom=0.85)
    await index_texts(on, TEXTS)
    assert (await work(on))["merged"] == 1
    [merge] = await query(
        on, "SELECT m.id, m.reason, e.name, t.name AS into FROM rag.entity_merges m "
        "JOIN rag.entities e ON e.id = m.entity_id JOIN rag.entities t ON t.id = m.into_id",
    )  # fmt: skip
    assert merge["reason"] == "embedding"
    assert {merge["name"], merge["into"]} == {"Castle Studio", "Castle Studios"}
    collection = await get_collection(on, "test")
    async with on.database.transaction(on.principal) as connection:
        assert await graph.unmerge(connection, collection.id, merge["id"])
    await index_texts(on, {"c": "Lena Fischer is at Castle Studios."})
    assert (await work(on))["merged"] == 0
    assert len(await query(on, "SELECT FROM rag.entity_merges")) == 1


async def test_vectors_go_with_their_entities_and_are_bounded(services: Services) -> None:
    on = with_vectors(services, maxEntities=2)
    await index_texts(on, TEXTS)
    assert (await work(on))["embedded"] == 2
    assert len(await query(on, "SELECT FROM rag.entity_vectors")) == 2
    for document in await list_documents(on, "test"):
        await delete_document(on, "test", document.id)
    assert await query(on, "SELECT FROM rag.entity_vectors") == []
