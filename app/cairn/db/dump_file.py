"""What a dump of PostgreSQL holds, as pg_restore writes it without a connection: rows to be copied, never statements to be run.

A dump is a script of whoever made it. So nothing of it reaches psql or a server but the rows between the lines that begin and end
them. Those lines are read by a grammar that knows four kinds; a dump that has any other is refused.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from cairn.db.programs import first_words, running
from cairn.errors import BackupError

_READ_BYTES: Final = 1 << 18
_LONGEST_LINE: Final = 1 << 16
"""Of text that is no row."""
_MOST_TABLES: Final = 20_000

_NAME: Final = rb'(?:[a-z_][a-z0-9_$]{0,62}|"(?:[^"\0-\x1f]|""){1,200}")'
_ENTRY: Final = re.compile(rb"\d+; \d+ \d+ TABLE DATA rag (\S+) .*")  # and the name of its owner, which may have blanks
_COPY: Final = re.compile(rb"COPY (%b)\.(%b) \((%b(?:, %b)*)\) FROM stdin;" % (_NAME, _NAME, _NAME, _NAME))
_SEQUENCE: Final = re.compile(rb"SELECT pg_catalog\.setval\('rag\.([a-z_]{1,63})', (\d{1,19}), (true|false)\);")
_ENCODING: Final = re.compile(rb"SET client_encoding = '(\w{1,20})';")
_MEANINGLESS: Final = re.compile(
    rb"|--.*|SET [a-z_]{1,63} = '?\w{1,63}'?;|\\(?:un)?restrict \w{1,99}"
    rb"|SELECT pg_catalog\.set_config\('search_path', '', false\);"
)


@dataclass(frozen=True, slots=True)
class DumpedRows:
    """Of one table, as COPY reads them in text format; `data` can be read until the next part is asked for."""

    schema: str
    table: str
    columns: tuple[str, ...]
    encoding: str
    data: AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class Counted:
    """The last number that a sequence gave; 0: none so far."""

    sequence: str
    last: int


class DumpFile:
    """A file that pg_restore can read. Every method raises BackupError for what is no dump, or not one as pg_dump writes it."""

    def __init__(self, program: str, file: Path) -> None:
        """`program`: pg_restore."""
        self._program, self._file = program, file

    async def list_tables(self) -> list[str]:
        """Those of schema rag of which it has rows, in its order; a partition is one of its own."""
        found = []
        async with self._opened("--list") as text:
            while (line := await text.line()) is not None:
                if entry := _ENTRY.fullmatch(line):
                    found.append(_text(entry[1]))
                    if len(found) > _MOST_TABLES:
                        raise self._refused("it has more tables than any that Cairn made")
        return found

    async def read_revisions(self) -> set[str]:
        """Of the schema that it was made of; none where it is no dump of Cairn."""
        found = b""
        async with aclosing(self.read(["alembic_version"], [])) as parts:
            async for part in parts:
                if isinstance(part, DumpedRows) and (part.schema, part.table) == ("rag", "alembic_version"):
                    async for data in part.data:
                        found += data
                        if len(found) > _LONGEST_LINE:
                            raise self._refused("its revision is longer than any")
        return set(_text(found).split())

    async def read(self, tables: Iterable[str], sequences: Iterable[str]) -> AsyncGenerator[DumpedRows | Counted, None]:
        """What it has of these tables and sequences of schema rag, in its order."""
        wanted = [f"--table={name}" for name in (*tables, *sequences)]
        encoding = "UTF8"
        async with self._opened("--data-only", "--no-owner", "--no-privileges", "--file=-", *wanted) as text:
            while (line := await text.line()) is not None:
                if copy := _COPY.fullmatch(line):
                    columns = tuple(_plain(name) for name in re.findall(_NAME, copy[3]))
                    rows = text.rows()
                    yield DumpedRows(_plain(copy[1]), _plain(copy[2]), columns, encoding, rows)
                    async for _ in rows:  # what was not asked for
                        pass
                elif counted := _SEQUENCE.fullmatch(line):
                    yield Counted(_text(counted[1]), int(counted[2]) - (counted[3] == b"false"))
                elif said := _ENCODING.fullmatch(line):
                    encoding = _text(said[1])
                elif not _MEANINGLESS.fullmatch(line):
                    raise self._refused(f"it has a statement where rows should be: {_text(line)[:60]!r}")

    @asynccontextmanager
    async def _opened(self, *options: str) -> AsyncIterator[Printed]:
        command = [self._program, "--schema=rag", *options, str(self._file)]
        async with running(command) as process:
            assert process.stdout is not None
            words = asyncio.ensure_future(first_words(process.stderr))
            try:
                printed = Printed(process.stdout, self._refused)
                try:
                    yield printed
                except BackupError:
                    if printed.ended:  # a program that failed says best what was wrong
                        await self._check_end(process, words)
                    raise
                await self._check_end(process, words)
            finally:
                words.cancel()

    async def _check_end(self, process: asyncio.subprocess.Process, words: Awaitable[str]) -> None:
        if await process.wait():
            raise self._refused(await words or f"pg_restore ended with {process.returncode}") from None

    def _refused(self, why: str) -> BackupError:
        return BackupError(f"{self._file} cannot be read as a dump of PostgreSQL: {why}")


class Pipe(Protocol):
    """Where a program's output comes from; nothing when it has ended."""

    async def read(self, size: int, /) -> bytes: ...


class Printed:
    """What a program prints: lines, and rows between them."""

    def __init__(self, pipe: Pipe, refused: Callable[[str], BackupError]) -> None:
        self._pipe, self._refused = pipe, refused
        self._buffer = bytearray()
        self.ended = False

    async def line(self) -> bytes | None:
        """Without its end; None after the last one."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > _LONGEST_LINE:
                raise self._refused("it has a line that is longer than any of pg_dump")
            if not await self._more():
                if not self._buffer:
                    return None
                end = len(self._buffer)
                break
        found = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return found

    async def rows(self) -> AsyncGenerator[bytes, None]:
        """What stands before the next line `\\.`, in pieces of any size, so that no row has to be in memory as a whole."""
        while len(self._buffer) < 3 and await self._more():
            pass
        if self._buffer.startswith(b"\\.\n"):
            del self._buffer[:3]
            return
        while (end := self._buffer.find(b"\n\\.\n")) < 0:
            if kept := max(len(self._buffer) - 3, 0):  # the last bytes may begin that line
                yield bytes(self._buffer[:kept])
                del self._buffer[:kept]
            if not await self._more():
                raise self._refused("it ends amid the rows of a table")
        yield bytes(self._buffer[: end + 1])
        del self._buffer[: end + 4]

    async def _more(self) -> bool:
        data = await self._pipe.read(_READ_BYTES)
        self._buffer += data
        self.ended = not data
        return bool(data)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _plain(name: bytes) -> str:
    """An identifier without the quotes that it may have."""
    return _text(name[1:-1].replace(b'""', b'"') if name.startswith(b'"') else name)
