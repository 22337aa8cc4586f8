"""Changing the embedding model of a collection without downtime. The second model is an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from scripted_server import ScriptedServer

from cairn.domain.document import Source
from cairn.domain.job import Job
from cairn.domain.passage import SearchRequest, SearchResult
from cairn.errors import ConflictError, NotFoundError, ProviderError, SettingsError
from cairn.evals.datasets import load
from cairn.evals.optimize import fetch_legs
from cairn.evals.retrieval import Bench
from cairn.ingest.pipeline import ingest
from cairn.service import models as model_service
from cairn.service.documents import delete_document, get_collection, index_now, list_documents
from cairn.service.jobs import cancel_job, get_job
from cairn.service.search import get_trace, run_search
from cairn.settings import Environment, JobsSettings, Settings, SettingsStore
from cairn.store import audit, models
from cairn.wiring import Services, open_services
from tests.db.tenants import asking_anew, tenant_of
from tests.documents import find, index_texts, text_source
from tests.sharing import SHARED
from tests.waiting import until

pytestmark = SHARED

OTHER = "other-model"
LOCAL = "all-MiniLM-L6-v2:int8"
TEXTS = {f"d{i}": f"Note {i}: hikers pile stone {i} into a cairn." for i in range(12)}


@pytest.fixture
def second_model(scripted_of_module: ScriptedServer) -> ScriptedServer:
    """Another model with another dimension (8)."""
    scripted_of_module.begin(lambda messages: "")
    return scripted_of_module


@pytest_asyncio.fixture(loop_scope="module")
async def services(chatty_of_module: Services, second_model: ScriptedServer) -> AsyncIterator[Services]:
    async with asking_anew(chatty_of_module) as anew, tenant_of(anew) as opened:
        opened.settings.current = Settings(jobs=JobsSettings(retry_seconds=0))
        yield opened


@pytest.fixture
def environment(services: Services) -> Environment:
    """That of the test's tenant."""
    return services.environment


async def models_used(services: Services, **more: Any) -> set[str]:
    """Models that a vector search used, as its trace tells."""
    result = await find(services, "cairn of stone 7", legs=("vector",), cache=False, **more)
    assert not result.legs_failed
    return {part["model"] for part in (await get_trace(services, result.trace_id)).plan["vector"]["parts"]}


async def vectors_of(services: Services, model: str) -> int:
    async with services.database.transaction(services.principal) as connection:
        return int(
            await connection.fetchval(
                "SELECT count(*) FROM rag.embeddings e JOIN rag.embedding_models m ON m.id = e.model_id WHERE m.name = $1",
                model,
            )
        )


async def run(services: Services, job: Job) -> Job:
    await services.worker().run_until_idle()
    return await get_job(services, job.id)


async def backfilled(services: Services) -> Services:
    await index_texts(services, TEXTS)
    job = await run(services, await model_service.start_backfill(services, "test", OTHER))
    assert job.status == "succeeded", job.error
    return services


async def test_backfill_flip_and_roll_back(services: Services) -> None:
    """The whole way: the old model serves until the flip, each step is one transaction, and the way back is instant."""
    await index_texts(services, TEXTS)
    job = await model_service.start_backfill(services, "test", OTHER)
    with pytest.raises(ConflictError, match="12 chunks"):
        await model_service.flip_model(services, "test", OTHER)
    assert await models_used(services) == {LOCAL}
    done = await run(services, job)
    assert done.result == {"embedded": 12, "model": OTHER}
    assert (done.progress.done, done.progress.total) == (12, 12)
    assert await models_used(services) == {LOCAL}
    # to compare before the flip
    assert await models_used(services, model=OTHER) == {OTHER}

    before = await get_collection(services, "test")
    after = await model_service.flip_model(services, "test", OTHER)
    assert after.epoch == before.epoch + 1  # cached results are stale
    assert await models_used(services) == {OTHER}
    listed = {item.model: item.state for item in (await model_service.list_models(services, "test")).collections}
    assert listed == {OTHER: "serving", LOCAL: "retired"}

    await model_service.rollback_model(services, "test")
    assert await models_used(services) == {LOCAL}
    await model_service.rollback_model(services, "test")  # and back again
    assert await models_used(services) == {OTHER}
    async with services.database.transaction(services.principal, readonly=True) as connection:
        deeds = await audit.list_events(connection, services.principal, action="model")
    assert [(one.action, one.detail["before"], one.detail["after"]) for one in deeds] == [
        ("model.rollback", LOCAL, OTHER), ("model.rollback", OTHER, LOCAL), ("model.flip", LOCAL, OTHER),
    ]  # fmt: skip


