"""Vector indexes, recall checks, and the models of collections."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import UUID

from app.db.tables.base import NOW, col, count, metadata, moment, tenant_id

vector_indexes = Table(
    "vector_indexes",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection that the index serves alone."),
    col("model_id", SmallInteger, "The embedding model."),
    col("name", Text, "Name of the partial HNSW index on rag.embeddings."),
    col("state", Text, "building, ready or dropping; only ready ones are used."),
    count("chunk_count", "Chunks when it was built."),
    moment("created_at", "When it was ordered.", server_default=NOW),
    moment("ready_at", "When it could be used.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "collection_id", "model_id"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    CheckConstraint("state IN ('building', 'ready', 'dropping')", name="state"),
    comment="Partial HNSW indexes of large collections.",
)


recall_checks = Table(
    "recall_checks",
    metadata,
    tenant_id(),
    col("id", UUID, "Check id (UUIDv7)."),
    col("collection_id", UUID, "The collection."),
    col("model_id", SmallInteger, "The embedding model."),
    col("regime", Text, "exact, dedicated or shared: which way the vector leg took."),
    col("k", Integer, "Neighbours compared."),
    col("sample", Integer, "Queries compared with the exact scan."),
    col("recall", Double, "Mean share of the exact neighbours that were found, 0 to 1."),
    col("ef_search", Integer, "HNSW search breadth in force."),
    moment("checked_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    Index("recall_checks_collection_idx", "tenant_id", "collection_id", "checked_at"),
    comment="Sampled comparisons of the vector leg with the exact scan.",
)


collection_models = Table(
    "collection_models",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection."),
    col("model_id", SmallInteger, "An embedding model with vectors, or to have vectors, in it."),
    col("state", Text, "backfilling, ready, serving or retired (served before; its vectors are kept for a roll-back)."),
    moment("changed_at", "When the state last changed.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "collection_id", "model_id"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    CheckConstraint("state IN ('backfilling', 'ready', 'serving', 'retired')", name="state"),
    comment="Embedding models of a collection while it moves from one to another.",
)
