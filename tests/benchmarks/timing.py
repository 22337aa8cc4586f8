"""Windows of load, interleaved, and the report. Ratios within one run are what counts: milliseconds are this machine's."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
"""Length of one window."""
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
"""How often each contestant gets a window; they take turns."""


@dataclass
class Windows:
    """What one contestant did in all its windows: requests per second of each, and every latency in ms."""

    rates: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    processor: float = 0.0
    """Processor seconds of client and server together."""

    def add(self, latencies: Sequence[float], seconds: float, processor: float = 0.0) -> None:
        self.rates.append(len(latencies) / seconds)
        self.latencies += latencies
        self.processor += processor

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def p50(self) -> float:
        return percentile(self.latencies, 50)

    def summary(self) -> dict[str, float]:
        return {
            "per_second": round(self.rate, 1), "p50_ms": round(self.p50, 2),
            "p95_ms": round(percentile(self.latencies, 95), 2), "requests": len(self.latencies),
            "processor_ms": round(1000 * self.processor / max(1, len(self.latencies)), 2),
        }  # fmt: skip


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")


def sizes(default: str = "5000,50000") -> list[int]:
    """Collection sizes in chunks: BENCH_SIZES, comma separated."""
    return [int(size) for size in os.environ.get("BENCH_SIZES", default).split(",")]


async def drive(
    ask: Callable[[T], Awaitable[object]], queries: Sequence[T], clients: int, seconds: float = SECONDS
) -> tuple[list[float], float]:
    """Clients that ask one query after the other for so long; latencies in ms and the seconds that it took."""
    latencies: list[float] = []
    started = time.perf_counter()

    async def client(number: int) -> None:
        place = number * len(queries) // clients
        while time.perf_counter() - started < seconds:
            begun = time.perf_counter()
            await ask(queries[place % len(queries)])
            latencies.append((time.perf_counter() - begun) * 1000)
            place += 1

    await asyncio.gather(*(client(number) for number in range(clients)))
    return latencies, time.perf_counter() - started


Contestant = Callable[[int, float], Awaitable[tuple[list[float], float]]]
"""Given clients and seconds: latencies in ms and the seconds it took."""


async def interleave(
    contestants: Mapping[str, Contestant],
    clients: Sequence[int],
    processor: Callable[[], float],
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
) -> dict[int, dict[str, Windows]]:
    """Windows by number of clients and name. A short window of each, not counted, warms caches and plans.

    `processor`: processor seconds used so far by everything that takes part; one contestant works at a time.
    """
    for contest in contestants.values():
        await contest(max(clients), min(1.5, seconds))
    found: dict[int, dict[str, Windows]] = {number: defaultdict(Windows) for number in clients}
    for _ in range(rounds):
        for number in clients:
            for name, contest in contestants.items():
                before = processor()
                window = await contest(number, seconds)
                found[number][name].add(*window, processor() - before)
    return found


Turn = Callable[[int], Awaitable[object]]
"""Asks the query of that number."""


async def take_turns(
    contestants: Mapping[str, Turn], count: int, processor: Callable[[], float], rounds: int = ROUNDS
) -> dict[str, Windows]:
    """Every query by every contestant, in random order, one at a time: what a search takes beside other work, with caches
    that are not its own. The first ten queries are asked once before, uncounted."""
    order, found = random.Random(5), {name: Windows() for name in contestants}
    looks = [-processor() + processor() for _ in range(50)]
    look = statistics.median(looks)  # looking at all processes takes as long as a search
    for number in range(min(10, count)):
        for ask in contestants.values():
            await ask(number)
    for number in [number for _ in range(rounds) for number in range(count)]:
        for name in order.sample(list(contestants), len(contestants)):
            before, begun = processor(), time.perf_counter()
            answer = await contestants[name](number)
            seconds = time.perf_counter() - begun
            # a contestant in another process tells its own time, without that of the question to it
            milliseconds = answer if isinstance(answer, float) else 1000 * seconds
            found[name].add([milliseconds], seconds, max(0.0, processor() - before - look))
    return found


def table(title: str, windows: Mapping[int, Mapping[str, Windows]], reference: str) -> dict[str, Any]:
    """Print it, and return it for the report. Ratios are to the reference: rate over its rate, p50 over its p50."""
    print(f"\n{title}   (ratios to {reference})")
    out: dict[str, Any] = {}
    for clients, by_name in windows.items():
        base = by_name[reference]
        for name, item in by_name.items():
            ratios = {"rate_ratio": round(item.rate / base.rate, 3), "p50_ratio": round(item.p50 / base.p50, 3)}
            numbers = item.summary() | ratios
            out.setdefault(str(clients), {})[name] = numbers
            print(
                f"  {clients:3} clients  {name:34} {numbers['per_second']:8.1f}/s x{ratios['rate_ratio']:<7} "
                f"p50 {numbers['p50_ms']:8.2f} ms x{ratios['p50_ratio']:<7} p95 {numbers['p95_ms']:8.2f} ms, "
                f"processor {numbers['processor_ms']:6.2f} ms"
            )
    return out


def record(name: str, result: Mapping[str, Any]) -> None:
    """Put a result into the report (BENCH_REPORT, default bench-report.json), beside what others put there."""
    path = Path(os.environ.get("BENCH_REPORT", "bench-report.json"))
    report = json.loads(path.read_text()) if path.exists() else {}
    report["machine"] = {"cores": os.cpu_count(), "processor": _processor(), "python": platform.python_version()}
    report[name] = {"load_average": os.getloadavg()[0], **result}
    path.write_text(json.dumps(report, indent=1) + "\n")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def resident_mb(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def scheduled_seconds(*pids: int) -> float:
    """Processor time that the living processes among these and all below them have used, to the nanosecond (Linux)."""
    below: dict[int, list[int]] = defaultdict(list)
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            below[int(file.read_text().rpartition(")")[2].split()[1])].append(int(file.parent.name))
    total, seen, waiting = 0, set[int](), list(pids)
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        waiting += below[pid]
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(thread.read_text().split()[0])
    return total / 1e9


@dataclass(frozen=True)
class Spent:
    """Seconds until some moment: on the processor and waiting for one, by threads of a process."""

    at: float
    ran: dict[str, float]
    queued: dict[str, float]

    def held_since(self, before: Spent, loop: str) -> float:
        """How long the thread `loop` was kept by the process itself, at most: what it computed, and what another thread did while
        it stood still, which may have had the interpreter. Waiting for a processor is the machine's."""
        ran = {thread: now - before.ran.get(thread, 0.0) for thread, now in self.ran.items()}
        computed, queued = ran.pop(loop), self.queued[loop] - before.queued[loop]
        still = max(0.0, self.at - before.at - computed - queued)
        return computed + min(still, max(ran.values(), default=0.0))


def look(pid: int) -> Spent:
    """At the threads of a process, without what it started."""
    ran, queued = dict[str, float](), dict[str, float]()
    for one in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):
            ran[one.parent.name], queued[one.parent.name] = (
                int(number) / 1e9 for number in one.read_text().split()[:2]
            )
    return Spent(time.perf_counter(), ran, queued)


def processor_seconds(*pids: int) -> float:
    """Processor time that these processes and all below them have used, those that have ended included (Linux).

    Unlike the clock it says nearly the same on a busy machine.
    """
    below: dict[int, list[int]] = defaultdict(list)
    used: dict[int, float] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            numbers = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        pid = int(file.parent.name)
        below[int(numbers[1])].append(pid)
        used[pid] = sum(map(int, numbers[11:15])) / os.sysconf("SC_CLK_TCK")
    tree, waiting = set[int](), list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in tree:
            tree.add(pid)
            waiting += below[pid]
    return sum(used.get(pid, 0.0) for pid in tree)
