"""Programs that the benchmarks talk to by lines of JSON, and the server under test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
PEERS = Path(os.environ.get("BENCH_PEERS", REPO / ".venv-peers"))
"""The environment of the peers (`make bench-peers`)."""


class Child:
    """A program that answers each line of JSON with one."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip

    def tell(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    async def hear(self) -> Any:
        """Raises RuntimeError when the program has ended."""
        assert self.process.stdout is not None
        line = await asyncio.to_thread(self.process.stdout.readline)
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended with {self.process.wait()}")
        return json.loads(line)

    async def ask(self, message: Mapping[str, Any]) -> Any:
        self.tell(message)
        return await self.hear()

    async def window(self, clients: int, seconds: float, **more: Any) -> tuple[list[float], float]:
        """A window of load, as timing.drive gives it."""
        answer = await self.ask({"clients": clients, "seconds": seconds, **more})
        return answer["latencies"], answer["seconds"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def loader(port: int, bodies: Sequence[Mapping[str, Any]], key: str = "") -> Child:
    """The load generator of http_load.py, told its queries, and whose they are."""
    child = Child([sys.executable, Path(__file__).with_name("http_load.py"), str(port)])
    child.tell({"bodies": list(bodies), "key": key})
    return child
