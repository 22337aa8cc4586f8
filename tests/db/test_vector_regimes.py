"""The three regimes of the vector leg, the jobs behind them, and the recall self-check."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import structlog

from cairn.db.vector_indexes import vector_ddl
from cairn.domain.job import Job, PlannedIndex
from cairn.domain.passage import SearchRequest
from cairn.errors import SettingsError
from cairn.ingest.bulk import BulkRun
from cairn.jobs import vector_indexes as handlers
from cairn.retrieve.vector import RegimeGroup, ServedCollection, choose_regimes
from cairn.service.documents import delete_collection, get_collection, get_recall, index_now, list_recall
from cairn.service.jobs import order_checks, order_plan
from cairn.service.search import get_trace, run_search
from cairn.settings import Settings, SettingsStore, VectorSettings, parse_settings
from cairn.store import jobs, lexical, vector_indexes, vectors
from cairn.store.vectors import EmbeddingModel
from cairn.wiring import Services
from tests.conftest import REPO
from tests.documents import find, text_source
from tests.waiting import hang_guard, until

pytestmark = pytest.mark.usefixtures("hashed_vectors")

SMALL = VectorSettings(exact_below=4, dedicated_above=8, max_dedicated_indexes=2, recall_sample=10)


def scaled(services: Services, **changes: Any) -> Services:
    """The same services with thresholds that a test can reach."""
    vector = SMALL.model_copy(update=changes)
    return replace(services, settings=SettingsStore(initial=Settings(vector=vector)))


async def fill(services: Services, collection: str, size: int) -> UUID:
    sources = [
        text_source(f"d{i}", f"note {i} of {collection} about granite and {i % 17} cairns", part=i % 10)
        for i in range(size)
    ]
    await index_now(services, collection, sources)
    return (await get_collection(services, collection)).id


async def catalog(services: Services) -> dict[str, bool]:
    async with vector_ddl(services.owner_dsn) as ddl:
        return await ddl.existing()


async def states(services: Services) -> dict[str, str]:
    """Collection name to the state of its index."""
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT c.name, x.state FROM rag.vector_indexes x JOIN rag.collections c ON c.id = x.collection_id"
        )
    return {row["name"]: row["state"] for row in rows}


async def parts_of(services: Services, trace_id: UUID) -> list[Mapping[str, Any]]:
    parts: list[Mapping[str, Any]] = (await get_trace(services, trace_id)).plan["vector"]["parts"]
    return parts


# --- vectors from before passages stood beside them ---


@pytest.mark.siege
async def test_old_vectors_are_found_and_filled_in_portions(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the job and after it a search finds the same."""
    await fill(services, "old", 14)
    before = await find(services, "granite and 3 cairns", "old", legs=("vector",), cache=False)
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("UPDATE rag.embeddings SET passage_id = NULL")
        await jobs.enqueue(connection, services.principal, handlers.FILL, {}, max_attempts=3)
    without = await find(services, "granite and 3 cairns", "old", legs=("vector",), cache=False)
    monkeypatch.setattr(handlers, "PORTION", 6)
    assert await services.worker().run_until_idle() == 1
    async with services.database.transaction(services.principal) as connection:
        [job] = [job for job in (await jobs.list_(connection, services.principal)) if job.kind == handlers.FILL]
        right = await connection.fetchval(
            "SELECT count(*) FROM rag.embeddings e JOIN rag.chunks c ON c.id = e.chunk_id AND c.passage_id = e.passage_id"
        )
    assert (job.status, job.result, right) == ("succeeded", {"filled": 14}, 14)
    after = await find(services, "granite and 3 cairns", "old", legs=("vector",), cache=False)
    order = [passage.passage_id for passage in before.passages]
    assert [p.passage_id for p in without.passages] == [p.passage_id for p in after.passages] == order
    assert not without.retries


# --- the choice: a pure function --------------------------------------------------------------------------------------

TINY = EmbeddingModel(1, "tiny", 4)
OTHER = EmbeddingModel(2, "other", 4)
WIDE = EmbeddingModel(3, "wide", 5000)
IDS = [UUID(int=n) for n in range(6)]


