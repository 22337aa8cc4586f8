"""Goodput under overload: searches per second that succeed when five times as many are asked for as the server can do, against
the most that it does when nobody asks for more. Goal: .9, refusals in under 50 ms, and /health all the time.

On a busy machine the clock says little: so a refusal stands beside what /health/live and a bare server (bare_server.py) take that
are asked in the same moment, and beside how much of its time the server itself kept its event loop (`held`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any

from cairn.domain.principal import ALL_SCOPES, KeyLimits
from cairn.service.keys import create_key
from tests.benchmarks import children
from tests.benchmarks.conftest import Serving, free_port
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.loading import bulk_load, opened, settled
from tests.benchmarks.timing import percentile, processor_seconds, record, sizes

SECONDS = 5.0
ROUNDS = 3
FACTOR = 5
CLIENTS = 8
AT_ONCE = 200
BURSTS = 10
PER_MINUTE = 5
"""Requests that the key of the second test may make, which asks for RATE in each second."""
RATE = 200


async def test_goodput_at_five_times_what_can_be_done(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]]
) -> None:
    corpus = Corpus(*sizes("5000"))
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
        await settled(services)
    bodies = [{"query": query.text, "collection": "bench", "cache": False} for query in corpus.queries]
    peaks, goodputs, health = [], [], []
    found: dict[str, list[list[float]]] = {}
    with serve(dsn, corpus.queries) as serving:
        closed = children.loader(serving.port, bodies)
        async with _open_load(serving, bodies=bodies, path="/search") as load:
            for _ in range(ROUNDS):
                latencies, seconds = await closed.window(CLIENTS, SECONDS)
                peaks.append(len(latencies) / seconds)
                over = Event()
                watching = Thread(target=_watch, args=(serving.port, over, health))
                watching.start()
                answers = await load.ask({"rate": FACTOR * peaks[-1], "seconds": SECONDS})
                over.set()
                watching.join()
                goodputs.append(sum(len(answers.get(kind, [])) for kind in ("200", "200 new")) / SECONDS)
                for kind, times in answers.items():
                    found.setdefault(kind, []).extend(times)
        closed.close()
    report = {
        "peak_per_second": median(peaks), "goodput_per_second": median(goodputs), "ratio": median(goodputs) / median(peaks),
        **_refusals("503", found), "health_ms_worst": max(health),
    }  # fmt: skip
    record("admission", report)
    print(report)
    assert "lost" not in found


async def test_requests_beyond_the_limit_of_a_key(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]]
) -> None:
    """Of a key that has made its requests, while another key's searches keep the server as busy as it can be."""
    corpus = Corpus(*sizes("5000"))
    async with opened(dsn) as services:
        await bulk_load(services, "bench", corpus.documents())
        await settled(services)
        _, busy = await create_key(services, "busy", ALL_SCOPES)
        _, limited = await create_key(services, "limited", ALL_SCOPES, limits=KeyLimits(requests_per_minute=PER_MINUTE))
    bodies = [{"query": query.text, "collection": "bench", "cache": False} for query in corpus.queries]
    with serve(dsn, corpus.queries, CAIRN_AUTH="keys") as serving:
        closed = children.loader(serving.port, bodies, busy)
        told = {"Authorization": f"Bearer {limited}"}
        async with _open_load(serving, bodies=bodies, path="/search", headers=told) as load:
            alone = processor_seconds(serving.pid)
            found = await load.ask(
                {"rate": RATE, "seconds": SECONDS}
            )  # uses the limit up, and costs what refusals cost
            alone = processor_seconds(serving.pid) - alone
            beside, found = await asyncio.gather(
                closed.window(CLIENTS, ROUNDS * SECONDS), load.ask({"rate": RATE, "seconds": ROUNDS * SECONDS})
            )
        closed.close()
    report = {
        "searches_per_second": len(beside[0]) / beside[1], "processor_ms_alone": 1000 * alone / (RATE * SECONDS),
        **_refusals("429", found),
    }  # fmt: skip
    record("used_up", report)
    print(report)
    assert "lost" not in found


@asynccontextmanager
async def _open_load(serving: Serving, **asked: Any) -> AsyncIterator[children.Child]:
    """The generator of open_load.py, and the bare server beside."""
    floor, here = free_port(), Path(__file__)
    bare = children.Child([sys.executable, here.with_name("bare_server.py"), str(floor)])
    load = children.Child([sys.executable, here.with_name("open_load.py"), str(serving.port)])
    load.tell({**asked, "pid": serving.pid, "floor": floor})
    try:
        yield load
    finally:
        load.close()
        bare.process.terminate()
        bare.close()


def _refusals(status: str, found: Mapping[str, list[list[float]]]) -> dict[str, Any]:
    """How long refusals took, what was asked in the same moment, and what kept the loop from them; ratios are of connections that
    were there."""
    report: dict[str, Any] = {"answers": {kind: len(times) for kind, times in found.items()}}
    for kind, name in ((status, "refusal"), (f"{status} new", "refusal_new"), ("live", "live"), ("floor", "floor")):
        for number, what in enumerate(("ms", "held_ms", "queued_ms")):
            values = [one[number] for one in found.get(kind, ()) if one[number] is not None]
            if values:
                report |= {f"{name}_{what}_p{percent}": round(percentile(values, percent), 2) for percent in (50, 99)}
    for name in ("live", "floor"):
        for percent in (50, 99):
            ours, other = (report.get(f"{one}_ms_p{percent}", float("nan")) for one in ("refusal", name))
            report[f"ratio_to_{name}_p{percent}"] = round(ours / other, 2)
    return report


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
