"""The retrieval cache and embeddings of queries."""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from app.db.tables.base import NOW, col, count, metadata, moment, tenant_id

retrieval_cache = Table(
    "retrieval_cache",
    metadata,
    tenant_id(),
    col("key", Text, "MD5 over query, parameters, collections, model and settings."),
    col("scope", Text, "MD5 over the same without the query: entries that may answer for one another."),
    col("query", Text, "Normalised query."),
    col("query_vector", HALFVEC, "Its embedding, for the semantic level; null where that is off.", nullable=True),
    col("guards", ARRAY(Text), "Numbers, negations and names of the query; they must agree at the semantic level."),
    col("collection_ids", ARRAY(UUID), "Collections searched."),
    col("epochs", ARRAY(BigInteger), "Their epochs when they were read, in the same order; other epochs: stale."),
    col("result", JSONB, "What was found."),
    count("hits", "How often it answered."),
    moment("created_at", "When it was stored.", server_default=NOW),
    moment("used_at", "When it was last used, to 30 s.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "key"),
    comment="Results of searches; an entry is only used while the epochs of its collections are unchanged.",
)


cache_counters = Table(
    "cache_counters",
    metadata,
    tenant_id(),
    count("hits", "Searches answered from the cache.", BigInteger),
    count("semantic_hits", "Those of them at the semantic level.", BigInteger),
    count("misses", "Searches that were not.", BigInteger),
    count("bypassed", "Searches that may not be cached (filters, or asked for).", BigInteger),
    PrimaryKeyConstraint("tenant_id"),
    comment="What the retrieval cache did, per tenant.",
)


query_embeddings = Table(
    "query_embeddings",
    metadata,
    tenant_id(),
    col("model_id", SmallInteger, "The embedding model."),
    col("query_hash", LargeBinary, "SHA-256 of the query."),
    col("embedding", HALFVEC, "Its vector."),
    moment("used_at", "When it was last used, to 30 s.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "model_id", "query_hash"),
    comment="Embeddings of repeated queries.",
)
