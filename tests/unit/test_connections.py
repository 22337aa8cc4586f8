"""Both parsers of HTTP: heads that do not come, that are too long, and requests that are as they should be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from cairn.interfaces.http import connections
from cairn.interfaces.http.connections import MAX_HEAD_BYTES, parser_name, punctual
from tests.waiting import patience, until

HEAD_SECONDS = patience()  # nobody is late on a slow machine: who is to be late, is by a moved clock
GET = b"GET /x%20y?a=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Served:
    """A server that answers with path, query and body, to /slow when `released`, to /full without a queue; it moves the clock of
    the event loop."""

    def __init__(self) -> None:
        self.received = b""
        self.released = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._ahead = 0.0
        self._loop.time = self._time  # type: ignore[method-assign]
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            port=0,
            lifespan="off",
            log_config=None,
            http=self._protocol(),
            timeout_keep_alive=round(100 * HEAD_SECONDS),
        )
        self.server = uvicorn.Server(config)

    @property
    def port(self) -> int:
        return int(self.server.servers[0].sockets[0].getsockname()[1])

    async def outlast_a_head(self) -> None:
        """What was to happen within HEAD_SECONDS from now has happened: its timers came before this one."""
        over = self._loop.create_future()
        self._loop.call_later(HEAD_SECONDS, over.set_result, None)
        self._ahead += HEAD_SECONDS
        await over

    def _time(self) -> float:
        return time.monotonic() + self._ahead

    def _protocol(self) -> type[asyncio.Protocol]:
        served, base = self, punctual(lambda: HEAD_SECONDS, lambda scope: scope["path"] == "/full")

        class Told(base):  # type: ignore[misc, valid-type]
            def data_received(self, data: bytes) -> None:
                super().data_received(data)
                served.received += data

        return Told

    async def _answer(self, scope: dict[str, object], receive: Any, send: Any) -> None:
        asked = Request(scope, receive)
        if asked.url.path == "/full":
            has_task = asyncio.current_task() is not None
            await PlainTextResponse(f"full, {'later' if has_task else 'at once'}|")(scope, receive, send)  # type: ignore[arg-type]
            return
        if asked.url.path == "/slow":
            await self.released.wait()
        text = f"{asked.url.path}?{asked.url.query} {(await asked.body()).decode()}|"
        await PlainTextResponse(text)(scope, receive, send)


@pytest.fixture(params=["h11", "httptools"])
async def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    if request.param == "httptools":
        pytest.importorskip("httptools", reason="httptools is not installed: h11 alone is tested")
    else:
        monkeypatch.setattr(connections, "httptools_impl", None)
    assert parser_name() == request.param
    served = Served()
    task = asyncio.create_task(served.server._serve())
    await until(lambda: served.server.started)
    yield served
    served.server.should_exit = True
    await task


class Connected:
    def __init__(self, served: Served, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.served, self.reader, self.writer = served, reader, writer

    async def send(self, data: bytes) -> None:
        """Until the server has it."""
        self.served.received = b""
        self.writer.write(data)
        await until(lambda: self.served.received == data)

    async def answer(self) -> bytes:
        return await self.reader.readuntil(b"|")

    async def rest(self) -> bytes:
        return await self.reader.read()


@asynccontextmanager
async def connected(served: Served) -> AsyncIterator[Connected]:
    async with asyncio.timeout(10 * HEAD_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        await until(lambda: served.server.server_state.connections)
        yield Connected(served, reader, writer)
        writer.close()
        await until(lambda: not served.server.server_state.connections)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("begun", [b"", b"G", GET[:20], GET[:-2]])
async def test_a_head_that_does_not_come_is_given_up(served: Served, begun: bytes) -> None:
    async with connected(served) as client:
        await client.send(begun)
        await served.outlast_a_head()
        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")
    async with connected(served) as client:
        await client.send(GET + begun)
        assert (await client.answer()).startswith(b"HTTP/1.1 200 ")
        if begun:
            await served.outlast_a_head()
            assert (await client.rest()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.sweep(2)
async def test_a_connection_may_be_silent_between_requests_and_within_bodies(served: Served) -> None:
    head = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
    async with connected(served) as client:
        for _ in range(2):
            await client.send(head + b"bo")
            await served.outlast_a_head()
            await client.send(b"dy")
            assert (await client.answer()).endswith(b"\r\n\r\n/x? body|")
            await served.outlast_a_head()
        await client.send(GET[:30])
        await client.send(GET[30:] + GET)
        for _ in range(2):
            assert (await client.answer()).endswith(b"\r\n\r\n/x y?a=1 |")


@pytest.mark.sweep(2)
async def test_a_head_behind_a_slow_request_has_its_time_after_that(served: Served) -> None:
    async with connected(served) as client:
        for rest in (GET[20:], b""):
            served.released.clear()
            await client.send(SLOW + GET[:20])
            await served.outlast_a_head()
            served.released.set()
            assert (await client.answer()).endswith(b"\r\n\r\n/slow? |")
            if rest:
                await client.send(rest)
                assert (await client.answer()).endswith(b"\r\n\r\n/x y?a=1 |")
        await served.outlast_a_head()
        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("piece", [b"x" * 1000, b"x: y\r\n" * 200])
async def test_a_head_without_end_is_refused(served: Served, piece: bytes) -> None:
    async with connected(served) as client:
        client.writer.write(GET[:-2] + b"a: " + piece * (MAX_HEAD_BYTES // len(piece) + 1))
        assert (await client.reader.read(12)) == b"HTTP/1.1 400"


FULL = b"POST /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"


async def test_what_is_refused_is_answered_in_the_turn_in_which_it_came(served: Served) -> None:
    said = b"at once|" if parser_name() == "httptools" else b"later|"
    async with connected(served) as client:
        for sent in (FULL, FULL[:-4], b"body" + FULL):
            client.writer.write(sent)
            assert (await client.answer()).endswith(said)
        client.writer.write(GET)
        assert (await client.answer()).endswith(b"\r\n\r\n/x y?a=1 |"), "the connection goes on"


async def test_refusals_behind_each_other_all_come_and_in_their_order(served: Served) -> None:
    """Behind a slow request, so many that each within the one before would be too deep for Python."""
    many = MAX_HEAD_BYTES // len(FULL) - 2
    async with connected(served) as client:
        served.received = b""
        client.writer.write(SLOW + FULL * many + GET)
        await until(lambda: served.received)
        served.released.set()
        assert (await client.answer()).endswith(b"/slow? |")
        for _ in range(many):
            assert b"full, " in await client.answer()
        assert (await client.answer()).endswith(b"/x y?a=1 |")