def test_small_sets_are_scanned_exactly_even_with_an_index() -> None:
    """A filter that leaves few chunks makes any collection a small set."""
    chosen = choose_regimes([ServedCollection(IDS[0], 4, TINY)], {(IDS[0], 1): True}, SMALL)
    assert chosen == [RegimeGroup("exact", TINY, (IDS[0],), 4)]


def test_large_collections_use_their_own_index_and_the_others_share() -> None:
    searched = [
        ServedCollection(IDS[0], 500, TINY),
        ServedCollection(IDS[1], 60, TINY),
        ServedCollection(IDS[2], 20, TINY),
    ]
    assert choose_regimes(searched, {(IDS[0], 1): True}, SMALL) == [
        RegimeGroup("dedicated", TINY, (IDS[0],), 500),
        RegimeGroup("shared", TINY, (IDS[1], IDS[2]), 80),
    ]


def test_models_are_never_mixed_in_one_statement() -> None:
    searched = [
        ServedCollection(IDS[0], 500, TINY),
        ServedCollection(IDS[1], 500, OTHER),
        ServedCollection(IDS[2], 9, OTHER),
    ]
    chosen = choose_regimes(searched, {(IDS[1], 1): True}, SMALL)
    assert [(part.regime, part.model.id, part.collections) for part in chosen] == [
        ("shared", 1, (IDS[0],)), ("shared", 2, (IDS[1], IDS[2])),
    ]  # fmt: skip


def test_vectors_too_long_for_hnsw_are_scanned() -> None:
    assert [part.regime for part in choose_regimes([ServedCollection(IDS[0], 9999, WIDE)], {}, SMALL)] == ["exact"]


async def test_of_which_little_may_be_read_is_compared_from_where_the_statement_does(owner: Any) -> None:
    """The line of rag.most_compared, by which a search of one collection goes; where all may be read there is none."""
    for everything, wanted in ((8000, 60), (50_000, 100), (1000, 200)):
        most = await owner.fetchval("SELECT rag.most_compared($1, $2)", everything, wanted)
        for readable, regime in ((most, "exact"), (most + 1, "shared"), (everything, "shared")):
            item = ServedCollection(IDS[0], readable, TINY, everything - readable)
            assert [part.regime for part in choose_regimes([item], {}, SMALL, compared=wanted)] == [regime]
            assert [part.regime for part in choose_regimes([item], {}, SMALL)] == ["shared"], "under filters"


def test_empty_collections_are_not_searched() -> None:
    assert choose_regimes([ServedCollection(IDS[0], 0, TINY)], {}, SMALL) == []


# --- indexes of collections, end to end -------------------------------------------------------------------------------


async def test_a_collection_that_grows_gets_its_index_and_uses_it(services: Services) -> None:
    """An ingest run that crosses the threshold orders the plan; the regime, efSearch and recall stand where people look."""
    small = scaled(services)
    await fill(small, "large", 10)
    before = await find(small, "granite", "large", legs=("vector",))
    assert [part["regime"] for part in await parts_of(small, before.trace_id)] == ["shared"]

    assert await small.worker().run_until_idle() == 2  # the plan, and the check that follows a build
    assert await states(small) == {"large": "ready"}
    assert list((await catalog(small)).values()) == [True]

    after = await find(small, "granite and 3 cairns", "large", legs=("vector",), top_k=10)
    assert len(after.passages) == 10
    assert not after.exact
    assert await parts_of(small, after.trace_id) == [
        {"regime": "dedicated", "model": "hashed:one", "collections": 1, "visible_chunks": 10,
         "ef_search": 80, "fell_back": False},
    ]  # fmt: skip
    async with small.database.transaction(small.principal) as connection:
        check = await vector_indexes.latest_check(
            connection, small.principal, (await get_collection(small, "large")).id
        )
    assert check is not None
    assert (check.regime, check.k, check.sample, check.ef_search) == ("dedicated", 10, 10, 80)
    assert check.recall > 0.9