@pytest.mark.siege
async def test_what_is_written_meanwhile_is_not_missing_after_the_flip(services: Services) -> None:
    """Ingestion makes vectors for the model that comes and for the one that went."""
    await backfilled(services)
    await index_texts(services, {"late": "A note that came between backfill and flip.", "d1": "A new text."})
    assert await vectors_of(services, OTHER) == await vectors_of(services, LOCAL) == 13
    await model_service.flip_model(services, "test", OTHER)
    await index_texts(services, {"later": "A note that came after the flip."})
    await delete_document(services, "test", (await list_documents(services, "test"))[0].id)
    assert await vectors_of(services, OTHER) == await vectors_of(services, LOCAL) == 13
    await model_service.rollback_model(services, "test")
    assert len((await find(services, "note", legs=("vector",), top_k=100)).passages) == 13


async def test_an_ingestion_that_began_before_the_backfill_makes_up_for_it(services: Services) -> None:
    """The run knows one model; the change comes before its publication, which is refused and made again."""
    await index_texts(services, TEXTS)
    begun, ordered = asyncio.Event(), asyncio.Event()

    async def sources() -> AsyncIterator[Any]:
        begun.set()
        await ordered.wait()
        yield text_source("slow", "A note that was read slowly.")

    async def change() -> None:
        await begun.wait()
        await run(services, await model_service.start_backfill(services, "test", OTHER))
        await model_service.flip_model(services, "test", OTHER)
        ordered.set()

    target = services.target(services.principal, (await get_collection(services, "test")).id)
    await asyncio.gather(ingest(services.database, target, sources()), change())
    assert await vectors_of(services, OTHER) == await vectors_of(services, LOCAL) == 13
    assert "slow" in {p.external_id for p in (await find(services, "slowly", legs=("vector",), top_k=100)).passages}


async def test_an_ingestion_that_began_before_a_model_was_forgotten_stores_no_vectors_of_it(services: Services) -> None:
    """Seed 95: they stayed for ever, for nobody deletes vectors of a model that the collection does not use."""
    await backfilled(services)
    begun, forgotten = asyncio.Event(), asyncio.Event()

    async def sources() -> AsyncIterator[Any]:
        begun.set()
        await forgotten.wait()
        yield text_source("slow", "A note that was read slowly.")

    async def change() -> None:
        await begun.wait()
        await model_service.forget_model(services, "test", OTHER)
        forgotten.set()

    target = services.target(services.principal, (await get_collection(services, "test")).id)
    await asyncio.gather(ingest(services.database, target, sources()), change())
    assert (await vectors_of(services, LOCAL), await vectors_of(services, OTHER)) == (13, 0)


async def test_a_backfill_whose_model_is_forgotten_while_it_embeds_stores_nothing(
    services: Services, second_model: ScriptedServer
) -> None:
    await index_texts(services, TEXTS)
    job = await model_service.start_backfill(services, "test", OTHER)
    asked = len(second_model.requests)
    second_model.script("stall")
    working = asyncio.create_task(run(services, job))
    await until(lambda: len(second_model.requests) > asked)
    await model_service.forget_model(services, "test", OTHER)
    second_model.released.set()
    ended = await working
    assert (ended.status, await vectors_of(services, OTHER)) == ("failed", 0), ended.error


@pytest.mark.siege
async def test_an_interrupted_backfill_goes_on(services: Services, second_model: ScriptedServer) -> None:
    """The provider fails in the middle; the next attempt embeds only what is left."""
    texts = {f"d{i}": f"Note {i} on stones." for i in range(140)}
    await index_texts(services, texts)
    job = await model_service.start_backfill(services, "test", OTHER)
    count = len(second_model.requests)
    second_model.script("ok", "401")
    failed = await run(services, job)
    assert failed.status == "failed"
    assert 0 < await vectors_of(services, OTHER) < 140
    again = await run(services, await model_service.start_backfill(services, "test", OTHER))
    assert again.status == "succeeded"
    assert await vectors_of(services, OTHER) == 140
    embedded = sum(len(request.body["input"]) for request in second_model.requests[count:])
    assert embedded <= 140 + 128  # the failed batch is asked twice, none of the others


async def test_collections_with_different_models_are_searched_together(services: Services) -> None:
    await backfilled(services)
    await model_service.flip_model(services, "test", OTHER)
    await index_texts(services, {"x": "A cairn of stone in another collection."}, collection="second")
    result = await run_search(services, SearchRequest("cairn of stone", ("test", "second"), legs=("vector",), top_k=40))
    assert {p.collection for p in result.passages} == {"test", "second"}
    assert len(result.passages) == 13
    assert all(0 <= p.score <= 1.0001 for p in result.passages)


