"""What is refused for being too much costs nothing: no byte of its body is read, and the database is not asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from fastapi import FastAPI

from cairn.domain.principal import ALL_SCOPES, KeyLimits
from cairn.interfaces.server import create_app
from cairn.service.keys import create_key
from cairn.settings import SettingsStore, read_environment

SEARCH = json.dumps({"query": "How many days of leave?", "collection": "handbook"}).encode()


@dataclass
class Asked:
    """An application, and what it does in the task of a request: statements, and whether it reads the body."""

    app: FastAPI
    keys: dict[str, str]
    task: asyncio.Task[Any] | None = None
    statements: int = 0
    read: bool = False
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, key: str, path: str = "/search") -> int:
        """The status of the answer."""
        self.task, self.statements, self.read, statuses, body = asyncio.current_task(), 0, False, [], [SEARCH]

        async def receive() -> dict[str, Any]:
            if not body:
                await asyncio.Event().wait()  # the client stays
            self.read = True
            return {"type": "http.request", "body": body.pop(), "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                self.headers = {name.decode(): value.decode() for name, value in message["headers"]}

        told = {"host": "localhost", "content-type": "application/json", "content-length": str(len(SEARCH)),
                "authorization": f"Bearer {key}"}  # fmt: skip
        await self.app(
            {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
             "headers": [(name.encode(), value.encode()) for name, value in told.items()], "scheme": "http",
             "http_version": "1.1", "server": ("localhost", 80), "client": ("127.0.0.1", 9)},
            receive, send,
        )  # fmt: skip
        return int(statuses[0])


@pytest.fixture
async def asked(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Asked]:
    told = {"CAIRN_DATABASE_URL": fresh_database(), "CAIRN_HOME": str(tmp_path), "CAIRN_MODEL_DIR": str(model),
            "CAIRN_AUTH": "keys"}  # fmt: skip
    app = create_app(read_environment(told), SettingsStore(None), worker=False)
    async with app.router.lifespan_context(app):
        services = app.state.running.services
        found = Asked(app, {
            name: (await create_key(services, name, ALL_SCOPES, limits=KeyLimits(requests_per_minute=most)))[1]
            for name, most in (("used up", 1), ("free", None))
        })  # fmt: skip
        found.keys["unknown"] = found.keys["free"][:-4] + ("abcd" if found.keys["free"][-4:] != "abcd" else "dcba")
        executed = asyncpg.Connection._do_execute

        async def execute(*arguments: Any, **more: Any) -> Any:
            found.statements += asyncio.current_task() is found.task
            return await executed(*arguments, **more)

        monkeypatch.setattr(asyncpg.Connection, "_do_execute", execute)
        yield found


async def test_requests_beyond_the_limit_of_a_key(asked: Asked) -> None:
    assert await asked.ask(asked.keys["used up"]) == 404, "the one that it may make: the collection does not exist"
    assert asked.statements
    assert asked.read
    for path in ("/search", "/index", "/v1/chat/completions", "/collections/handbook/documents"):
        assert await asked.ask(asked.keys["used up"], path) == 429
        assert (asked.statements, asked.read) == (0, False)
        assert 1 <= int(asked.headers["retry-after"]) <= 61
    assert await asked.ask(asked.keys["unknown"]) == 401
    assert await asked.ask(asked.keys["free"]) == 404, "others go on"


async def test_requests_beyond_the_queue(asked: Asked) -> None:
    gate = asked.app.state.running.services.admission.search
    places, room = gate._limits()
    held = [await gate.enter() for _ in range(places)]
    waiting = [asyncio.create_task(gate.enter()) for _ in range(room)]
    await asyncio.sleep(0)
    for key in asked.keys.values():
        assert await asked.ask(key) == 503
        assert (asked.statements, asked.read) == (0, False)
    for task in waiting:
        task.cancel()
    for release in held:
        release()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await asked.ask(asked.keys["unknown"]) == 401
