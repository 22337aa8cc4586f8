"""The read path: legs, fusion, filters, grouping, failure of parts, traces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.passage import SearchRequest
from cairn.errors import NotFoundError
from cairn.service.documents import get_collection, index_now
from cairn.service.search import get_trace
from cairn.settings import RagSettings, RetrieveSettings, Settings, VectorSettings
from cairn.store.traces import TraceWriter
from cairn.wiring import Services
from tests.db.tenants import on_documents_of, tenant_of
from tests.documents import find, index_texts, text_source, unreachable_embedder
from tests.sharing import SHARED

pytestmark = SHARED

TEXTS = {
    "cairns": "Hikers pile stones into a cairn so that others can find the trail in fog.",
    "bridges": "A suspension bridge carries its deck on cables that hang between towers.",
    "bread": "Sourdough rises slowly because wild yeast works more slowly than baker's yeast.",
    "code": "The column parent_chunk_id links a chunk; HTTPServerError is raised by cairn.db.pool since v0.8.5.",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelved(services_of_module: Services) -> AsyncIterator[Services]:
    async with tenant_of(services_of_module) as opened:
        await index_texts(opened, TEXTS)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def library(shelved: Services) -> AsyncIterator[Services]:
    """For tests that only ask."""
    async with on_documents_of(shelved) as opened:
        yield opened


def with_settings(services: Services, settings: Settings) -> Services:
    from cairn.settings import SettingsStore

    return replace(services, settings=SettingsStore(initial=settings))


async def test_a_question_finds_its_passage_by_the_lexical_leg_alone(library: Services) -> None:
    """OR semantics: most words of the question stand nowhere."""
    result = await find(library, "Why does sourdough dough take such a long time to rise?", legs=("lexical",))
    assert result.passages[0].external_id == "bread"
    assert result.legs_used == ("lexical",)


@pytest.mark.parametrize(
    "query",
    [
        "parent_chunk_id",
        "parent chunk id",
        "chunk_id",
        "HTTPServerError",
        "server error",
        "cairn.db.pool",
        "v0.8.5",
        "0.8.5",
    ],
)
async def test_identifiers_are_found_whole_and_in_parts(library: Services, query: str) -> None:
    assert (await find(library, query, legs=("lexical",))).passages[0].external_id == "code"


async def test_meaning_finds_what_words_do_not(library: Services) -> None:
    result = await find(library, "rock heaps that show walkers the way", legs=("vector",))
    assert result.passages[0].external_id == "cairns"
    assert result.passages[0].matched == (0, len(TEXTS["cairns"]))


@pytest.mark.parametrize("grouping", [{}, {"group_by": "document"}], ids=["one statement", "stepwise"])
async def test_far_from_everything_the_order_of_the_cosines_stays(services: Services, grouping: dict[str, str]) -> None:
    """All cosines are below 0, which relative scores count as 0; the statement guesses the same passages."""
    goods = ("paper", "ink", "glue", "pens", "tape", "wire", "bolts", "nails", "lamps", "cups", "soap", "rope", "sand")
    text = "Invoice {}: {} boxes of {} were delivered to the warehouse in Lyon and paid by bank transfer."
    await index_texts(services, {one: text.format(n, 7 * n, one) for n, one in enumerate((*goods, "tiles", "seeds"))})
    result = await find(services, "haiku about love and grief", legs=("vector",), top_k=5, **grouping)
    vector = next(leg for leg in (await get_trace(services, result.trace_id)).legs if leg.leg == "vector")
    assert len(vector.scores) == 15
    assert max(vector.scores) < 0
    assert [passage.passage_id for passage in result.passages] == list(vector.passage_ids[:5])
    assert not result.retries


async def test_hybrid_fuses_both_legs(library: Services) -> None:
    """Over the database: first in every leg is the best there can be, in either form."""
    result = await find(library, "cairn trail fog")
    best = result.passages[0]
    assert best.external_id == "cairns"
    assert best.ranks == {"vector": 1, "lexical": 1}
    assert best.score == pytest.approx(1.0)
    by_rank = with_settings(library, Settings(retrieve=RetrieveSettings(fusion="rrf")))
    assert (await find(by_rank, "cairn trail fog")).passages[0].score == pytest.approx(1.0)
    assert set(result.legs_used) == {"vector", "lexical"}
    assert result.exact
    assert {"embed", "vector", "lexical", "fetch", "total"} <= set(result.timings_ms)


@pytest.mark.parametrize("leg", ["vector", "lexical"])
async def test_filters_match_metadata_by_containment(services: Services, leg: str) -> None:
    """Always min(k, visible) rows."""
    sources = [text_source(f"d{i}", f"granite text number {i}", year=2000 + i % 4, tags=["a", "b"]) for i in range(20)]
    await index_now(services, "test", sources)
    result = await find(services, "granite", legs=(leg,), filters={"year": 2001}, top_k=50)
    assert len(result.passages) == 5
    assert {p.metadata["year"] for p in result.passages} == {2001}
    assert len((await find(services, "granite", legs=(leg,), filters={"tags": ["b"]}, top_k=50)).passages) == 20
    assert not (await find(services, "granite", legs=(leg,), filters={"year": 1900})).passages


async def test_the_index_never_returns_fewer_than_there_are(services: Services) -> None:
    """With the HNSW index in use (no exact scan below any size), a rare filter still yields all its rows."""
    sources = [text_source(f"d{i}", f"granite text number {i} about walking", rare=i % 10 == 0) for i in range(40)]
    await index_now(services, "test", sources)
    indexed = with_settings(services, Settings(vector=VectorSettings(exact_below=0, ef_search=20)))
    result = await find(indexed, "bread", legs=("vector",), filters={"rare": True}, top_k=10)
    assert len(result.passages) == 4
    result = await find(indexed, "walking on granite", legs=("vector",), top_k=35)
    assert len(result.passages) == 35


async def test_many_chunks_of_few_passages_do_not_crowd_out_the_rest(services: Services) -> None:
    """The vector leg looks on until it has as many passages as are wanted."""
    long = {
        f"l{i}": "\n\n".join(f"Granite cairn {j} on the granite ridge of granite. " * 8 for j in range(40))
        for i in range(3)
    }
    await index_texts(services, long | {f"s{i}": f"A note on bread, number {i}." for i in range(30)})
    visible = (await get_collection(services, "test")).passage_count
    result = await find(services, "granite cairn", legs=("vector",), top_k=200)
    assert len(result.passages) == min(200, visible)


async def test_group_by_document_keeps_the_best_passage_of_each(services: Services) -> None:
    long = "\n\n".join(f"Granite paragraph {i}. " * 60 for i in range(12))
    await index_texts(services, {"long": long, "short": "One granite sentence.", "other": "Bread."})
    result = await find(services, "granite paragraph", group_by="document", top_k=10)
    names = [p.external_id for p in result.passages]
    assert len(names) == len(set(names)) == 3


async def test_expand_parents_false_gives_the_chunk(services: Services) -> None:
    """Children are searched, parents shown, unless the caller wants the child."""
    text = "\n\n".join(f"Paragraph {i} speaks of bread and butter at some length, as it must. " * 4 for i in range(6))
    await index_texts(services, {"a": text + "\n\nA cairn of granite marks the trail."})
    whole = (await find(services, "granite cairn", legs=("vector",))).passages[0]
    part = (await find(services, "granite cairn", legs=("vector",), expand_parents=False)).passages[0]
    assert len(part.content) <= 400 < len(whole.content)
    assert part.content in whole.content
    assert (part.start, part.end) == whole.matched


async def test_a_failed_leg_is_reported_and_the_other_answers(library: Services) -> None:
    """The lexical function is gone; the search still answers and says what failed."""
    owner = await asyncpg.connect(library.owner_dsn)
    await owner.execute("ALTER FUNCTION rag.lexical_best RENAME TO lexical_gone")
    try:
        result = await find(library, "cairn trail")
    finally:
        await owner.execute("ALTER FUNCTION rag.lexical_gone RENAME TO lexical_best")
        await owner.close()
    assert result.legs_used == ("vector",)
    assert "lexical_best" in result.legs_failed["lexical"]
    assert any("lexical" in reason for reason in result.degraded)
    assert result.passages[0].external_id == "cairns"


async def test_a_failed_embedder_leaves_the_lexical_leg(library: Services) -> None:
    broken = replace(library, search_deps=replace(library.search_deps, embedder=unreachable_embedder()))
    result = await find(broken, "a cairn that no other test asks for, whose vector is kept nowhere")
    assert result.legs_used == ("lexical",)
    assert "query embedding failed" in result.legs_failed["vector"]


async def test_rerank_asked_for_without_a_reranker_is_reported(library: Services) -> None:
    assert any("no reranker" in reason for reason in (await find(library, "cairn", rerank=True)).degraded)
    assert not (await find(library, "cairn")).degraded


async def test_unknown_collections_are_named(library: Services) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        await find(library, "cairn", collection="nowhere")


async def test_several_collections_are_searched_together(services: Services) -> None:
    await index_texts(services, {"a": "granite in the first"}, collection="first")
    await index_texts(services, {"a": "granite in the second"}, collection="second")
    from cairn.service.search import run_search

    result = await run_search(services, SearchRequest(query="granite", collections=("first", "second")))
    assert {p.collection for p in result.passages} == {"first", "second"}


async def test_the_trace_tells_why_each_candidate_was_kept_or_dropped(library: Services) -> None:
    """Every candidate of every leg with raw score, rank and share."""
    result = await find(library, "cairn trail", top_k=1)
    trace = await get_trace(library, result.trace_id)
    assert trace.question == "cairn trail"
    assert trace.settings_revision == library.settings.current.revision
    assert trace.epochs == {"test": (await get_collection(library, "test")).epoch}
    legs = {leg.leg: leg for leg in trace.legs}
    assert set(legs) == {"vector", "lexical", "fused"}
    assert len(legs["vector"].passage_ids) == 4
    assert legs["fused"].fates[0] == "kept"
    assert set(legs["fused"].fates[1:]) == {"below top_k"}
    assert legs["lexical"].scores[0] > 0


async def test_failed_searches_leave_a_trace_too(library: Services) -> None:
    with pytest.raises(NotFoundError):
        await find(library, "cairn", collection="nowhere")
    await library.traces.flush()
    async with library.database.transaction(library.principal) as connection:
        row = await connection.fetchrow("SELECT outcome, error FROM rag.runs WHERE collections = '{nowhere}'")
    assert row["outcome"] == "error"
    assert "nowhere" in row["error"]


@pytest.mark.siege
async def test_a_flush_waits_for_no_company(library: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces linger for others to come; who wants them written does not, however many batches they are."""
    monkeypatch.setattr(TraceWriter, "LINGER_SECONDS", 3600.0)
    found = [await find(library, f"cairn number {number}", cache=False) for number in range(2 * TraceWriter.BATCH + 3)]
    await library.traces.flush()
    async with library.database.transaction(library.principal) as connection:
        rows = await connection.fetch("SELECT id FROM rag.runs WHERE question LIKE 'cairn number %'")
    assert {row["id"] for row in rows} == {result.trace_id for result in found}
    assert library.traces.dropped == 0


async def test_hybrid_off_means_the_vector_leg_only(library: Services) -> None:
    """The setting hybridSearchEnabled."""
    from cairn.retrieve.plan import default_legs

    off = Settings(rag=RagSettings(hybrid_search_enabled=False))
    assert default_legs(off) == ("vector",)
    assert default_legs(Settings()) == ("vector", "lexical", "graph")
