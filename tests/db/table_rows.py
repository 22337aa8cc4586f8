"""All rows that a tenant has in the tables of documents, with names in the place of ids that are made anew, and without times."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import asyncpg

TABLES: Final = (
    "adjacency", "chunks", "code_calls", "collection_models", "collections", "documents", "document_tables",
    "document_texts", "embedded_ahead", "embeddings", "entities", "entity_aliases", "entity_words", "evidence",
    "lexical_index", "lexical_stats", "lexical_terms", "mentions", "originals", "passages", "relations", "table_columns",
)  # fmt: skip
NAMES: Final = """
SELECT id::text, 'collection ' || name FROM rag.collections
UNION ALL SELECT id::text, 'document ' || external_id FROM rag.documents
UNION ALL SELECT p.id::text, format('passage %s of %s', p.ordinal, d.external_id)
  FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id
UNION ALL SELECT c.id::text, format('chunk %s of %s', c.ordinal, d.external_id)
  FROM rag.chunks c JOIN rag.documents d ON d.id = c.document_id
UNION ALL SELECT id::text, format('entity %s %s', family, normal) FROM rag.entities
UNION ALL SELECT r.id::text, format('relation %s %s %s', a.normal, r.kind, b.normal)
  FROM rag.relations r JOIN rag.entities a ON a.id = r.source_id JOIN rag.entities b ON b.id = r.target_id
"""
LEFT_OUT: Final = {"tenant_id", "created_at", "updated_at", "changed_at", "epoch"}
"""Whose it is, times, and how many commits it took: small documents are published in groups as they come."""
UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


async def read_rows(dsn: str, tenant: int, tables: Sequence[str] = TABLES) -> dict[str, list[str]]:
    """By table, in an order of their own."""
    connection = await asyncpg.connect(dsn)
    try:
        names = {row[0]: row[1] for row in await connection.fetch(NAMES)}
        found = {}
        for table in tables:
            rows = await connection.fetch(f"SELECT to_jsonb(t) FROM rag.{table} t WHERE tenant_id = $1", tenant)
            found[table] = sorted(_in_words(row[0], names) for row in rows)
        return found
    finally:
        await connection.close()


def _in_words(row: str, names: dict[str, str]) -> str:
    kept: dict[str, Any] = {name: value for name, value in json.loads(row).items() if name not in LEFT_OUT}
    return UUID.sub(lambda found: names.get(found[0], "an id"), json.dumps(kept, sort_keys=True))
