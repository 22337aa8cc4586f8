"""What the graph costs ingestion: the same documents with and without it, taking turns.

Goal: .7 of the speed without (issue 5), end to end; storage alone and preparation alone are shown for what they are. The
text is real: chapters of the project's own documents and of shared data where it is there, cut to documents of a page.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from cairn.domain.document import Indexed, LoadedDocument, Source
from cairn.ingest.pipeline import ingest
from cairn.ingest.prepare import prepare
from cairn.providers.protocols import Vectors
from cairn.service.documents import ensure_collection
from cairn.settings import GraphSettings, Settings
from tests.benchmarks.corpus import DIMENSIONS, Loadable, WordCount, normalised
from tests.benchmarks.loading import opened, publish
from tests.benchmarks.timing import ROUNDS, record
from tests.conftest import REPO, SHARED
from tests.documents import text_source

DOCUMENTS = int(os.environ.get("BENCH_DOCUMENTS", "60"))
EMBEDDED = int(os.environ.get("BENCH_EMBED_DOCUMENTS", "20"))
PAGE = 3_000
WITH, WITHOUT = Settings(), Settings(graph=GraphSettings(enabled=False))


def pages() -> list[str]:
    """Texts of about PAGE characters that name things."""
    found: list[str] = []
    paths = [*sorted((SHARED / "data").rglob("*.txt")), *sorted((SHARED / "data").rglob("*.md"))] or sorted(
        Path(REPO).rglob("docs/**/*.md")
    )
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [text[start : start + PAGE] for start in range(0, min(len(text), 60 * PAGE), PAGE)]
    return [page for page in found if len(page.split()) > 100]


def prepared(texts: list[str], prefix: str, settings: Settings) -> tuple[list[Loadable], float]:
    """Documents with made-up vectors, and the seconds that preparing them took."""
    random, made, started = np.random.default_rng(5), [], time.perf_counter()
    for number, text in enumerate(texts):
        source = text_source(f"{prefix}{number}", text)
        made.append(prepare(source, LoadedDocument(text, "text/plain", "plain"), settings, WordCount()))
    seconds = time.perf_counter() - started
    return [Loadable(d, _vectors(random, len(d.chunks))) for d in made], seconds


def _vectors(random: np.random.Generator, count: int) -> Vectors:
    return normalised(random.standard_normal((count, DIMENSIONS)))


async def test_storage_and_preparation(dsn: str) -> None:
    texts = pages()
    assert texts, "no text to index"
    rates: dict[str, list[float]] = {"with": [], "without": []}
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    rows = 0
    async with opened(dsn) as services:
        found = {name: await ensure_collection(services, name) for name in rates}
        for turn in range(ROUNDS + 1):
            chosen = [texts[(turn * DOCUMENTS + n) % len(texts)] for n in range(DOCUMENTS)]
            for name, settings in (("with", WITH), ("without", WITHOUT)):
                loadables, took = prepared(chosen, f"{turn}-", settings)
                chunks = sum(len(item.vectors) for item in loadables)
                started = time.perf_counter()
                for loadable in loadables:
                    await publish(services, found[name].id, [loadable])
                if turn:  # the first warms both
                    rates[name].append(chunks / (time.perf_counter() - started))
                    seconds[name].append(took / len(loadables) * 1000)
                    rows += sum(len(x.document.graph.mentions) + len(x.document.graph.evidence) for x in loadables)
    ratio = statistics.median(a / b for a, b in zip(rates["with"], rates["without"], strict=True))
    result = {
        "with_chunks_per_second": round(statistics.median(rates["with"])),
        "without_chunks_per_second": round(statistics.median(rates["without"])),
        "ratio": round(ratio, 3), "graph_rows_per_document": round(rows / ROUNDS / DOCUMENTS, 1),
        "prepare_ms_with": round(statistics.median(seconds["with"]), 2),
        "prepare_ms_without": round(statistics.median(seconds["without"]), 2),
    }  # fmt: skip
    print(f"\nStorage alone with the graph / without: {result}")
    record("graph_storage", result)


async def test_end_to_end(dsn: str) -> None:
    texts = pages()
    rates: dict[str, list[float]] = {"with": [], "without": []}
    async with opened(dsn) as services:
        await services.search_deps.embedder.embed(["warm"])
        found = {name: await ensure_collection(services, name) for name in rates}
        for turn in range(ROUNDS + 1):
            for name, settings in (("with", WITH), ("without", WITHOUT)):
                # the title is embedded with each chunk: it makes all of them new to the tenant, so that no vector is reused
                sources: list[Source] = [
                    text_source(f"{turn}-{n}", texts[(turn * EMBEDDED + n) % len(texts)], f"Page {name} {turn} {n}")
                    for n in range(EMBEDDED)
                ]
                target = replace(services.target(services.principal, found[name].id), settings=settings)
                started = time.perf_counter()
                outcomes = await ingest(services.database, target, sources)
                took = time.perf_counter() - started
                if turn:
                    rates[name].append(sum(o.chunk_count for o in outcomes if isinstance(o, Indexed)) / took)
    ratio = statistics.median(a / b for a, b in zip(rates["with"], rates["without"], strict=True))
    result = {name: round(statistics.median(values), 1) for name, values in rates.items()} | {"ratio": round(ratio, 3)}
    print(f"\nEnd to end, chunks per second: {result} (goal: ratio .7)")
    record("graph_end_to_end", result)
