"""Goodput under overload: searches per second that succeed when five times as many are asked for as the server can do, against
the most that it does when nobody asks for more. Goal: .9, refusals in under 50 ms, and /health all the time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from threading import Event, Thread

from tests.benchmarks import children
from tests.benchmarks.conftest import Serving
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.loading import bulk_load, opened, settled
from tests.benchmarks.timing import percentile, record

SECONDS = 5.0
ROUNDS = 3
FACTOR = 5
CLIENTS = 8
AT_ONCE = 200
BURSTS = 10


async def test_goodput_at_five_times_what_can_be_done(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]]
) -> None:
    corpus = Corpus(5000)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
        await settled(services)
    bodies = [{"query": query.text, "collection": "bench", "cache": False} for query in corpus.queries]
    peaks, goodputs, refused, lost, health = [], [], [], 0, []
    with serve(dsn, corpus.queries) as serving:
        closed = children.loader(serving.port, bodies)
        load = children.Child([sys.executable, Path(__file__).with_name("open_load.py"), str(serving.port)])
        load.tell({"bodies": bodies})
        for _ in range(ROUNDS):
            latencies, seconds = await closed.window(CLIENTS, SECONDS)
            peaks.append(len(latencies) / seconds)
            over = Event()
            watching = Thread(target=_watch, args=(serving.port, over, health))
            watching.start()
            answers = await load.ask({"rate": FACTOR * peaks[-1], "seconds": SECONDS})
            over.set()
            watching.join()
            goodputs.append(len(answers.get("200", [])) / SECONDS)
            refused += answers.get("503", [])
            lost += sum(len(times) for status, times in answers.items() if status not in ("200", "503"))
        closed.close()
        load.close()
    report = {
        "peak_per_second": median(peaks), "goodput_per_second": median(goodputs), "ratio": median(goodputs) / median(peaks),
        "refused": len(refused), "refusal_ms_p50": median(refused), "refusal_ms_p99": sorted(refused)[int(0.99 * len(refused))],
        "lost": lost, "health_ms_worst": max(health),
    }  # fmt: skip
    record("admission", report)
    print(report)
    assert not lost


def _watch(port: int, over: Event, health: list[float]) -> None:
    while not over.is_set():
        began = time.perf_counter()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=30) as answer:
            assert answer.status == 200
        health.append(1000 * (time.perf_counter() - began))
        time.sleep(0.1)


async def test_questions_beyond_the_queue_are_refused_as_fast_as_health_answers(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]]
) -> None:
    """Hundreds of questions in one moment, against as many requests for /health/live in one moment: what the connections and this
    client cost is in both."""
    corpus = Corpus(200)
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
        await settled(services)
    question = _request("POST /query", json.dumps({"question": corpus.queries[0].text, "collection": "bench"}))
    refused, pings, statuses = [], [], set()
    with serve(dsn) as serving:  # with the real model: how questions are asked is compared with what it knows
        for _ in range(BURSTS):
            pings += [ms for _, ms in await _burst(serving.port, _request("GET /health/live"))]
            answers = await _burst(serving.port, question)
            statuses |= {status for status, _ in answers}
            refused += [ms for status, ms in answers if status == 503]
    report = {
        "refused": len(refused), "refusal_ms_p50": percentile(refused, 50), "refusal_ms_p99": percentile(refused, 99),
        "health_ms_p99": percentile(pings, 99), "ratio": percentile(refused, 99) / percentile(pings, 99),
    }  # fmt: skip
    record("refusals", report)
    print(report)
    assert statuses == {200, 503}


def _request(line: str, body: str = "") -> bytes:
    kind = "Host: localhost\r\nContent-Type: application/json"
    return f"{line} HTTP/1.1\r\n{kind}\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}".encode()


async def _burst(port: int, request: bytes) -> list[tuple[int, float]]:
    """Status and milliseconds of each, sent over open connections."""
    connections = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(AT_ONCE)))

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, float]:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        spent = 1000 * (time.perf_counter() - began)
        writer.close()
        return int(head.split()[1]), spent

    return await asyncio.gather(*(ask(*one) for one in connections))
