"""Several processes that index small documents into one collection: how long they wait for each other.

Goal: with 4 processes (8 writers) at most 15 % of the samples of busy connections wait for a lock. "one by one" is the same
with a transaction for each document.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg

from cairn.ingest.publish_queue import TOGETHER_CHUNKS
from cairn.service.documents import get_collection
from tests.benchmarks.children import REPO, Child
from tests.benchmarks.loading import opened, statistics_are_exact
from tests.benchmarks.timing import record

DOCUMENTS, CHUNKS = 480, 4
"""In all, and of each."""
WAYS = {"together": TOGETHER_CHUNKS, "one by one": 1}
SAMPLE = """
SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting, count(*) AS busy
FROM pg_stat_activity WHERE application_name = 'cairn' AND state = 'active' AND datname = current_database()
"""
PAUSE_SECONDS = 0.01


async def test_workers_of_one_collection(dsn: str, processor: Callable[[], float]) -> None:
    report: dict[str, Any] = {}
    async with opened(dsn) as services:
        sampling = await asyncpg.connect(services.owner_dsn)
        for way, together in WAYS.items():
            for workers in (1, 2, 4):
                name = f"{way.replace(' ', '-')}-{workers}"
                found = await _index(dsn, name, workers, together, sampling, processor)
                assert await statistics_are_exact(services, name)
                found["groups"] = (await get_collection(services, name)).epoch
                report[name] = found
                print(f"\n{way}, {workers} processes: {found['waiting']:.0%} of busy samples wait for a lock, "
                      f"{found['per_second']} documents/s, {found['processor_ms']} ms of processor time a document, "
                      f"{found['groups']} transactions"
                      + (" (goal 15 %)" if workers == 4 else ""))  # fmt: skip
        await sampling.close()
    record("workers", report)


async def _index(
    dsn: str, collection: str, workers: int, together: int, sampling: Any, processor: Callable[[], float]
) -> dict[str, float]:
    children = [
        Child([sys.executable, Path(__file__).with_name("load_worker.py")], {"PYTHONPATH": str(REPO / "app")})
        for _ in range(workers)
    ]
    try:
        for number, child in enumerate(children):
            child.tell({
                "dsn": dsn, "collection": collection, "documents": DOCUMENTS // workers, "per_document": CHUNKS,
                "seed": number, "together": together,
            })  # fmt: skip
        for child in children:
            await child.hear()
        before = processor()
        answers = [asyncio.ensure_future(child.ask({})) for child in children]
        busy = waiting = 0
        while not all(answer.done() for answer in answers):
            row = await sampling.fetchrow(SAMPLE)
            busy, waiting = busy + row["busy"], waiting + row["waiting"]
            await asyncio.sleep(PAUSE_SECONDS)
        done = [answer.result() for answer in answers]
        used = processor() - before
    finally:
        for child in children:
            child.close()
    assert sum(one["indexed"] for one in done) == DOCUMENTS // workers * workers
    return {
        "waiting": round(waiting / max(busy, 1), 3), "samples": busy,
        "per_second": round(DOCUMENTS / max(one["seconds"] for one in done), 1),
        "processor_ms": round(1000 * used / DOCUMENTS, 2),
    }  # fmt: skip
