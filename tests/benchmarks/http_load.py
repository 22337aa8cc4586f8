"""A load generator in a process of its own: keep-alive connections, one request after the other on each.

python http_load.py PORT, then on standard input a line of JSON {"bodies", "key"} and lines {"clients", "seconds"}; for each of
these a line of JSON back.
Raw HTTP/1.1 over asyncio, because a comfortable client costs as much processor time as the server.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.timing import drive


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def post(self, path: str, body: dict[str, Any], key: str = "") -> bytes:
        """The body of the answer. Raises RuntimeError unless it is 200."""
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {key}\r\n" if key else ""
        self.writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))
        answer = await self.reader.readexactly(length)
        if " 200 " not in lines[0] + " ":
            raise RuntimeError(f"{lines[0]}: {answer[:500]!r}")
        return answer


async def main(port: int) -> None:
    loop = asyncio.get_running_loop()
    setup = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    idle: list[Connection] = []

    async def ask(body: dict[str, Any]) -> None:
        connection = idle.pop() if idle else Connection(*await asyncio.open_connection("127.0.0.1", port))
        await connection.post("/search", body, setup["key"])
        idle.append(connection)

    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        while idle:  # the server hangs up on those that were silent while others had their turn
            idle.pop().writer.close()
        latencies, seconds = await drive(ask, setup["bodies"], order["clients"], order["seconds"])
        print(json.dumps({"latencies": latencies, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
