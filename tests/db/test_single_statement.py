"""A search in one statement finds what the same search stepwise finds, and tells it the same way (ADR 0015)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from cairn.domain.ids import new_id
from cairn.domain.passage import Leg, LegResult, SearchRequest, SearchResult
from cairn.domain.trace import LegTrace
from cairn.retrieve import single_statement, stepwise
from cairn.retrieve.context import Executed, Retrieved
from cairn.retrieve.embed import embed_query
from cairn.retrieve.plan import plan_search
from cairn.retrieve.trace import leg_traces
from cairn.service.documents import create_collection, delete_document, index_now, list_documents
from cairn.service.search import get_trace
from cairn.settings import RagSettings, RetrieveSettings, Settings, SettingsStore, VectorSettings
from cairn.wiring import Services
from tests.documents import find, text_source
from tests.sharing import ALONE, SHARED
from tests.thinning import SWEPT

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

WORDS = re.findall(
    r"\w+",
    "granite basalt cairn trail summit ridge fog moss lichen boulder scree marble slate quarry mason chisel arch bridge "
    "tower wall mortar lime sand river",
)


async def fill(services: Services, documents: int, seed: int = 3, collection: str = "test") -> None:
    """Documents of one to four passages, several chunks each."""
    chance = random.Random(seed)
    texts = [
        "\n\n".join(" ".join(chance.choices(WORDS, k=60)) + "." for _ in range(chance.randint(1, 16)))
        for _ in range(documents)
    ]
    sources = [text_source(f"d{i}", text) for i, text in enumerate(texts)]
    for first in range(
        0, documents, 30
    ):  # a run of more than vector.bulkAbove chunks would wait for an index of its own
        await index_now(services, collection, sources[first : first + 30])


def queries(count: int = 12) -> list[str]:
    chance = random.Random(8)
    return [" ".join(chance.choices([*WORDS, "unknown", "the"], k=chance.randint(1, 7))) for _ in range(count)]


async def both_ways(services: Services, settings: Settings, **asked: Any) -> tuple[Executed, Retrieved]:
    request = SearchRequest(collections=("test",), cache=False, **asked)
    deps = services.search_deps
    context = await embed_query(plan_search(deps, services.principal, request, settings), [deps.model])
    assert single_statement.suits(context)
    long = await stepwise.retrieve(context, isolated=False)
    assert long.found is not None
    assert not long.failed
    return await single_statement.retrieve(context), long.found


def rounded(value: Any) -> Any:
    """Distances of the same vectors by index and by scan may differ in the last digits."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


SETTINGS = {
    "exact": Settings(),
    "by ranks": Settings(retrieve=RetrieveSettings(fusion="rrf")),
    # wide enough to find all neighbors: an index that misses some may miss others the next time
    "shared index": Settings(vector=VectorSettings(exact_below=0, ef_search=500)),
    "few chunks": Settings(vector=VectorSettings(exact_below=0, ef_search=500, candidates=20)),
    "other weights": Settings(rag=RagSettings(hybrid_search_weight=0.2)),
}


@ALONE
@SWEPT
async def test_one_statement_is_the_same_search(services: Services, psql: Any, database: str, step: int) -> None:
    """Legs with scores, confidence, exactness and regime, fused order, passages, state of the collection; before the tables are
    analysed and after it."""
    await fill(services, 18)
    await assert_both_ways_are_the_same(services, "never analysed", step)
    psql("ANALYZE rag.embeddings, rag.chunks, rag.passages", database=database.split("/")[3].split("?")[0])
    await assert_both_ways_are_the_same(services, "analysed", step)


async def assert_both_ways_are_the_same(services: Services, state: str, step: int) -> None:
    """An index may miss a neighbour that the planner's scan sees on the other way: then the search says nothing, and few may."""
    for name, settings in SETTINGS.items():
        missed = 0
        for number, query in enumerate(queries()[::step]):
            legs: tuple[Leg, ...] = [("vector", "lexical"), ("lexical", "vector"), ("vector",), ("lexical",)][
                number % 4
            ]
            executed, long = await both_ways(services, settings, query=query, top_k=(3, 10, 40)[number % 3], legs=legs)
            if settings.vector.exact_below == 0 and not same_neighbours(executed, long):
                missed += 1
                continue
            assert_same(executed, long, legs, f"{state}, {name}: {query}")
            if "vector" in legs:
                (part,) = long.legs["vector"].how["parts"]
                assert part["regime"] == ("shared" if settings.vector.exact_below == 0 else "exact"), name
        assert missed <= 3, f"{state}, {name}"