async def test_other_settings_do_not_change_what_serves(services: Services, environment: Environment) -> None:
    """A start with another rag.embeddingModel: old collections keep their model, new ones get that of the settings."""
    await index_texts(services, TEXTS)
    settings = services.settings.current
    changed = settings.model_copy(update={"rag": settings.rag.model_copy(update={"embedding_model": OTHER})})
    async with open_services(environment, SettingsStore(initial=changed)) as later:
        assert await models_used(later) == {LOCAL}
        await index_texts(later, {"more": "One more note for the old collection."})
        assert await vectors_of(later, LOCAL) == 13
        await index_texts(later, {"new": "A note in a new collection."}, collection="new")
        assert await models_used(later, collection="new") == {OTHER}


async def test_a_provider_that_is_gone_is_named(services: Services, environment: Environment) -> None:
    """No silent search without vectors: the leg stands in legs_failed with its reason, the other leg answers."""
    await backfilled(services)
    await model_service.flip_model(services, "test", OTHER)
    alone = replace(environment, openai_base_url=None, openai_api_key=None)
    async with open_services(alone, SettingsStore()) as later:
        result = await find(later, "cairn of stone 7")
        assert result.passages
        assert OTHER in result.legs_failed["vector"]
        assert "OPENAI_API_KEY" in result.legs_failed["vector"]
        with pytest.raises((SettingsError, ProviderError)):
            await index_now(later, "test", [text_source("new", "cannot be embedded as the others are")])


async def test_forgetting_a_model_frees_its_vectors(services: Services) -> None:
    await backfilled(services)
    await model_service.flip_model(services, "test", OTHER)
    with pytest.raises(ConflictError, match="serves"):
        await model_service.forget_model(services, "test", OTHER)
    await model_service.forget_model(services, "test", LOCAL)
    assert await vectors_of(services, LOCAL) == 0
    await index_texts(services, {"new": "A note after that."})
    assert (await vectors_of(services, LOCAL), await vectors_of(services, OTHER)) == (0, 13)
    with pytest.raises(ConflictError, match="not served by another"):
        await model_service.rollback_model(services, "test")


async def test_refusals(services: Services) -> None:
    await index_texts(services, {"a": "text"})
    with pytest.raises(ConflictError, match="already"):
        await model_service.start_backfill(services, "test", "all-MiniLM-L6-v2")
    with pytest.raises(ConflictError, match="backfill it first"):
        await model_service.flip_model(services, "test", "never-heard-of")
    with pytest.raises(NotFoundError):
        await model_service.start_backfill(services, "nothing", OTHER)
    result = await find(services, "text", model="never-heard-of")
    assert "never-heard-of" in result.legs_failed["vector"]


async def test_a_cancelled_backfill_leaves_the_old_model_serving(services: Services) -> None:
    await index_texts(services, TEXTS)
    job = await model_service.start_backfill(services, "test", OTHER)
    assert (await cancel_job(services, job.id)).status == "cancelled"
    assert await models_used(services) == {LOCAL}
    async with services.database.transaction(services.principal) as connection:
        found: UUID = (await get_collection(services, "test")).id
        assert [m.name for m in await models.list_needed(connection, services.principal, found)] == [LOCAL, OTHER]


# --- the cache, where models differ -----------------------------------------------------------------------------------

BOTH = ("test", "second")


async def cached(services: Services, *collections: str) -> tuple[bool, SearchResult]:
    """The same hybrid search each time, and whether it was answered from the cache."""
    found = await run_search(services, SearchRequest("cairn of stone 7", collections or BOTH, top_k=40))
    assert not found.degraded
    assert {passage.collection for passage in found.passages} == set(collections or BOTH)
    return found.from_cache, found


async def two_models(services: Services) -> Services:
    """`test` is served by OTHER, `second` by the local model."""
    await backfilled(services)
    await model_service.flip_model(services, "test", OTHER)
    await index_texts(services, {"x": "A cairn of stone 7 in another collection."}, collection="second")
    return services


async def test_a_search_over_two_models_is_cached(services: Services, second_model: ScriptedServer) -> None:
    """The entry is that of both models, a hit asks neither, and another process sees it."""
    await two_models(services)
    (first, found), asked = await cached(services), len(second_model.requests)
    again, same = await cached(services)
    assert (first, again) == (False, True)
    assert same.passages == found.passages
    assert len(second_model.requests) == asked
    trace = await get_trace(services, found.trace_id)
    assert {part["model"] for part in trace.plan["vector"]["parts"]} == {OTHER, LOCAL}
    async with open_services(services.environment, services.settings) as other_process:
        assert (await cached(other_process))[0]


