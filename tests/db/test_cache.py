"""The retrieval cache over a real database: it answers what it may, and nothing that is no longer true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.ids import new_id
from cairn.domain.passage import CacheStats, SearchRequest, SearchResult
from cairn.domain.question import Question
from cairn.errors import NotFoundError
from cairn.ingest.reweight import reweight_if_drifted
from cairn.providers.protocols import Embedder, Vectors, embed_questions
from cairn.providers.windows import EmbedderAround
from cairn.retrieve.cache import cache_address
from cairn.retrieve.search import search
from cairn.service.ask import ask
from cairn.service.documents import (
    delete_collection,
    delete_document,
    ensure_collection,
    get_collection,
    index_now,
    list_documents,
)
from cairn.service.search import clear_cache, get_cache_stats, get_trace, run_search
from cairn.settings import CacheSettings, LexicalSettings, RagSettings, Settings, SettingsStore
from cairn.store import cache, collections, documents
from cairn.wiring import Services, open_services
from tests.db.test_documents import indexed, rows_that_mention
from tests.documents import find, index_texts, text_source, unreachable_embedder, with_sections
from tests.sharing import ALONE, SHARED
from tests.waiting import hang_guard

pytestmark = SHARED

QUERY = "which stones mark the trail"
TEXTS = {"cairns": "A cairn of granite stones marks the trail.", "bread": "Sourdough rises slowly."}


@pytest_asyncio.fixture(loop_scope="module")
async def library(services: Services) -> Services:
    await index_texts(services, TEXTS)
    return services


@pytest_asyncio.fixture(loop_scope="module")
async def second(library: Services) -> AsyncIterator[Services]:
    """Another process as far as the cache can tell: own pool, own memory, same database and tenant."""
    async with open_services(library.environment, SettingsStore()) as opened:
        yield opened


async def warm(services: Services, query: str = QUERY, **more: object) -> SearchResult:
    """The result, which is in the cache now."""
    first = await find(services, query, **more)
    again = await find(services, query, **more)
    assert (first.from_cache, again.from_cache) == (False, True)
    return first


def contents(result: SearchResult) -> list[str]:
    return [passage.content for passage in result.passages]


async def counts(services: Services) -> tuple[int, int, int]:
    stats = await get_cache_stats(services)
    return stats.counts.hits, stats.counts.misses, stats.counts.bypassed


async def entries(services: Services) -> list[str]:
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch("SELECT query FROM rag.retrieval_cache ORDER BY query")
    return [row["query"] for row in rows]


# --- a hit ------------------------------------------------------------------------------------------------------------


async def test_a_hit_is_the_stored_result_and_computes_nothing(library: Services) -> None:
    """Same passages, scores, ranks and confidence; no leg, no embedding, another trace id."""
    first = await warm(library)
    again = await find(library, f"  {QUERY.upper()} ?!")
    assert again.from_cache
    assert again.passages == first.passages
    assert (again.confidence, again.epochs, again.exact) == (first.confidence, first.epochs, first.exact)
    assert (again.legs_used, again.visible_passages) == (first.legs_used, first.visible_passages)
    assert again.trace_id != first.trace_id
    assert set(again.timings_ms) == {"cache", "total"}


async def test_a_hit_leaves_a_run_that_names_the_run_which_searched(library: Services) -> None:
    first = await find(library, QUERY)
    again = await find(library, QUERY)
    trace = await get_trace(library, again.trace_id)
    assert trace.outcome == "ok"
    assert trace.plan["from_cache"] is True
    assert trace.plan["cached_run"] == str(first.trace_id)
    assert trace.legs == ()
    original = await get_trace(library, UUID(trace.plan["cached_run"]))
    assert original.plan["from_cache"] is False
    assert {leg.leg for leg in original.legs} == {"vector", "lexical", "fused"}


async def test_a_hit_costs_no_embedding(library: Services) -> None:
    await warm(library)
    broken = replace(library, search_deps=replace(library.search_deps, embedder=unreachable_embedder()))
    assert (await find(broken, QUERY)).from_cache


async def test_processes_share_the_cache(library: Services, second: Services) -> None:
    """Persistent and shared by workers."""
    first = await find(library, QUERY)
    found = await find(second, QUERY)
    assert found.from_cache
    assert found.passages == first.passages
    await index_texts(library, {"more": "Marble stones mark the trail."})
    assert "Marble stones mark the trail." in contents(await find(second, QUERY))


async def test_questions_use_it_too_and_not_the_entries_of_searches(library: Services) -> None:
    """The strategy is part of the key."""

    async def answer() -> Answer:
        return await ask(library, Question(QUERY, "test", new_id()))

    await find(library, QUERY, top_k=5)
    one, two = await answer(), await answer()
    assert (one.route["from_cache"], two.route["from_cache"]) == (False, True)
    assert one.answer == two.answer
    assert (await get_trace(library, two.run_id)).plan["cached_run"] == str(one.run_id)
    await index_texts(library, {"cairns": "A cairn of marble marks the trail."})
    assert "marble" in (await answer()).answer


# --- nothing stale ----------------------------------------------------------------------------------------------------


async def test_a_committed_document_is_seen_at_once(library: Services) -> None:
    """Commit a document -> the next identical query misses."""
    await warm(library)
    await index_texts(library, {"new": "Marble stones mark the trail."})
    result = await find(library, QUERY)
    assert not result.from_cache
    assert "Marble stones mark the trail." in contents(result)


async def test_what_was_rolled_back_changes_nothing(library: Services) -> None:
    """Rollback -> still hits."""
    await warm(library)
    target = (await get_collection(library, "test")).id
    (document, *_) = await list_documents(library, "test")

    async def fail_late() -> None:
        async with library.database.transaction(library.principal) as connection:
            assert await documents.delete(connection, target, document.id)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail_late()
    assert (await find(library, QUERY)).from_cache


async def test_an_uncommitted_change_neither_blocks_nor_shows(library: Services) -> None:
    await warm(library)
    target = (await get_collection(library, "test")).id
    async with library.database.transaction(library.principal) as connection:
        await collections.touch(connection, library.principal, target)
        async with hang_guard():
            assert (await find(library, QUERY)).from_cache
            assert not (await find(library, "slow bread")).from_cache
    assert not (await find(library, QUERY)).from_cache


async def test_replacing_a_document_shows_the_new_text(library: Services) -> None:
    await warm(library)
    await index_texts(library, {"cairns": "A cairn of marble stones marks the trail."})
    assert contents(await find(library, QUERY))[0] == "A cairn of marble stones marks the trail."


async def test_changed_metadata_are_a_change(library: Services) -> None:
    """The content is the same, so nothing is indexed again; results show the new metadata all the same."""
    await warm(library)
    done = indexed((await index_now(library, "test", [text_source("cairns", TEXTS["cairns"], team="trails")]))[0])
    assert (done.change, done.duplicate) == ("updated", True)
    result = await find(library, QUERY)
    assert not result.from_cache
    assert result.passages[0].metadata == {"team": "trails"}


async def test_an_unchanged_document_changes_nothing(library: Services) -> None:
    await warm(library)
    await index_texts(library, TEXTS)
    assert (await find(library, QUERY)).from_cache


async def test_a_deleted_document_is_gone_from_results_and_from_every_table(services: Services) -> None:
    """Design section 3, Deletion: no row of any table holds its text, cached results included."""
    marker = "xylophonist"
    outcome = indexed((await index_now(services, "test", [text_source("a", f"The {marker} met a cairn.")]))[0])
    await index_texts(services, {"b": "Rivers carry stones."})
    await index_texts(services, {"c": "Rivers and cairns."}, collection="other")
    await warm(services, "who met a cairn")
    both = SearchRequest("who met a cairn", ("other", "test"))
    await run_search(services, both)
    assert (await run_search(services, both)).from_cache
    assert "retrieval_cache" in await rows_that_mention(services, outcome.document_id, marker)
    await delete_document(services, "test", outcome.document_id)
    left = await rows_that_mention(services, outcome.document_id, marker)
    assert left == {"audit_events": 1, "document_changes": 2}, "by its id"
    assert not (await run_search(services, both)).from_cache
    assert marker not in str((await find(services, "who met a cairn")).passages)


async def test_a_result_found_before_a_deletion_is_not_stored_after_it(library: Services) -> None:
    """The race that would keep the text: searched, then deleted and committed, then stored."""
    where, result = await searched(library)
    document = next(d for d in await list_documents(library, "test") if d.external_id == "cairns")
    await delete_document(library, "test", document.id)
    assert not await stored(library, where, result)
    assert await entries(library) == []


async def test_a_result_is_not_stored_while_a_writer_is_at_work(library: Services) -> None:
    """The writer has removed the entries already and would not see this one; it does not wait for her either."""
    where, result = await searched(library)
    target = (await get_collection(library, "test")).id
    async with library.database.transaction(library.principal) as connection:
        await collections.touch(connection, library.principal, target)
        async with hang_guard():
            assert not await stored(library, where, result)
    assert not await stored(library, where, result), "its epoch is over"


async def test_a_writer_waits_for_a_store_under_way_and_removes_its_entry(library: Services) -> None:
    where, result = await searched(library)
    document = next(d for d in await list_documents(library, "test") if d.external_id == "cairns")
    async with library.database.transaction(library.principal) as connection:
        assert await cache.store(connection, library.principal, where, result, None, CacheSettings())
        deleting = asyncio.create_task(delete_document(library, "test", document.id))
        done, _ = await asyncio.wait([deleting], timeout=0.3)
        assert not done
    await deleting
    assert await entries(library) == []


async def searched(services: Services) -> tuple[object, SearchResult]:
    """A result that is not stored yet, and where it belongs."""
    request, settings = SearchRequest(QUERY, ("test",)), services.settings.current
    where = cache_address(
        services.principal, request, settings, model_id=services.search_deps.model.id, encoder="", reranker=None,
        strategy="search", answering=False,
    )  # fmt: skip
    return where, await search(services.search_deps, services.principal, request, settings)


async def stored(services: Services, where: object, result: SearchResult) -> bool:
    async with services.database.transaction(services.principal) as connection:
        return await cache.store(connection, services.principal, where, result, None, CacheSettings())  # type: ignore[arg-type]


async def test_a_deleted_collection_does_not_live_on_in_its_successor(library: Services) -> None:
    """Same name, and by accident the same epoch: the ids differ, and the entries went with the collection."""
    await warm(library)
    epoch = (await get_collection(library, "test")).epoch
    await delete_collection(library, "test")
    assert await entries(library) == []
    with pytest.raises(NotFoundError):
        await find(library, QUERY)
    await ensure_collection(library, "test")
    async with library.database.transaction(library.principal) as connection:
        await connection.execute("UPDATE rag.collections SET epoch = $1 WHERE name = 'test'", epoch)
    result = await find(library, QUERY)
    assert (result.from_cache, result.passages) == (False, ())


async def test_an_entry_whose_collection_is_gone_never_answers(library: Services) -> None:
    """Also where the entry is still there: without any collection of the name, there is no state that it could match."""
    await warm(library)
    async with library.database.transaction(library.principal) as connection:
        await connection.execute("DELETE FROM rag.collections WHERE name = 'test'")
    assert len(await entries(library)) == 1
    with pytest.raises(NotFoundError):
        await find(library, QUERY)


async def test_new_weights_are_a_change(services: Services) -> None:
    await index_texts(services, {f"d{i}": f"Stones mark trail number {i} here." for i in range(12)})
    await index_texts(services, {"long": "A longer text: stones mark the trail, and walkers follow it in fog."})
    await warm(services)
    target = (await get_collection(services, "test")).id
    drift = Settings(lexical=LexicalSettings(reweight_drift=1e-6))
    assert await reweight_if_drifted(services.database, services.principal, target, drift) > 0
    assert not (await find(services, QUERY)).from_cache


async def test_other_settings_or_another_model_do_not_share(library: Services) -> None:
    await warm(library)
    assert not (await find(with_sections(library, rag=RagSettings(hybrid_search_weight=0.3)), QUERY)).from_cache
    model = replace(library.search_deps.model, id=library.search_deps.model.id + 1)
    other = replace(library, search_deps=replace(library.search_deps, model=model))
    assert not (await find(other, QUERY)).from_cache


async def test_tenants_do_not_share(library: Services, other_tenant: Services) -> None:
    """The same collection name, query and text of another tenant are another search."""
    await warm(library)
    await index_texts(other_tenant, {"cairns": "A cairn of basalt stones marks the trail."})
    result = await find(other_tenant, QUERY)
    assert not result.from_cache
    assert contents(result) == ["A cairn of basalt stones marks the trail."]
    await clear_cache(other_tenant)
    assert (await find(library, QUERY)).from_cache


async def test_row_security_guards_the_cache_even_against_a_wrong_key(
    library: Services, other_tenant: Services
) -> None:
    where, result = await searched(library)
    assert await stored(library, where, result)
    await index_texts(other_tenant, TEXTS)
    async with other_tenant.database.connection() as connection:
        _, found, _ = await cache.look_up(connection, other_tenant.principal, where, CacheSettings(), new_id())  # type: ignore[arg-type]
        assert found is None
        assert await connection.fetchval("SELECT count(*) FROM rag.retrieval_cache") == 0, "no tenant, no rows"
        assert not await connection.fetchval("SELECT current_setting('app.tenant', true)"), "the tenant has leaked"


@pytest.mark.siege
async def test_no_reader_ever_gets_less_than_what_was_acknowledged(services: Services, second: Services) -> None:
    """A writer commits 14 versions while readers in two processes ask the same question.

    Each answer, cached or not, is the version of the epoch that it names, and no older than the last version that was
    acknowledged before the question was asked.
    """
    await index_texts(services, {"a": "state 0"})
    acknowledged, done = 0, False
    states = {(await get_collection(services, "test")).epoch: 0}
    seen: list[tuple[bool, int, int, int]] = []

    async def write() -> None:
        nonlocal acknowledged, done
        for version in range(1, 15):
            await index_texts(services, {"a": f"state {version}"})
            acknowledged = version
            states[(await get_collection(services, "test")).epoch] = version
            await asyncio.sleep(0.01 if version % 4 else 0.05)
        done = True

    async def read(reader: Services) -> None:
        while not done:
            floor = acknowledged
            result = await find(reader, "state", legs=("lexical",))
            (passage,) = result.passages
            seen.append((result.from_cache, floor, int(passage.content.split()[1]), result.epochs["test"]))

    await asyncio.gather(write(), read(services), read(second), read(second))
    assert [entry for entry in seen if entry[2] < entry[1]] == []
    for _, _, version, epoch in seen:
        assert states[min(known for known in states if known >= epoch)] == version
    assert sum(cached for cached, *_ in seen) > 7, "a race without hits shows nothing"
    assert sum(not cached for cached, *_ in seen) > 7


# --- capacity, time, counts -------------------------------------------------------------------------------------------


async def test_the_least_recently_used_entry_goes(library: Services) -> None:
    """A hit moves an entry to the end, also one of a moment ago; overflow drops the first."""
    small = with_sections(library, cache=CacheSettings(capacity=3))
    for query in ("one", "two", "three"):
        await find(small, query)
    assert (await find(small, "one")).from_cache
    await find(small, "four")
    assert await entries(small) == ["four", "one", "three"]
    await find(small, "five")
    assert await entries(small) == ["five", "four", "one"]


async def test_capacity_holds_after_concurrent_stores(library: Services) -> None:
    small = with_sections(library, cache=CacheSettings(capacity=5))
    await asyncio.gather(*(find(small, f"stones {i}") for i in range(40)))
    await find(small, "the last")
    assert len(await entries(small)) == 5


async def test_entries_expire_when_they_are_read_and_go_with_the_next_insert(library: Services) -> None:
    hourly = with_sections(library, cache=CacheSettings(ttl_seconds=3600))
    await warm(hourly)
    await an_hour_passes(library)
    assert (await get_cache_stats(hourly)).size == 0
    assert not (await find(hourly, QUERY)).from_cache
    await an_hour_passes(library)
    await find(hourly, "another")
    assert await entries(hourly) == ["another"]


async def an_hour_passes(library: Services) -> None:
    async with library.database.transaction(library.principal) as connection:
        await connection.execute("RESET ROLE")
        await connection.execute(
            "UPDATE rag.retrieval_cache SET created_at = created_at - interval '1 hour 1 second' WHERE tenant_id = $1",
            library.principal.tenant_id,
        )


async def test_filters_bypass(library: Services) -> None:
    """Neither read nor written, and counted."""
    for _ in range(2):
        assert not (await find(library, QUERY, filters={"year": 1999})).from_cache
    assert await entries(library) == []
    assert await counts(library) == (0, 0, 2)


async def test_a_request_may_do_without(library: Services) -> None:
    assert not (await find(library, QUERY, cache=False)).from_cache
    assert await entries(library) == []
    assert not (await find(library, QUERY)).from_cache
    assert not (await find(library, QUERY, cache=False)).from_cache
    assert await counts(library) == (0, 1, 2)


async def test_switched_off_it_does_nothing(library: Services) -> None:
    off = with_sections(library, cache=CacheSettings(enabled=False))
    for _ in range(2):
        assert not (await find(off, QUERY)).from_cache
    assert (await entries(off), await counts(off)) == ([], (0, 0, 0))


async def test_counts_of_all_processes_are_exact(library: Services, second: Services) -> None:
    """Hits, misses and bypassed of many searches at once, from two processes."""
    await find(library, QUERY)
    found = await asyncio.gather(*(find(who, QUERY) for who in (library, second) for _ in range(30)))
    hits = sum(result.from_cache for result in found)
    assert hits > 50, "a busy machine may look one up for too long"
    await find(second, QUERY, filters={"a": 1})
    await get_cache_stats(second)
    stats: CacheStats = await get_cache_stats(library)
    assert (stats.counts.hits, stats.counts.misses, stats.counts.bypassed) == (hits, 61 - hits, 1)
    assert stats.hit_rate == pytest.approx(hits / 61)
    assert stats.size == 1
    async with library.database.transaction(library.principal) as connection:
        assert await connection.fetchval("SELECT hits FROM rag.retrieval_cache") == hits


@ALONE
async def test_counts_survive_a_failure_to_write_them(services: Services, database: str, psql: object) -> None:
    """What cannot be written is kept, and written once."""
    await index_texts(services, TEXTS)
    name = database.split("/")[3].split("?")[0]
    psql("ALTER TABLE rag.cache_counters RENAME TO away", database=name)  # type: ignore[operator]
    await warm(services)
    with pytest.raises(Exception, match="cache_counters"):
        await get_cache_stats(services)
    psql("ALTER TABLE rag.away RENAME TO cache_counters", database=name)  # type: ignore[operator]
    assert await counts(services) == (1, 1, 0)


async def test_clearing(library: Services) -> None:
    await index_texts(library, TEXTS, collection="other")
    await find(library, QUERY)
    await find(library, QUERY, collection="other")
    assert await clear_cache(library, "other") == 1
    assert (await find(library, QUERY)).from_cache
    assert not (await find(library, QUERY, collection="other")).from_cache
    assert await clear_cache(library) == 2
    assert await entries(library) == []
    with pytest.raises(NotFoundError):
        await clear_cache(library, "unknown")


# --- what goes wrong --------------------------------------------------------------------------------------------------


async def test_a_failed_leg_is_not_remembered(library: Services) -> None:
    broken = replace(library, search_deps=replace(library.search_deps, embedder=unreachable_embedder()))
    assert "vector" in (await find(broken, QUERY)).legs_failed
    assert await entries(library) == []
    result = await find(library, QUERY)
    assert (result.from_cache, result.legs_failed) == (False, {})


@pytest.mark.parametrize(("table", "named"), [("retrieval_cache", "look-up"), ("query_embeddings", "query embeddings")])
@ALONE
async def test_a_broken_cache_is_reported_and_the_search_goes_on(
    services: Services, database: str, psql: object, table: str, named: str
) -> None:
    """The table is gone; results are those of a search without a cache."""
    await index_texts(services, TEXTS)
    psql(f"DROP TABLE rag.{table} CASCADE", database=database.split("/")[3].split("?")[0])  # type: ignore[operator]
    result = await find(services, QUERY)
    assert result.passages[0].external_id == "cairns"
    assert any(named in reason for reason in result.degraded), result.degraded
    assert result.legs_failed == {}


async def test_a_locked_cache_does_not_hold_searches_up(library: Services) -> None:
    await warm(library)
    async with library.database.transaction(library.principal) as connection:
        await connection.execute("RESET ROLE")
        await connection.execute("LOCK TABLE rag.retrieval_cache IN ACCESS EXCLUSIVE MODE")
        async with hang_guard():
            result = await find(library, QUERY)
    assert (result.from_cache, result.passages[0].external_id) == (False, "cairns")
    assert any("look-up failed" in reason for reason in result.degraded)


# --- query embeddings -------------------------------------------------------------------------------------------------


async def test_a_repeated_query_costs_no_embedding_in_any_process(library: Services, second: Services) -> None:
    """With the model down, a query that was embedded before is searched by its vector; the cache is bypassed."""
    first = await find(library, QUERY, filters={})
    await get_cache_stats(library)
    for who in (library, second):
        broken = replace(who, search_deps=replace(who.search_deps, embedder=unreachable_embedder()))
        result = await find(broken, QUERY, top_k=3)
        assert result.legs_failed == {}
        assert [p.ranks for p in result.passages] == [p.ranks for p in first.passages]
        assert "vector" in (await find(broken, QUERY + " now")).legs_failed


class AnotherEncoder(EmbedderAround):
    """What reads questions by something new, as a release may bring; texts are read as ever."""

    questions_by = "questions-2"

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(texts)

    async def embed_questions(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return await embed_questions(self._embedder, texts)

    async def close(self) -> None:
        await self._embedder.close()


async def test_vectors_of_the_encoder_before_answer_nothing(library: Services) -> None:
    """They lie elsewhere than those that are made now; a text's own stay what they were, so the model is the same."""
    await find(library, QUERY, filters={})
    changed = AnotherEncoder(library.search_deps.embedder)
    newer = replace(library, search_deps=replace(library.search_deps, embedder=changed))
    for top_k in (3, 4):
        assert (await find(newer, QUERY, top_k=top_k)).legs_failed == {}
    assert changed.asked == [QUERY]
    assert (await get_cache_stats(newer)).query_embeddings == 2


