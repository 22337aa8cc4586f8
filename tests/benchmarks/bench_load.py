"""Loading prepared documents with given vectors, from Parquet files to a ready index, as `cairn load` does it.

Goal: a million chunks in under an hour on two cores, 278 chunks/s. BENCH_SIZES=1000000 measures that very number; making its
files takes longer than loading them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from cairn.distribution import release
from cairn.ingest.prepared_files import PartWriter, make_manifest
from cairn.ingest.prepared_rows import row_of
from cairn.service.bulk import load_prepared, open_folder
from cairn.service.jobs import build_indexes
from cairn.settings import Settings
from tests.benchmarks.corpus import DIMENSIONS, Corpus
from tests.benchmarks.loading import opened, statistics_are_exact
from tests.benchmarks.timing import record
from tests.bulk_environment import need_pyarrow

need_pyarrow()

SIZES = [int(size) for size in os.environ.get("BENCH_SIZES", "20000").split(",")]
"""Chunks."""
GOAL = 1_000_000 / 3600
MODEL = "all-MiniLM-L6-v2:int8"


def write_corpus(folder: Path, chunks: int) -> float:
    """Megabytes of the files."""
    writer = PartWriter(folder, make_manifest(Settings(), MODEL, DIMENSIONS, release()))
    for one in Corpus(chunks, query_count=0).documents():
        writer.add(row_of(one.document, one.vectors.astype(np.float16), keep_original=True))
    writer.close()
    return sum(part.stat().st_size for part in writer.written) / 1e6


async def test_load(dsn: str, tmp_path: Path, processor: Callable[[], float]) -> None:
    results = {}
    async with opened(dsn) as services:
        for size in SIZES:
            folder, name = tmp_path / str(size), f"load-{size}"
            megabytes = write_corpus(folder, size)
            marks, used = [time.perf_counter()], processor()
            prepared = open_folder(folder)
            marks.append(time.perf_counter())
            report = await load_prepared(services, name, prepared, lambda _: None)
            marks.append(time.perf_counter())
            await build_indexes(services)
            marks.append(time.perf_counter())
            used = processor() - used
            again = await load_prepared(services, name, prepared, lambda _: None)
            marks.append(time.perf_counter())
            assert not report.failed
            assert again.counts["unchanged"] == len(report.indexed)
            assert await statistics_are_exact(services, name)
            chunks = sum(one.chunk_count for one in report.indexed)
            looked, rows, index, anew = (after - before for before, after in pairwise(marks))
            results[size] = {
                "chunks": chunks, "per_second": round(chunks / (looked + rows + index)), "open_s": round(looked, 2),
                "rows_s": round(rows, 1), "index_s": round(index, 1), "again_s": round(anew, 1),
                "processor_ms": round(1000 * used / chunks, 2), "file_mb": round(megabytes, 1),
            }  # fmt: skip
            print(f"\n{chunks:,} chunks loaded and indexed: {results[size]['per_second']} a second (goal {GOAL:.0f}); "
                  f"{results[size]}")  # fmt: skip
    record("load", {str(size): found for size, found in results.items()})
