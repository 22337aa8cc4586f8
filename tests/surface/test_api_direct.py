"""The short way to a route answers as the framework's own does: the same requests by both; all that differs is ids and times.
And what an application does at its start for the first question."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from fastapi import FastAPI
from keyed import bearer
from serving import Api

from cairn.domain.principal import ALL_SCOPES, KeyLimits
from cairn.interfaces.http import running
from cairn.interfaces.http.direct import DirectRoute
from cairn.interfaces.server import create_app
from cairn.language.linear import bounded
from cairn.service.keys import create_key
from cairn.settings import Environment, SettingsStore, read_environment
from tests.waiting import until

TEXT = "Employees have 30 days of leave per year. Leave is requested from the manager in writing."
SEARCH: Final = {"query": "how many days of leave?", "collection": "handbook", "cache": False}
JSON: Final = {"Content-Type": "application/json"}
OWN: Final = {"trace_id", "timings_ms", "request_id", "run_id"}
"""What is another at each request."""


@dataclass(frozen=True)
class Ways:
    """Two applications over one database: one has the short way, the other has not."""

    short: httpx2.AsyncClient
    long: httpx2.AsyncClient
    keys: dict[str, str]

    async def ask(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> list[Any]:
        """What each answers, without what is another each time."""
        return [told(await client.request(method, path, content=content, headers=headers))
                for client in (self.short, self.long)]  # fmt: skip

    async def counted(self) -> list[set[str]]:
        """The requests that each has counted, by method, route and status."""
        texts = [(await client.get("/metrics", headers=bearer(self.keys["whole"]))).text
                 for client in (self.short, self.long)]  # fmt: skip
        return [{line for line in text.splitlines() if line.startswith("cairn_http_requests_total")} for text in texts]


def told(answer: httpx2.Response) -> tuple[int, dict[str, str], Any]:
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("x-request-id", "content-length", "ratelimit")
    }
    try:
        return answer.status_code, headers, without_own(answer.json())
    except ValueError:
        return answer.status_code, headers, answer.text


def without_own(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_own(part) for name, part in value.items() if name not in OWN}
    return [without_own(part) for part in value] if isinstance(value, list) else value


@asynccontextmanager
async def client_of(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


@pytest.fixture(scope="module")
def environment(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Environment:
    told = {"CAIRN_DATABASE_URL": fresh_database(), "CAIRN_HOME": str(tmp_path_factory.mktemp("home")),
            "CAIRN_MODEL_DIR": str(model), "CAIRN_AUTH": "keys"}  # fmt: skip
    return read_environment(told)


@pytest.fixture
async def ways(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ways]:
    async with AsyncExitStack() as stack:
        short = create_app(environment, SettingsStore(None), worker=False)
        first = await stack.enter_async_context(client_of(short))
        services = short.state.running.services
        limit = KeyLimits(requests_per_minute=1)
        made = {
            "whole": await create_key(services, "whole", ALL_SCOPES),
            "scopeless": await create_key(services, "scopeless", frozenset({"ask"})),
            "limited": await create_key(services, "limited", ALL_SCOPES, limits=limit),
            "limited too": await create_key(services, "limited too", ALL_SCOPES, limits=limit),
        }
        keys = {name: secret for name, (_, secret) in made.items()}
        documents = {"collection": "handbook", "documents": [{"external_id": "leave.md", "text": TEXT}]}
        indexed = await first.post("/index", json=documents, headers=bearer(keys["whole"]))
        assert indexed.status_code == 200, indexed.text
        # handlers are made for each application, at its first request
        monkeypatch.setattr(running, "is_plain", lambda route: False)
        long = create_app(environment, SettingsStore(None), worker=False)
        direct = [route for route in long.router.routes if isinstance(route, DirectRoute)]
        assert {"/search", "/retrieval", "/index"} <= {route.path_format for route in direct}
        for route in direct:
            long.router.routes.remove(route)
        second = await stack.enter_async_context(client_of(long))
        yield Ways(first, second, keys)


def body(**changes: Any) -> bytes:
    return json.dumps(SEARCH | changes).encode()


BODIES: Final = {
    "search": body(), "cached": body(cache=True), "legs": body(legs=["lexical"]), "by document": body(group_by="document"),
    "filters": body(filters={"team": "people"}), "nothing found": body(query="zzz", legs=["lexical"]),
    "no collection": body(collection="nowhere"), "contradiction": body(collections=["other"]), "empty query": body(query=" "),
    "unknown field": body(topk=3), "wrong types": body(top_k="many", legs="all"), "null": body(query=None),
    "odd characters": body(query="a\u0000b \ud800"), "missing field": b'{"collection": "handbook"}',
    "empty": b"", "no object": b"[]", "a text": b'"query"', "no JSON": b'{"query": ', "two": b"{} {}",
    "not UTF-8": b'{"query": "\xff"}', "no number": b'{"query": "x", "top_k": NaN}', "twice": b'{"query": 1, "query": "leave"}',
    "deep": b"[" * 9000, "too large": b'{"query": "' + b"x" * 2_000_000 + b'"}',
}  # fmt: skip


async def test_the_same_answers_by_both_ways(ways: Ways) -> None:
    whole = bearer(ways.keys["whole"])
    await ways.ask("POST", "/search", BODIES["cached"], JSON | whole)  # one of both finds it, then both find it stored
    before = await ways.counted()
    seen = set()
    for path in ("/search", "/retrieval", "/v1/embeddings", "/feedback", "/graph/merges"):
        for name, content in BODIES.items():
            short, long = await ways.ask("POST", path, content, JSON | whole)
            assert short == long, (path, name)
            seen.add(short[0])
    for method, path, headers in (
        ("POST", "/search", whole | {"Content-Type": "text/plain"}), ("POST", "/search", whole),
        ("POST", "/search", whole | {"Content-Type": "application/json; charset=utf-8"}),
        ("POST", "/search", whole | JSON | {"X-Request-ID": "mine"}), ("POST", "/search?top_k=3", whole | JSON),
        ("POST", "/search", whole | JSON | {"Idempotency-Key": "one"}), ("POST", "/search/", whole | JSON),
        ("GET", "/search", whole), ("HEAD", "/search", whole), ("OPTIONS", "/search", whole), ("PUT", "/search", whole | JSON),
        ("POST", "/search", JSON), ("POST", "/search", JSON | {"Authorization": "Basic abc"}),
        ("POST", "/search", JSON | bearer("cairn_" + "0" * 56)), ("POST", "/search", JSON | bearer(ways.keys["scopeless"])),
        ("POST", "/search", JSON | whole | {"Host": "elsewhere.example"}),
        ("POST", "/search", JSON | whole | {"Origin": "https://elsewhere.example"}),
        ("GET", "/collections", whole), ("GET", "/collections?limit=0", whole), ("GET", "/health/live", {}), ("GET", "/", {}),
    ):  # fmt: skip
        short, long = await ways.ask(method, path, b"" if method in ("GET", "HEAD") else BODIES["search"], headers)
        assert short == long, (method, path, headers)
        seen.add(short[0])
    assert seen >= {200, 400, 401, 403, 404, 405, 413, 415, 422}
    counted = await ways.counted()
    assert counted[0] - before[0] == counted[1] - before[1]


async def test_a_request_beyond_the_rate_is_refused_by_both(ways: Ways) -> None:
    """Whatever its body is: it is counted before anybody looks at that."""
    for client, key in ((ways.short, "limited"), (ways.long, "limited too")):
        headers = JSON | bearer(ways.keys[key])
        answers = [await client.post("/search", content=one, headers=headers) for one in (b"{", body(), b"{", body())]
        assert [one.status_code for one in answers][-2:] == [429, 429]
        assert answers[-1].json()["code"] == "rate-limited"
        assert answers[-1].headers["ratelimit"].startswith('"requests";r=0;')


def test_the_description_has_each_operation_once(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    with_short = create_app(environment, SettingsStore(None), worker=False)
    without = create_app(environment, SettingsStore(None), worker=False)
    monkeypatch.setattr(running, "is_plain", lambda route: False)
    without.router.routes[:] = [route for route in without.router.routes if not isinstance(route, DirectRoute)]
    assert json.dumps(with_short.openapi()) == json.dumps(without.openapi())


def test_a_search_whose_client_is_gone_ends(
    api: Api, psql: Callable[..., str], hold_collections: Callable[[str], AbstractContextManager[None]]
) -> None:
    """It waits for a lock; it is given up at once, logged and counted as cancelled, and the next one is served."""
    api.index("handbook", **{"leave.md": TEXT})
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    content = body(query="days of leave")
    head = f"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    with hold_collections(api.database):
        with socket.create_connection(("127.0.0.1", api.port)) as plain:
            plain.sendall(head.encode() + content)
            api.await_until(lambda: int(psql(waiting, api.database)) >= 1)
        api.await_until(lambda: '"status": "cancelled"' in api.log)
    counted = 'cairn_http_requests_total{method="POST",route="/search",status="cancelled"} 1.0'
    assert counted in api.client.get("/metrics").text
    assert api.client.post("/search", json=SEARCH).status_code == 200
    assert "request.bug" not in api.log


async def test_patterns_are_compiled_before_somebody_asks(environment: Environment) -> None:
    nobody_used = bounded("cairns+")
    async with client_of(create_app(environment, SettingsStore(None), worker=False)):
        await until(lambda: "search" in vars(nobody_used))
