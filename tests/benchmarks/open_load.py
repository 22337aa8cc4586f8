"""Requests at a given rate, whether or not the server keeps up: what happens to a server that is asked for more than it can do.

python open_load.py PORT, then on standard input a line of JSON {"bodies", "path", "headers", "pid", "floor"}, then lines
{"rate", "seconds"}; for each a line of JSON back: of each kind of answer [milliseconds, held, queued]. Kinds are the statuses of
what is asked, "live" (GET /health/live) and "floor" (the bare server of that port): both are asked in the same moment as one of
BESIDE requests. Of that one and of "live", `held` is how many of the milliseconds the server's own work kept its event loop, and
`queued` how many its thread waited for a processor (timing.look); else both are null. Who finds no connection free opens one, and
its kind ends in " new": that is three turns of the server's event loop more.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.timing import look

BESIDE = 8
Answers = dict[str, list[tuple[float, float | None, float | None]]]


class Lane:
    """Requests to one port, over connections that are kept."""

    def __init__(self, port: int, requests: list[bytes], pid: int) -> None:
        self.port, self.requests, self.pid = port, cycle(requests), pid
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, answers: Answers, watched: bool, kind: str = "") -> None:
        before, held, queued = look(self.pid) if watched else None, None, None
        while self.idle and self.idle[-1][0].at_eof():  # closed by the server between two windows
            self.idle.pop()[1].close()
        began, opens = time.perf_counter(), not self.idle
        try:
            connection = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = connection
            writer.write(next(self.requests))
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))
            await reader.readexactly(length)
            status = lines[0].split()[1]
            self.idle.append(connection)
        except (OSError, asyncio.IncompleteReadError):
            kind, status = "lost", ""
        spent = 1000 * (time.perf_counter() - began)
        if before is not None and kind != "lost":
            now, loop = look(self.pid), str(self.pid)
            held, queued = 1000 * now.held_since(before, loop), 1000 * (now.queued[loop] - before.queued[loop])
        answers[kind or status + " new" * opens].append((spent, held, queued))


def request(line: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    kind = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": len(body), **(headers or {})}
    return (
        "\r\n".join([f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in kind.items()), "", ""]).encode() + body
    )


async def window(asked: Lane, beside: dict[str, Lane], rate: float, seconds: float) -> Answers:
    answers: Answers = defaultdict(list)
    began, asking = time.perf_counter(), set()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(began + number / rate - time.perf_counter(), 0))
        watched = number % BESIDE == 0
        coming = [asked.ask(answers, watched)]
        if watched:
            coming += [lane.ask(answers, kind != "floor", kind) for kind, lane in beside.items()]
        for one in coming:
            task = asyncio.create_task(one)
            asking.add(task)
            task.add_done_callback(asking.discard)
    await asyncio.wait(asking, timeout=60)
    return answers


async def main(port: int) -> None:
    loop = asyncio.get_running_loop()
    told: dict[str, Any] = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    pid, line, headers = told["pid"], f"POST {told['path']}", told.get("headers")
    asked = Lane(port, [request(line, json.dumps(body).encode(), headers) for body in told["bodies"]], pid)
    beside = {
        "live": Lane(port, [request("GET /health/live")], pid),
        "floor": Lane(told["floor"], [request("GET /")], pid),
    }
    while wanted := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await window(asked, beside, **json.loads(wanted))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
