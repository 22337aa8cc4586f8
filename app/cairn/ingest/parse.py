"""Source -> LoadedDocument, with the dangerous parsers behind the wall of a process (confine.py), one for each file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from cairn.domain.document import LoadedDocument, PageStart, Source, check_metadata
from cairn.errors import InputError, ParserLimitError, TooLargeError
from cairn.ingest.child import DocumentLimits
from cairn.ingest.confine import CLOCK_PER_PROCESSOR_SECOND, ConfinedProcess, OnRead, malformed
from cairn.ingest.loaders import FileKind, load, load_text, require_parser, sniff, stated_metadata
from cairn.ingest.loaders.titles import better_title, with_folder
from cairn.language.text import normalise
from cairn.settings import IngestSettings

_LONGEST_NOTE: Final = 500
_BYTES_PER_CHARACTER: Final = 4
"""At most, in UTF-8."""
_places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def parser_places() -> asyncio.Semaphore:
    """Places for parsing processes, as many as cores: of all uploads and jobs of this process together, since more would only
    share the time and the memory. Who waits is not refused."""
    loop = asyncio.get_running_loop()
    if loop not in _places:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        _places[loop] = asyncio.Semaphore(cores)
    return _places[loop]


def with_stated_metadata(source: Source) -> Source:
    """The source with the metadata that it states itself, where the caller gave none of that name. To be called before it is told
    whether the document is there already: metadata are compared then. Raises nothing."""
    stated = stated_metadata(source)
    if not stated.keys() - source.metadata.keys():
        return source
    metadata = {**stated, **source.metadata}
    try:
        check_metadata(metadata)
    except InputError:  # together they would be too many; the caller's stay
        return source
    return replace(source, metadata=metadata)


async def parse(source: Source, limits: IngestSettings, on_share: OnRead | None = None) -> LoadedDocument:
    """Normalised text of the source, under the title that names it best (`better_title`). `on_share` hears how much of it is
    read, 0 to 1, where its format has pages, slides or sheets.

    Raises TooLargeError, UnsupportedTypeError, MissingPartError, or a ParseError: EmptyDocumentError, EncryptedDocumentError,
    NoTextLayerError, ParserLimitError (memory, CPU, time, pages, size), or itself for a damaged file.
    """
    if len(source.content) > limits.max_file_bytes:
        raise TooLargeError(
            f"the file has {len(source.content)} bytes, more than ingest.maxFileBytes ({limits.max_file_bytes})"
        )
    document = await _load(source, limits, on_share)
    headed = document.text if document.markup == "markdown" else ""
    # what a program states is often the name of the file; in Markdown a person wrote it
    name = "" if document.media_type == "text/markdown" else source.name
    return replace(document, title=with_folder(better_title(document.title, headed, name), source.external_id))


async def _load(source: Source, limits: IngestSettings, on_share: OnRead | None) -> LoadedDocument:
    if source.is_text:
        return await asyncio.to_thread(load_text, source.content, source.name, limits)
    kind = sniff(source.name, source.content, source.media_type)
    if not kind.loader.isolated:
        return await asyncio.to_thread(load, source.content, kind, limits)
    require_parser(kind)  # before a process is started for it
    return await _parse_apart(source.content, kind, limits, on_share)


async def _parse_apart(
    content: bytes, kind: FileKind, limits: IngestSettings, on_share: OnRead | None
) -> LoadedDocument:
    bounds = DocumentLimits(limits.max_pages, limits.max_text_chars, limits.max_unpacked_bytes, limits.parse_seconds)
    request = {"task": "load", "media_type": kind.media_type, "limits": bounds}
    async with parser_places():
        child = await ConfinedProcess.start(
            "load",
            media_type=kind.media_type,
            memory_bytes=limits.parse_memory_bytes,
            cpu_seconds=limits.parse_seconds,
            programs=kind.loader.programs,
        )
        head, text = await _ask(child, request, content, limits, on_share)
    try:
        return _document(head, text.decode("utf-8"), kind, limits)
    except (ValueError, TypeError, KeyError) as error:
        raise malformed(error) from None


async def _ask(
    child: ConfinedProcess,
    request: Mapping[str, Any],
    content: bytes,
    limits: IngestSettings,
    on_share: OnRead | None,
) -> tuple[dict[str, Any], bytes]:
    async with child:
        try:
            return await child.ask(
                request,
                content,
                longest=_BYTES_PER_CHARACTER * limits.max_text_chars,
                seconds=limits.parse_seconds,
                on_share=on_share,
            )
        except TimeoutError:
            raise ParserLimitError(
                f"reading the file took longer than {limits.parse_seconds} s of processor time, or "
                f"{CLOCK_PER_PROCESSOR_SECOND} times that by the clock (ingest.parseSeconds)"
            ) from None


def _document(head: Mapping[str, Any], text: str, kind: FileKind, limits: IngestSettings) -> LoadedDocument:
    """The answer as a value. Raises ValueError, TypeError or KeyError for anything unexpected in it, since the child may
    have been taken over."""
    title = head["title"]
    pages = tuple(PageStart(int(start), int(number)) for start, number in head["pages"])
    starts = [page.start for page in pages]
    if text != normalise(text) or len(text) > limits.max_text_chars:
        raise ValueError("text")
    if starts != sorted(starts) or len(pages) > limits.max_pages or (starts and not 0 <= starts[0] <= starts[-1]):
        raise ValueError("pages")
    return LoadedDocument(
        text=text,
        media_type=kind.media_type,
        markup=kind.loader.markup,
        title=None if title is None else normalise(str(title)),
        pages=pages,
        notes=tuple(str(note)[:_LONGEST_NOTE] for note in head["notes"]),
        code_language=kind.code_language,
    )
