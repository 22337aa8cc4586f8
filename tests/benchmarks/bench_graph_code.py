"""Symbols of code: what they cost ingestion, and how long look-ups take in a repository: this project's own sources."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace
from uuid import UUID

import numpy as np

from cairn.domain.code import Symbol, SymbolQuery
from cairn.domain.document import Indexed, LoadedDocument, Source
from cairn.graph.code.outline import outline_of
from cairn.graph.code.symbols import find_symbols, wanted_symbols
from cairn.ingest.pipeline import ingest
from cairn.ingest.prepare import prepare
from cairn.service.documents import ensure_collection
from cairn.settings import IngestSettings, Settings
from cairn.wiring import Services
from tests.benchmarks.corpus import DIMENSIONS, Loadable, WordCount, normalised
from tests.benchmarks.loading import opened, publish
from tests.benchmarks.timing import ROUNDS, record
from tests.conftest import REPO

FILES = int(os.environ.get("BENCH_CODE_FILES", "12"))
WITH, WITHOUT = Settings(), Settings(ingest=IngestSettings(code_symbols=False))
QUESTIONS = (
    "Who calls fold?", "`find_symbols` in `app/cairn/graph/code/symbols.py`", "What does Database.transaction do?",
    "Which classes inherit from CairnError?", "Who imports app/cairn/errors.py?", "Where is ingest defined?",
    "What does search in app/cairn/retrieve/search.py call?", "Who calls key_of?",
)  # fmt: skip


def sources(turn: str, first: int, count: int) -> list[Source]:
    """Files of the project. The title is embedded with each chunk: it makes all of them new, so that no vector is reused."""
    written = [path for path in (REPO / "app").rglob("*.py") if path.stat().st_size]
    paths = sorted(written, key=lambda path: path.stat().st_size, reverse=True)
    chosen = [paths[(first + n) % len(paths)] for n in range(count)]
    names = [path.relative_to(REPO).as_posix() for path in chosen]
    return [
        Source(name, name, path.read_bytes(), title=f"{turn} {name}" if turn else None)
        for name, path in zip(names, chosen, strict=True)
    ]


async def test_ingestion_with_and_without_symbols(dsn: str) -> None:
    rates: dict[str, list[float]] = {"with": [], "without": []}
    async with opened(dsn) as services:
        await services.search_deps.embedder.embed(["warm"])
        found = {name: await ensure_collection(services, name) for name in rates}
        for turn in range(ROUNDS + 1):
            for name, settings in (("with", WITH), ("without", WITHOUT)):
                given = sources(f"{name} {turn}", turn * FILES, FILES)
                target = replace(services.target(services.principal, found[name].id), settings=settings)
                started = time.perf_counter()
                outcomes = await ingest(services.database, target, given)
                took = time.perf_counter() - started
                assert all(isinstance(one, Indexed) for one in outcomes)
                if turn:
                    rates[name].append(sum(one.content.count(b"\n") for one in given) / took)
    ratio = statistics.median(a / b for a, b in zip(rates["with"], rates["without"], strict=True))
    result = {name: round(statistics.median(values)) for name, values in rates.items()} | {"ratio": round(ratio, 3)}
    print(f"\nLines of code per second, end to end: {result} (goal: ratio .7)")
    record("code_ingest", result)


async def test_look_ups_in_a_repository(dsn: str) -> None:
    async with opened(dsn) as services:
        collection = await ensure_collection(services, "repository")
        count = sum(path.stat().st_size > 0 for path in (REPO / "app").rglob("*.py"))
        for source in sources("", 0, count):
            await publish(services, collection.id, [loadable(source)])
        times: list[float] = []
        for _ in range(20):
            for question in QUESTIONS:
                started = time.perf_counter()
                found = await look_up(services, collection.id, wanted_symbols(question))
                times.append((time.perf_counter() - started) * 1000)
                assert found, question
        cuts = statistics.quantiles(times, n=20)
        result = {"p50_ms": round(cuts[9], 1), "p95_ms": round(cuts[18], 1)}
        print(f"\nLook-ups of symbols among {count} files: {result}")
        record("code_look_up", result)


def loadable(source: Source) -> Loadable:
    """With made-up vectors: look-ups need none."""
    text = source.content.decode()
    outline = outline_of(text, "python", source.external_id)
    loaded = LoadedDocument(text, "text/x-python", "code", code_language="python", outline=outline)
    document = prepare(source, loaded, WITH, WordCount())
    return Loadable(document, normalised(np.random.default_rng(5).standard_normal((len(document.chunks), DIMENSIONS))))


async def look_up(services: Services, collection_id: UUID, queries: tuple[SymbolQuery, ...]) -> list[Symbol]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await find_symbols(connection, services.principal, [collection_id], queries, limit=2)
