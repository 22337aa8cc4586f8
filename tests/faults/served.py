"""`cairn serve` and `cairn worker` as processes on a home of their own, that can be killed and started again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
from pathlib import Path
from typing import Any

import httpx2
from killing import kill_process, serves_connection
from serving import starter
from starter import StartedProcess

from cairn.db.supervisor import servers_on
from tests.waiting import patience, wait_until

REPO = Path(__file__).resolve().parents[2]


class ServedHome:
    """One home; its processes write to `serve.log` and `worker.log` beside it."""

    def __init__(self, home: Path, settings: dict[str, Any] | None = None) -> None:
        self.home = home
        self.logs = home.parent
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.settings = self.logs / "settings.json"
        self.settings.write_text(json.dumps(settings or {}))
        self.processes: dict[str, StartedProcess] = {}
        # one for all looks, since making it takes longer than a look; each has a connection of its own
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._client = httpx2.Client(
            base_url=self.url, timeout=patience(), trust_env=False, verify=False, limits=limits
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.home / "postgres" / "data"

    def change_settings(self, **sections: Any) -> None:
        """Running processes take them within a second or two."""
        fresh = self.settings.with_suffix(".new")
        fresh.write_text(json.dumps({**json.loads(self.settings.read_text()), **sections}))
        fresh.rename(self.settings)

    # --- processes ------------------------------------------------------------------------------------------------------

    def start(self, *options: str) -> None:
        """The HTTP server; returns when it is ready."""
        self.spawn("serve", *options)
        wait_until(self.ready, 60, told=lambda: self.log("serve")[-2000:])

    def start_worker(self) -> None:
        self.spawn("worker")

    def spawn(self, command: str, *options: str) -> StartedProcess:
        environment = {
            **os.environ, "CAIRN_HOME": str(self.home), "CAIRN_PORT": str(self.port), "CAIRN_SETTINGS": str(self.settings),
        }  # fmt: skip
        process = starter().start(environment, self.logs / f"{command}.log", command, *options, folder=REPO)
        self.processes[command] = process
        return process

    def kill(self, command: str = "serve") -> None:
        """SIGKILL; nothing if it does not run."""
        if process := self.processes.pop(command, None):
            process.kill()
            process.wait(patience())

    def end_all(self) -> None:
        for command in list(self.processes):
            self.kill(command)

    def postmaster(self) -> int:
        """Its process id; 0 between two servers."""
        try:
            return int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError):
            return 0

    def supervisor(self) -> int:
        """Its process id, as it noted it; perhaps of one that is gone."""
        text = (self.home / "postgres" / "run" / "supervisor.lock").read_text().strip()
        return int(text or 0)

    def kill_postmaster(self) -> bool:
        return kill_process(self.postmaster())

    def kill_supervisor(self) -> bool:
        return kill_process(self.supervisor())

    def kill_backend(self, chance: random.Random) -> bool:
        """One of the server's processes that serve a connection; the server ends all others and recovers."""
        backends = [pid for pid in servers_on(self.data) if serves_connection(pid)]
        return kill_process(chance.choice(backends)) if backends else False

    # --- what it says ---------------------------------------------------------------------------------------------------

    def ready(self) -> bool:
        return self.readiness()[0] == 200

    def readiness(self) -> tuple[int, dict[str, Any]]:
        """Status and body; 0 where nobody answers."""
        with contextlib.suppress(httpx2.HTTPError, ValueError):
            answer = self._client.get("/health/ready")
            return answer.status_code, answer.json()
        return 0, {}

    def log(self, command: str) -> str:
        return (self.logs / f"{command}.log").read_text(errors="replace")
