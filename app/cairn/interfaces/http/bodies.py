"""The body of a request, received whole before anybody works on it: in time, and not too large.

So a slow client holds a connection and nothing else: no place among those that are served, no database connection. What is larger
than SPOOL_BYTES waits on disk. Bodies of JSON are looked through before they are parsed, since parsing holds up everybody else.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.errors import CairnError, InputError, RequestTimeoutError, TooLargeError
from cairn.interfaces.http import problems
from cairn.interfaces.http.authorize import PRINCIPAL
from cairn.interfaces.http.policy import policy_for
from cairn.interfaces.http.running import Running
from cairn.settings import ApiSettings

log = structlog.get_logger(__name__)

SPOOL_BYTES: Final = 1 << 20
"""Of one body in memory."""
PIECE_BYTES: Final = 1 << 18
"""Of a spooled body that are handed on at once."""
RECEIVING: Final = 512
"""Bodies that may be on their way at once; one more, and the one that has been silent longest is given up."""
SMALL_TOKENS: Final = 10_000
"""Names, values and brackets of a JSON body that is no upload; texts count once."""
SCANNED_BYTES: Final = 1 << 14
"""Shorter JSON bodies cannot have enough in them to hold anybody up."""
DRAIN_SECONDS: Final = 2.0
"""How long the rest of a refused body is read and thrown away, so that the client gets to read the refusal."""


class BodiesMiddleware:
    """Receives bodies; the application reads them from here."""

    def __init__(self, app: ASGIApp, running: Running) -> None:
        self.app = app
        self.running = running
        self._arriving: dict[asyncio.Timeout, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["type"] != "http" or not has_body(headers) or PRINCIPAL not in scope.get("state", {}):
            await self.app(scope, receive, send)  # nobody who may send a body: the route refuses before it reads one
            return
        try:
            with SpooledTemporaryFile(SPOOL_BYTES) as body:
                large = await self._receive(scope, headers, receive, body)
                if large:
                    await self._work_while_wanted(scope, body, receive, send)
                else:
                    await self.app(scope, replay(body, receive), send)
        except CairnError as error:
            await refuse(scope, error, receive, send)

    async def _receive(
        self, scope: Scope, headers: Headers, receive: Receive, body: SpooledTemporaryFile[bytes]
    ) -> bool:
        """The whole body into the file; whether it is one that may be large. Raises TooLargeError,
        RequestTimeoutError, InputError, ClientDisconnect."""
        api, policy = self.running.settings.current.api, policy_for(scope["method"], scope["path"])
        large = policy is not None and policy.large
        limit = api.max_body_bytes if large else api.max_small_body_bytes
        check_length(headers.get("content-length"), limit, large)
        started = time.monotonic()
        async with self._in_time(api) as deadline:
            received, more = 0, True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                piece, more = message.get("body", b""), message.get("more_body", False)
                received += len(piece)
                if received > limit:
                    raise too_large(limit, large)
                body.write(piece)
                self._arriving[deadline] = time.monotonic()
                deadline.reschedule(_loop_time(started + api.body_seconds + received / api.body_rate))
        if _is_json(headers) and received > SCANNED_BYTES:
            await check_tokens(body, api.max_json_tokens if large else SMALL_TOKENS)
        body.seek(0)
        return large

    async def _work_while_wanted(
        self, scope: Scope, body: SpooledTemporaryFile[bytes], receive: Receive, send: Send
    ) -> None:
        """An upload whose client is gone ends: what of it is stored stays, the rest is not begun. Raises ClientDisconnect."""
        gone = asyncio.ensure_future(receive())
        work = asyncio.ensure_future(self.app(scope, replay(body, lambda: asyncio.shield(gone)), send))
        try:
            await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnect
            work.result()
        finally:
            for part in (work, gone):
                part.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    @asynccontextmanager
    async def _in_time(self, api: ApiSettings) -> AsyncIterator[asyncio.Timeout]:
        """Raises RequestTimeoutError when the body is late, or too many are on their way and this one is the most silent."""
        try:
            async with asyncio.timeout(api.body_seconds) as deadline:
                self._arriving[deadline] = time.monotonic()
                try:
                    if len(self._arriving) > RECEIVING:
                        self._give_up_one()
                    yield deadline
                finally:
                    self._arriving.pop(deadline, None)
        except TimeoutError:
            raise RequestTimeoutError(
                f"the body did not arrive in time; send it within {api.body_seconds:g} s, or at {api.body_rate:,} bytes/s"
            ) from None

    def _give_up_one(self) -> None:
        """The most silent one, once: it ends only when its task has its turn."""
        silent = min(self._arriving, key=lambda one: self._arriving[one])
        del self._arriving[silent]
        if not silent.expired():
            silent.reschedule(asyncio.get_running_loop().time())


def _loop_time(monotonic: float) -> float:
    return asyncio.get_running_loop().time() + monotonic - time.monotonic()


def has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _is_json(headers: Headers) -> bool:
    return "json" in headers.get("content-type", "").lower()


def replay(body: SpooledTemporaryFile[bytes], receive: Receive) -> Receive:
    """The body once more, as the server would hand it over; then what the server has to say."""
    begun = done = False

    async def next_message() -> Message:
        nonlocal begun, done
        if done:
            return await receive()
        if begun:
            await asyncio.sleep(0)  # a form is parsed piece by piece; others have their turn between two
        begun = True
        piece = body.read(PIECE_BYTES)
        done = len(piece) < PIECE_BYTES
        return {"type": "http.request", "body": piece, "more_body": not done}

    return next_message


async def refuse(scope: Scope, error: CairnError, receive: Receive, send: Send) -> None:
    """Answer with the problem, and read for a while what still comes: closing a connection with unread data resets it, and the
    answer is lost on its way."""
    error.headers["Connection"] = "close"
    response = problems.response_of(scope, error)
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    if isinstance(error, TooLargeError):
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                    pass
        except TimeoutError:
            pass
    await send({"type": "http.response.body", "body": b""})


# --- how much -----------------------------------------------------------------------------------------------------------


def check_length(length: str | None, limit: int, large: bool) -> None:
    """Content-Length, before a byte of the body is read. Raises InputError, TooLargeError."""
    if length is None:
        return
    if not (length.isascii() and length.isdigit()):
        raise InputError("Content-Length must be a number")
    if len(length) > 18 or int(length) > limit:
        raise too_large(limit, large)


def too_large(limit: int, large: bool) -> TooLargeError:
    setting = "api.maxBodyBytes" if large else "api.maxSmallBodyBytes"
    return TooLargeError(f"the request body is larger than {limit:,} bytes (setting {setting})")


_TEXT: Final = re.compile(rb'(?:[^"\\]{1,4096}|\\.){1,64}', re.DOTALL)
"""A stretch within a JSON string."""
_BETWEEN: Final = re.compile(rb'[^"]{1,65536}')
"""A stretch between strings."""
_TURN_SECONDS: Final = 0.005
"""After so long others have their turn."""


async def check_tokens(body: SpooledTemporaryFile[bytes], limit: int) -> None:
    """Count names, values and brackets of JSON, which is what parsing costs, without building anything. Raises TooLargeError.
    What is no JSON is counted somehow and refused by the parser."""
    body.seek(0)
    content = body.read()
    at, count, inside, turn = 0, 0, False, time.monotonic()
    while at < len(content):
        if content[at : at + 1] == b'"':
            inside, at, count = not inside, at + 1, count + (not inside)
        elif inside:
            match = _TEXT.match(content, at)
            at = match.end() if match else len(content)
        elif match := _BETWEEN.match(content, at):
            stretch, at = match.group(), match.end()
            count += sum(stretch.count(mark) for mark in (b",", b"[", b"{"))
        if count > limit:
            raise TooLargeError(f"the JSON has more than {limit:,} names, values and brackets; send less at once")
        if time.monotonic() - turn > _TURN_SECONDS:
            await asyncio.sleep(0)
            turn = time.monotonic()
