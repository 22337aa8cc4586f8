"""Passages for results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from cairn.db.queries import load_queries
from cairn.domain.document import Landmark
from cairn.domain.passage import DocumentReading, Fused, Passage
from cairn.domain.principal import Principal

SQL = load_queries("passages")


@dataclass(frozen=True, slots=True)
class ChunkVector:
    """Where a chunk stands (code points of the document's text), and its vector under a model (rag.embedding_models.id)."""

    passage_id: UUID
    start: int
    end: int
    model_id: int
    vector: HalfVector


async def fetch(connection: Any, principal: Principal, wanted: Mapping[UUID, UUID | None]) -> dict[UUID, Passage]:
    """Passages by id, each with the chunk that was matched, if any. Missing ones are left out."""
    rows = await connection.fetch(SQL["fetch"], principal.tenant_id, list(wanted), list(wanted.values()))
    return {row["id"]: passage(row, row["collection"]) for row in rows}


async def openings(connection: Any, principal: Principal, documents: Sequence[UUID]) -> list[Passage]:
    """The first passage of each document."""
    rows = await connection.fetch(SQL["openings"], principal.tenant_id, list(documents))
    return [passage(row, row["collection"]) for row in rows]


async def in_order(
    connection: Any,
    principal: Principal,
    collection: str,
    documents: Sequence[UUID] | None,
    max_tokens: int,
    filters: Mapping[str, Any],
) -> DocumentReading:
    """Passages of the documents (None: all) as one reads them; evenly spread ones where not all fit."""
    chosen = None if documents is None else list(documents)
    rows = await connection.fetch(SQL["in_order"], principal.tenant_id, collection, chosen, max_tokens, filters)
    return DocumentReading(tuple(passage(row, row["collection"]) for row in rows), rows[0]["total"] if rows else 0)


async def marks_behind(connection: Any, principal: Principal, document: UUID, start: int, limit: int) -> list[Landmark]:
    """Where sections begin, or go on in another passage, from a place of a document on."""
    rows = await connection.fetch(SQL["marks_behind"], principal.tenant_id, document, start, limit)
    return [Landmark(row["start"], row["page"], tuple(row["headings"])) for row in rows]


async def text_between(
    connection: Any, principal: Principal, document: UUID, version: int, start: int, end: int
) -> str | None:
    """The text of a version of a document between two places; None of a version that is no more."""
    found: str | None = await connection.fetchval(
        SQL["text_between"], principal.tenant_id, document, version, start, end
    )
    return found


async def chunks_at(connection: Any, principal: Principal, places: Sequence[tuple[UUID, int]]) -> list[UUID | None]:
    """Of each place, a passage and a code point of its document, the chunk that it stands in; None where there is none."""
    ids, starts = [passage_id for passage_id, _ in places], [at for _, at in places]
    rows = await connection.fetch(SQL["chunks_at"], principal.tenant_id, ids, starts)
    found = {row["n"]: row["id"] for row in rows}
    return [found.get(n) for n in range(1, len(places) + 1)]


async def chunk_vectors(connection: Any, principal: Principal, ids: Sequence[UUID]) -> list[ChunkVector]:
    """Of the chunks of these passages, in order."""
    rows = await connection.fetch(SQL["chunk_vectors"], principal.tenant_id, list(ids))
    place = {key: at for at, key in enumerate(ids)}
    rows.sort(key=lambda row: place[row["passage_id"]])  # stable: chunks stay in order
    return [
        ChunkVector(row["passage_id"], row["char_start"], row["char_end"], row["model_id"], row["embedding"])
        for row in rows
    ]


def passage(row: Any, collection: str, fused: Fused | None = None) -> Passage:
    """A row of passage, document and matched chunk, with what fusion made of it."""
    matched = None if row["chunk_id"] is None else (row["matched_start"], row["matched_end"])
    return Passage(
        passage_id=row["id"],
        document_id=row["document_id"],
        external_id=row["external_id"],
        title=row["title"],
        content=row["content"],
        start=row["char_start"],
        end=row["char_end"],
        page=row["page"],
        headings=tuple(row["headings"]),
        landmarks=tuple(Landmark(start, page, tuple(path)) for start, page, path in row["landmarks"]),
        token_count=row["token_count"],
        version=row["version"],
        collection=collection,
        media_type=row["media_type"],
        metadata=row["metadata"],
        chunk_id=row["chunk_id"],
        matched=matched,
        score=fused.score if fused else 0.0,
        ranks=fused.ranks if fused else {},
    )
