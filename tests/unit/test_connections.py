"""Both parsers of HTTP: heads that do not come, that are too long, and requests that are as they should be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from cairn.interfaces.http import connections
from cairn.interfaces.http.connections import MAX_HEAD_BYTES, parser_name, punctual
from tests.waiting import patience

HEAD_SECONDS = 0.5
GET = b"GET /x%20y?a=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(params=["h11", "httptools"])
async def port(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """Of a server that answers with path, query and body; for /slow after longer than a head may take."""
    if request.param == "httptools":
        pytest.importorskip("httptools", reason="httptools is not installed: h11 alone is tested")
    else:
        monkeypatch.setattr(connections, "httptools_impl", None)
    assert parser_name() == request.param

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        asked = Request(scope, receive)  # type: ignore[arg-type]
        if asked.url.path == "/full":
            has_task = asyncio.current_task() is not None
            await PlainTextResponse(f"full, {'later' if has_task else 'at once'}|")(scope, receive, send)  # type: ignore[arg-type]
            return
        if asked.url.path == "/slow":
            await asyncio.sleep(HEAD_SECONDS * 1.5)
        text = f"{asked.url.path}?{asked.url.query} {(await asked.body()).decode()}|"
        await PlainTextResponse(text)(scope, receive, send)  # type: ignore[arg-type]

    config = uvicorn.Config(
        app,
        port=0,
        lifespan="off",
        log_config=None,
        timeout_keep_alive=5,
        http=punctual(lambda: HEAD_SECONDS, lambda scope: scope["path"] == "/full"),
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with asyncio.timeout(patience(20)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        yield reader, writer
        writer.close()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("begun", [b"", b"G", GET[:20], GET[:-2]])
async def test_a_head_that_does_not_come_is_given_up(port: int, begun: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(begun)
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
    async with connected(port) as (reader, writer):
        writer.write(GET + begun)
        answers = await reader.readuntil(b"|")
        assert answers.startswith(b"HTTP/1.1 200 ")
        if begun:
            assert (await reader.read()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.sweep(2)
async def test_a_connection_may_be_silent_between_requests_and_within_bodies(port: int) -> None:
    head = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
    async with connected(port) as (reader, writer):
        for _ in range(2):
            writer.write(head + b"bo")
            await asyncio.sleep(HEAD_SECONDS * 1.5)
            writer.write(b"dy")
            assert (await reader.readuntil(b"|")).endswith(b"\r\n\r\n/x? body|")
            await asyncio.sleep(HEAD_SECONDS * 1.5)
        writer.write(GET[:30])
        await asyncio.sleep(HEAD_SECONDS / 50)
        writer.write(GET[30:] + GET)
        for _ in range(2):
            assert (await reader.readuntil(b"|")).endswith(b"\r\n\r\n/x y?a=1 |")


@pytest.mark.sweep(2)
async def test_a_head_behind_a_slow_request_has_its_time_after_that(port: int) -> None:
    async with connected(port) as (reader, writer):
        writer.write(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET[:20])
        assert (await reader.readuntil(b"|")).endswith(b"\r\n\r\n/slow? |")
        writer.write(GET[20:])
        assert (await reader.readuntil(b"|")).endswith(b"\r\n\r\n/x y?a=1 |")
        writer.write(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET[:20])
        assert (await reader.readuntil(b"|")).endswith(b"\r\n\r\n/slow? |")
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("piece", [b"x" * 1000, b"x: y\r\n" * 200])
async def test_a_head_without_end_is_refused(port: int, piece: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(GET[:-2] + b"a: " + piece * (MAX_HEAD_BYTES // len(piece) + 1))
        assert (await reader.read(12)) == b"HTTP/1.1 400"


FULL = b"POST /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"


async def test_what_is_refused_is_answered_in_the_turn_in_which_it_came(port: int) -> None:
    said = b"at once|" if parser_name() == "httptools" else b"later|"
    async with connected(port) as (reader, writer):
        for sent in (FULL, FULL[:-4], b"body" + FULL):
            writer.write(sent)
            assert (await reader.readuntil(b"|")).endswith(said)
        writer.write(GET)
        assert (await reader.readuntil(b"|")).endswith(b"\r\n\r\n/x y?a=1 |"), "the connection goes on"


async def test_refusals_behind_each_other_all_come_and_in_their_order(port: int) -> None:
    """Behind a slow request, so many that each within the one before would be too deep for Python."""
    many = MAX_HEAD_BYTES // len(FULL) - 2
    async with connected(port) as (reader, writer):
        writer.write(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n" + FULL * many + GET)
        assert (await reader.readuntil(b"|")).endswith(b"/slow? |")
        for _ in range(many):
            assert b"full, " in await reader.readuntil(b"|")
        assert (await reader.readuntil(b"|")).endswith(b"/x y?a=1 |")
