"""Clients that write and read while processes are killed, and remember what they were told.

Each document belongs to one client, so what may be stored is known: the one state that was acknowledged, or, after an error,
the old one or the new one. A reader compares what searches return with that, all the time.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import asyncpg
import httpx2
from known_texts import PEOPLE, WORDS, Library, State, write_text
from recounts import faults
from served import ServedHome

from cairn.db import supervisor
from tests.waiting import patience, wait_until

Scene = Literal["index", "replace", "delete", "upload", "reindex", "communities"]
Target = Literal["server", "worker", "postmaster", "supervisor", "backend", "everything"]

COLLECTION = "kill"
UPLOADS = 6
"""Files per round at most: each stays, and every reindex takes them all."""
WORKING: dict[Scene, str] = {
    "index": "%rag.publish%", "replace": "%rag.publish%", "upload": "%rag.publish%", "delete": "%rag.delete%",
    "reindex": "%rag.%stage%", "communities": "%rag.communit%",
}  # fmt: skip
"""Statements by which a round sees that it is in the middle of its scene."""


class Clients:
    """Three that index, replace and delete; one that hands files to the worker; one that searches."""

    def __init__(self, served: ServedHome, library: Library, scene: Scene, seed: int) -> None:
        self.served, self.library, self.scene = served, library, scene
        self.stopping = threading.Event()
        self.handed = 0
        chance = random.Random(seed)
        work: list[Callable[[random.Random], None]] = [self._search, self._upload, *[self._writer(n) for n in range(3)]]
        self.threads = [
            threading.Thread(target=self._keep_on, args=(one, random.Random(chance.random())), daemon=True)
            for one in work
        ]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join(patience(60))
            assert not thread.is_alive(), "a client hangs"

    def _keep_on(self, work: Callable[[random.Random], None], chance: random.Random) -> None:
        while not self.stopping.is_set():
            try:
                work(chance)
            except (httpx2.HTTPError, ValueError, KeyError):
                time.sleep(0.05)

    # --- writing --------------------------------------------------------------------------------------------------------

    def _writer(self, number: int) -> Callable[[random.Random], None]:
        def write(chance: random.Random) -> None:
            name = f"w{number}-{chance.randrange(6)}"
            state = self.library.states.get(name)
            share = {"delete": 0.5, "index": 0.3}.get(self.scene, 0.1)
            if state is not None and state.id is not None and chance.random() < share:
                self._delete(name, state)
            else:
                self._index(name, write_text(chance, name, len(state.sent) if state else 0))

        return write

    def _index(self, name: str, text: str) -> None:
        state = self.library.begin(name, text)
        known = False
        try:
            body = {"collection": COLLECTION, "documents": [{"external_id": name, "text": text}]}
            answer = httpx2.post(f"{self.served.url}/index", json=body, timeout=patience(30))
            if answer.status_code == 200 and (indexed := answer.json()["indexed"]):
                state.id, known = indexed[0]["id"], True
        finally:
            self.library.end(name, "indexed", text, known)
        if not known:
            time.sleep(0.2)

    def _delete(self, name: str, state: State) -> None:
        self.library.begin(name, None)
        known = False
        try:
            path = f"/collections/{COLLECTION}/documents/{state.id}"
            answer = httpx2.delete(self.served.url + path, timeout=patience(30))
            known = answer.status_code == 204 or (answer.status_code == 404 and None in state.may_be)
            if known:
                state.id = None
        finally:
            self.library.end(name, "deleted", None, known)

    def _upload(self, chance: random.Random) -> None:
        """A file for the worker; while its job is not known to have ended, the document is left alone."""
        if self.handed == UPLOADS:
            self.stopping.wait()
            return
        self.handed += 1
        name = f"u-{len(self.library.jobs)}.txt"
        text = write_text(chance, name, 0)
        state = self.library.begin(name, text)
        job = None
        try:
            files = {"files": (name, text.encode(), "text/plain")}
            answer = httpx2.post(
                f"{self.served.url}/collections/{COLLECTION}/documents", files=files, timeout=patience(30)
            )
            job = str(answer.json()["id"]) if answer.status_code == 202 else None
        finally:
            with self.library.lock:
                state.turn += 1
                state.may_be = {None, text}
                self.library.jobs[job or f"unknown {name}"] = (name, text)
                self.library.done["uploaded" if job else "uploaded unknown"] += 1
        self.stopping.wait(0.2 if self.scene == "upload" else 1.5)

    # --- reading --------------------------------------------------------------------------------------------------------

    def _search(self, chance: random.Random) -> None:
        before = self.library.quiet()
        query = " ".join(chance.sample(WORDS, 2)) if chance.random() < 0.7 else chance.choice(PEOPLE)
        body = {"query": query, "collection": COLLECTION, "top_k": 50, "cache": chance.random() < 0.5}
        answer = httpx2.post(f"{self.served.url}/search", json=body, timeout=patience(30))
        if answer.status_code != 200:
            time.sleep(0.05)
            return
        after = self.library.quiet()
        for one in answer.json()["results"]:
            self.library.judge(one, before, after)
        self.library.done["searched"] += 1


class Round:
    """One scene, one kill in the middle of it, and what has to hold afterwards."""

    def __init__(self, served: ServedHome, library: Library, scene: Scene, target: Target, seed: int) -> None:
        self.served, self.library, self.scene, self.target, self.seed = served, library, scene, target, seed
        self.chance = random.Random(seed)

    async def run(self) -> None:
        clients = await asyncio.to_thread(Clients, self.served, self.library, self.scene, self.seed)
        try:
            done = self.library.done["indexed"]
            await asyncio.to_thread(wait_until, lambda: self.library.done["indexed"] > done + 5, 60, told=self._says)
            if self.scene == "reindex":
                self._order_reindex()
            await self._middle()
            await asyncio.to_thread(self._kill)
            await asyncio.to_thread(wait_until, self.served.ready, 60, told=self._says)
            after = self.library.done["indexed"]
            await asyncio.to_thread(wait_until, lambda: self.library.done["indexed"] > after, 60, told=self._says)
        finally:
            await asyncio.to_thread(clients.stop)
        await self._check()

    def _says(self) -> str:
        return f"{self.scene}/{self.target}/{self.seed}: {self.served.readiness()}\n{self.served.log('serve')[-3000:]}"

    # --- into the middle, and the kill ----------------------------------------------------------------------------------

    def _order_reindex(self) -> None:
        sizes = self.chance.choice([(600, 200), (900, 300), (300, 150)])
        self.served.change_settings(
            chunking={"passageSize": sizes[0], "passageOverlap": 50, "chunkSize": sizes[1], "chunkOverlap": 20}
        )
        answer = httpx2.post(
            f"{self.served.url}/collections/{COLLECTION}/reindex", json={"force": True}, timeout=patience()
        )
        assert answer.status_code == 202, answer.text

    async def _middle(self) -> None:
        """Wait for a statement of the scene, most of the time; a moment by chance else."""
        if self.chance.random() < 0.3:
            await asyncio.sleep(self.chance.random())
            return
        connection = await self._connect()
        try:
            until = time.monotonic() + 5
            while time.monotonic() < until:
                if await connection.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid() AND query ILIKE $1",
                    WORKING[self.scene],
                ):
                    break
            await asyncio.sleep(self.chance.choice([0, 0.001, 0.005, 0.02]))
        finally:
            await connection.close()

    def _kill(self) -> None:
        match self.target:
            case "server":
                self.served.kill("serve")
                self.served.start("--no-worker")
            case "worker":
                self.served.kill("worker")
                self.served.start_worker()
            case "postmaster":
                self.served.kill_postmaster()
            case "supervisor":
                self.served.kill_supervisor()
            case "backend":
                self.served.kill_backend(self.chance)
            case "everything":
                self.served.kill_postmaster()
                self.served.kill_supervisor()
                self.served.end_all()
                self.served.start("--no-worker")
                self.served.start_worker()

    async def _connect(self) -> Any:
        folder = await asyncio.to_thread(wait_until, lambda: supervisor.ready_socket(self.served.data), 60)
        return await asyncpg.connect(f"postgresql://cairn@/cairn?host={folder}&port=5432")

    # --- what has to hold -----------------------------------------------------------------------------------------------

    async def _check(self) -> None:
        for command, process in self.served.processes.items():
            assert process.poll() is None, f"{command} ended: {self.served.log(command)[-2000:]}"
        connection = await self._connect()
        try:
            await self._settle(connection)
            label = f"{self.scene}/{self.target}/{self.seed}"
            assert await faults(connection) == {}, label
            await self._compare(connection, label)
            assert not self.library.wrong, (label, self.library.wrong[:5])
        finally:
            await connection.close()

    async def _settle(self, connection: Any) -> None:
        """No job is left, and no transaction of the dead."""
        until = time.monotonic() + patience(60)
        while await connection.fetchval(
            "SELECT (SELECT count(*) FROM rag.jobs WHERE status IN ('queued', 'running')) + (SELECT count(*) FROM "
            "pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in %')"
        ):
            assert time.monotonic() < until, await connection.fetch(
                "SELECT kind, status, attempts, error FROM rag.jobs WHERE status IN ('queued', 'running')"
            )
            await asyncio.sleep(0.1)
        ended = await connection.fetch("SELECT kind, status, error FROM rag.jobs WHERE status IN ('failed', 'parked')")
        assert not ended, ended

    async def _compare(self, connection: Any, label: str) -> None:
        """What is stored is what was acknowledged; from now on it is known."""
        rows = await connection.fetch(
            "SELECT d.external_id, d.id::text, t.text FROM rag.documents d LEFT JOIN rag.document_texts t "
            "ON t.document_id = d.id AND t.version = d.version"
        )
        stored = {row["external_id"]: row for row in rows}
        for job, (name, text) in self.library.jobs.items():
            if not job.startswith("unknown"):
                self.library.states[name].may_be = {text}
        for name, state in self.library.states.items():
            text = stored[name]["text"] if name in stored else None
            assert text in state.may_be, (label, name, text and text[:60], [one and one[:60] for one in state.may_be])
            state.may_be = {text}
            state.id = stored[name]["id"] if name in stored else None
