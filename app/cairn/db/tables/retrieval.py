"""What searches read: BM25 postings and statistics, vector indexes, and the cache."""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    false,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from cairn.db.tables.base import NOW, ORDERED, col, count, metadata, moment, tenant_id, uncompressed

lexical_index = Table(
    "lexical_index",
    metadata,
    tenant_id(),
    col("passage_id", UUID, "The passage."),
    col("document_id", UUID, "The document."),
    col("collection_id", UUID, "The collection."),
    col("regconfig", ORDERED, "Text search configuration of the passage, by name."),
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
    postgresql_with={"toast_tuple_target": 8160},
)
uncompressed(lexical_index, "keys", "weights")


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
    postgresql_with={"fillfactor": 80},
)


lexical_stats = Table(
    "lexical_stats",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection."),
    col("regconfig", ORDERED, "Text search configuration, by name."),
    col("passage_count", BigInteger, "Passages (N of BM25), exact."),
    col("total_length", BigInteger, "Sum of lengths, exact."),
    col("average_length", REAL, "Average length that stored weights use; re-weighted when it drifts."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "regconfig"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    comment="Totals of BM25 per collection and language.",
)


# --- Vector indexes, recall checks, and the models of collections ---

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
    col(
        "exclusive",
        Boolean,
        "Whether the vectors are not in the shared index; false: built by a release before revision 0023.",
        server_default=false(),
    ),
    moment(
        "bulk_until",
        "Until then a run that writes very much is at work, and the index waits for its end; it renews this.",
        nullable=True,
    ),
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


# --- The retrieval cache and embeddings of queries ---

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
