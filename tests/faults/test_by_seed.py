"""Schedules made from seeds: whatever strikes, what must hold holds; and each invariant can be broken, and says so.

make faults SEEDS=1..200
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from cairn.db.embedded import EmbeddedServer
from cairn.domain.document import Source
from cairn.service.documents import index_now
from tests.conftest import Clones
from tests.faults.by_seed.fresh import compare_with_fresh
from tests.faults.by_seed.plan import FAULTS, STATEMENTS, WEIGHTS, Schedule, Step, make_schedule
from tests.faults.by_seed.run import (
    TEMPLATE,
    Report,
    ask_invariants,
    check_invariants,
    load_invariants,
    open_yard,
    read_seeds,
)
from tests.faults.by_seed.world import COLLECTION, Memory, Violation, World, open_world

pytestmark = pytest.mark.fault
beside = pytest.mark.asyncio(loop_scope="module")

Run = Callable[[int], Awaitable[Report]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(server: EmbeddedServer, clones: Clones, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Run]:
    async with open_yard(server, clones, tmp_path_factory.mktemp("seeds")) as opened:
        yield opened


# --- schedules ----------------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_schedule_again_and_another_seed_another_one() -> None:
    assert make_schedule(7) == make_schedule(7) != make_schedule(8)
    schedules = [make_schedule(seed) for seed in range(1, 201)]
    steps = [step for schedule in schedules for steps in schedule.rounds for step in steps]
    assert {step.kind for step in steps} == set(WEIGHTS) == set(STATEMENTS)
    assert {fault.kind for step in steps for fault in step.faults} == {*FAULTS, "kill -9"}
    assert all(5 <= sum(map(len, schedule.rounds)) <= 15 for schedule in schedules)


def test_seeds_are_read_as_they_are_typed() -> None:
    assert read_seeds("3") == [3]
    assert read_seeds("1..3 7,9..10") == [1, 2, 3, 7, 9, 10]
    with pytest.raises(ValueError):
        read_seeds("all")


def test_what_is_deleted_in_the_same_round_may_be_refused_and_nothing_else() -> None:
    memory = Memory()
    with memory.writing((0, "d2"), "a text"), memory.writing((0, "d2"), None), memory.writing((0, "d0"), "another"):
        assert memory.is_deleted_now((0, "d2"))
        assert not memory.is_deleted_now((0, "d0"))
        assert not memory.is_deleted_now((1, "d2"))
    memory.end_round()
    assert not memory.is_deleted_now((0, "d2"))


# --- whatever strikes ---------------------------------------------------------------------------------------------------


@beside
@pytest.mark.parametrize("seed", [3, 700289])  # in the second a document is deleted while it is indexed
async def test_nothing_is_broken_whatever_strikes(run: Run, seed: int) -> None:
    report = await run(seed)
    assert report.violation is None, str(report)
    assert report.struck, "nothing struck: the test is void"


@beside
@pytest.mark.siege
async def test_nothing_is_broken_by_two_hundred_seeds(run: Run) -> None:
    seeds, broken, struck = iter(range(1, 201)), list[str](), Counter[str]()

    async def take() -> None:
        for seed in seeds:
            report = await run(seed)
            struck.update(one.partition(": ")[2].rsplit(" at ", 1)[0] for one in report.struck)
            if report.violation:
                broken.append(str(report))

    await asyncio.gather(*(take() for _ in range(4)))
    assert not broken, "\n\n".join(broken)
    assert set(FAULTS) - {"cancel at await"} < set(struck), "each kind of fault struck"


# --- each invariant can be broken -----------------------------------------------------------------------------------------

ONE = "(SELECT id FROM rag.documents WHERE external_id = 'd1' ORDER BY tenant_id LIMIT 1)"
OTHER = "(SELECT max(id) FROM rag.tenants)"
RUN = "(SELECT id FROM rag.resumable_runs LIMIT 1)"
BREAKS = {
    "recount: documents that are there by half": f"DELETE FROM rag.lexical_index WHERE document_id = {ONE}",
    "recount: document frequencies": "UPDATE rag.lexical_terms SET document_frequency = document_frequency + 1",
    "recount: postings": "UPDATE rag.lexical_index SET length = length + 1",
    "recount: numbers and lengths of passages by language": "UPDATE rag.lexical_stats SET total_length = total_length + 1",
    "recount: counts of collections": "UPDATE rag.collections SET passage_count = passage_count + 1",
    "recount: passages that are no part of their text": "UPDATE rag.document_texts SET text = reverse(text)",
    "recount: counts of entities": "UPDATE rag.entities SET passage_count = passage_count + 1",
    "recount: counts of relations": "UPDATE rag.relations SET evidence_count = evidence_count + 1",
    "recount: both directions of each relation": "DELETE FROM rag.adjacency WHERE outgoing",
    "recount: members of communities": "DELETE FROM rag.communities",
    "recount: files that nobody waits for": "INSERT INTO rag.uploads (tenant_id, id, collection_id, job_id, external_id, name, "
    "metadata, content) SELECT tenant_id, gen_random_uuid(), id, gen_random_uuid(), 'x', 'x', '{}', '' FROM rag.collections",
    "passages and chunks follow each other without gaps and repetitions": "UPDATE rag.chunks SET ordinal = ordinal + 1",
    "chunks are of the version of their document": f"UPDATE rag.documents SET version = 2 WHERE id = {ONE}",
    "every chunk has one vector of the model that serves, and of others all or none":
        f"DELETE FROM rag.embeddings WHERE document_id = {ONE}",
    "no vector is of a model that the collection does not use":
        "UPDATE rag.embeddings SET model_id = 99",
    "one model at most serves a collection": "INSERT INTO rag.collection_models (tenant_id, collection_id, model_id, state) "
    "SELECT tenant_id, id, 0, 'serving' FROM rag.collections",
    "nothing belongs to a document, collection or run of another tenant, or of none":
        f"UPDATE rag.chunks SET tenant_id = {OTHER} WHERE document_id = {ONE}",
    "what the cache may answer with is there and says the same":
        "UPDATE rag.passages SET content = upper(content) || '!'",
    "no text of what is gone is left in the cache": "DELETE FROM rag.passages",
    "exactly one terminal event ends each run, and it is the last": "DELETE FROM rag.run_events WHERE terminal",
    "the end of a run is the one that its row says": "UPDATE rag.resumable_runs SET status = 'cancelled'",
    "no trace says that a run of a dead process goes on":
        "UPDATE rag.runs SET outcome = 'running', started_at = started_at - interval '2 hours' WHERE kind = 'query'",
    "messages of a conversation are counted and without gaps": "DELETE FROM rag.messages WHERE role = 'user'",
    "a run says one question and one answer in its conversation at most":
        "INSERT INTO rag.messages (tenant_id, session_id, position, id, role, content, metadata, document_ids, run_id) SELECT "
        "tenant_id, session_id, position + 2, gen_random_uuid(), role, content, metadata, document_ids, run_id FROM rag.messages",
    "every answer in a conversation stands behind its question": "UPDATE rag.messages SET run_id = gen_random_uuid() "
    "WHERE role = 'user'",
    "names of entities and their words are those of mentions": "UPDATE rag.entity_aliases SET passage_count = passage_count + 1",
    "entities that stand for others are there": "UPDATE rag.entities SET canonical_id = gen_random_uuid()",
    "bytes of collections are those of their documents": "UPDATE rag.collections SET byte_count = byte_count - 1",
    "tables of a document are of its version": "UPDATE rag.documents SET version = 2 WHERE external_id = 'table'",
    "each version is noted once as a change": "DELETE FROM rag.document_changes",
    "a deletion is in the audit log once, and nothing that was not deleted":
        "INSERT INTO rag.audit_events SELECT tenant_id, gen_random_uuid(), occurred_at, caller, caller_name, action, target, "
        "detail FROM rag.audit_events WHERE action = 'document.delete'",
    "jobs that ended are nobody's, and no work is ordered twice": "UPDATE rag.jobs SET finished_at = NULL",
    "nothing that was embedded ahead is left of a document that is there": "INSERT INTO rag.embedded_ahead "
    "SELECT tenant_id, document_id, model_id, content_hash, embedding FROM rag.embeddings ON CONFLICT DO NOTHING",
    "no session holds an advisory lock": "SELECT pg_advisory_xact_lock(7)",
}  # fmt: skip
"""By invariant, what breaks it."""
TABLE = "| City | People |\n|---|---|\n| Bern | 134 |\n| Lyon | 522 |\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(
    run: Run, server: EmbeddedServer, clones: Clones, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """One in which a bit of everything was done, and nothing is wrong."""
    kinds = ("resumable", "delete", "reindex", "work", "communities", "search")
    schedule = Schedule(0, tuple((Step(kind, 0, 0, ("d2",), 1),) for kind in kinds))
    clones.make("broken", TEMPLATE)
    async with open_world(schedule, server.dsn("broken"), tmp_path_factory.mktemp("broken")) as opened:
        await index_now(
            opened.tenants[0][0], COLLECTION, [Source("table", "table", TABLE.encode(), media_type="text/markdown")]
        )
        opened.memory.may_be[0, "table"] = {(await opened.stored_texts())[0, "table"]}
        await opened.run()
        await opened.rest()
        await check_invariants(opened)
        yield opened
    clones.drop("broken")


def test_each_invariant_is_broken_by_one_of_these() -> None:
    assert set(BREAKS) == set(load_invariants())


@beside
@pytest.mark.parametrize("name", BREAKS)
async def test_an_invariant_that_is_broken_says_so(world: World, name: str) -> None:
    transaction = world.owner.transaction()
    await transaction.start()
    try:
        await world.owner.execute("SET LOCAL session_replication_role = replica")  # no foreign key, no trigger
        await world.owner.execute(BREAKS[name])
        assert await ask_invariants(world.owner, [name]), f"{name} held"
    finally:
        await transaction.rollback()


@beside
async def test_what_was_promised_and_is_not_so_is_told(
    run: Run, server: EmbeddedServer, clones: Clones, tmp_path: Path
) -> None:
    clones.make("promised", TEMPLATE)
    schedule = Schedule(0, ((Step("search", 0, 0, (), 1),),))
    async with open_world(schedule, server.dsn("promised"), tmp_path) as world:
        await world.run()
        await world.rest()
        await world.settle()
        texts = dict(world.memory.may_be)

        world.memory.may_be[0, "d0"] = {None}
        with pytest.raises(Violation, match="what is found is not stale, foreign or mixed"):
            await world.run()
        with pytest.raises(Violation, match="what was acknowledged is there"):
            await world.settle()
        del world.memory.may_be[0, "d0"]
        with pytest.raises(Violation, match="nothing is there that nobody stored"):
            await world.settle()
        world.memory.may_be = texts

        world.memory.files[uuid4()] = [((0, "u1"), "a text")]
        with pytest.raises(Violation, match="every job that was ordered is done"):
            await world.settle()
        world.memory.files.clear()

        world.memory.answered[uuid4()] = (0, "talk")
        with pytest.raises(Violation, match="an answer that was told is in its conversation"):
            await world.check_conversations()

        await world.owner.execute("UPDATE rag.embeddings SET content_hash = content_hash || '!'")
        with pytest.raises(Violation, match="equal to a fresh build: pieces"):
            await compare_with_fresh(world)
    clones.drop("promised")
