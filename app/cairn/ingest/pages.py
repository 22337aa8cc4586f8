"""Pages of a PDF as pictures, and where some words stand on them: by the process for untrusted files (confine.py), one for each
request, within the limits that reading a file has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from cairn.domain.original import Mark, PagePicture
from cairn.errors import NotFoundError, ParserLimitError
from cairn.ingest.confine import CLOCK_PER_PROCESSOR_SECOND, ConfinedProcess, malformed
from cairn.settings import IngestSettings

_AT_ONCE: Final = 2
"""Pages drawn at once in this process; they have places of their own, so that nobody who reads waits for an upload."""
_LONGEST: Final = 40_000_000
"""Bytes of an answer: more than the largest picture can have."""
_MOST_MARKS: Final = 10_000
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def draw_page(content: bytes, page: int, width: int, limits: IngestSettings) -> PagePicture:
    """The page (from 1) of a PDF, `width` pixels wide. Raises NotFoundError where it has fewer, ParseError, ParserLimitError."""
    head, png = await _ask({"task": "draw", "page": page, "width": width}, content, limits)
    try:
        picture = PagePicture(png, int(head["width"]), int(head["height"]), int(head["pages"]))
    except (KeyError, TypeError, ValueError) as error:
        raise malformed(error) from None
    if not png:
        raise NotFoundError(f"there is no page {page}: the file has {picture.pages}")
    if not png.startswith(_PNG):
        raise malformed(ValueError())
    return picture


async def find_marks(
    content: bytes, page: int, text: str, span: tuple[int, int], limits: IngestSettings
) -> tuple[Mark, ...]:
    """Where the span of the page's text as it is stored stands on it; () where it cannot be found there. Raises ParseError,
    ParserLimitError."""
    request = {"task": "marks", "page": page, "text": text, "start": span[0], "end": span[1]}
    _, body = await _ask(request, content, limits)
    try:
        sides = json.loads(body) or []
        return tuple(Mark(*map(_share, four)) for four in sides[:_MOST_MARKS])
    except (TypeError, ValueError) as error:
        raise malformed(error) from None


def _share(value: Any) -> float:
    """Raises ValueError for what is no share of a page: the process may have been taken over."""
    if not 0 <= (share := float(value)) <= 1:
        raise ValueError("share")
    return share


async def _ask(request: Mapping[str, Any], content: bytes, limits: IngestSettings) -> tuple[dict[str, Any], bytes]:
    async with _place():
        child = await ConfinedProcess.start(
            request["task"], memory_bytes=limits.parse_memory_bytes, cpu_seconds=limits.parse_seconds
        )
        async with child:
            try:
                return await child.ask(request, content, longest=_LONGEST, seconds=limits.parse_seconds)
            except TimeoutError:
                raise ParserLimitError(
                    f"reading the page took longer than {limits.parse_seconds} s of processor time, or "
                    f"{CLOCK_PER_PROCESSOR_SECOND} times that by the clock (ingest.parseSeconds)"
                ) from None


def _place() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    return _places.setdefault(loop, asyncio.Semaphore(_AT_ONCE))