async def test_query_embeddings_are_bounded(library: Services) -> None:
    few = with_sections(library, cache=CacheSettings(query_embeddings=3))
    for i in range(6):
        await find(few, f"stones {i}")
    assert (await get_cache_stats(few)).query_embeddings == 3
    none = with_sections(library, cache=CacheSettings(query_embeddings=0))
    await find(none, "something else")
    assert (await get_cache_stats(none)).query_embeddings == 3


# --- the semantic level -----------------------------------------------------------------------------------------------


@pytest.fixture
def semantic(library: Services) -> Services:
    return with_sections(library, cache=CacheSettings(semantic=True, semantic_threshold=0.9))


async def test_nearly_the_same_query_is_answered(semantic: Services) -> None:
    """Off by default."""
    first = await find(semantic, "How do hikers find the trail in fog?")
    again = await find(semantic, "How can hikers find the trail in fog?")
    assert again.from_cache
    assert again.hit is not None
    assert again.hit.similarity is not None
    assert 0.9 <= again.hit.similarity < 1
    assert again.passages == first.passages
    assert (await get_cache_stats(semantic)).counts.semantic_hits == 1
    await index_texts(semantic, {"new": "Hikers find the trail in fog by marble stones."})
    assert not (await find(semantic, "How could hikers find the trail in fog?")).from_cache


