"""A folder of mixed files from the disk to searchable: Cairn, its embedding model alone on the same texts, and llama-index
with the same model, in turns in one run.

Goal: at least .95 of the model alone, by processor time. What a document takes and when the first is searchable stand beside it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import statistics
import sysconfig
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cairn.domain.document import Indexed
from cairn.providers.configured import registered_name
from cairn.providers.e5 import E5, NAME
from cairn.providers.protocols import Vectors
from cairn.service.files import ingest_files, select_files
from cairn.settings import RagSettings, Settings, SettingsStore
from cairn.wiring import Services
from tests.benchmarks.children import PEERS, REPO, Child
from tests.benchmarks.loading import opened
from tests.benchmarks.mixed_folder import write_folder
from tests.benchmarks.timing import ROUNDS, record

FILES = int(os.environ.get("BENCH_FILES", "1000"))
"""In all; each round has its part of them."""
FIRST = 7
"""Files of a round before the others, which warm everything and are not counted."""


@dataclasses.dataclass
class Kept:
    """What the model was asked while Cairn worked, in the groups in which it was asked."""

    calls: list[list[str]] = dataclasses.field(default_factory=list)


async def test_a_folder_of_mixed_files(
    dsn: str, processor: Callable[[], float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keep_texts(monkeypatch)
    parts = [FIRST, *[FILES // ROUNDS] * ROUNDS]
    folders = [tmp_path / str(number) for number in range(len(parts))]
    for number, folder in enumerate(folders):
        write_folder(folder, parts[number], first=sum(parts[:number]))
    rounds: list[dict[str, dict[str, float]]] = []
    shipped = SettingsStore(initial=Settings(rag=RagSettings(embedding_model="auto")))
    async with opened(dsn, shipped) as services, peer(dsn, services) as ask_peer:
        for number, folder in enumerate(folders):
            found = {"cairn": await measured(processor, index_folder(services, f"folder-{number}", folder))}
            found["alone"] = await measured(processor, embed_alone(services, kept))
            if ask_peer:
                found["llama-index"] = await measured(processor, ask_peer(folder))
            if number:
                rounds.append({name: each | {"files": parts[number]} for name, each in found.items()})
    report(rounds)


def keep_texts(monkeypatch: pytest.MonkeyPatch) -> Kept:
    kept, embed = Kept(), E5.embed

    async def keeping(self: E5, texts: Sequence[str]) -> Vectors:
        kept.calls.append(list(texts))
        return await embed(self, texts)

    monkeypatch.setattr(E5, "embed", keeping)
    return kept


async def measured(processor: Callable[[], float], work: Any) -> dict[str, float]:
    """What `work` found, and the processor seconds of all that took part."""
    before = processor()
    found: dict[str, float] = await work
    return found | {"processor": processor() - before}


async def index_folder(services: Services, collection: str, folder: Path) -> dict[str, float]:
    started, first = time.perf_counter(), list[float]()
    report = await ingest_files(
        services, collection, select_files([folder]), lambda _: first.append(time.perf_counter() - started)
    )
    assert not report.failed
    chunks = sum(one.chunk_count for one in report.indexed if isinstance(one, Indexed))
    return {"seconds": time.perf_counter() - started, "first": first[0], "chunks": chunks}


async def embed_alone(services: Services, kept: Kept) -> dict[str, float]:
    """The same texts, all at once."""
    texts = [text for call in kept.calls for text in call]
    embedder = services.search_deps.embedders.get(registered_name(NAME, "int8"))
    started = time.perf_counter()
    await embedder.embed(texts)
    assert texts, "another model served"
    kept.calls.clear()
    return {"seconds": time.perf_counter() - started, "chunks": len(texts)}


@asynccontextmanager
async def peer(dsn: str, services: Services) -> AsyncIterator[Callable[[Path], Any] | None]:
    """llama-index in its own environment; None, and a word about it, where that is not installed."""
    python = PEERS / "bin" / "python"
    if not python.is_file():
        print(f"\nllama-index is left out: {PEERS} is not there, run `make bench-peers`")
        yield None
        return
    child = Child([python, Path(__file__).with_name("folder_peer.py")])
    try:
        model = await asyncio.to_thread(E5.open, services.environment.home)
        child.tell(
            {"dsn": dsn, "paths": [str(REPO / "app"), sysconfig.get_path("purelib")], "model": str(model.folder)}
        )
        yield lambda folder: child.ask({"folder": str(folder)})
    finally:
        child.close()


def report(rounds: Sequence[dict[str, dict[str, float]]]) -> None:
    """Medians over the rounds; ratios within a round."""

    def median(name: str, top: str, below: str) -> float:
        return statistics.median(each[name][top] / each[name][below] for each in rounds)

    result: dict[str, Any] = {}
    print(f"\nA folder of mixed files, {len(rounds)} rounds of {rounds[0]['cairn']['files']}:")
    for name in rounds[0]:
        found = {
            "documents_per_second": 1 / median(name, "seconds", "files"),
            "processor_ms_per_document": 1000 * median(name, "processor", "files"),
            "processor_ms_per_chunk": 1000 * median(name, "processor", "chunks"),
            "chunks_per_document": median(name, "chunks", "files"),
        }  # fmt: skip
        found["seconds_of_1000"] = 1000 / found["documents_per_second"]
        if "first" in rounds[0][name]:
            found["first_searchable_s"] = statistics.median(each[name]["first"] for each in rounds)
            found["first_share"] = median(name, "first", "seconds")
        result[name] = {key: round(value, 3) for key, value in found.items()}
        print(f"  {name:12}", ", ".join(f"{key} {value:.4g}" for key, value in found.items()))
    for name, column in (
        ("alone", "processor"),
        ("alone", "seconds"),
        ("llama-index", "processor"),
        ("llama-index", "seconds"),
    ):
        if name in rounds[0]:
            ratio = statistics.median(each[name][column] / each["cairn"][column] for each in rounds)
            result[f"{name}_to_cairn_{column}"] = round(ratio, 3)
            print(f"  {name} to Cairn, {column}: {ratio:.3f}" + (" (goal .95)" if name == "alone" else ""))
    record("ingest_folder", {"rounds": rounds, **result})
