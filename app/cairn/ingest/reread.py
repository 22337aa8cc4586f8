"""Reading documents anew with today's loaders, from what is kept of them.

The content is, in this order: the file that is kept; the file that the document was read from, if it is still what was read; the
stored text, where that is what was handed over. Hashes tell: a document's is of its title and its content.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from cairn.domain.document import Source
from cairn.domain.usage import Holding
from cairn.errors import NotFoundError
from cairn.ingest.embed import Target, embed_documents, in_use, is_large
from cairn.ingest.loaders import REVISION
from cairn.ingest.outlines import OutlineReader
from cairn.ingest.parse import parse, with_stated_metadata
from cairn.ingest.prepare import prepare, source_hash, titled_as_before
from cairn.store import documents, lexical, limits, originals, vectors
from cairn.store.session import Database

Read = Literal["reread", "unchanged", "overtaken"]
"""unchanged: today's loaders read the same; overtaken: it was replaced or deleted meanwhile."""

PLAIN: Final = "text/plain"


class NotKeptError(NotFoundError):
    """There is nothing that the document could be read from; the message says why."""


async def reread_document(
    database: Database, target: Target, found: documents.OutdatedDocument, outlines: OutlineReader
) -> Read:
    """Make what today's loaders read of it a new version in one transaction; the old one serves until then, and stays where both
    read the same. Raises NotKeptError, what `parse` and embedding raise, and TenantFullError."""
    principal = target.principal
    async with database.transaction(principal, readonly=True) as connection:
        kept = await originals.get(connection, principal, found.id) if found.has_file else None
        text = await documents.text(connection, principal, found.id)
        dominant = await lexical.find_dominant(connection, principal, target.collection_id)
    if text is None or text[0] != found.version:
        return "overtaken"
    limit = target.settings.ingest.max_file_bytes
    source = await asyncio.to_thread(_source_of, found, kept.content if kept else None, text[1], limit)
    loaded = await outlines.outlined(await parse(source, target.settings.ingest), source.external_id)
    titled = titled_as_before(source, found.title)
    ready = await asyncio.to_thread(
        prepare,
        titled,
        loaded,
        target.settings,
        target.embedder.tokens,
        dominant,
        most_tokens=target.embedder.max_tokens,
    )
    same = (ready.text, ready.media_type, ready.title) == (text[1], found.media_type, found.title)
    while True:
        used = await in_use(database, target)
        [made] = [{}] if same else await embed_documents(database, principal, target.collection_id, used, [ready])
        try:
            async with database.transaction(principal) as connection:
                metadata = await documents.lock_version(connection, principal, found.id, found.version)
                if metadata is None:
                    return "overtaken"
                read = with_stated_metadata(replace(source, metadata=metadata))
                if same:
                    if read.metadata != metadata:
                        await documents.update_metadata(connection, target.collection_id, found.id, read.metadata)
                    await documents.mark_read(connection, principal, found.id, REVISION)
                    return "unchanged"
                if is_large(ready):
                    await vectors.drop_ahead(connection, principal, found.id)
                version = replace(ready, source=read, content_hash=found.content_hash)
                await documents.publish(
                    connection, target.collection_id, used[0].model.id, [documents.NewVersion(found.id, version, made)],
                    keep_original=found.has_file or target.settings.ingest.keep_original,
                )  # fmt: skip
                grown = Holding(0, 0, len(ready.chunks) - found.chunk_count)
                await limits.check_room(connection, grown, target.settings.limits.holding, published=True)
                return "reread"
        except documents.ModelsChangedError:
            continue


def _source_of(found: documents.OutdatedDocument, kept: bytes | None, text: str, limit: int) -> Source:
    """As it was handed over. Raises NotKeptError."""
    name = found.external_id if found.title == found.external_id else found.external_id.rsplit("/", 1)[-1]
    if kept is not None:
        source = Source(found.external_id, name, kept, media_type=found.media_type, origin=found.origin)
        return next(_same_content(source, found), source)
    if found.origin is not None:
        source = Source(
            found.external_id, name, _read_file(found.origin, limit), media_type=found.media_type, origin=found.origin
        )
        if (same := next(_same_content(source, found), None)) is None:
            raise NotKeptError(f"{found.origin} is another file by now: ingest it again")
        return same
    written = Source(
        found.external_id, name, text.encode(), media_type=found.media_type, is_text=True, size=found.byte_size
    )
    if same := next(_same_content(written, found), written if found.media_type == PLAIN else None):
        return same
    raise NotKeptError("its file is not kept, and the stored text is not what was handed over: hand it over again")


def _same_content(source: Source, found: documents.OutdatedDocument) -> Iterator[Source]:
    """The source with the title that it was handed over with, if the hash says that it is what was."""
    for title in (None, found.title):
        titled = replace(source, title=title)
        if source_hash(titled) == found.content_hash:
            yield titled


def _read_file(path: str, limit: int) -> bytes:
    """Raises NotKeptError."""
    with suppress(OSError, ValueError):
        if Path(path).is_file() and Path(path).stat().st_size <= limit:
            return Path(path).read_bytes()
    raise NotKeptError(f"its file is not kept, and {path} cannot be read any more: hand it over again")
