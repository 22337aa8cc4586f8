"""Small documents are published together: what is stored is the same, and what cannot be stored fails alone."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
from pgvector import HalfVector

from cairn.domain.document import Indexed, PreparedDocument, Rejected
from cairn.ingest.pipeline import ingest
from cairn.service.documents import ensure_collection, get_collection, list_documents
from cairn.store import documents
from cairn.wiring import Services
from tests.db.graphs import publish, random_document
from tests.db.runs import change
from tests.db.test_lexical import assert_statistics_exact
from tests.documents import text_source
from tests.sharing import SHARED

pytestmark = SHARED

STORED = {
    "terms": "SELECT document_frequency, max_weight FROM rag.lexical_terms WHERE collection_id = $1",
    "stats": "SELECT regconfig, passage_count, total_length FROM rag.lexical_stats WHERE collection_id = $1",
    "entities": "SELECT family, normal, name, kind, passage_count, implied_count FROM rag.entities WHERE collection_id = $1",
    "relations": "SELECT kind, evidence_count, strength FROM rag.relations WHERE collection_id = $1",
    "adjacency": "SELECT outgoing, weight FROM rag.adjacency WHERE collection_id = $1",
    "counts": "SELECT document_count, passage_count, chunk_count, byte_count FROM rag.collections WHERE id = $1",
    "documents": "SELECT external_id, version, status, passage_count, chunk_count, token_count FROM rag.documents "
    "WHERE collection_id = $1",
}


async def publish_together(services: Services, collection: str, prepared: list[PreparedDocument]) -> list[Indexed]:
    found, model = await ensure_collection(services, collection), services.search_deps.model
    principal = services.principal
    async with services.database.transaction(principal) as connection:
        known = await documents.register_all(
            connection, principal, found.id, [(one.source, one.content_hash) for one in prepared]
        )
        versions = [
            documents.NewVersion(
                row.id, one,
                {model.id: [HalfVector(v) for v in np.eye(len(one.chunks), model.dimensions, dtype=np.float16)]},
            )
            for row, one in zip(known, prepared, strict=True)
        ]  # fmt: skip
        return await documents.publish(connection, found.id, model.id, versions, keep_original=False)


def made(name: str, seed: int) -> PreparedDocument:
    """The same each time, but for the ids of its passages and chunks."""
    return random_document(name, random.Random(f"{name} {seed}"))


async def stored(services: Services, collection: str) -> dict[str, list[Any]]:
    """What does not depend on ids."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return {
            name: sorted(tuple(row) for row in await connection.fetch(statement, found.id))
            for name, statement in STORED.items()
        }


async def test_a_group_leaves_what_documents_leave_one_by_one(services: Services) -> None:
    """New documents, and new versions beside new documents; the first sets the average length for both."""
    for name in ("alone", "together"):
        await publish(services, name, made("first", 0))
    for seed, numbers in ((1, range(12)), (2, range(6, 18))):
        for number in numbers:
            await publish(services, "alone", made(f"d{number}", seed))
        before = (await get_collection(services, "together")).epoch
        versions = await publish_together(services, "together", [made(f"d{number}", seed) for number in numbers])
        assert (await get_collection(services, "together")).epoch == before + 1
        assert [one.external_id for one in versions] == [f"d{number}" for number in numbers]
        assert await stored(services, "together") == await stored(services, "alone")
    assert {one.version for one in versions} == {1, 2}
    await assert_statistics_exact(services, "together")


async def test_groups_in_any_order_do_not_deadlock(services: Services) -> None:
    chance = random.Random(5)
    await publish(services, "c", made("first", 0))
    names = [f"d{number}" for number in range(10)]
    for turn in range(3):
        groups = [[made(name, 4 * turn + writer) for name in chance.sample(names, 10)] for writer in range(4)]
        await asyncio.gather(*(publish_together(services, "c", group) for group in groups))
    await assert_statistics_exact(services, "c")


async def test_documents_of_a_run_become_searchable_in_groups(services: Services) -> None:
    found = await ensure_collection(services, "test")
    target = services.target(services.principal, found.id)
    texts = [text_source(f"d{number:02}", f"granite cairn number {number}") for number in range(40)]
    outcomes = await ingest(services.database, target, texts)
    assert [one.version for one in outcomes if isinstance(one, Indexed)] == [1] * 40
    after = await get_collection(services, "test")
    assert after.document_count == 40
    assert after.epoch - found.epoch < 40, "no commit of its own for each"
    await assert_statistics_exact(services)


async def test_what_finds_no_room_is_rejected_alone(services: Services) -> None:
    """The first five of a group are kept, and all are told what became of them."""
    change(services, "limits", documents=5)
    found = await ensure_collection(services, "test")
    target = services.target(services.principal, found.id)
    outcomes = await ingest(
        services.database, target, [text_source(f"d{number}", f"basalt trail {number}") for number in range(8)]
    )
    assert [type(one) for one in outcomes].count(Indexed) == 5
    assert {one.code for one in outcomes if isinstance(one, Rejected)} == {"tenant-full"}
    listed = await list_documents(services, "test")
    assert [one.status for one in listed].count("indexed") == 5
    await assert_statistics_exact(services)
