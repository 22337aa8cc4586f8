"""The graph of a document on its way into the database: temporary tables that rag.publish_documents reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.document import PreparedDocument
from cairn.domain.graph import (
    SYMMETRIC,
    DocumentGraph,
    EntityKey,
    entity_id,
    relation_id,
)

SQL = load_queries("graph")

MENTION_COLUMNS = (
    "passage_id", "entity_id", "family", "normal", "name", "kind", "form", "occurrences", "char_start", "char_end",
    "confidence", "by_model",
)  # fmt: skip
EVIDENCE_COLUMNS = (
    "passage_id", "relation_id", "source_id", "kind", "target_id", "strength", "char_start", "char_end",
    "by_model",
)  # fmt: skip

UNIT = 1000
"""Strengths are stored in thousandths: whole numbers add up the same in any order."""


Rows = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


async def stage(connection: Any, collection_id: UUID, graph: DocumentGraph, *, by_model: bool = False) -> None:
    """Copy the rows; the caller's transaction publishes or forgets them. `by_model`: a chat model found them."""
    await connection.execute(SQL["prepare"])
    await copy(connection, collection_id, [graph], by_model=by_model)


async def copy(
    connection: Any, collection_id: UUID, graphs: Sequence[DocumentGraph], *, by_model: bool = False
) -> None:
    """The same where the temporary tables are there."""
    made = [rows_of(collection_id, graph, by_model=by_model) for graph in graphs if graph.mentions]
    if not made:
        return
    mentions, evidence = ([row for rows in column for row in rows] for column in zip(*made, strict=True))
    await connection.copy_records_to_table(
        "stage_mentions", schema_name="pg_temp", columns=MENTION_COLUMNS, records=mentions
    )
    if evidence:
        await connection.copy_records_to_table(
            "stage_evidence", schema_name="pg_temp", columns=EVIDENCE_COLUMNS, records=evidence
        )


async def load_rows(connection: Any, tenant_id: int, document_id: UUID) -> Rows:
    """What is stored of a document as the rules found it, in any order: (ordinal of the passage, entity, name, kind,
    occurrences, start, end) and (ordinal, relation, strength, start, end)."""
    return (
        [tuple(row) for row in await connection.fetch(SQL["stored_mentions"], tenant_id, document_id)],
        [tuple(row) for row in await connection.fetch(SQL["stored_evidence"], tenant_id, document_id)],
    )


def is_stored(collection_id: UUID, document: PreparedDocument, stored: Rows) -> bool:
    """Whether `stored_rows` are what would be stored of the document now. Pure."""
    place = {passage.id: passage.draft.ordinal for passage in document.passages}
    mentions, evidence = rows_of(collection_id, document.graph)
    fresh_mentions = sorted((place[row[0]], row[1], row[4], row[5], row[7], row[8], row[9]) for row in mentions)
    fresh_evidence = sorted((place[row[0]], row[1], row[5], row[6], row[7]) for row in evidence)
    return fresh_mentions == sorted(stored[0]) and fresh_evidence == sorted(stored[1])


def rows_of(collection_id: UUID, graph: DocumentGraph, *, by_model: bool = False) -> Rows:
    """Rows of the two temporary tables, with the ids of the collection. Pure."""
    ids = _Ids(collection_id)
    return [(*row, by_model) for row in _mentions(graph, ids)], [(*row, by_model) for row in _evidence(graph, ids)]


class _Ids(dict[EntityKey, UUID]):
    """Each entity is hashed once per document."""

    def __init__(self, collection_id: UUID) -> None:
        self._collection_id = collection_id

    def __missing__(self, key: EntityKey) -> UUID:
        found = self[key] = entity_id(self._collection_id, key)
        return found


def _mentions(graph: DocumentGraph, ids: _Ids) -> Iterator[tuple[Any, ...]]:
    for row in graph.mentions:
        key = row.entity
        yield (
            row.passage_id, ids[key], key.family, key.normal, row.name, row.kind, row.form, row.occurrences,
            row.start, row.end, row.confidence,
        )  # fmt: skip


def _evidence(graph: DocumentGraph, ids: _Ids) -> Iterator[tuple[Any, ...]]:
    for row in graph.evidence:
        source, target = ids[row.source], ids[row.target]
        if row.kind in SYMMETRIC and target < source:
            source, target = target, source
        strength = max(1, round(row.strength * UNIT))
        related = relation_id(source, row.kind, target)
        yield (row.passage_id, related, source, row.kind, target, strength, row.start, row.end)