async def test_the_semantic_level_is_off_by_default(library: Services) -> None:
    await find(library, "How do hikers find the trail in fog?")
    assert not (await find(library, "How can hikers find the trail in fog?")).from_cache


@pytest.mark.parametrize(
    "other",
    [
        "How do hikers not find the trail in fog?",
        "How do 2 hikers find the trail in fog?",
        "How can hikers find the Trail in fog?",
        "How do fog find the trail in hikers?",
        "How do hikers find the trail before fog?",
        "How does sourdough rise?",
    ],
)
async def test_a_guarded_difference_is_no_hit(semantic: Services, other: str) -> None:
    await find(semantic, "How do hikers find the trail in fog?")
    assert not (await find(semantic, other)).from_cache


async def test_entries_of_another_scope_are_not_near(semantic: Services) -> None:
    await find(semantic, "How do hikers find the trail in fog?")
    assert not (await find(semantic, "How can hikers find the trail in fog?", top_k=3)).from_cache


# --- for analysts -----------------------------------------------------------------------------------------------------


@ALONE
async def test_the_view_shows_entries_and_whether_they_can_still_answer(services: Services, database: str) -> None:
    await index_texts(services, TEXTS)
    first = await warm(services)
    await get_cache_stats(services)
    connection = await asyncpg.connect(database)  # the owner, to whom the tenant is granted
    row = await connection.fetchrow("SELECT * FROM analyst.cache")
    assert (row["tenant"], row["query"], row["collections"]) == ("one", QUERY, ["test"])
    assert (row["run_id"], row["passage_count"], row["hits"]) == (first.trace_id, len(first.passages), 1)
    assert (row["current"], row["semantic"]) == (True, False)
    async with services.database.transaction(services.principal) as transaction:
        await collections.touch(transaction, services.principal, (await get_collection(services, "test")).id)
    assert await connection.fetchval("SELECT current FROM analyst.cache") is False
    await connection.close()