async def test_the_same_is_found_by_every_regime(services: Services) -> None:
    small = scaled(services)
    await fill(small, "large", 24)
    found = {}
    for name, vector in {"exact": {"exact_below": 10**6}, "shared": {}}.items():
        result = await find(scaled(services, **vector), "granite and 3 cairns", "large", legs=("vector",))
        assert result.exact == (name == "exact")
        found[name] = [p.external_id for p in result.passages]
    await small.worker().run_until_idle()
    result = await find(small, "granite and 3 cairns", "large", legs=("vector",))
    found["dedicated"] = [p.external_id for p in result.passages]
    assert len(set(found["exact"]) & set(found["shared"])) >= 9
    assert len(set(found["exact"]) & set(found["dedicated"])) >= 9


async def test_a_rare_filter_is_exact_and_a_common_one_complete(services: Services) -> None:
    """Always min(k, visible) rows."""
    small = scaled(services)
    await fill(small, "large", 50)
    await small.worker().run_until_idle()
    rare = await find(small, "granite", "large", legs=("vector",), filters={"part": 3}, top_k=100)
    assert len(rare.passages) == 5
    exact = scaled(services, exact_below=5)
    assert (await find(exact, "granite", "large", legs=("vector",), filters={"part": 3})).exact
    assert {p.metadata["part"] for p in rare.passages} == {3}


async def test_only_the_largest_have_an_index_and_the_number_is_bounded(services: Services) -> None:
    """Indexes cost every statement on the table, so there are at most maxDedicatedIndexes, over all tenants."""
    small = scaled(services)
    for name, size in {"a": 10, "b": 13, "c": 11, "tiny": 2}.items():
        await fill(small, name, size)
    await small.worker().run_until_idle()
    assert await states(small) == {"b": "ready", "c": "ready"}
    # a little larger does not take an index away, much larger does
    await fill(small, "a", 13)
    await small.worker().run_until_idle()
    assert await states(small) == {"b": "ready", "c": "ready"}
    await fill(small, "a", 18)
    await small.worker().run_until_idle()
    assert await states(small) == {"a": "ready", "b": "ready"}
    assert len(await catalog(small)) == 2


@pytest.mark.siege
async def test_plans_of_one_tenant_serve_all_without_showing_them(services: Services, other_tenant: Services) -> None:
    """The plan is over all tenants; rows of the state stay with theirs."""
    small = scaled(services)
    await fill(small, "mine", 9)
    await fill(scaled(other_tenant), "yours", 10)
    await small.worker().run_until_idle()
    assert await states(small) == {"mine": "ready"}
    assert await states(other_tenant) == {"yours": "ready"}


async def test_the_index_of_a_deleted_collection_goes(services: Services) -> None:
    small = scaled(services)
    await fill(small, "large", 10)
    await small.worker().run_until_idle()
    await delete_collection(small, "large")
    await small.worker().run_until_idle()
    assert await catalog(small) == {}


@pytest.mark.siege
async def test_a_search_while_the_index_is_dropped_finds_everything(services: Services) -> None:
    """A search that saw `ready` and lost the index falls to another plan of the same statement."""
    small = scaled(services)
    await fill(small, "large", 10)
    await small.worker().run_until_idle()
    async with vector_ddl(small.owner_dsn) as ddl:
        for name in await ddl.existing():
            await ddl.drop(name)
    assert len((await find(small, "granite", "large", legs=("vector",), top_k=10)).passages) == 10


async def test_indexes_are_built_as_the_settings_say(services: Services) -> None:
    small = scaled(services, m=8, ef_construction=40)
    await fill(small, "large", 10)
    await small.worker().run_until_idle()
    owner = await asyncpg.connect(small.owner_dsn)
    (name,) = await catalog(small)
    options = await owner.fetchval("SELECT reloptions FROM pg_class WHERE oid = $1::text::regclass", f"rag.{name}")
    await owner.close()
    assert options == ["m=8", "ef_construction=40"]
    with pytest.raises(SettingsError, match="at least 2 m, here 80"):
        parse_settings(b'{"vector": {"m": 40, "efConstruction": 64}}')


# --- interruptions ----------------------------------------------------------------------------------------------------


async def ignored(done: int, total: int, message: str) -> None:
    """What a build says of its progress."""


async def planned(services: Services) -> PlannedIndex:
    async with services.database.connection() as connection:
        return next(i for i in await vector_indexes.plan(connection, services.settings.current.vector) if i.wanted)


