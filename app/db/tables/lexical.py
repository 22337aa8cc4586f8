"""BM25: postings and statistics."""

from __future__ import annotations

from pgvector.sqlalchemy import SPARSEVEC
from sqlalchemy import (
    REAL,
    BigInteger,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
)
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, UUID

from app.db.tables.base import col, metadata, tenant_id

lexical_index = Table(
    "lexical_index",
    metadata,
    tenant_id(),
    col("passage_id", UUID, "The passage."),
    col("document_id", UUID, "The document."),
    col("collection_id", UUID, "The collection."),
    col("regconfig", REGCONFIG, "Text search configuration of the passage."),
    col("length", Integer, "Lexeme occurrences in the passage (dl of BM25)."),
    col("average_length", REAL, "Average length that the weights were computed with (avgdl)."),
    col("keys", ARRAY(Integer), "Hashed lexemes (rag.lexeme_key), sorted."),
    col("weights", SPARSEVEC, "BM25 weight of each key, without idf."),
    PrimaryKeyConstraint("tenant_id", "passage_id"),
    ForeignKeyConstraint(
        ["tenant_id", "passage_id"], ["rag.passages.tenant_id", "rag.passages.id"], ondelete="CASCADE"
    ),
    # No pending list: a search would have to read it. No index on the collection either: keys are seeded by it, and a
    # second choice would only mislead the planner.
    Index("lexical_index_keys_idx", "keys", postgresql_using="gin", postgresql_with={"fastupdate": "off"}),
    Index("lexical_index_document_idx", "tenant_id", "document_id"),
    comment="BM25 postings, one row per passage.",
)


lexical_terms = Table(
    "lexical_terms",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection."),
    col("key", Integer, "Hashed lexeme (rag.lexeme_key)."),
    col("document_frequency", Integer, "Passages of the collection that contain it, exact."),
    col("max_weight", REAL, "Upper bound of its weight in any passage; only grows."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "key"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    comment="Document frequencies of BM25, exact at every commit.",
)


lexical_stats = Table(
    "lexical_stats",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection."),
    col("regconfig", REGCONFIG, "Text search configuration."),
    col("passage_count", BigInteger, "Passages (N of BM25), exact."),
    col("total_length", BigInteger, "Sum of lengths, exact."),
    col("average_length", REAL, "Average length that stored weights use; re-weighted when it drifts."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "regconfig"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    comment="Totals of BM25 per collection and language.",
)
