"""Vector indexes and models of collections, retrieval cache, query embeddings.

BREAKING says whether code that does not know this revision must refuse to serve the database.
"""

import pgvector.sqlalchemy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:

    op.create_table(
        "cache_counters",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column(
            "hits",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Searches answered from the cache.",
        ),
        sa.Column(
            "semantic_hits",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Those of them at the semantic level.",
        ),
        sa.Column(
            "misses", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="Searches that were not."
        ),
        sa.Column(
            "bypassed",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Searches that may not be cached (filters, or asked for).",
        ),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("cache_counters_pkey")),
        schema="rag",
        comment="What the retrieval cache did, per tenant.",
    )
    op.create_table(
        "query_embeddings",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("model_id", sa.SmallInteger(), nullable=False, comment="The embedding model."),
        sa.Column("query_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of the query."),
        sa.Column("embedding", pgvector.sqlalchemy.halfvec.HALFVEC(), nullable=False, comment="Its vector."),
        sa.Column(
            "used_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was last used, to 30 s.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "model_id", "query_hash", name=op.f("query_embeddings_pkey")),
        schema="rag",
        comment="Embeddings of repeated queries (A3.14).",
    )
    op.create_table(
        "retrieval_cache",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column(
            "key",
            sa.Text(),
            nullable=False,
            comment="MD5 over query, parameters, collections, model and settings (A7.02).",
        ),
        sa.Column(
            "scope",
            sa.Text(),
            nullable=False,
            comment="MD5 over the same without the query: entries that may answer for one another.",
        ),
        sa.Column("query", sa.Text(), nullable=False, comment="Normalised query."),
        sa.Column(
            "query_vector",
            pgvector.sqlalchemy.halfvec.HALFVEC(),
            nullable=True,
            comment="Its embedding, for the semantic level; null where that is off.",
        ),
        sa.Column(
            "guards",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="Numbers, negations and names of the query; they must agree at the semantic level.",
        ),
        sa.Column("collection_ids", postgresql.ARRAY(sa.UUID()), nullable=False, comment="Collections searched."),
        sa.Column(
            "epochs",
            postgresql.ARRAY(sa.BigInteger()),
            nullable=False,
            comment="Their epochs when they were read, in the same order; other epochs: stale.",
        ),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment="What was found."),
        sa.Column("hits", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="How often it answered."),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was stored.",
        ),
        sa.Column(
            "used_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was last used, to 30 s.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "key", name=op.f("retrieval_cache_pkey")),
        schema="rag",
        comment="Results of searches; an entry is only used while the epochs of its collections are unchanged.",
    )
    op.create_table(
        "collection_models",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "model_id",
            sa.SmallInteger(),
            nullable=False,
            comment="An embedding model with vectors, or to have vectors, in it.",
        ),
        sa.Column(
            "state",
            sa.Text(),
            nullable=False,
            comment="backfilling, ready, serving or retired (served before; its vectors are kept for a roll-back).",
        ),
        sa.Column(
            "changed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the state last changed.",
        ),
        sa.CheckConstraint(
            "state IN ('backfilling', 'ready', 'serving', 'retired')", name=op.f("collection_models_state_check")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("collection_models_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "model_id", name=op.f("collection_models_pkey")),
        schema="rag",
        comment="Embedding models of a collection while it moves from one to another.",
    )
    op.create_table(
        "recall_checks",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Check id (UUIDv7)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("model_id", sa.SmallInteger(), nullable=False, comment="The embedding model."),
        sa.Column(
            "regime", sa.Text(), nullable=False, comment="exact, dedicated or shared: which way the vector leg took."
        ),
        sa.Column("k", sa.Integer(), nullable=False, comment="Neighbours compared."),
        sa.Column("sample", sa.Integer(), nullable=False, comment="Queries compared with the exact scan."),
        sa.Column(
            "recall", sa.Double(), nullable=False, comment="Mean share of the exact neighbours that were found, 0 to 1."
        ),
        sa.Column("ef_search", sa.Integer(), nullable=False, comment="HNSW search breadth in force."),
        sa.Column(
            "checked_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False, comment="When."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("recall_checks_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("recall_checks_pkey")),
        schema="rag",
        comment="Sampled comparisons of the vector leg with the exact scan.",
    )
    op.create_index(
        "recall_checks_collection_idx",
        "recall_checks",
        ["tenant_id", "collection_id", "checked_at"],
        unique=False,
        schema="rag",
    )
    op.create_table(
        "vector_indexes",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection that the index serves alone."),
        sa.Column("model_id", sa.SmallInteger(), nullable=False, comment="The embedding model."),
        sa.Column("name", sa.Text(), nullable=False, comment="Name of the partial HNSW index on rag.embeddings."),
        sa.Column("state", sa.Text(), nullable=False, comment="building, ready or dropping; only ready ones are used."),
        sa.Column(
            "chunk_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Chunks when it was built.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was ordered.",
        ),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True, comment="When it could be used."),
        sa.CheckConstraint("state IN ('building', 'ready', 'dropping')", name=op.f("vector_indexes_state_check")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("vector_indexes_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "model_id", name=op.f("vector_indexes_pkey")),
        schema="rag",
        comment="Partial HNSW indexes of large collections.",
    )
    op.add_column(
        "collections",
        sa.Column(
            "model_id",
            sa.SmallInteger(),
            nullable=True,
            comment="Embedding model that serves it; null: that of the settings.",
        ),
        schema="rag",
    )

    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
