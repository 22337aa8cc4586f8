"""Two servers and two workers over one embedded PostgreSQL, what is killed of them, and what starts them again.

The second server, the second worker and all of PostgreSQL are killed. The first ones live as long as the soak, so that one
can tell whether their memory is flat.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, Literal, get_args

import asyncpg
import httpx2

from cairn.db import supervisor
from tests.faults.killing import kill_process, read_process, serves_connection
from tests.faults.soak.journal import Journal, Kill, Sample
from tests.waiting import patience, until

Target = Literal["server", "worker", "backend", "postmaster", "supervisor"]
TENANTS: Final = ("alpha", "beta")
PAUSE_SECONDS: Final = (20.0, 70.0)
"""Between two kills."""
RESTART_SECONDS: Final = 1.0
"""After which a supervisor of processes starts one again that ended; what systemd's RestartSec is set to most often."""
SIZES: Final = """
SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rag' WHERE c.relkind = 'r'
"""


class System:
    """Processes on one home. Their logs stand beside it."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self.home, self.journal = home, journal
        self.data = home / "postgres" / "data"
        self.ports = {"server 1": _free_port(), "server 2": _free_port()}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.keys: dict[str, str] = {}
        self.began = time.monotonic()
        self._killed: set[str] = set()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    # --- processes ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """All of it; returns when both servers are ready."""
        for tenant in TENANTS:
            scopes = [word for scope in ("read", "ask", "write") for word in ("--scope", scope)]
            told = self._run("keys", "create", "soak", *scopes, "--tenant", tenant, "--json")
            self.keys[tenant] = json.loads(told)["key"]
        for name in ("server 1", "worker 1", "server 2", "worker 2"):
            self.spawn(name)
        async with httpx2.AsyncClient(trust_env=False) as client:
            for port in self.ports.values():

                async def ready(port: int = port) -> bool:
                    try:
                        return bool((await client.get(f"http://127.0.0.1:{port}/health/ready")).status_code == 200)
                    except httpx2.HTTPError:
                        return False

                await until(ready, 60)
        self.began = time.monotonic()

    def spawn(self, name: str) -> None:
        port = str(self.ports.get(name, 0))
        options = ["serve", "--no-worker", "--port", port] if name.startswith("server") else ["worker"]
        with (self.home.parent / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "cairn", *options]
            self.processes[name] = subprocess.Popen(
                command, env=self._environment, cwd=self.home.parent, stdout=log, stderr=log
            )

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "CAIRN_HOME": str(self.home), "CAIRN_AUTH": "keys"}

    def _run(self, *command: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "cairn", *command],
            env=self._environment,
            cwd=self.home.parent,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def end(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(patience(20))
            except subprocess.TimeoutExpired:
                process.kill()

    async def keep_up(self) -> None:
        """Start again what ended, for ever."""
        while True:
            for name, process in list(self.processes.items()):
                if (code := process.poll()) is None:
                    continue
                if name not in self._killed:
                    self.journal.ends.append(f"{name} ended with {code} at {self.now:.0f} s")
                self._killed.discard(name)
                await asyncio.sleep(RESTART_SECONDS)
                self.spawn(name)
            await asyncio.sleep(0.2)

    # --- kills ----------------------------------------------------------------------------------------------------------

    async def kill_now_and_then(self, chance: random.Random, last: float) -> None:
        """Until `last` seconds after the beginning."""
        while True:
            await asyncio.sleep(chance.uniform(*PAUSE_SECONDS))
            if self.now > last:
                return
            target: Target = chance.choice(get_args(Target))
            if self._kill(target, chance):
                self.journal.kills.append(Kill(self.now, target))

    def _kill(self, target: Target, chance: random.Random) -> bool:
        match target:
            case "server" | "worker":
                name = f"{target} 2"
                self._killed.add(name)
                return kill_process(self.processes[name].pid)
            case "backend":
                backends = [pid for pid in supervisor.servers_on(self.data) if serves_connection(pid)]
                return bool(backends) and kill_process(chance.choice(backends))
            case "postmaster":
                return kill_process(self._number(self.data / "postmaster.pid"))
            case "supervisor":
                return kill_process(self._number(self.home / "postgres" / "run" / "supervisor.lock"))

    @staticmethod
    def _number(path: Path) -> int:
        try:
            return int(path.read_text().split()[0])
        except (OSError, IndexError, ValueError):
            return 0

    # --- what is there --------------------------------------------------------------------------------------------------

    async def watch(self, every: float = 15.0) -> None:
        """Note memory and connections, for ever."""
        while True:
            servers = supervisor.servers_on(self.data)
            megabytes = {name: _megabytes(self.processes[name].pid) for name in ("server 1", "worker 1")}
            backends = sum(map(serves_connection, servers))
            self.journal.samples.append(
                Sample(self.now, {**megabytes, "PostgreSQL": sum(map(_megabytes, servers))}, backends)
            )
            await asyncio.sleep(every)

    async def note_sizes(self) -> None:
        owner = await self.connect()
        self.journal.sizes.append({row[0]: row[1] for row in await owner.fetch(SIZES)})
        await owner.close()

    async def connect(self) -> Any:
        """As the owner, who sees all tenants."""

        async def ready() -> str | None:
            return await asyncio.to_thread(supervisor.ready_socket, self.data)

        folder = await until(ready, 60)
        return await asyncpg.connect(f"postgresql://cairn@/cairn?host={folder}&port=5432")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _megabytes(pid: int) -> float:
    """Its share of memory, what it shares with others divided by their number; 0 if it is gone."""
    line = next(
        (line for line in read_process(pid, "smaps_rollup").splitlines() if line.startswith("Pss:")), "Pss: 0 kB"
    )
    return int(line.split()[1]) / 1024
