"""The first schema: documents, passages, chunks, vectors, BM25, jobs, traces.

BREAKING says whether code that does not know this revision must refuse to serve the database.
"""

import pgvector.sqlalchemy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "analyst_grant",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column(
            "role_name",
            sa.Text(),
            nullable=False,
            comment="Login role (session_user) that may read this tenant through schema analyst.",
        ),
        sa.Column(
            "granted_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False, comment="When."
        ),
        sa.PrimaryKeyConstraint("tenant_id", "role_name", name=op.f("analyst_grant_pkey")),
        schema="rag",
        comment="Which database logins may read which tenant in the analyst views.",
    )
    op.create_table(
        "collections",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Collection id (UUIDv7)."),
        sa.Column("name", sa.Text(), nullable=False, comment="Name, unique within the tenant."),
        sa.Column(
            "lex_seed",
            sa.Integer(),
            nullable=False,
            comment="Seeds the hash of lexemes, so that postings of collections do not mix.",
        ),
        sa.Column(
            "epoch",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Grows with every committed change of content.",
        ),
        sa.Column(
            "document_count", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="Indexed documents."
        ),
        sa.Column(
            "passage_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Passages of indexed documents.",
        ),
        sa.Column(
            "chunk_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Chunks of indexed documents.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was created.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("collections_pkey")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("collections_tenant_id_name_key")),
        schema="rag",
        comment="Named sets of documents that are searched together.",
    )
    op.create_table(
        "embedding_models",
        sa.Column(
            "id", sa.SmallInteger(), sa.Identity(always=False), nullable=False, comment="Key used by rag.embeddings."
        ),
        sa.Column(
            "name", sa.Text(), nullable=False, comment="Name as in the setting rag.embeddingModel, with its precision."
        ),
        sa.Column("dimensions", sa.Integer(), nullable=False, comment="Length of the vectors."),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the model was first used.",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("embedding_models_pkey")),
        sa.UniqueConstraint("name", name=op.f("embedding_models_name_key")),
        schema="rag",
        comment="Embedding models that have vectors here; each has its own HNSW index on rag.embeddings.",
    )
    op.create_table(
        "jobs",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Job id (UUIDv7)."),
        sa.Column("kind", sa.Text(), nullable=False, comment="Which handler runs it."),
        sa.Column(
            "payload",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Arguments of the handler.",
        ),
        sa.Column(
            "status",
            sa.Text(),
            server_default=sa.text("'queued'"),
            nullable=False,
            comment="queued, running, succeeded, failed, parked or cancelled.",
        ),
        sa.Column(
            "attempts",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Claims so far; counted when claimed, so that a job which kills its worker is parked.",
        ),
        sa.Column(
            "max_attempts",
            sa.Integer(),
            server_default=sa.text("3"),
            nullable=False,
            comment="Claims after which it is parked.",
        ),
        sa.Column(
            "progress",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="{done, total, message} as the handler reports it.",
        ),
        sa.Column(
            "result", postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment="What the handler returned."
        ),
        sa.Column("error", sa.Text(), nullable=True, comment="Why the last attempt failed."),
        sa.Column("dedupe_key", sa.Text(), nullable=True, comment="At most one unfinished job per key."),
        sa.Column(
            "cancel_requested",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="The handler stops at its next step.",
        ),
        sa.Column(
            "run_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="Not before this time (backoff).",
        ),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True, comment="Until when its worker owns it."),
        sa.Column("worker", sa.Text(), nullable=True, comment="Who owns it."),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was enqueued.",
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True, comment="When it was first claimed."),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True, comment="When it ended."),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'parked', 'cancelled')",
            name=op.f("jobs_status_check"),
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("jobs_pkey")),
        schema="rag",
        comment="Durable jobs: claimed with a lease, resumed when the lease runs out, parked after too many claims.",
    )
    op.create_index(
        "jobs_claim_idx",
        "jobs",
        ["run_at"],
        unique=False,
        schema="rag",
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.create_index(
        "jobs_dedupe_idx",
        "jobs",
        ["tenant_id", "dedupe_key"],
        unique=True,
        schema="rag",
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.create_table(
        "run_legs",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), nullable=False, comment="Start of the run; daily partitions."
        ),
        sa.Column("run_id", sa.UUID(), nullable=False, comment="The run."),
        sa.Column(
            "leg", sa.Text(), nullable=False, comment="vector, lexical, graph, or fused (what fusion made of them)."
        ),
        sa.Column("passage_ids", postgresql.ARRAY(sa.UUID()), nullable=False, comment="Candidates, best first."),
        sa.Column(
            "chunk_ids",
            postgresql.ARRAY(sa.UUID()),
            nullable=False,
            comment="Best chunk of each candidate; null where the leg ranks passages.",
        ),
        sa.Column(
            "scores",
            postgresql.ARRAY(sa.Double()),
            nullable=False,
            comment="Raw score of the leg; for fused the RRF score.",
        ),
        sa.Column(
            "shares",
            postgresql.ARRAY(sa.Double()),
            nullable=False,
            comment="Contribution to the RRF score; for fused the rerank score, if any.",
        ),
        sa.Column(
            "fates", postgresql.ARRAY(sa.Text()), nullable=False, comment="For fused: kept, or why it was dropped."
        ),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "leg", "started_at", name=op.f("run_legs_pkey")),
        schema="rag",
        comment="Candidates of each leg of a run as parallel arrays; analyst.retrieval_hits unnests them.",
        postgresql_partition_by="RANGE (started_at)",
    )
    op.create_table(
        "runs",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), nullable=False, comment="When the run began; daily partitions."
        ),
        sa.Column("id", sa.UUID(), nullable=False, comment="Run id = trace id."),
        sa.Column("kind", sa.Text(), nullable=False, comment="search or query."),
        sa.Column(
            "collections", postgresql.ARRAY(sa.Text()), nullable=False, comment="Names of the collections searched."
        ),
        sa.Column("question", sa.Text(), nullable=False, comment="What was asked."),
        sa.Column("strategy", sa.Text(), nullable=True, comment="Strategy that ran; null for a plain search."),
        sa.Column(
            "plan",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Routing decision: legs, weights, factors, request parameters.",
        ),
        sa.Column(
            "timings_ms",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Milliseconds per stage, and total.",
        ),
        sa.Column("legs_used", postgresql.ARRAY(sa.Text()), nullable=False, comment="Legs that answered."),
        sa.Column(
            "legs_failed",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Leg to reason.",
        ),
        sa.Column("degraded", postgresql.ARRAY(sa.Text()), nullable=False, comment="What did not work as asked."),
        sa.Column("settings_revision", sa.Text(), nullable=False, comment="Revision of the settings in force."),
        sa.Column(
            "epochs",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Collection name to epoch that was read.",
        ),
        sa.Column("outcome", sa.Text(), nullable=False, comment="ok, error or cancelled."),
        sa.Column("error", sa.Text(), nullable=True, comment="Why it failed."),
        sa.Column(
            "answer",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Answer with citations, confidence and groundedness; empty for a search.",
        ),
        sa.Column(
            "usage",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Model, tokens and cost.",
        ),
        sa.Column(
            "document_ids",
            postgresql.ARRAY(sa.UUID()),
            nullable=False,
            comment="Documents that the answer cites; their deletion blanks it.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", "started_at", name=op.f("runs_pkey")),
        schema="rag",
        comment="One row per search or question.",
        postgresql_partition_by="RANGE (started_at)",
    )
    op.create_index(
        op.f("runs_document_ids_idx"), "runs", ["document_ids"], unique=False, schema="rag", postgresql_using="gin"
    )
    op.create_table(
        "schema_objects",
        sa.Column("name", sa.Text(), nullable=False, comment="Folder or file under sql/."),
        sa.Column("hash", sa.Text(), nullable=False, comment="SHA-256 of what was applied."),
        sa.Column(
            "applied_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was applied.",
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("schema_objects_pkey")),
        schema="rag",
        comment="Hashes of the functions, views and roles applied from sql/.",
    )
    op.create_table(
        "schema_revisions",
        sa.Column("revision", sa.Text(), nullable=False, comment="Alembic revision."),
        sa.Column(
            "breaking",
            sa.Boolean(),
            nullable=False,
            comment="Code that does not know this revision must not serve the database.",
        ),
        sa.Column(
            "applied_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was applied.",
        ),
        sa.PrimaryKeyConstraint("revision", name=op.f("schema_revisions_pkey")),
        schema="rag",
        comment="Applied migrations, and whether older code may still serve the database.",
    )
    op.create_table(
        "tenants",
        sa.Column(
            "id",
            sa.BigInteger(),
            sa.Identity(always=False),
            nullable=False,
            comment="Tenant id, first part of every key.",
        ),
        sa.Column("name", sa.Text(), nullable=False, comment="Name given as CAIRN_TENANT."),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the tenant was first seen.",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("tenants_pkey")),
        sa.UniqueConstraint("name", name=op.f("tenants_name_key")),
        schema="rag",
        comment="Tenants: who owns documents, runs and jobs.",
    )
    op.create_table(
        "documents",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Document id (UUIDv7)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="Collection the document belongs to."),
        sa.Column(
            "external_id",
            sa.Text(),
            nullable=False,
            comment="The caller's identity of the document within the collection; for files the path.",
        ),
        sa.Column("title", sa.Text(), nullable=False, comment="Title shown in results."),
        sa.Column(
            "version", sa.Integer(), nullable=False, comment="1, then one more with each replacement of the content."
        ),
        sa.Column(
            "status",
            sa.Text(),
            nullable=False,
            comment="pending, parsing, embedding, indexed or failed; only indexed ones are searchable.",
        ),
        sa.Column(
            "content_hash",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of title and original bytes; equal content is not indexed again.",
        ),
        sa.Column("media_type", sa.Text(), nullable=False, comment="Media type found by content."),
        sa.Column(
            "language",
            sa.Text(),
            nullable=True,
            comment="ISO 639-1 code recognised in the text; null where not recognised.",
        ),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="The caller's metadata; filters match it by containment.",
        ),
        sa.Column("error", sa.Text(), nullable=True, comment="Why indexing failed; null otherwise."),
        sa.Column(
            "byte_size",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Size of the original, bytes.",
        ),
        sa.Column("passage_count", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="Passages."),
        sa.Column("chunk_count", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="Chunks."),
        sa.Column(
            "token_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Tokens of all passages, by the embedding model's tokenizer.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was first handed over.",
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When its row last changed.",
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'parsing', 'embedding', 'indexed', 'failed')", name=op.f("documents_status_check")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("documents_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("documents_pkey")),
        sa.UniqueConstraint(
            "tenant_id", "collection_id", "external_id", name=op.f("documents_tenant_id_collection_id_external_id_key")
        ),
        schema="rag",
        comment="Documents with their state; the text is in rag.document_texts.",
    )
    op.create_index(
        op.f("documents_metadata_idx"),
        "documents",
        ["metadata"],
        unique=False,
        schema="rag",
        postgresql_using="gin",
        postgresql_ops={"metadata": "jsonb_path_ops"},
    )
    op.create_table(
        "lexical_stats",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("regconfig", postgresql.REGCONFIG(), nullable=False, comment="Text search configuration."),
        sa.Column("passage_count", sa.BigInteger(), nullable=False, comment="Passages (N of BM25), exact."),
        sa.Column("total_length", sa.BigInteger(), nullable=False, comment="Sum of lengths, exact."),
        sa.Column(
            "average_length",
            sa.REAL(),
            nullable=False,
            comment="Average length that stored weights use; re-weighted when it drifts.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("lexical_stats_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "regconfig", name=op.f("lexical_stats_pkey")),
        schema="rag",
        comment="Totals of BM25 per collection and language.",
    )
    op.create_table(
        "lexical_terms",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("key", sa.Integer(), nullable=False, comment="Hashed lexeme (rag.lexeme_key)."),
        sa.Column(
            "document_frequency",
            sa.Integer(),
            nullable=False,
            comment="Passages of the collection that contain it, exact.",
        ),
        sa.Column(
            "max_weight", sa.REAL(), nullable=False, comment="Upper bound of its weight in any passage; only grows."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("lexical_terms_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", "key", name=op.f("lexical_terms_pkey")),
        schema="rag",
        comment="Document frequencies of BM25, exact at every commit.",
    )
    op.create_table(
        "uploads",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Upload id (UUIDv7)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="Where it will be indexed."),
        sa.Column("job_id", sa.UUID(), nullable=False, comment="The job that indexes it."),
        sa.Column("external_id", sa.Text(), nullable=False, comment="Identity of the document."),
        sa.Column("name", sa.Text(), nullable=False, comment="File name."),
        sa.Column("title", sa.Text(), nullable=True, comment="Title given by the caller."),
        sa.Column("media_type", sa.Text(), nullable=True, comment="Media type given by the caller."),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="Metadata given by the caller.",
        ),
        sa.Column(
            "content", sa.LargeBinary(), nullable=False, comment="The bytes; deleted with the row when the job is done."
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it arrived.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("uploads_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "job_id"],
            ["rag.jobs.tenant_id", "rag.jobs.id"],
            name=op.f("uploads_tenant_id_job_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("uploads_pkey")),
        schema="rag",
        comment="Files waiting for a worker.",
    )
    op.create_index(
        op.f("uploads_tenant_id_job_id_idx"), "uploads", ["tenant_id", "job_id"], unique=False, schema="rag"
    )
    op.create_table(
        "document_texts",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document."),
        sa.Column("version", sa.Integer(), nullable=False, comment="Version of the document that this text is."),
        sa.Column("text", sa.Text(), nullable=False, comment="Normalised text; every span counts code points in it."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("document_texts_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", name=op.f("document_texts_pkey")),
        schema="rag",
        comment="Normalised text of each indexed document.",
    )
    op.create_table(
        "originals",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document."),
        sa.Column(
            "content", sa.LargeBinary(), nullable=False, comment="Original bytes, kept when ingest.keepOriginal is on."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("originals_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", name=op.f("originals_pkey")),
        schema="rag",
        comment="Original bytes of documents, where the setting asks to keep them.",
    )
    op.create_table(
        "passages",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Passage id (UUIDv7)."),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("ordinal", sa.Integer(), nullable=False, comment="Position in the document, from 0."),
        sa.Column("char_start", sa.Integer(), nullable=False, comment="First code point in the document text."),
        sa.Column("char_end", sa.Integer(), nullable=False, comment="One past the last code point."),
        sa.Column(
            "page", sa.Integer(), nullable=True, comment="Page of the first character; null where there are no pages."
        ),
        sa.Column("headings", postgresql.ARRAY(sa.Text()), nullable=False, comment="Heading path, outermost first."),
        sa.Column(
            "landmarks",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
            comment="Places where page or heading path change: [code point, page, heading path], the first at char_start.",
        ),
        sa.Column("token_count", sa.Integer(), nullable=False, comment="Tokens by the embedding model's tokenizer."),
        sa.Column("content", sa.Text(), nullable=False, comment="The text of the span."),
        sa.Column(
            "search_terms",
            sa.Text(),
            nullable=False,
            comment="Extra search terms: title, headings, parts of identifiers.",
        ),
        sa.Column("regconfig", postgresql.REGCONFIG(), nullable=False, comment="Text search configuration (language)."),
        sa.Column(
            "search_vector",
            postgresql.TSVECTOR(),
            sa.Computed("to_tsvector(regconfig, content || ' ' || search_terms)", persisted=True),
            nullable=False,
            comment="Lexemes of content and search terms, for phrases, boolean filters and BM25 weights.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("passages_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("passages_pkey")),
        schema="rag",
        comment="Coherent pieces of documents: what BM25 ranks, fusion merges, results show and answers cite.",
    )
    op.create_index(
        op.f("passages_search_vector_idx"),
        "passages",
        ["search_vector"],
        unique=False,
        schema="rag",
        postgresql_using="gin",
    )
    op.create_index(
        op.f("passages_tenant_id_document_id_ordinal_idx"),
        "passages",
        ["tenant_id", "document_id", "ordinal"],
        unique=False,
        schema="rag",
    )
    op.create_table(
        "chunks",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Chunk id (UUIDv7)."),
        sa.Column("passage_id", sa.UUID(), nullable=False, comment="The passage it lies in."),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("ordinal", sa.Integer(), nullable=False, comment="Position in the document, from 0."),
        sa.Column("char_start", sa.Integer(), nullable=False, comment="First code point in the document text."),
        sa.Column("char_end", sa.Integer(), nullable=False, comment="One past the last code point."),
        sa.Column(
            "page", sa.Integer(), nullable=True, comment="Page of the first character; null where there are no pages."
        ),
        sa.Column("headings", postgresql.ARRAY(sa.Text()), nullable=False, comment="Heading path, outermost first."),
        sa.Column("token_count", sa.Integer(), nullable=False, comment="Tokens of the content."),
        sa.Column("token_counter", sa.Text(), nullable=False, comment="Which tokenizer counted, or estimate-v1."),
        sa.Column("content", sa.Text(), nullable=False, comment="The text of the span."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "passage_id"],
            ["rag.passages.tenant_id", "rag.passages.id"],
            name=op.f("chunks_tenant_id_passage_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("chunks_pkey")),
        schema="rag",
        comment="Small pieces of passages: what vectors rank.",
    )
    op.create_index(
        op.f("chunks_tenant_id_document_id_idx"), "chunks", ["tenant_id", "document_id"], unique=False, schema="rag"
    )
    op.create_index(
        op.f("chunks_tenant_id_passage_id_idx"), "chunks", ["tenant_id", "passage_id"], unique=False, schema="rag"
    )
    op.create_table(
        "lexical_index",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("passage_id", sa.UUID(), nullable=False, comment="The passage."),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "regconfig", postgresql.REGCONFIG(), nullable=False, comment="Text search configuration of the passage."
        ),
        sa.Column("length", sa.Integer(), nullable=False, comment="Lexeme occurrences in the passage (dl of BM25)."),
        sa.Column(
            "average_length",
            sa.REAL(),
            nullable=False,
            comment="Average length that the weights were computed with (avgdl).",
        ),
        sa.Column(
            "keys", postgresql.ARRAY(sa.Integer()), nullable=False, comment="Hashed lexemes (rag.lexeme_key), sorted."
        ),
        sa.Column(
            "weights",
            pgvector.sqlalchemy.sparsevec.SPARSEVEC(),
            nullable=False,
            comment="BM25 weight of each key, without idf.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "passage_id"],
            ["rag.passages.tenant_id", "rag.passages.id"],
            name=op.f("lexical_index_tenant_id_passage_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "passage_id", name=op.f("lexical_index_pkey")),
        schema="rag",
        comment="BM25 postings, one row per passage.",
    )
    op.create_index(
        "lexical_index_document_idx", "lexical_index", ["tenant_id", "document_id"], unique=False, schema="rag"
    )
    op.create_index(
        "lexical_index_keys_idx",
        "lexical_index",
        ["keys"],
        unique=False,
        schema="rag",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_table(
        "embeddings",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("chunk_id", sa.UUID(), nullable=False, comment="The chunk."),
        sa.Column(
            "model_id", sa.SmallInteger(), nullable=False, comment="The embedding model (rag.embedding_models.id)."
        ),
        sa.Column("document_id", sa.UUID(), nullable=False, comment="The document."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "content_hash",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of what was embedded; equal input is not embedded again.",
        ),
        sa.Column(
            "embedding",
            pgvector.sqlalchemy.halfvec.HALFVEC(),
            nullable=False,
            comment="L2-normalised vector of the model's dimension.",
        ),
        sa.ForeignKeyConstraint(["model_id"], ["rag.embedding_models.id"], name=op.f("embeddings_model_id_fkey")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "chunk_id"],
            ["rag.chunks.tenant_id", "rag.chunks.id"],
            name=op.f("embeddings_tenant_id_chunk_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "chunk_id", "model_id", name=op.f("embeddings_pkey")),
        schema="rag",
        comment="Vectors of chunks, one per embedding model.",
    )
    op.create_index(
        "embeddings_collection_idx",
        "embeddings",
        ["tenant_id", "collection_id", "model_id"],
        unique=False,
        schema="rag",
    )
    op.create_index(
        "embeddings_reuse_idx", "embeddings", ["tenant_id", "model_id", "content_hash"], unique=False, schema="rag"
    )
    # Wide values stay uncompressed and, where they fit, in the row: they are read by every search.
    op.execute("ALTER TABLE rag.lexical_index ALTER keys SET STORAGE EXTERNAL, ALTER weights SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE rag.embeddings ALTER embedding SET STORAGE EXTERNAL")
    for table in ("lexical_index", "embeddings"):
        op.execute(f"ALTER TABLE rag.{table} SET (toast_tuple_target = 8160)")
    # Uploads are compressed documents already, as a rule.
    op.execute("ALTER TABLE rag.uploads ALTER content SET STORAGE EXTERNAL")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
