"""Parse, cut and embed a document without a database: what `cairn prepare` does, on as many machines as there are.

The same document gives the same row under the same settings: its vectors are made by themselves, since those of a quantised model
depend a little on what they are made together with.
"""

from __future__ import annotations

import asyncio

import numpy as np

from cairn.domain.document import PreparedDocument, Source
from cairn.ingest.embed import GROUP_CHUNKS
from cairn.ingest.outlines import OutlineReader
from cairn.ingest.parse import parse, with_stated_metadata
from cairn.ingest.prepare import prepare
from cairn.ingest.prepared_rows import HalfVectors, PreparedRow, row_of
from cairn.providers.protocols import Embedder
from cairn.settings import Settings


async def read_apart(
    source: Source, settings: Settings, embedder: Embedder, outlines: OutlineReader
) -> PreparedDocument:
    """The document as the pipeline would cut it into an empty collection. Raises what `parse` raises."""
    source = await asyncio.to_thread(with_stated_metadata, source)
    loaded = await outlines.outlined(await parse(source, settings.ingest), source.external_id)
    return await asyncio.to_thread(prepare, source, loaded, settings, embedder.tokens, most_tokens=embedder.max_tokens)


async def embed_apart(document: PreparedDocument, settings: Settings, embedder: Embedder) -> PreparedRow:
    """Its row, with the vectors of its chunks; equal texts are embedded once. Raises ProviderError."""
    texts = {chunk.content_hash: chunk.embed_text for chunk in document.chunks}
    hashes = list(texts)
    made: dict[bytes, HalfVectors] = {}
    for start in range(0, len(hashes), GROUP_CHUNKS):
        group = hashes[start : start + GROUP_CHUNKS]
        vectors = (await embedder.embed([texts[one] for one in group])).astype(np.float16)
        made.update(zip(group, vectors, strict=True))
    return row_of(
        document,
        np.stack([made[chunk.content_hash] for chunk in document.chunks]),
        keep_original=settings.ingest.keep_original,
    )
