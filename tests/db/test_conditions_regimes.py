"""Operators and filters over collections that an HNSW index serves: min(k, visible) rows, and the exact ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from cairn.domain.passage import SearchRequest, SearchResult
from cairn.jobs import vector_indexes
from cairn.retrieve.operators import parse_operators
from cairn.service.documents import get_collection, index_now
from cairn.service.search import get_trace, run_search
from cairn.wiring import Services
from tests.db.test_vector_regimes import scaled, states
from tests.documents import text_source

pytestmark = pytest.mark.usefixtures("hashed_vectors")

SIZE = 120
ASKED = "stones that mark a trail"
KINDS = ("granite", "basalt", "dark basalt", "marble")


def text_of(number: int) -> str:
    """One chunk; every fourth has each of KINDS, every tenth names the summit."""
    summit = " near the summit" if number % 10 == 0 else ""
    return f"Note {number}: {KINDS[number % 4]} stones mark trail {number % 7}{summit}."


TEXTS = {f"notes/{'high' if i % 3 == 0 else 'low'}/{i}.md": text_of(i) for i in range(SIZE)}
TITLES = {name: f"{'Field guide' if i % 5 == 0 else 'Diary'} {i}" for i, name in enumerate(TEXTS)}
PARTS = {name: i % 6 for i, name in enumerate(TEXTS)}

Rule = Callable[[str], bool]


def holds(pattern: str) -> Rule:
    return lambda name: re.search(pattern, TEXTS[name]) is not None


def lacks(pattern: str) -> Rule:
    return lambda name: re.search(pattern, TEXTS[name]) is None


QUERIES: dict[str, tuple[str, Sequence[Rule], dict[str, Any]]] = {
    "phrase": (f'{ASKED} "dark basalt"', [holds("dark basalt")], {}),
    "word avoided": (f"{ASKED} -basalt", [lacks("basalt")], {}),
    "phrase avoided": (f'{ASKED} -"dark basalt"', [lacks("dark basalt")], {}),
    "rare word": (f"{ASKED} +summit", [holds("summit")], {}),
    "title": (f'{ASKED} title:"field guide"', [lambda name: "Field" in TITLES[name]], {}),
    "path": (f"{ASKED} path:notes/high", [lambda name: "/high/" in name], {}),
    "several": (
        f'{ASKED} "dark basalt" -summit -path:/high',
        [holds("dark basalt"), lacks("summit"), lambda name: "/low/" in name], {},
    ),
    "with a filter": (f"{ASKED} -basalt", [lacks("basalt"), lambda name: PARTS[name] == 1], {"part": 1}),
    "filter": (ASKED, [lambda name: PARTS[name] == 1], {"part": 1}),
    "nothing": (f'{ASKED} "dark granite"', [holds("dark granite")], {}),
}  # fmt: skip


async def notes(services: Services, *collections: str) -> None:
    sources = [text_source(name, text, title=TITLES[name], part=PARTS[name]) for name, text in TEXTS.items()]
    for collection in collections:
        await index_now(services, collection, sources)


async def nearest(services: Services, query: str, rules: Sequence[Rule], collection: str) -> dict[str, float]:
    """Cosine of every document that the rules allow with the query's text, reckoned outside the database."""
    text = parse_operators(query).text
    vector = (await services.search_deps.embedder.embed([text]))[0].astype(np.float16).astype(np.float64)
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT d.external_id, e.embedding FROM rag.embeddings e JOIN rag.documents d ON d.id = e.document_id "
            "JOIN rag.collections c ON c.id = e.collection_id WHERE c.name = $1",
            collection,
        )
    found: dict[str, float] = {}
    for row in rows:
        name, other = row["external_id"], np.array(row["embedding"].to_list())
        if all(rule(name) for rule in rules):
            cosine = float(vector @ other / np.linalg.norm(vector) / np.linalg.norm(other))
            found[name] = max(cosine, found.get(name, -1.0))
    return found


async def search(services: Services, query: str, collections: tuple[str, ...], k: int, **more: Any) -> SearchResult:
    return await run_search(services, SearchRequest(query, collections, top_k=k, cache=False, **more))


@pytest.fixture
async def small(services: Services) -> Services:
    """Collection `notes`, far above the exact scan and without an index of its own."""
    opened = scaled(services, dedicated_above=10**6)
    await notes(opened, "notes")
    return opened