def same_neighbours(executed: Executed, long: Retrieved) -> bool:
    short = executed.found
    assert short is not None
    found = [
        {hit.chunk_id for hit in result.hits} for legs in (short.legs, long.legs) if (result := legs.get("vector"))
    ]
    return not found or found[0] == found[1]


def made(result: LegResult) -> LegResult:
    """With its hits as they are when they are read."""
    return replace(result, hits=list(result.hits))


def assert_same(executed: Executed, long: Retrieved, legs: Sequence[Leg], label: str) -> None:
    assert executed.retry is None, f"{label}: the passages that fuse best were guessed wrong"
    short = executed.found
    assert short is not None, label
    assert list(short.legs) == list(long.legs) == list(legs), label
    for leg in legs:
        assert rounded(asdict(made(short.legs[leg]))) == rounded(asdict(made(long.legs[leg]))), label
    assert rounded(list(short.fused)) == rounded(long.fused), label
    assert rounded([asdict(item) for item in short.shortlist]) == rounded([asdict(item) for item in long.shortlist]), (
        label
    )
    assert (short.scope, short.documents_by_passage(), executed.failed) == (
        long.scope,
        long.documents_by_passage(),
        {},
    ), label
    assert rounded(traced(short)) == rounded(traced(long)), label


def traced(found: Retrieved) -> list[list[Any]]:
    """What the trace says of the lists: of the one statement they are written as they came. The first two were kept, and the
    first four reranked."""
    shortlist = [replace(passage, rerank_score=0.5) for passage in found.shortlist[:4]]
    legs = leg_traces(replace(found, candidates=found.fused), shortlist, found.shortlist[:2])
    columns = [(leg.passage_ids, leg.chunk_ids, leg.scores, map(show_share, leg.shares), leg.fates) for leg in legs]
    return [[leg.leg, *map(list, lists)] for leg, lists in zip(legs, columns, strict=True)]


def show_share(share: float) -> str:
    """Not a number is not itself."""
    return repr(round(share, 9))


async def test_an_empty_collection_is_searched_the_same_way(services: Services) -> None:
    await create_collection(services, "test")
    short, long = await both_ways(services, Settings(), query="granite")
    assert short == Executed(long)
    assert not (await find(services, "granite", cache=False)).passages


@pytest.mark.siege
@ALONE
async def test_an_index_with_too_few_rows_gives_way_to_the_scan(services: Services) -> None:
    """Few tuples may be scanned, most of another collection, so HNSW under-returns: always min(wanted, visible) passages."""
    await fill(services, 60, collection="other")
    await fill(services, 5, seed=4)
    settings = Settings(vector=VectorSettings(exact_below=0, ef_search=10, candidates=20, max_scan_tuples=1000))
    executed, long = await both_ways(services, settings, query="granite cairn", top_k=20, legs=("vector",))
    short = executed.found
    assert short is not None
    assert len(short.shortlist) == len(long.shortlist)
    (part,) = short.legs["vector"].how["parts"]
    assert (part["regime"], part["fell_back"], part["ef_search"]) == ("shared", True, 120)


async def queries_of(services: Services, *searches: SearchRequest) -> tuple[list[str], Sequence[SearchResult]]:
    """Statements that searches send to the database, without their traces."""
    from cairn.retrieve.search import search

    sent: list[str] = []
    async with services.database.connection() as connection:
        connection.add_query_logger(lambda record: sent.append(record.query))
    found = [
        await search(services.search_deps, services.principal, request, services.settings.current)
        for request in searches
    ]
    async with services.database.connection() as connection:
        for logger in list(connection._query_loggers):
            connection._query_loggers.discard(logger)
    return sent, found


async def test_a_plain_search_is_one_round_trip(services: Services) -> None:
    await fill(services, 5)
    request = SearchRequest(query="granite cairn", collections=("test",), cache=False)
    await queries_of(services, request)  # the embedding is known from now on
    sent, (result,) = await queries_of(services, request)
    assert len(sent) == 1
    assert "search_collection" in sent[0]
    assert len(result.passages) == 10


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "changes",
    [{"filters": {"a": 1}}, {"query": "granite -cairn"}, {"group_by": "document"}, {"collections": ("test", "more")}],
)
async def test_other_searches_go_stepwise(services: Services, changes: dict[str, Any]) -> None:
    await fill(services, 5)
    await create_collection(services, "more")
    request = replace(SearchRequest(query="granite cairn", collections=("test",), cache=False), **changes)
    sent, _ = await queries_of(services, request)
    assert sent[0].startswith(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT set_config('role', 'cairn_app', true)"
    )
    assert sent[-1] == "COMMIT"
    assert not any("SAVEPOINT" in statement for statement in sent)


