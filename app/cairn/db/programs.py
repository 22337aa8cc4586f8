"""PostgreSQL's own programs, as commands run them: where they are, and how they are told where the database is."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from cairn.db import runtime
from cairn.errors import ProgramMissingError

_MOST_WORDS: Final = 2_000


def find_program(name: str, binaries: Path | None) -> str:
    """Of the embedded server (`binaries`: its place), of the installation, or on the PATH. Raises ProgramMissingError."""
    for place in [binaries] if binaries else runtime.sources():
        if (found := runtime.program(place, name)).is_file():
            return str(found)
    if on_path := shutil.which(name):
        return on_path
    raise ProgramMissingError(
        f"there is no {name}: install the client programs of PostgreSQL (apt install postgresql-client), or run {name} where "
        "the database is, as docs/operations.md says"
    )


def without_password(dsn: str) -> tuple[str, str | None]:
    """The URL as others may see it in the list of processes, and its password."""
    parts = urlsplit(dsn)
    user, at, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    in_query = options.pop("password", "")
    query = urlencode(options, safe="/") if in_query else parts.query
    return urlunsplit(parts._replace(netloc=f"{name}{at}{host}", query=query)), unquote(password) or in_query or None


@asynccontextmanager
async def running(command: Sequence[str], **told: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program, with pipes for what it prints; it does not outlive the block. `told`: more of its environment."""
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, "LC_ALL": "C", **told}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def first_words(pipe: asyncio.StreamReader | None) -> str:
    """What a program says first, on one line; the rest of it is read, so that the program can end, and forgotten."""
    kept = b""
    while pipe and (data := await pipe.read(1 << 16)):
        kept = (kept + data)[:_MOST_WORDS]
    return " ".join(kept.decode(errors="replace").split())[:500]