@pytest.mark.siege
async def test_an_invalid_index_is_built_again(services: Services) -> None:
    """What kill -9 in the middle of a concurrent build leaves behind."""
    small = scaled(services)
    await fill(small, "large", 10)
    index = await planned(small)
    async with vector_ddl(small.owner_dsn) as ddl:
        await ddl.create(index, ignored)
    owner = await asyncpg.connect(small.owner_dsn)
    await owner.execute(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'rag.{index.name}'::regclass")
    await owner.close()
    async with small.database.transaction(small.principal) as connection:
        await vector_indexes.mark_building(connection, index)
    assert await catalog(small) == {index.name: False}
    await small.worker().run_until_idle()
    assert await catalog(small) == {index.name: True}
    assert await states(small) == {"large": "ready"}


KILLED = """
import asyncio, os, signal, sys
from cairn.db.vector_indexes import vector_ddl
from cairn.domain.job import PlannedIndex
from cairn.domain.passage import SearchRequest
from uuid import UUID

async def main():
    async with vector_ddl(sys.argv[1]) as ddl:
        print("locked", flush=True)
        index = PlannedIndex(int(sys.argv[2]), UUID(sys.argv[3]), int(sys.argv[4]), 32, 0, True, False)
        await ddl.create(index, ignored)

async def ignored(*progress):
    pass

asyncio.run(main())
"""


@pytest.mark.siege
@pytest.mark.fault
async def test_a_killed_builder_is_followed_by_another(services: Services) -> None:
    """kill -9 of the process that builds: its backend ends, the lock is free, and the next worker builds the index."""
    small = scaled(services)
    await fill(small, "large", 10)
    index = await planned(small)
    blocker = await asyncpg.connect(small.owner_dsn)  # a transaction that a concurrent build must wait for
    transaction = blocker.transaction(isolation="repeatable_read")
    await transaction.start()
    await blocker.execute("LOCK TABLE rag.embeddings IN ROW EXCLUSIVE MODE")
    command = [sys.executable, "-c", textwrap.dedent(KILLED), small.owner_dsn, str(index.tenant_id)]
    builder = await asyncio.to_thread(
        subprocess.Popen,
        [*command, str(index.collection_id), str(index.model_id)],
        stdout=subprocess.PIPE,
        cwd=REPO,
    )
    assert builder.stdout is not None
    assert await asyncio.to_thread(builder.stdout.readline) == b"locked\n"
    await until(lambda: invalid(small, index.name))
    os.kill(builder.pid, signal.SIGKILL)
    builder.wait()
    await transaction.rollback()
    await blocker.close()
    async with hang_guard(30):
        await small.worker().run_until_idle()
    assert await catalog(small) == {index.name: True}
    assert await states(small) == {"large": "ready"}


async def invalid(services: Services, name: str) -> bool:
    owner = await asyncpg.connect(services.owner_dsn)
    found = await owner.fetchval(
        "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", f"rag.{name}"
    )
    await owner.close()
    return bool(found)


@pytest.mark.siege
async def test_two_workers_take_turns(services: Services, other_tenant: Services) -> None:
    """Waiting in a lock would hang with a concurrent build for ever, so turns are asked for."""
    small = scaled(services)
    await fill(small, "large", 10)
    for tenant in (services, other_tenant):
        async with tenant.database.transaction(tenant.principal) as connection:
            await handlers.enqueue_plan(connection, tenant.principal)
    async with hang_guard(60):
        attempts = await asyncio.gather(*(scaled(s).worker().run_until_idle() for s in (services, other_tenant)))
    assert sum(attempts) == 3  # two plans and one check
    assert list((await catalog(small)).values()) == [True]


async def test_a_plan_tells_a_tenant_of_its_own_indexes_alone(services: Services, other_tenant: Services) -> None:
    """It is one for all tenants, and the job is of the one that ordered it."""
    small, theirs = scaled(services), scaled(other_tenant)
    for tenant, name in ((small, "mine"), (theirs, "rivals")):
        await fill(tenant, name, 10)
    await forget_jobs(theirs)
    async with small.database.connection() as connection:
        plan = await vector_indexes.plan(connection, small.settings.current.vector)
    [own] = [one.name for one in plan if one.tenant_id == small.principal.tenant_id]
    with structlog.testing.capture_logs() as logs:
        await small.worker().run_until_idle()
    both = sorted(await catalog(small))
    assert len(both) == 2
    [done] = await plans(small)
    assert done.result == {"built": [own], "dropped": []}
    assert (done.progress.done, done.progress.total, done.progress.message) == (100, 100, "done")
    assert [sorted(one["built"]) for one in logs if one["event"] == "vector.indexes"] == [both], "the log has all"

    for tenant, name in ((theirs, "rivals"), (small, "mine")):
        await delete_collection(tenant, name)
    await forget_jobs(theirs)
    await small.worker().run_until_idle()
    assert await catalog(small) == {}
    assert [one.result for one in await plans(small)] == [{"built": [], "dropped": []}, done.result]


async def forget_jobs(services: Services) -> None:
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("DELETE FROM rag.jobs")


async def plans(services: Services) -> list[Job]:
    async with services.database.transaction(services.principal) as connection:
        listed = await jobs.list_(connection, services.principal)
    return [one for one in listed if one.kind == handlers.PLAN]


# --- settings in force ------------------------------------------------------------------------------------------------


async def test_ef_search_in_force_is_that_of_the_settings(services: Services) -> None:
    """A setting, local to the transaction, so it does not leak through the pool."""
    wide = scaled(services, ef_search=333)
    await fill(wide, "large", 10)
    result = await find(wide, "granite", "large", legs=("vector",))
    assert [part["ef_search"] for part in await parts_of(wide, result.trace_id)] == [333]
    async with services.database.transaction(services.principal) as connection:
        assert await connection.fetchval("SELECT current_setting('hnsw.ef_search')") != "333"


async def test_large_collections_are_searched_more_broadly(services: Services) -> None:
    """With the root of their size beyond 50,000 chunks, and never beyond what pgvector allows."""
    wide = scaled(services, ef_search=80)
    await fill(wide, "large", 10)
    for chunks, expected in ((50_000, 80), (200_000, 160), (1_000_000, 358), (20_000_000, 1000)):
        async with services.database.transaction(services.principal) as connection:
            await connection.execute("UPDATE rag.collections SET chunk_count = $1 WHERE name = 'large'", chunks)
        for group_by in ("passage", "document"):  # in one statement, and stepwise
            result = await find(wide, "granite", "large", legs=("vector",), group_by=group_by, cache=False)
            assert [part["ef_search"] for part in await parts_of(wide, result.trace_id)] == [expected], group_by


# --- the recall self-check --------------------------------------------------------------------------------------------


async def test_a_recall_check_is_stored_and_shown(services: Services) -> None:
    """Compared with the exact scan, the vector itself left out; shown to analysts, the API and Prometheus."""
    small = scaled(services)
    await fill(small, "large", 10)
    await order_plan(small)
    await order_checks(small)
    assert await small.worker().run_until_idle() >= 2
    collection = await get_collection(small, "large")
    check = await get_recall(small, collection)
    assert check is not None
    assert check.model == "hashed:one"
    assert 0.9 < check.recall <= 1
    assert await list_recall(small, 10) == {"large": check.recall}
    analyst = await asyncpg.connect(small.owner_dsn)
    row = await analyst.fetchrow("SELECT * FROM analyst.recall_checks ORDER BY checked_at DESC LIMIT 1")
    await analyst.close()
    assert (row["collection"], row["recall"], row["k"]) == ("large", check.recall, 10)
    # checked today: nothing is ordered again
    await order_checks(small)
    async with small.database.transaction(small.principal) as connection:
        assert (
            await connection.fetchval(
                "SELECT count(*) FROM rag.jobs WHERE status = 'queued' AND kind = $1", handlers.CHECK
            )
            == 0
        )


BADLY_INDEXED = """
DROP INDEX rag.embeddings_hnsw_1;
INSERT INTO rag.chunks (tenant_id, id, passage_id, document_id, collection_id, ordinal, char_start, char_end, headings,
  token_count, token_counter, content)
SELECT tenant_id, gen_random_uuid(), id, document_id, collection_id, n, 0, 1, '{}', 1, 't', 'x'
FROM rag.passages, generate_series(1, 50) n;
INSERT INTO rag.embeddings (tenant_id, chunk_id, model_id, document_id, collection_id, content_hash, embedding)
SELECT tenant_id, id, 1, document_id, collection_id, '',
  (SELECT array_agg(random() - .5) FROM generate_series(1, 32) WHERE id IS NOT NULL)::halfvec
FROM rag.chunks WHERE content = 'x';
UPDATE rag.collections SET chunk_count = (SELECT count(*) FROM rag.chunks);
CREATE INDEX embeddings_hnsw_1 ON rag.embeddings USING hnsw ((embedding::halfvec(32)) halfvec_cosine_ops)
  WITH (m = 2, ef_construction = 4) WHERE model_id = 1;
ANALYZE rag.embeddings;
"""


async def test_a_recall_check_sees_what_a_broken_index_misses(services: Services) -> None:
    """The check would be worthless if it could not fail."""
    small = scaled(services, ef_search=10, dedicated_above=10**6)
    collection_id = await fill(small, "large", 20)
    owner = await asyncpg.connect(small.owner_dsn)
    # random vectors in far too narrow a graph: what a badly built index looks like
    await owner.execute(BADLY_INDEXED)
    await owner.close()
    warned = []
    for least in (1.0, 0.0):
        checked = scaled(services, ef_search=10, dedicated_above=10**6, min_recall=least)
        async with small.database.transaction(small.principal) as connection:
            await connection.execute("DELETE FROM rag.jobs")
            await handlers.enqueue_check(connection, small.principal, collection_id)
        with structlog.testing.capture_logs() as logs:
            await checked.worker().run_until_idle()
        warned.append([entry["log_level"] for entry in logs if entry["event"] == "vector.low_recall"])
    assert warned == [["warning"], []]
    check = await get_recall(small, await get_collection(small, "large"))
    assert check is not None
    assert check.regime == "shared"
    assert check.recall < 1


async def test_small_collections_are_not_checked_daily(services: Services) -> None:
    small = scaled(services)
    await fill(small, "tiny", 2)
    await order_plan(small)
    await order_checks(small)
    assert await small.worker().run_until_idle() == 0


# --- one index per vector ---------------------------------------------------------------------------------------------


async def places(services: Services, collection: str) -> dict[bool, int]:
    """Vectors of the collection by whether they are own."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT own, count(*) AS vectors FROM rag.embeddings WHERE collection_id = $1 GROUP BY own", found.id
        )
    return {row["own"]: row["vectors"] for row in rows}


async def finds_all(services: Services, collection: str, documents: int) -> bool:
    """By the one statement and, with a filter that all match, step by step."""
    once = await find(services, "granite", collection, legs=("vector",), top_k=documents, cache=False)
    stepwise = await find(
        services, "granite", collection, legs=("vector",), top_k=documents, cache=False, filters={"kind": "note"}
    )
    return len(once.passages) == len(stepwise.passages) == documents


async def notes(services: Services, collection: str, first: int, last: int) -> None:
    sources = [
        text_source(f"n{i}", f"note {i} about granite and {i % 17} cairns", kind="note") for i in range(first, last)
    ]
    await index_now(services, collection, sources)


class Crash(Exception):
    """Stands for the death of the process."""


async def reconcile(services: Services, monkeypatch: pytest.MonkeyPatch, step: str, after: int) -> None:
    """One attempt at the plan that dies at the given call of a step."""
    real, calls = getattr(vector_indexes, step), 0

    async def dying(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Crash
        return await real(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(handlers, "PORTION", 3)
        patched.setattr(vector_indexes, step, dying)
        async with services.database.transaction(services.principal) as connection:
            await handlers.enqueue_plan(connection, services.principal)
        await services.worker().run_until_idle()
    assert calls > after
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("DELETE FROM rag.jobs")


async def replan(services: Services) -> None:
    await order_plan(services)
    await services.worker().run_until_idle()


@pytest.mark.sweep(4)
@pytest.mark.fault
@pytest.mark.parametrize(("step", "after"), [("mark_building", 0), ("move", 0), ("move", 2), ("mark_built", 0)])
async def test_a_build_that_dies_anywhere_hides_nothing_and_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch, step: str, after: int
) -> None:
    small = scaled(services)
    await notes(small, "large", 0, 10)
    await reconcile(small, monkeypatch, step, after)
    assert await finds_all(small, "large", 10)
    await notes(small, "large", 10, 12)  # goes where the state says
    assert await finds_all(small, "large", 12)
    await replan(small)
    assert await states(small) == {"large": "ready"}
    assert await places(small, "large") == {True: 12}
    assert await finds_all(small, "large", 12)


@pytest.mark.sweep(4)
@pytest.mark.fault
@pytest.mark.parametrize(("step", "after"), [("mark_dropping", 0), ("move", 0), ("move", 2), ("mark_dropped", 0)])
async def test_a_drop_that_dies_anywhere_hides_nothing_and_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch, step: str, after: int
) -> None:
    small = scaled(services)
    await notes(small, "large", 0, 10)
    await small.worker().run_until_idle()
    assert await places(small, "large") == {True: 10}
    larger = scaled(services, dedicated_above=1000)
    await reconcile(larger, monkeypatch, step, after)
    assert await finds_all(larger, "large", 10)
    await notes(larger, "large", 10, 12)
    assert await finds_all(larger, "large", 12)
    await replan(larger)
    assert await states(larger) == {}
    assert await places(larger, "large") == {False: 12}
    assert await finds_all(larger, "large", 12)
    assert await catalog(larger) == {}


@pytest.mark.siege
@pytest.mark.parametrize(("begun", "committed"), [(None, "building"), ("ready", "dropping")])
async def test_a_publish_in_flight_corrects_what_it_wrote_by_the_old_state(
    services: Services, monkeypatch: pytest.MonkeyPatch, begun: str | None, committed: str
) -> None:
    """The state changes between its insertion and its commit."""
    small = scaled(services)
    await notes(small, "large", 0, 6)
    collection = await get_collection(small, "large")
    async with small.database.connection() as connection:
        model = (await vectors.models(connection, [1]))[1]
    index = PlannedIndex(small.principal.tenant_id, collection.id, model.id, model.dimensions, 6, True, False)
    async with small.database.transaction(small.principal) as connection:
        if begun:
            await vector_indexes.mark_building(connection, index)
            await vector_indexes.mark_built(connection, index)
    async with asyncio.TaskGroup() as group:
        async with small.database.transaction(small.principal) as connection:
            await lexical.lock(connection, small.principal, collection.id)
            publishing = group.create_task(notes(small, "large", 6, 7))
            await until(lambda: waiting_for_lock(small))
            mark = vector_indexes.mark_building if committed == "building" else vector_indexes.mark_dropping
            await mark(connection, index)
        await publishing
    async with small.database.connection() as connection:
        await connection.execute("SELECT set_config('app.tenant', $1, false)", str(small.principal.tenant_id))
        own = await connection.fetchval(
            "SELECT e.own FROM rag.embeddings e JOIN rag.documents d ON d.id = e.document_id WHERE d.external_id = 'n6'"
        )
        await connection.execute("SELECT set_config('app.tenant', '', false)")
    assert own == (committed == "building")


async def waiting_for_lock(services: Services) -> bool:
    owner = await asyncpg.connect(services.owner_dsn)
    found = await owner.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    await owner.close()
    return bool(found)


@pytest.mark.siege
async def test_documents_that_arrive_while_vectors_are_moved_are_found(services: Services) -> None:
    small = scaled(services)
    await notes(small, "large", 0, 12)
    async with asyncio.TaskGroup() as group:
        group.create_task(small.worker().run_until_idle())
        for first in range(12, 20, 2):
            await notes(small, "large", first, first + 2)
            assert await finds_all(small, "large", first + 2)
    await replan(small)
    assert await states(small) == {"large": "ready"}
    assert await places(small, "large") == {True: 20}


@pytest.mark.siege
async def test_several_collections_at_once_find_what_lies_in_their_own_indexes(services: Services) -> None:
    """A small part of a search may lie in an index of its own too: the shared index does not hold it."""
    small = scaled(services)
    await notes(small, "large", 0, 10)
    await notes(small, "other", 200, 205)
    await small.worker().run_until_idle()
    assert await states(small) == {"large": "ready"}
    narrow = scaled(services, exact_below=11)
    found = await run_search(
        narrow,
        SearchRequest(query="granite", collections=("large", "other"), legs=("vector",), top_k=15, cache=False),
    )
    assert len(found.passages) == 15
    regimes = {part["regime"] for part in await parts_of(narrow, found.trace_id)}
    assert regimes == {"exact"}


# --- runs that write very much ----------------------------------------------------------------------------------------


async def test_a_large_run_writes_for_the_index_of_the_collection(services: Services) -> None:
    """From bulkAbove chunks on nothing is inserted in the shared index, and at the end the index is built."""
    small = scaled(services, bulk_above=10)
    await notes(small, "bulk", 0, 40)
    assert await states(small) == {"bulk": "building"}
    assert (await places(small, "bulk"))[True] >= 20
    assert await finds_all(small, "bulk", 40)
    await small.worker().run_until_idle()
    assert await states(small) == {"bulk": "ready"}
    assert await places(small, "bulk") == {True: 40}
    assert await finds_all(small, "bulk", 40)


@pytest.mark.siege
async def test_a_large_run_that_ends_small_goes_back_to_the_shared_index(services: Services) -> None:
    small = scaled(services, bulk_above=2)
    await notes(small, "bulk", 0, 7)
    assert await states(small) == {"bulk": "building"}
    await small.worker().run_until_idle()
    assert await states(small) == {}
    assert await places(small, "bulk") == {False: 7}
    assert await finds_all(small, "bulk", 7)


@pytest.mark.siege
async def test_a_run_that_died_does_not_keep_its_collection_from_its_index(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its lease lasts the plan waits; after that it goes on."""
    small = scaled(services, bulk_above=10)

    async def dead(self: BulkRun) -> None:
        """The process ends before it."""

    with monkeypatch.context() as patched:
        patched.setattr(BulkRun, "end", dead)
        await notes(small, "bulk", 0, 40)
    await replan(small)
    assert await states(small) == {"bulk": "building"}
    assert await catalog(small) == {}
    async with small.database.transaction(small.principal) as connection:
        await connection.execute("UPDATE rag.vector_indexes SET bulk_until = now()")
    await replan(small)
    assert await states(small) == {"bulk": "ready"}
    assert await finds_all(small, "bulk", 40)


# --- what earlier releases built --------------------------------------------------------------------------------------

OLD = """
DROP INDEX rag.embeddings_hnsw_1;
CREATE INDEX embeddings_hnsw_1 ON rag.embeddings USING hnsw ((embedding::halfvec(32)) halfvec_cosine_ops) WHERE model_id = 1;
UPDATE rag.vector_indexes SET exclusive = false;
UPDATE rag.embeddings SET own = false;
"""


@pytest.mark.siege
async def test_indexes_of_earlier_releases_serve_until_they_are_built_anew(services: Services) -> None:
    """The shared one holds all vectors; the collection's own is left aside until its vectors are moved."""
    small = scaled(services)
    await notes(small, "large", 0, 10)
    await small.worker().run_until_idle()
    owner = await asyncpg.connect(small.owner_dsn)
    await owner.execute(OLD)
    [name] = await catalog(small)
    await owner.execute(
        f"DROP INDEX rag.{name}; CREATE INDEX {name} ON rag.embeddings USING hnsw ((embedding::halfvec(32)) "
        "halfvec_cosine_ops) WHERE model_id = 1"
    )
    await owner.execute("SELECT rag.make_searches()")
    assert await finds_all(small, "large", 10)
    found = await find(small, "granite", "large", legs=("vector",), cache=False)
    assert [part["regime"] for part in await parts_of(small, found.trace_id)] == ["shared"]
    await replan(small)
    shared = await owner.fetchval("SELECT pg_get_indexdef('rag.embeddings_hnsw_1'::regclass)")
    left = await owner.fetchval("SELECT count(*) FROM pg_class WHERE relname ~ '^embeddings_hnsw.*_(old|new)$'")
    await owner.close()
    assert shared.endswith("WHERE ((model_id = 1) AND (NOT own))")
    assert left == 0
    assert await states(small) == {"large": "ready"}
    assert await places(small, "large") == {True: 10}
    assert await finds_all(small, "large", 10)
