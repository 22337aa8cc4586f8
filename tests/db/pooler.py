"""A pooler as far as start-up goes: it passes everything on but the start-up parameters that it was told to ignore."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

_PROTOCOL_3 = 196608


def without_parameters(packet: bytes, ignored: frozenset[str]) -> bytes:
    """The start-up packet (protocol version, then names and values that end with a zero byte) without some parameters."""
    (version,) = struct.unpack("!I", packet[:4])
    assert version == _PROTOCOL_3
    fields = packet[4:].split(b"\0")
    pairs = zip(fields[0:-2:2], fields[1:-2:2], strict=True)
    kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs if name.decode() not in ignored)
    return packet[:4] + kept + b"\0"


class Pooler:
    def __init__(self, dsn: str, folder: Path) -> None:
        parts = urlsplit(dsn)
        query = parse_qs(parts.query)
        socket = f".s.PGSQL.{query['port'][0]}"
        self._target, self.path = f"{query['host'][0]}/{socket}", folder / socket
        self.dsn = urlunsplit(parts._replace(query=f"host={folder}&port={query['port'][0]}"))
        self.ignored: frozenset[str] = frozenset()
        """Of connections that are made from now on."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            (length,) = struct.unpack("!I", await reader.readexactly(4))
            packet = without_parameters(await reader.readexactly(length - 4), self.ignored)
            server_reader, server_writer = await asyncio.open_unix_connection(self._target)
            server_writer.write(struct.pack("!I", len(packet) + 4) + packet)
            self._tasks |= {
                asyncio.create_task(_pump(reader, server_writer)),
                asyncio.create_task(_pump(server_reader, writer)),
            }

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def pooler(dsn: str, folder: Path) -> AsyncIterator[Pooler]:
    running = Pooler(dsn, folder)
    server = await asyncio.start_unix_server(running.accept, running.path)
    try:
        yield running
    finally:
        server.close()
        await running.close()
