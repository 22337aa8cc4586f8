"""Outlines of source code, read in a process of their own (confine.py), which starts with the first file that needs it: starting
it for every file would cost more than reading the file.

A file that crashes it, takes longer than `ingest.codeSeconds` or is longer than `ingest.codeMaxChars` has no outline: it
is indexed as text all the same, and the log says so. So is every file where the extra `code` is not installed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import structlog

from cairn.distribution import install_command, is_installed
from cairn.domain.code import CodeCall, CodeReference, Definition, Outline
from cairn.domain.document import LoadedDocument
from cairn.errors import CairnError, named_reason
from cairn.graph.code.languages import FAMILIES
from cairn.ingest.confine import ConfinedProcess
from cairn.settings import Settings

log = structlog.get_logger(__name__)
_LONGEST_ANSWER: Final = 1 << 28
"""Bytes."""


class OutlineReader:
    """Starts its process with the first file that needs it; see `outline_reader`."""

    def __init__(self, settings: Settings) -> None:
        self._limits = settings.ingest
        self._enabled = settings.graph.enabled and settings.ingest.code_symbols
        self._child: ConfinedProcess | None = None

    async def outlined(self, document: LoadedDocument, path: str) -> LoadedDocument:
        """The document with the outline of its code; as it is where it has none."""
        language = document.code_language
        if not self._enabled or language not in FAMILIES:
            return document
        if not is_installed("code"):
            self._enabled = False
            log.warning("code.no_symbols", reason=f"what reads them is not installed: {install_command('code')}")
            return document
        if len(document.text) > self._limits.code_max_chars:
            log.warning("code.too_long", path=path, chars=len(document.text), limit=self._limits.code_max_chars)
            return document
        try:
            return replace(document, outline=await self._read(document.text, language, path))
        except (TimeoutError, OSError, ValueError, KeyError, TypeError, CairnError) as error:
            log.warning("code.unread", path=path, error=named_reason(error))
            return document

    async def _read(self, text: str, language: str, path: str) -> Outline | None:
        if self._child is None:
            self._child = await ConfinedProcess.start("outline", memory_bytes=self._limits.parse_memory_bytes)
        request = {"task": "outline", "language": language, "path": path}
        content, seconds = text.encode(), self._limits.code_seconds
        try:
            _, answer = await self._child.ask(request, content, longest=_LONGEST_ANSWER, seconds=seconds)
            fields = json.loads(answer)
            return None if fields is None else _outline(fields, language, len(text))
        except BaseException:  # who answers badly once is not asked again
            await self.close()
            raise

    async def close(self) -> None:
        if self._child is not None:
            await self._child.close()
            self._child = None


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
    found = Outline(
        language,
        tuple(Definition(*one) for one in answer["definitions"]),
        tuple(CodeReference(*one) for one in answer["references"]),
        tuple(CodeCall(*one) for one in answer["calls"]),
    )
    names = {one.name for one in found.definitions} | {""}
    spans = [(one.start, one.end) for one in found.definitions] + [(one.start, one.end) for one in found.references]
    spans += [(one.start, one.end) for one in found.calls]
    if any(not 0 <= start <= end <= length for start, end in spans):
        raise ValueError("a span lies outside of the text")
    if any(not isinstance(text, str) for one in found.calls for text in (one.name, one.source, one.target)):
        raise ValueError("a call has no name")
    if any(one.source not in names or (one.local and one.target not in names) for one in found.references):
        raise ValueError("a reference leads from or to nothing")
    return found
