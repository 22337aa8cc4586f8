"""Re-weighting as a job: beside writers and searches, resumable, and with bounds that hold at every moment."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from cairn.domain.document import Collection
from cairn.ingest.reweight import KIND, reweight_in_batches
from cairn.service.documents import get_collection, index_now
from cairn.settings import LexicalSettings
from cairn.store import collections, jobs, lexical
from cairn.wiring import Services
from tests.db.test_lexical import WORDS, assert_statistics_exact, find, make_texts, query_lexemes, reference
from tests.documents import index_texts, text_source
from tests.sharing import SHARED
from tests.waiting import until

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

SMALL = LexicalSettings(candidate_budget=100)
FULL = LexicalSettings(candidate_budget=1_000_000, candidate_cap=1_000_000)
QUERIES = ("granite summit ridge", "river bridge forest trail anchor rope", "mica gneiss path marker cairn")


def change(services: Services, **values: Any) -> None:
    current = services.settings.current
    services.settings.current = current.model_copy(update={"lexical": current.lexical.model_copy(update=values)})


async def drifted_collection(services: Services) -> Collection:
    """Short texts first, then long ones, and nothing renewed: weights of all rows are far too small."""
    change(services, reweight_drift=1000.0)
    await index_texts(services, {f"s{i}": f"granite ridge {WORDS[i % 30]}" for i in range(60)})
    await index_texts(services, make_texts(60))
    change(services, reweight_drift=0.05)
    return await get_collection(services, "test")


async def stale(services: Services, collection: Collection) -> int:
    async with services.database.transaction(services.principal) as connection:
        return await lexical.stale_count(connection, services.principal, collection.id, "english")


async def assert_bounds_hold(services: Services) -> None:
    async with services.database.transaction(services.principal) as connection:
        broken = await connection.fetch(
            "SELECT w.key, w.weight, t.max_weight FROM rag.lexical_index l "
            "JOIN rag.passages p ON p.id = l.passage_id JOIN rag.collections c ON c.id = l.collection_id "
            "CROSS JOIN rag.lexical_posting(p.search_vector, p.regconfig, c.lex_seed, l.average_length) x "
            "CROSS JOIN unnest(x.keys, x.key_weights) w (key, weight) "
            "JOIN rag.lexical_terms t ON t.collection_id = c.id AND t.key = w.key WHERE w.weight > t.max_weight * 1.00001"
        )
    assert broken == []


async def assert_pruned_equals_full(services: Services, collection: Collection) -> None:
    config = {"isolation": "repeatable_read", "readonly": True}
    async with services.database.transaction(services.principal, **config) as connection:  # type: ignore[arg-type]
        for query in QUERIES:
            pruned = await lexical.search(connection, [collection.id], query, 10, SMALL, None)
            full = await lexical.search(connection, [collection.id], query, 10, FULL, None)
            assert pruned.exact
            assert pruned.hits == full.hits


@pytest.mark.siege
async def test_large_languages_are_left_to_one_job(services: Services) -> None:
    change(services, reweight_inline=100)
    await index_texts(services, {f"s{i}": "short granite" for i in range(80)})
    for part in range(2):
        await index_texts(services, {f"l{part}{i}": "granite " + " ".join(WORDS * 3) for i in range(40)})
    collection = await get_collection(services, "test")
    async with services.database.transaction(services.principal) as connection:
        waiting = [job for job in await jobs.list_(connection, services.principal) if job.kind == KIND]
    assert [job.payload for job in waiting] == [{"collection_id": str(collection.id), "config": "english"}]

    assert await services.worker().run_until_idle() >= 1
    async with services.database.transaction(services.principal) as connection:
        ended = await jobs.get(connection, services.principal, waiting[0].id)
        assert await lexical.find_drifted(connection, services.principal, collection.id, 0.0001) == []
    assert ended is not None
    assert ended.status == "succeeded"
    assert ended.result == {"passages": 160}
    assert (ended.progress.done, ended.progress.total) == (160, 160)
    okapi, query = await reference(services), await query_lexemes(services, "granite")
    result = await find(services, "granite", legs=("lexical",), top_k=40)
    for passage, score in zip(result.legs[0].passage_ids, result.legs[0].scores, strict=True):
        assert score == pytest.approx(okapi.score(str(passage), query), rel=1e-5)


@pytest.mark.siege
async def test_searches_and_writers_during_a_reweighting(services: Services) -> None:
    """Pruned lists equal the full scan at every moment, statistics stay exact, nobody deadlocks."""
    collection = await drifted_collection(services)
    chance = random.Random(4)
    running = True
    checks = 0

    async def searching() -> None:
        nonlocal checks
        while running:
            await assert_pruned_equals_full(services, collection)
            checks += 1

    async def writing() -> None:
        for turn in range(8):
            text = " ".join(chance.choices(WORDS, k=chance.randint(3, 90))) + f" {turn}"
            await index_now(services, "test", [text_source(f"d{chance.randrange(60)}", text)])

    async def nothing(done: int, total: int) -> None:
        assert done <= total

    async def weighting() -> None:
        await reweight_in_batches(
            services.database, services.principal, collection.id, "english", services.settings.current.lexical, nothing,
            batch=10,
        )  # fmt: skip

    search = asyncio.create_task(searching())
    await asyncio.gather(weighting(), writing())
    running = False
    await search
    assert checks > 3
    assert await stale(services, collection) == 0
    await assert_bounds_hold(services)
    await assert_statistics_exact(services)


@pytest.mark.siege
async def test_an_interrupted_reweighting_goes_on_where_it_stopped(services: Services) -> None:
    collection = await drifted_collection(services)
    settings = services.settings.current.lexical

    async def stop(done: int, total: int) -> None:
        if done >= 40:
            raise RuntimeError("the worker died")

    arguments = (services.database, services.principal, collection.id, "english", settings)
    with pytest.raises(RuntimeError, match="died"):
        await reweight_in_batches(*arguments, stop, batch=20)
    assert await stale(services, collection) == 80
    await assert_pruned_equals_full(services, collection)

    async def go_on(done: int, total: int) -> None:
        assert total == 80

    assert await reweight_in_batches(*arguments, go_on, batch=20) == 80
    assert await stale(services, collection) == 0
    assert await reweight_in_batches(*arguments, go_on, batch=20) == 0


async def test_a_writer_overtaken_by_a_new_average_raises_its_bounds(services: Services) -> None:
    """A document weighted with the old average is re-weighted under the lock, and its terms' bounds follow."""
    collection = await drifted_collection(services)
    async with services.database.transaction(services.principal) as connection:
        await collections.touch(connection, services.principal, collection.id)
        text = " ".join(["unheard"] * 3 + WORDS)
        writer = asyncio.create_task(index_now(services, "test", [text_source("new", text)]))
        await until(lambda: connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        await lexical.renew_average(connection, services.principal, collection.id, "english")
    await writer
    await assert_bounds_hold(services)
