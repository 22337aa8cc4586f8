"""kill -9 of the server and of PostgreSQL while documents are being indexed: what was acknowledged is there, whole, and
nothing is there by half. The embedded server is used, as a newcomer would."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from app.db.embedded import ensure_running
from tests.waiting import patience, wait_until

pytestmark = pytest.mark.fault

REPO = Path(__file__).resolve().parents[2]
WORDS = [
    "granite",
    "basalt",
    "marble",
    "quartz",
    "trail",
    "summit",
    "ridge",
    "valley",
    "glacier",
    "cairn",
    "path",
    "marker",
    "river",
    "bridge",
    "forest",
]

HALF = """
SELECT d.external_id, d.status FROM rag.documents d
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.passages p WHERE p.document_id = d.id) p ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.chunks c WHERE c.document_id = d.id) c ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.embeddings e WHERE e.document_id = d.id) e ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.lexical_index l WHERE l.document_id = d.id) l ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.document_texts t
                   WHERE t.document_id = d.id AND t.version = d.version) t ON true
WHERE (d.status = 'indexed' AND (p.n <> d.passage_count OR c.n <> d.chunk_count OR e.n <> c.n OR l.n <> p.n OR t.n <> 1))
   OR (d.status <> 'indexed' AND p.n + c.n + e.n + l.n + t.n > 0)
"""
DRIFT = """
SELECT count(*) FROM (
  SELECT collection_id, key, count(*) AS df FROM rag.lexical_index, unnest(keys) AS key GROUP BY 1, 2
) AS counted FULL JOIN rag.lexical_terms t USING (collection_id, key)
WHERE counted.df IS DISTINCT FROM t.document_frequency
"""


class Server:
    """`cairn serve` on a home of its own, that can be killed and started again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        environment = {**os.environ, "CAIRN_HOME": str(self.home), "CAIRN_PORT": str(self.port)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve"], cwd=REPO, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(self.ready, 60)

    def ready(self) -> bool:
        with contextlib.suppress(httpx2.HTTPError):
            return bool(httpx2.get(f"{self.url}/health/ready", timeout=patience()).status_code == 200)
        return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(patience())


@pytest.fixture
def server(make_home: Callable[[], Path]) -> Iterator[Server]:
    running = Server(make_home())
    running.start()
    yield running
    running.kill()


class Writers:
    """Clients that index documents without pause and remember what was acknowledged."""

    def __init__(self, url: str) -> None:
        self.url, self.acknowledged, self.stopping = url, dict[str, str](), threading.Event()
        self.threads = [threading.Thread(target=self._write, args=(n,)) for n in range(3)]
        for thread in self.threads:
            thread.start()

    def _write(self, number: int) -> None:
        chance, turn = random.Random(number), 0
        while not self.stopping.is_set():
            turn += 1
            name = f"w{number}-{turn % 8}"
            text = f"version {turn} of {name}: " + " ".join(chance.choices(WORDS, k=chance.randint(20, 900)))
            body = {"collection": "kill", "documents": [{"id": name, "text": text}]}
            try:
                answer = httpx2.post(f"{self.url}/index", json=body, timeout=patience(30))
                if answer.status_code == 200 and answer.json()["indexed"]:
                    self.acknowledged[name] = text
                    continue
            except (httpx2.HTTPError, ValueError):
                pass
            self.acknowledged.pop(name, None)  # unknown outcome: old or new
            time.sleep(0.05)

    def stop(self) -> dict[str, str]:
        self.stopping.set()
        for thread in self.threads:
            thread.join(patience(40))
        return self.acknowledged


async def check(dsn: str, acknowledged: dict[str, str]) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        assert await connection.fetch(HALF) == []
        assert await connection.fetchval(DRIFT) == 0
        rows: list[Any] = await connection.fetch(
            "SELECT d.external_id, t.text FROM rag.documents d JOIN rag.document_texts t ON t.document_id = d.id"
        )
        stored = {row["external_id"]: row["text"] for row in rows}
        assert {name: stored.get(name) for name in acknowledged} == acknowledged
    finally:
        await connection.close()


def test_kill_the_server_while_it_indexes(server: Server) -> None:
    chance = random.Random(5)
    for _ in range(3):
        writers = Writers(server.url)
        wait_until(lambda w=writers: len(w.acknowledged) > 3, 60)
        time.sleep(chance.random())
        server.kill()
        acknowledged = writers.stop()
        with ensure_running(server.home) as database:
            asyncio.run(check(database.dsn(), acknowledged))
        server.start()


def test_kill_postgresql_while_it_indexes(server: Server) -> None:
    """The pool heals by itself: the same process serves again, and acknowledged documents survive."""
    chance = random.Random(6)
    for _ in range(2):
        writers = Writers(server.url)
        wait_until(lambda w=writers: len(w.acknowledged) > 3, 60)
        time.sleep(chance.random())
        postmaster = int((server.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        acknowledged = writers.stop()
        server.kill()
        server.start()
        with ensure_running(server.home) as database:
            asyncio.run(check(database.dsn(), acknowledged))
