"""A real `serve` in a process of its own, for tests."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from starter import StartedProcess, Starter

from cairn.interfaces.server import EXIT_SECONDS
from tests.waiting import patience, wait_until

REPO = Path(__file__).resolve().parents[2]


@dataclass
class Api:
    """A serving process. `client` has its base URL; `began_with`: its settings file at the start."""

    process: StartedProcess
    port: int
    dsn: str
    folder: Path
    client: httpx2.Client = field(repr=False)
    began_with: str = "{}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> str:
        return urlsplit(self.dsn).path.lstrip("/")

    @property
    def settings_file(self) -> Path:
        return self.folder / "settings.json"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def write_settings(self, raw: str) -> None:
        """As an editor does: a new file that takes the place of the old one."""
        fresh = self.folder / "settings.new"
        fresh.write_text(raw)
        fresh.replace(self.settings_file)

    def restore_settings(self) -> None:
        self.write_settings(self.began_with)

    @property
    def revision(self) -> str:
        """Of the settings in force."""
        revision: str = self.client.get("/health/ready").json()["settings"]["revision"]
        return revision

    def await_until(self, true: Callable[[], object], seconds: float = 10) -> None:
        """Wait until it is true; fails with the log where that takes longer than patience(seconds)."""
        wait_until(true, seconds, told=lambda: self.log[-3000:])

    def index(self, collection: str, **texts: str) -> None:
        documents = [{"external_id": name, "text": text} for name, text in texts.items()]
        answer = self.client.post("/index", json={"collection": collection, "documents": documents})
        assert answer.status_code == 200, answer.text
        assert not answer.json()["failed"]

    def terminate(self) -> None:
        """SIGTERM, and wait for the end, which the process itself brings about after EXIT_SECONDS at the latest."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(patience(EXIT_SECONDS))


@contextlib.contextmanager
def serving(
    dsn: str, folder: Path, *, settings: dict[str, Any] | None = None, page: bool = False, wait: bool = True,
    port: int = 0, **environment: str,
) -> Iterator[Api]:  # fmt: skip
    """Start it on a free port, or on `port`; ends with the context. Without the page, unless asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    own_settings = json.dumps({"page": {"enabled": page}, **(settings or {})})
    (folder / "settings.json").write_text(own_settings)
    port = port or free_port()
    own = {
        "CAIRN_DATABASE_URL": dsn, "CAIRN_PORT": str(port), "CAIRN_HOME": str(folder),
        "CAIRN_SETTINGS": str(folder / "settings.json"), "PYTHONPATH": str(REPO / "app"),
    }  # fmt: skip
    (folder / "log").write_bytes(b"")
    process = starter().start({**os.environ, **own, **environment}, folder / "log")
    client = httpx2.Client(
        base_url=f"http://127.0.0.1:{port}", timeout=patience(60), trust_env=False,
        verify=False,  # without TLS no authorities are read: 20 ms of a processor
    )  # fmt: skip
    api = Api(process, port, dsn, folder, client, own_settings)
    try:
        if wait:
            _await_live(api)
        yield api
    finally:
        client.close()
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(patience(15))
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@functools.cache
def starter() -> Starter:
    """One for all processes that share the tests, which ends with the last of them. They have a parent in common; a pytest that
    a test starts inherits the id of the run, and has another."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    started = Starter(f"{run}-{os.getppid()}" if run else None)
    atexit.register(started.close)
    return started


def _await_live(api: Api) -> None:
    def live() -> bool:
        assert api.process.poll() is None, api.log
        with contextlib.suppress(httpx2.TransportError):
            return api.client.get("/health/live").status_code == 200
        return False

    api.await_until(live, 60)


@dataclass(frozen=True)
class SseEvent:
    event: str
    data: Any
    id: str | None


def read_events(response: httpx2.Response) -> Iterator[SseEvent]:
    """Events of a stream as they come; comments (keep-alive) are skipped."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = fields.get(name, "") + value.removeprefix(" ")
        elif fields:
            yield SseEvent(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}
