"""A network that can break: a proxy before PostgreSQL that refuses, cuts off, delays, or goes silent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit


class DatabaseProxy:
    def __init__(self, dsn: str, folder: Path) -> None:
        """Listens on a Unix socket in `folder`; `dsn` names the server's socket folder."""
        parts = urlsplit(dsn)
        query = parse_qs(parts.query)
        socket = f".s.PGSQL.{query.get('port', ['5432'])[0]}"
        self._target, self._path = f"{query['host'][0]}/{socket}", folder / socket
        self.dsn = urlunsplit(parts._replace(query=f"host={folder}&port={socket.rsplit('.', 1)[1]}"))
        self._flowing = asyncio.Event()
        self._cut = False
        self._trouble: Callable[[], float | None] = float
        self._recovering = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        """Let new connections through, and everything flow."""
        self._flowing.set()
        self._cut = False
        self._server = await asyncio.start_unix_server(self._accept, self._path)

    async def cut(self) -> None:
        """Break every connection and refuse new ones, as a server does that is down."""
        self._cut = True
        if self._server is not None:
            self._server.close()
        self._path.unlink(missing_ok=True)
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    def freeze(self) -> None:
        """Deliver nothing any more, without any sign of it: a network that lost its packets."""
        self._flowing.clear()

    def trouble(self, each: Callable[[], float | None]) -> None:
        """From now on each packet is delivered after so many seconds; None breaks its connection instead."""
        self._trouble = each

    def recover(self, connections: int) -> None:
        """Tell so many connections what a server tells that starts or recovers."""
        self._recovering = connections

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        if self._recovering:
            self._recovering -= 1
            await reader.read(65536)
            said = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is in recovery mode\0\0"
            writer.write(b"E" + (len(said) + 4).to_bytes(4) + said)
            writer.close()
            return
        server_reader, server_writer = await asyncio.open_unix_connection(self._target)
        self._writers.add(server_writer)
        if self._cut:  # while this connection was on its way
            writer.transport.abort()
            server_writer.transport.abort()
        pumps = [self._pump(reader, server_writer), self._pump(server_reader, writer)]
        self._tasks |= (started := {asyncio.create_task(pump) for pump in pumps})
        await asyncio.wait(started)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flowing.wait()
                if (seconds := self._trouble()) is None:
                    break
                await asyncio.sleep(seconds)
                writer.write(data)
                await writer.drain()
        writer.close()

    async def close(self) -> None:
        await self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def database_proxy(dsn: str, folder: Path) -> AsyncIterator[DatabaseProxy]:
    proxy = DatabaseProxy(dsn, folder)
    await proxy.connect()
    try:
        yield proxy
    finally:
        await proxy.close()