async def test_c3_flip_and_rollback_invalidate_what_they_concern(services: Services) -> None:
    """No entry outlives the model that it was found with; entries of other collections stay."""
    await two_models(services)
    job = await run(services, await model_service.start_backfill(services, "second", OTHER))
    assert job.status == "succeeded"

    async def state() -> tuple[bool, bool, bool]:
        return (await cached(services))[0], (await cached(services, "test"))[0], (await cached(services, "second"))[0]

    await state()
    assert await state() == (True, True, True)
    await model_service.flip_model(services, "second", OTHER)
    assert await state() == (False, True, False)
    assert await state() == (True, True, True)
    await model_service.rollback_model(services, "second")
    # not answered by what was found before the flip either, though the model is the same again
    assert await state() == (False, True, False)
    await model_service.rollback_model(services, "test")
    assert await state() == (False, False, True)
    assert await models_used(services) == {LOCAL}
    assert await state() == (True, True, True)


async def test_c3_a_backfill_changes_no_result_and_keeps_the_entries(services: Services) -> None:
    """Vectors of a model that does not serve yet are not seen by searches."""
    await index_texts(services, TEXTS)
    assert not (await cached(services, "test"))[0]
    await run(services, await model_service.start_backfill(services, "test", OTHER))
    assert (await cached(services, "test"))[0]
    named = SearchRequest("cairn of stone 7", ("test",), model=OTHER)
    assert not (await run_search(services, named)).from_cache
    assert not (await run_search(services, named)).from_cache


async def test_other_settings_have_entries_of_their_own(services: Services, environment: Environment) -> None:
    """The model of the settings concerns new collections only; the settings themselves are part of the key."""
    await two_models(services)
    await cached(services)
    settings = services.settings.current
    changed = settings.model_copy(update={"rag": settings.rag.model_copy(update={"embedding_model": OTHER})})
    async with open_services(environment, SettingsStore(initial=changed)) as later:
        assert not (await cached(later))[0]
        assert (await cached(later))[0]
        await model_service.flip_model(services, "test", LOCAL)
        assert not (await cached(later))[0]


# --- evaluation -------------------------------------------------------------------------------------------------------


async def test_fusions_are_tried_on_what_the_collections_own_model_finds(services: Services, tmp_path: Path) -> None:
    """Both legs find what a search finds, also for a query with operators, though the settings name another model."""
    await backfilled(services)
    await model_service.flip_model(services, "test", OTHER)
    queries = {"plain": TEXTS["d7"], "operators": "hikers pile stone -hikers", "phrase": 'stone "a cairn" -7'}
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d7", "title": "", "text": TEXTS["d7"]}) + "\n")
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in queries.items())
    )
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{name}\td7\t1\n" for name in queries)
    )
    bench = Bench(services.search_deps, services.principal, services.settings.current, "test")
    found = await fetch_legs(bench, load(tmp_path), "test", lambda _: None)
    for legs, text in zip(found, queries.values(), strict=True):
        for leg in ("vector", "lexical"):
            searched = await find(services, text, legs=(leg,), top_k=10, cache=False)
            expected = next((item for item in searched.legs if item.leg == leg), None)
            hits = legs.results[leg].hits  # type: ignore[index]
            assert [hit.passage_id for hit in hits] == list(expected.passage_ids if expected else []), (leg, text)
            assert [hit.score for hit in hits] == pytest.approx(list(expected.scores) if expected else [], rel=1e-6)
    assert found[0].results["vector"].how["parts"][0]["model"] == OTHER
    assert found[1].results["vector"].hits == ()


async def test_backfill_embeds_what_an_ingestion_does(services: Services) -> None:
    """Rows of tables in words, the title where there is one, no tables in code: the hash of each chunk's input is the same."""
    rows = "\n".join(f"| Item of line {n} | {n},5 | {n},7 |" for n in range(40))
    table = f"# Balance\n\nAssets are in millions.\n\n| Assets | 2019 | 2018 |\n| --- | --- | --- |\n{rows}\n"
    code = "def rows():\n    return '''\n| a | b |\n| --- | --- |\n| 1 | 2 |\n'''\n"
    sources = [Source("balance.md", "balance.md", table.encode()), Source("rows.py", "rows.py", code.encode())]
    sources.append(Source("given", "given", table.encode(), "A title that is given", "text/plain", is_text=True))
    await index_now(services, "test", sources)
    job = await run(services, await model_service.start_backfill(services, "test", OTHER))
    assert job.status == "succeeded", job.error
    async with services.database.transaction(services.principal) as connection:
        hashes = await connection.fetch(
            "SELECT count(*), count(DISTINCT content_hash) AS inputs FROM rag.embeddings GROUP BY chunk_id"
        )
    assert len(hashes) > 8
    assert {(row["count"], row["inputs"]) for row in hashes} == {(2, 1)}