async def indexed(services: Services) -> Services:
    """With the indexes that its settings plan."""
    async with services.database.transaction(services.principal) as connection:
        await vector_indexes.enqueue_plan(connection, services.principal)
    await services.worker().run_until_idle()
    return services


async def regimes(services: Services, found: SearchResult) -> set[str]:
    return {part["regime"] for part in (await get_trace(services, found.trace_id)).plan["vector"]["parts"]}


async def test_conditions_give_the_nearest_of_what_they_leave_in_either_regime(small: Services) -> None:
    """As many rows as there are up to k, the same as a comparison with every vector outside the database."""
    await check_conditions(small, "shared")
    own = await indexed(scaled(small, dedicated_above=50))
    assert await states(own) == {"notes": "ready"}
    await check_conditions(own, "dedicated")


async def check_conditions(services: Services, regime: str) -> None:
    assert await regimes(services, await search(services, ASKED, ("notes",), 10, legs=("vector",))) == {regime}
    for case, (query, rules, filters) in QUERIES.items():
        allowed = await nearest(services, query, rules, "notes")
        label = f"{case}, {regime}"
        assert len(allowed) < SIZE, label
        for k in (5, 100):
            found = await search(services, query, ("notes",), k, legs=("vector",), filters=filters)
            assert not found.degraded, label
            by_id = dict(zip(found.legs[0].passage_ids, found.legs[0].scores, strict=True))
            scores = {p.external_id: by_id[p.passage_id] for p in found.passages}
            assert len(scores) == min(k, len(allowed)), label
            assert scores.keys() <= allowed.keys(), label
            assert found.exact, label
            best = sorted(allowed.values(), reverse=True)[:k]
            assert [scores[p.external_id] for p in found.passages] == pytest.approx(best, abs=2e-3), label


@pytest.mark.siege
async def test_weak_filters_stay_complete_where_the_index_is_used(small: Services) -> None:
    """What a filter leaves is above the exact scan's threshold: all of it is still found."""
    for filters, rule in (({"part": 1}, 1), ({"part": 2}, 2)):
        allowed = {name for name, part in PARTS.items() if part == rule}
        barely = scaled(small, exact_below=len(allowed) - 1, dedicated_above=10**6)
        found = await search(barely, ASKED, ("notes",), 100, legs=("vector",), filters=filters)
        assert {p.external_id for p in found.passages} == allowed


@pytest.mark.siege
async def test_conditions_over_both_regimes_at_once(small: Services) -> None:
    """One collection has an index of its own, another shares; every leg and both together keep to the conditions."""
    await notes(small, "more")
    mixed = await indexed(scaled(small, dedicated_above=50, max_dedicated_indexes=1))
    assert list((await states(mixed)).values()) == ["ready"]
    both = ("notes", "more")
    assert await regimes(mixed, await search(mixed, ASKED, both, 10, legs=("vector",))) == {"dedicated", "shared"}
    for legs in (("vector",), ("lexical",), ("vector", "lexical")):
        for case, (query, rules, filters) in QUERIES.items():
            allowed = {name for name in TEXTS if all(rule(name) for rule in rules)}
            found = await search(mixed, query, both, 100, legs=legs, filters=filters)
            got = {(p.collection, p.external_id) for p in found.passages}
            assert got <= {(collection, name) for collection in both for name in allowed}, (legs, case)
            assert len(got) == min(100, 2 * len(allowed)), (legs, case)


@pytest.mark.siege
async def test_conditions_while_documents_come_and_go(small: Services) -> None:
    """Every search sees one state: the number of results is that of the documents it was made of."""
    before = (await get_collection(small, "notes")).epoch  # ahead of the first change
    base = sum("basalt" in text for text in TEXTS.values())
    done = asyncio.Event()

    async def write() -> None:
        for turn in range(8):
            await index_now(small, "notes", [text_source(f"new/{turn}", f"Note: new basalt stones {turn}.")])
        done.set()

    async def read() -> int:
        seen = 0
        while not done.is_set():
            found = await search(small, f"{ASKED} +basalt", ("notes",), 100, legs=("vector",))
            assert len(found.passages) == base + (found.epochs["notes"] - before)
            seen += 1
        return seen

    _, seen = await asyncio.gather(write(), read())
    assert seen