@ALONE
async def test_legs_that_fail_are_named_though_they_ran_together(services: Services, psql: Any, database: str) -> None:
    """The vector leg misses a column; what the lexical one finds is there, and the reason why the other is not."""
    await fill(services, 5)
    psql("ALTER TABLE rag.chunks RENAME passage_id TO gone", database=database.split("/")[3].split("?")[0])
    result = await find(services, "granite cairn", cache=False)
    assert result.legs_used == ("lexical",)
    assert result.passages
    assert "passage_id" in result.legs_failed["vector"]
    assert any("vector" in reason for reason in result.degraded)
    trace = await get_trace(services, result.trace_id)
    assert {leg.leg for leg in trace.legs} == {"lexical", "fused"}


@pytest.mark.siege
@ALONE
async def test_a_search_that_takes_too_long_fails_stepwise(services: Services, psql: Any, database: str) -> None:
    """The time limit of the one statement is that of each leg: the slow one is reported, the other answers."""
    await fill(services, 5)
    slow = (
        "CREATE OR REPLACE FUNCTION rag.lexical_question(tenant bigint, collection uuid, query text, OUT terms integer[], "
        "OUT frequencies bigint[], OUT idfs float8[], OUT bounds float8[], OUT masses jsonb, OUT question sparsevec) "
        "LANGUAGE plpgsql SET search_path = public AS 'BEGIN PERFORM pg_sleep(20); END'"
    )
    psql(slow, database=database.split("/")[3].split("?")[0])
    hasty = Settings(retrieve=RetrieveSettings(statement_timeout_ms=300))
    result = await find(replace(services, settings=SettingsStore(initial=hasty)), "granite cairn", cache=False)
    assert result.legs_used == ("vector",)
    assert "QueryCanceledError" in result.legs_failed["lexical"]


async def test_nobody_else_s_rows_are_found(services: Services, other_tenant: Services) -> None:
    """The tenant is set inside the statement, and row security decides as ever."""
    await fill(services, 5)
    await index_now(other_tenant, "test", [text_source("theirs", "granite cairn of theirs")])
    assert {p.external_id for p in (await find(other_tenant, "granite cairn", cache=False)).passages} == {"theirs"}
    assert "theirs" not in {p.external_id for p in (await find(services, "granite cairn", cache=False)).passages}
    async with services.database.connection() as connection:
        assert not await connection.fetchval("SELECT current_setting('app.tenant', true)")
        assert await connection.fetchval("SELECT count(*) FROM rag.passages") == 0


async def test_what_is_deleted_is_gone_in_the_next_search(services: Services) -> None:
    await fill(services, 5)
    for document in await list_documents(services, "test"):
        await delete_document(services, "test", document.id)
        result = await find(services, "granite cairn", cache=False)
        assert document.external_id not in {passage.external_id for passage in result.passages}


async def test_traces_keep_arrays_as_they_were(services: Services) -> None:
    """Quotes, nulls and numbers come back, each where it was, and lists that say nothing as none."""
    await fill(services, 5)
    result = await find(services, "granite", cache=False)
    trace = replace(await get_trace(services, result.trace_id), id=new_id())
    odd = ('a "quoted" one', "back\\slash", "{brace,comma}", "", "NULL", "naïve\nline")
    one, chunk, nan = result.passages[0].passage_id, result.passages[0].chunk_id, math.nan
    legs = (
        LegTrace("fused", (one,) * 3, (3.0, 2.0, 1.0), (), (0.5, nan, nan), ("kept", "below top_k", "")),
        LegTrace("graph", (), ()),
        LegTrace("lexical", (new_id(), one), (7.5, 1.5), (), (0.25, 0.125)),
        LegTrace("merged", (one,) * 2, (1.0, 0.5), (None,) * 2, (nan,) * 2, ("below top_k",) * 2),
        LegTrace("vector", (one,) * 2, (0.1 + 0.2, 1e-300), (None, chunk), (-0.0, 1e22), ("kept", odd[0])),
    )
    fused = LegTrace("fused", (new_id(),) * 3, (0.5,) * 3, (chunk,) * 3, (0.75,) * 3, ("kept", *("below top_k",) * 2))
    other = replace(trace, id=new_id(), legs=(fused,))
    services.traces.record(other)
    services.traces.record(replace(trace, collections=odd, degraded=odd[:2], legs=legs, question='"\\{'))
    await services.traces.flush()
    assert (await get_trace(services, other.id)).legs == other.legs
    back = await get_trace(services, trace.id)
    assert back.collections == odd
    assert back.degraded == odd[:2]
    assert repr(back.legs) == repr(legs)  # not a number is not itself
    assert back.question == '"\\{'
