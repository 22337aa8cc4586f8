"""Requests at a given rate, whether or not the server keeps up: what happens to a server that is asked for more than it can do.

python open_load.py PORT, then on standard input a line of JSON {"bodies"}, then lines {"rate", "seconds"}; for each a line of
JSON back: milliseconds of each request by status. A request that finds no connection free opens one.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from itertools import cycle
from typing import Any


class Client:
    def __init__(self, port: int, bodies: list[dict[str, Any]]) -> None:
        self.port = port
        self.requests = cycle([self._request(json.dumps(body).encode()) for body in bodies])
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    def _request(self, body: bytes) -> bytes:
        kind = "Host: localhost\r\nContent-Type: application/json"
        head = f"POST /search HTTP/1.1\r\n{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    async def ask(self, latencies: dict[str, list[float]]) -> None:
        began = time.perf_counter()
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
            status = "lost"
        latencies[status].append(1000 * (time.perf_counter() - began))

    async def window(self, rate: float, seconds: float) -> dict[str, list[float]]:
        latencies: dict[str, list[float]] = defaultdict(list)
        began, asking = time.perf_counter(), set()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(began + number / rate - time.perf_counter(), 0))
            task = asyncio.create_task(self.ask(latencies))
            asking.add(task)
            task.add_done_callback(asking.discard)
        await asyncio.wait(asking, timeout=30)
        return latencies


async def main(port: int) -> None:
    loop = asyncio.get_running_loop()
    client = Client(port, json.loads(await loop.run_in_executor(None, sys.stdin.readline))["bodies"])
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await client.window(**json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
