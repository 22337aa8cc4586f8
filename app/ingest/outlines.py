"""Outlines of source code, read in a process of their own (app/ingest/code_child.py).

A file that crashes it, takes longer than `ingest.codeSeconds` or is longer than `ingest.codeMaxChars` has no outline: it
is indexed as text all the same, and the log says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import structlog

from app.domain.code import CodeReference, Definition, Outline
from app.domain.document import LoadedDocument
from app.graph.code.languages import FAMILIES
from app.ingest.parse import child_environment
from app.settings import Settings

log = structlog.get_logger(__name__)
_LONGEST_ANSWER: Final = 1 << 28
"""Bytes."""
_REAP_SECONDS: Final = 10


class OutlineReader:
    """Starts its process with the first file that needs it; see `outline_reader`."""

    def __init__(self, settings: Settings) -> None:
        self._limits = settings.ingest
        self._enabled = settings.graph.enabled and settings.ingest.code_symbols
        self._child: asyncio.subprocess.Process | None = None

    async def outlined(self, document: LoadedDocument, path: str) -> LoadedDocument:
        """The document with the outline of its code; as it is where it has none."""
        language = document.code_language if document.markup == "code" else None
        if not self._enabled or language not in FAMILIES:
            return document
        if len(document.text) > self._limits.code_max_chars:
            log.warning("code.too_long", path=path, chars=len(document.text), limit=self._limits.code_max_chars)
            return document
        try:
            async with asyncio.timeout(self._limits.code_seconds):
                return replace(document, outline=await self._read(document.text, language, path))
        except (TimeoutError, OSError, ValueError, KeyError, TypeError, asyncio.IncompleteReadError) as error:
            await self.close()
            log.warning("code.unread", path=path, error=f"{type(error).__name__}: {error}")
            return document
        except BaseException:  # cancelled half-way through an answer
            await self.close()
            raise

    async def _read(self, text: str, language: str, path: str) -> Outline | None:
        child = self._child = self._child or await self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        body = text.encode()
        child.stdin.write(json.dumps({"language": language, "path": path, "size": len(body)}).encode() + b"\n" + body)
        await child.stdin.drain()
        answer = json.loads(await child.stdout.readuntil(b"\n"))
        return None if answer is None else _outline(answer, language, len(text))

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "app.ingest.code_child",
            str(self._limits.parse_memory_bytes), str(os.getpid()),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True, env=child_environment(), limit=_LONGEST_ANSWER,
        )  # fmt: skip

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await asyncio.shield(_reaped(child))


async def _reaped(child: asyncio.subprocess.Process) -> None:
    """What it had written is read away first: a pipe that nobody reads never ends."""
    assert child.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAP_SECONDS):
            while await child.stdout.read(1 << 16):
                pass
            await child.wait()


@asynccontextmanager
async def outline_reader(settings: Settings) -> AsyncIterator[OutlineReader]:
    """A reader whose process ends with the block."""
    reader = OutlineReader(settings)
    try:
        yield reader
    finally:
        await reader.close()


def _outline(answer: dict[str, Any], language: str, length: int) -> Outline:
    """The answer as a value. Raises ValueError, KeyError or TypeError for anything unexpected in it, since the process may
    have been taken over."""
    if "error" in answer:
        raise ValueError(str(answer["error"])[:300])
    found = Outline(
        language,
        tuple(Definition(*one) for one in answer["definitions"]),
        tuple(CodeReference(*one) for one in answer["references"]),
    )
    names = {one.name for one in found.definitions} | {""}
    spans = [(one.start, one.end) for one in found.definitions] + [(one.start, one.end) for one in found.references]
    if any(not 0 <= start <= end <= length for start, end in spans):
        raise ValueError("a span lies outside of the text")
    if any(one.source not in names or (one.local and one.target not in names) for one in found.references):
        raise ValueError("a reference leads from or to nothing")
    return found
