"""The tables as SQLAlchemy metadata: what Alembic compares the database with, and where each column is explained.

Rules of the house (design section 3): `tenant_id` is the first column of every key of tenant data; ids are UUIDv7 made by
the app; vectors are `halfvec` without a fixed dimension, so that one table can hold several embedding models. Row
security, grants and policies are in sql/roles.sql, which applies to every table that has a `tenant_id`.
"""

from __future__ import annotations

from typing import Any

from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Date,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, REGCONFIG, TSVECTOR, UUID
from sqlalchemy.types import TypeEngine

SCHEMA = "rag"

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    },
)

NOW = text("now()")
EMPTY_OBJECT = text("'{}'::jsonb")


def _tenant() -> Column[int]:
    return Column("tenant_id", BigInteger, nullable=False, comment="Tenant that owns the row (rag.tenants.id).")


def _col(name: str, kind: TypeEngine[Any] | type[TypeEngine[Any]], comment: str, **more: Any) -> Column[Any]:
    more.setdefault("nullable", False)
    return Column(name, kind, comment=comment, **more)


def _time(name: str, comment: str, **more: Any) -> Column[Any]:
    return _col(name, DateTime(timezone=True), comment, **more)


def _count(name: str, comment: str, kind: type[TypeEngine[Any]] = Integer) -> Column[Any]:
    return _col(name, kind, comment, server_default=text("0"))


def _json(name: str, comment: str) -> Column[Any]:
    return _col(name, JSONB, comment, server_default=EMPTY_OBJECT)


# --- reference tables (no tenant data) --------------------------------------------------------------------------------

tenants = Table(
    "tenants",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True, comment="Tenant id, first part of every key."),
    _col("name", Text, "Name given as CAIRN_TENANT.", unique=True),
    _time("created_at", "When the tenant was first seen.", server_default=NOW),
    comment="Tenants: who owns documents, runs and jobs.",
)

embedding_models = Table(
    "embedding_models",
    metadata,
    Column("id", SmallInteger, Identity(always=False), primary_key=True, comment="Key used by rag.embeddings."),
    _col("name", Text, "Name as in the setting rag.embeddingModel, with its precision.", unique=True),
    _col("dimensions", Integer, "Length of the vectors."),
    _time("created_at", "When the model was first used.", server_default=NOW),
    comment="Embedding models that have vectors here; each has its own HNSW index on rag.embeddings.",
)

schema_revisions = Table(
    "schema_revisions",
    metadata,
    _col("revision", Text, "Alembic revision.", primary_key=True),
    _col("breaking", Boolean, "Code that does not know this revision must not serve the database."),
    _time("applied_at", "When it was applied.", server_default=NOW),
    comment="Applied migrations, and whether older code may still serve the database.",
)

schema_objects = Table(
    "schema_objects",
    metadata,
    _col("name", Text, "Folder or file under sql/.", primary_key=True),
    _col("hash", Text, "SHA-256 of what was applied."),
    _time("applied_at", "When it was applied.", server_default=NOW),
    comment="Hashes of the functions, views and roles applied from sql/.",
)

analyst_grants = Table(
    "analyst_grant",
    metadata,
    _tenant(),
    _col("role_name", Text, "Login role (session_user) that may read this tenant through schema analyst."),
    _time("granted_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "role_name"),
    comment="Which database logins may read which tenant in the analyst views.",
)

# --- documents --------------------------------------------------------------------------------------------------------

collections = Table(
    "collections",
    metadata,
    _tenant(),
    _col("id", UUID, "Collection id (UUIDv7)."),
    _col("name", Text, "Name, unique within the tenant."),
    _col("lex_seed", Integer, "Seeds the hash of lexemes, so that postings of collections do not mix."),
    _col("epoch", BigInteger, "Grows with every committed change of content.", server_default=text("0")),
    _count("document_count", "Indexed documents."),
    _count("passage_count", "Passages of indexed documents."),
    _count("chunk_count", "Chunks of indexed documents."),
    _time("created_at", "When it was created.", server_default=NOW),
    _col("model_id", SmallInteger, "Embedding model that serves it; null: that of the settings.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "name"),
    comment="Named sets of documents that are searched together.",
)

documents = Table(
    "documents",
    metadata,
    _tenant(),
    _col("id", UUID, "Document id (UUIDv7)."),
    _col("collection_id", UUID, "Collection the document belongs to."),
    _col("external_id", Text, "The caller's identity of the document within the collection; for files the path."),
    _col("title", Text, "Title shown in results."),
    _col("version", Integer, "1, then one more with each replacement of the content."),
    _col("status", Text, "pending, parsing, embedding, indexed or failed; only indexed ones are searchable."),
    _col("content_hash", LargeBinary, "SHA-256 of title and original bytes; equal content is not indexed again."),
    _col("media_type", Text, "Media type found by content."),
    _col("language", Text, "ISO 639-1 code recognised in the text; null where not recognised.", nullable=True),
    _json("metadata", "The caller's metadata; filters match it by containment."),
    _col("error", Text, "Why indexing failed; null otherwise.", nullable=True),
    _count("byte_size", "Size of the original, bytes.", BigInteger),
    _count("passage_count", "Passages."),
    _count("chunk_count", "Chunks."),
    _count("token_count", "Tokens of all passages, by the embedding model's tokenizer."),
    _time("created_at", "When it was first handed over.", server_default=NOW),
    _time("updated_at", "When its row last changed.", server_default=NOW),
    _col(
        "extractor",
        Text,
        "Model and prompt whose extraction is in its graph (rag.extractions); null: rules alone.",
        nullable=True,
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "collection_id", "external_id"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    CheckConstraint("status IN ('pending', 'parsing', 'embedding', 'indexed', 'failed')", name="status"),
    Index(None, "metadata", postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}),
    comment="Documents with their state; the text is in rag.document_texts.",
)


def _document_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "document_id"], ["rag.documents.tenant_id", "rag.documents.id"], ondelete="CASCADE"
    )


document_texts = Table(
    "document_texts",
    metadata,
    _tenant(),
    _col("document_id", UUID, "The document."),
    _col("version", Integer, "Version of the document that this text is."),
    _col("text", Text, "Normalised text; every span counts code points in it."),
    PrimaryKeyConstraint("tenant_id", "document_id"),
    _document_key(),
    comment="Normalised text of each indexed document.",
)

originals = Table(
    "originals",
    metadata,
    _tenant(),
    _col("document_id", UUID, "The document."),
    _col("content", LargeBinary, "Original bytes, kept when ingest.keepOriginal is on."),
    PrimaryKeyConstraint("tenant_id", "document_id"),
    _document_key(),
    comment="Original bytes of documents, where the setting asks to keep them.",
)

passages = Table(
    "passages",
    metadata,
    _tenant(),
    _col("id", UUID, "Passage id (UUIDv7)."),
    _col("document_id", UUID, "The document."),
    _col("collection_id", UUID, "The collection."),
    _col("ordinal", Integer, "Position in the document, from 0."),
    _col("char_start", Integer, "First code point in the document text."),
    _col("char_end", Integer, "One past the last code point."),
    _col("page", Integer, "Page of the first character; null where there are no pages.", nullable=True),
    _col("headings", ARRAY(Text), "Heading path, outermost first."),
    _col(
        "landmarks",
        JSONB,
        "Places where page or heading path change: [code point, page, heading path], the first at char_start.",
        server_default=text("'[]'::jsonb"),
    ),
    _col("token_count", Integer, "Tokens by the embedding model's tokenizer."),
    _col("content", Text, "The text of the span."),
    _col("search_terms", Text, "Extra search terms: title, headings, parts of identifiers."),
    _col("regconfig", REGCONFIG, "Text search configuration (language)."),
    Column(
        "search_vector",
        TSVECTOR,
        Computed("to_tsvector(regconfig, content || ' ' || search_terms)", persisted=True),
        nullable=False,
        comment="Lexemes of content and search terms, for phrases, boolean filters and BM25 weights.",
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    _document_key(),
    Index(None, "tenant_id", "document_id", "ordinal"),
    Index(None, "search_vector", postgresql_using="gin"),
    comment="Coherent pieces of documents: what BM25 ranks, fusion merges, results show and answers cite.",
)

chunks = Table(
    "chunks",
    metadata,
    _tenant(),
    _col("id", UUID, "Chunk id (UUIDv7)."),
    _col("passage_id", UUID, "The passage it lies in."),
    _col("document_id", UUID, "The document."),
    _col("collection_id", UUID, "The collection."),
    _col("ordinal", Integer, "Position in the document, from 0."),
    _col("char_start", Integer, "First code point in the document text."),
    _col("char_end", Integer, "One past the last code point."),
    _col("page", Integer, "Page of the first character; null where there are no pages.", nullable=True),
    _col("headings", ARRAY(Text), "Heading path, outermost first."),
    _col("token_count", Integer, "Tokens of the content."),
    _col("token_counter", Text, "Which tokenizer counted, or estimate-v1."),
    _col("content", Text, "The text of the span."),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "passage_id"], ["rag.passages.tenant_id", "rag.passages.id"], ondelete="CASCADE"
    ),
    Index(None, "tenant_id", "passage_id"),
    Index(None, "tenant_id", "document_id"),
    comment="Small pieces of passages: what vectors rank.",
)

embeddings = Table(
    "embeddings",
    metadata,
    _tenant(),
    _col("chunk_id", UUID, "The chunk."),
    _col("model_id", SmallInteger, "The embedding model (rag.embedding_models.id)."),
    _col("document_id", UUID, "The document."),
    _col("collection_id", UUID, "The collection."),
    _col("content_hash", LargeBinary, "SHA-256 of what was embedded; equal input is not embedded again."),
    _col("embedding", HALFVEC, "L2-normalised vector of the model's dimension."),
    PrimaryKeyConstraint("tenant_id", "chunk_id", "model_id"),
    ForeignKeyConstraint(["tenant_id", "chunk_id"], ["rag.chunks.tenant_id", "rag.chunks.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["model_id"], ["rag.embedding_models.id"]),
    Index("embeddings_collection_idx", "tenant_id", "collection_id", "model_id"),
    Index("embeddings_reuse_idx", "tenant_id", "model_id", "content_hash"),
    comment="Vectors of chunks, one per embedding model.",
)

# --- BM25 -------------------------------------------------------------------------------------------------------------

lexical_index = Table(
    "lexical_index",
    metadata,
    _tenant(),
    _col("passage_id", UUID, "The passage."),
    _col("document_id", UUID, "The document."),
    _col("collection_id", UUID, "The collection."),
    _col("regconfig", REGCONFIG, "Text search configuration of the passage."),
    _col("length", Integer, "Lexeme occurrences in the passage (dl of BM25)."),
    _col("average_length", REAL, "Average length that the weights were computed with (avgdl)."),
    _col("keys", ARRAY(Integer), "Hashed lexemes (rag.lexeme_key), sorted."),
    _col("weights", SPARSEVEC, "BM25 weight of each key, without idf."),
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
    _tenant(),
    _col("collection_id", UUID, "The collection."),
    _col("key", Integer, "Hashed lexeme (rag.lexeme_key)."),
    _col("document_frequency", Integer, "Passages of the collection that contain it, exact."),
    _col("max_weight", REAL, "Upper bound of its weight in any passage; only grows."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "key"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    comment="Document frequencies of BM25, exact at every commit.",
)

lexical_stats = Table(
    "lexical_stats",
    metadata,
    _tenant(),
    _col("collection_id", UUID, "The collection."),
    _col("regconfig", REGCONFIG, "Text search configuration."),
    _col("passage_count", BigInteger, "Passages (N of BM25), exact."),
    _col("total_length", BigInteger, "Sum of lengths, exact."),
    _col("average_length", REAL, "Average length that stored weights use; re-weighted when it drifts."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "regconfig"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    comment="Totals of BM25 per collection and language.",
)

# --- jobs -------------------------------------------------------------------------------------------------------------

jobs = Table(
    "jobs",
    metadata,
    _tenant(),
    _col("id", UUID, "Job id (UUIDv7)."),
    _col("kind", Text, "Which handler runs it."),
    _json("payload", "Arguments of the handler."),
    _col("status", Text, "queued, running, succeeded, failed, parked or cancelled.", server_default=text("'queued'")),
    _count("attempts", "Claims so far; counted when claimed, so that a job which kills its worker is parked."),
    _col("max_attempts", Integer, "Claims after which it is parked.", server_default=text("3")),
    _json("progress", "{done, total, message} as the handler reports it."),
    _col("result", JSONB, "What the handler returned.", nullable=True),
    _col("error", Text, "Why the last attempt failed.", nullable=True),
    _col("dedupe_key", Text, "At most one unfinished job per key.", nullable=True),
    _col("cancel_requested", Boolean, "The handler stops at its next step.", server_default=text("false")),
    _time("run_at", "Not before this time (backoff).", server_default=NOW),
    _time("lease_until", "Until when its worker owns it.", nullable=True),
    _col("worker", Text, "Who owns it.", nullable=True),
    _time("created_at", "When it was enqueued.", server_default=NOW),
    _time("started_at", "When it was first claimed.", nullable=True),
    _time("finished_at", "When it ended.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'parked', 'cancelled')", name="status"),
    Index("jobs_claim_idx", "run_at", postgresql_where=text("status IN ('queued', 'running')")),
    Index(
        "jobs_dedupe_idx",
        "tenant_id",
        "dedupe_key",
        unique=True,
        postgresql_where=text("status IN ('queued', 'running')"),
    ),
    comment="Durable jobs: claimed with a lease, resumed when the lease runs out, parked after too many claims.",
)

uploads = Table(
    "uploads",
    metadata,
    _tenant(),
    _col("id", UUID, "Upload id (UUIDv7)."),
    _col("collection_id", UUID, "Where it will be indexed."),
    _col("job_id", UUID, "The job that indexes it."),
    _col("external_id", Text, "Identity of the document."),
    _col("name", Text, "File name."),
    _col("title", Text, "Title given by the caller.", nullable=True),
    _col("media_type", Text, "Media type given by the caller.", nullable=True),
    _json("metadata", "Metadata given by the caller."),
    _col("content", LargeBinary, "The bytes; deleted with the row when the job is done."),
    _time("created_at", "When it arrived.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(["tenant_id", "job_id"], ["rag.jobs.tenant_id", "rag.jobs.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    Index(None, "tenant_id", "job_id"),
    comment="Files waiting for a worker.",
)

# --- traces -----------------------------------------------------------------------------------------------------------

runs = Table(
    "runs",
    metadata,
    _tenant(),
    _time("started_at", "When the run began; daily partitions."),
    _col("id", UUID, "Run id = trace id."),
    _col("kind", Text, "search or query."),
    _col("collections", ARRAY(Text), "Names of the collections searched."),
    _col("question", Text, "What was asked."),
    _col("strategy", Text, "Strategy that ran; null for a plain search.", nullable=True),
    _json("plan", "Routing decision: legs, weights, factors, request parameters."),
    _json("timings_ms", "Milliseconds per stage, and total."),
    _col("legs_used", ARRAY(Text), "Legs that answered."),
    _json("legs_failed", "Leg to reason."),
    _col("degraded", ARRAY(Text), "What did not work as asked."),
    _col("settings_revision", Text, "Revision of the settings in force."),
    _json("epochs", "Collection name to epoch that was read."),
    _col("outcome", Text, "ok, error or cancelled."),
    _col("error", Text, "Why it failed.", nullable=True),
    _json("answer", "Answer with citations, confidence and groundedness; empty for a search."),
    _json("usage", "Model, tokens and cost."),
    _col("document_ids", ARRAY(UUID), "Documents that the answer cites; their deletion blanks it."),
    _col("session_id", Text, "Conversation that the question was asked in; null: none.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id", "started_at"),
    Index(None, "document_ids", postgresql_using="gin"),
    Index("runs_session_idx", "tenant_id", "session_id", postgresql_where=text("session_id IS NOT NULL")),
    postgresql_partition_by="RANGE (started_at)",
    comment="One row per search or question.",
)

run_legs = Table(
    "run_legs",
    metadata,
    _tenant(),
    _time("started_at", "Start of the run; daily partitions."),
    _col("run_id", UUID, "The run."),
    _col("leg", Text, "vector, lexical, graph, or fused (what fusion made of them)."),
    _col("passage_ids", ARRAY(UUID), "Candidates, best first."),
    _col("chunk_ids", ARRAY(UUID), "Best chunk of each candidate; null where the leg ranks passages."),
    _col("scores", ARRAY(Double), "Raw score of the leg; for fused the RRF score."),
    _col("shares", ARRAY(Double), "Contribution to the RRF score; for fused the rerank score, if any."),
    _col("fates", ARRAY(Text), "For fused: kept, or why it was dropped."),
    PrimaryKeyConstraint("tenant_id", "run_id", "leg", "started_at"),
    postgresql_partition_by="RANGE (started_at)",
    comment="Candidates of each leg of a run as parallel arrays; analyst.retrieval_hits unnests them.",
)

# --- conversations ----------------------------------------------------------------------------------------------------

sessions = Table(
    "sessions",
    metadata,
    _tenant(),
    _col("id", Text, "Session id as the client gave it, or a UUID made for it."),
    _col("collection", Text, "Name of the collection that was asked last; it may be gone by now.", nullable=True),
    _count("message_count", "Messages so far; gives each its position."),
    _time("created_at", "When its first message was saved.", server_default=NOW),
    _time("last_used_at", "When its last message was saved.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "id"),
    comment="Conversations; their row is the one lock between writers of one conversation.",
)

messages = Table(
    "messages",
    metadata,
    _tenant(),
    _col("session_id", Text, "The conversation (rag.sessions.id)."),
    _col("position", Integer, "Place in the conversation, from 1, without gaps."),
    _col("id", UUID, "Message id (UUIDv7)."),
    _col("role", Text, "user or assistant."),
    _col("content", Text, "What was said; empty once a document that an answer cites is deleted."),
    _json("metadata", "Of an answer: sources, confidence, grounded; of a question without one: outcome and error."),
    _col("document_ids", ARRAY(UUID), "Documents of the sources; their deletion blanks what is quoted."),
    _col("run_id", UUID, "The run that the message belongs to (rag.runs.id).", nullable=True),
    _time("created_at", "When it was saved.", server_default=text("clock_timestamp()")),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "session_id", "position"),
    ForeignKeyConstraint(
        ["tenant_id", "session_id"], ["rag.sessions.tenant_id", "rag.sessions.id"], ondelete="CASCADE"
    ),
    CheckConstraint("role IN ('user', 'assistant')", name="role"),
    Index(None, "document_ids", postgresql_using="gin"),
    comment="What was said in conversations, and what answers stood on.",
)

# --- runs that outlive their request, and what users think of answers ----------------------------------------------------

resumable_runs = Table(
    "resumable_runs",
    metadata,
    _tenant(),
    _col("id", UUID, "Run id; its trace is rag.runs.id, written when it has ended."),
    _col("surface", Text, "How its events are shown: query or chat."),
    _col("session_id", Text, "Conversation that the question was asked in; null: none.", nullable=True),
    _col("owner", UUID, "The task that runs it; nobody else may add events."),
    _col("status", Text, "running, ok, error or cancelled.", server_default=text("'running'")),
    _time("started_at", "When it began.", server_default=text("clock_timestamp()")),
    _time("ended_at", "When its last event was stored.", nullable=True),
    _time(
        "lease_until",
        "When a running one is taken for lost, unless its owner says otherwise; by the clock of the database.",
    ),
    _col("cancel_requested", Boolean, "Whether somebody asked for its end.", server_default=text("false")),
    _count("last_seq", "Events stored so far."),
    _col(
        "document_ids",
        ARRAY(UUID),
        "Documents that its events quote; their deletion blanks them.",
        server_default=text("'{}'"),
    ),
    _time(
        "blanked_at",
        "When such a document, or the conversation, was deleted; no text is kept from then on.",
        nullable=True,
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("status IN ('running', 'ok', 'error', 'cancelled')", name="status"),
    Index(None, "document_ids", postgresql_using="gin"),
    Index("resumable_runs_session_idx", "tenant_id", "session_id", postgresql_where=text("session_id IS NOT NULL")),
    comment="Runs that go on without their client; their row is the one lock between who writes and who deletes.",
)

run_events = Table(
    "run_events",
    metadata,
    _tenant(),
    _col("run_id", UUID, "The run (rag.resumable_runs.id)."),
    _col("seq", Integer, "Place among its events, from 1, without gaps."),
    _col("kind", Text, "What happened: name of the event."),
    _col("terminal", Boolean, "Whether it is the last one; every run has one."),
    _col("data", Text, "Its fields (JSON object); null once what it quotes is deleted.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "run_id", "seq"),
    ForeignKeyConstraint(
        ["tenant_id", "run_id"], ["rag.resumable_runs.tenant_id", "rag.resumable_runs.id"], ondelete="CASCADE"
    ),
    Index("run_events_terminal_idx", "tenant_id", "run_id", unique=True, postgresql_where=text("terminal")),
    comment="What resumable runs said, to be read again and on any process; pieces of text are merged.",
)

feedback = Table(
    "feedback",
    metadata,
    _tenant(),
    _col("run_id", UUID, "The run that is judged (rag.runs.id)."),
    _time("run_started_at", "When that run began."),
    _col("session_id", Text, "The conversation of the run; null: none.", nullable=True),
    _col("rating", SmallInteger, "-1 bad, 0 neither, 1 good."),
    _col(
        "comment",
        Text,
        "In the user's words; null: none, or a document that the answer cites was deleted.",
        nullable=True,
    ),
    _time("created_at", "When the run was first judged.", server_default=NOW),
    _time("updated_at", "When the judgement was last replaced.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "run_id"),
    CheckConstraint("rating IN (-1, 0, 1)", name="rating"),
    comment="What users think of answers, one judgement per run.",
)

# --- evaluation -------------------------------------------------------------------------------------------------------

eval_runs = Table(
    "eval_runs",
    metadata,
    _tenant(),
    _col("id", UUID, "Evaluation run id (UUIDv7)."),
    _col("kind", Text, "What was measured: retrieval."),
    _col("name", Text, "Name given to the run; empty where none was."),
    _col("data_set", Text, "Name of the data set."),
    _col("data_hash", Text, "SHA-256 of the queries and judgements; equal hashes compare like with like."),
    # no foreign key: what was measured stays when the collection goes
    _col("collection_id", UUID, "The collection searched; it may be gone by now."),
    _col("collection", Text, "Its name."),
    _json("epochs", "Collection name to epoch that was searched."),
    _json("settings", "All settings in force."),
    _col("settings_revision", Text, "Revision of these settings."),
    _col("code_version", Text, "Version of cairn-rag that searched."),
    _json("parameters", "Mode, legs, top_k, reranking and what else the searches were asked for."),
    _time("started_at", "When the first query was sent."),
    _time("finished_at", "When the last one was answered."),
    _col("query_count", Integer, "Queries that were searched and judged."),
    _json("metrics", "Metric to {mean, low, high}: mean over queries with its 95 percent bootstrap interval."),
    _json("timings_ms", "Milliseconds per search: mean, p50, p95."),
    _col("degraded", ARRAY(Text), "What did not work as asked, each with the number of queries it concerned."),
    PrimaryKeyConstraint("tenant_id", "id"),
    comment="Evaluation runs: a data set searched with one state of collection, settings and code.",
)

eval_results = Table(
    "eval_results",
    metadata,
    _tenant(),
    _col("run_id", UUID, "The evaluation run."),
    _col("query_id", Text, "Id of the query in the data set."),
    _col("query", Text, "The query."),
    _col("ranking", ARRAY(Text), "External ids of the documents found, best first, at most 100."),
    _json("judgements", "External id of each judged document to its grade; above 0 is relevant."),
    _json("metrics", "Metric to value for this query."),
    _col("total_ms", Double, "Milliseconds that the search took."),
    PrimaryKeyConstraint("tenant_id", "run_id", "query_id"),
    ForeignKeyConstraint(["tenant_id", "run_id"], ["rag.eval_runs.tenant_id", "rag.eval_runs.id"], ondelete="CASCADE"),
    comment="What an evaluation run found for each query, and how well.",
)

# --- vector indexes and models of collections -------------------------------------------------------------------------

vector_indexes = Table(
    "vector_indexes",
    metadata,
    _tenant(),
    _col("collection_id", UUID, "The collection that the index serves alone."),
    _col("model_id", SmallInteger, "The embedding model."),
    _col("name", Text, "Name of the partial HNSW index on rag.embeddings."),
    _col("state", Text, "building, ready or dropping; only ready ones are used."),
    _count("chunk_count", "Chunks when it was built."),
    _time("created_at", "When it was ordered.", server_default=NOW),
    _time("ready_at", "When it could be used.", nullable=True),
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
    _tenant(),
    _col("id", UUID, "Check id (UUIDv7)."),
    _col("collection_id", UUID, "The collection."),
    _col("model_id", SmallInteger, "The embedding model."),
    _col("regime", Text, "exact, dedicated or shared: which way the vector leg took."),
    _col("k", Integer, "Neighbours compared."),
    _col("sample", Integer, "Queries compared with the exact scan."),
    _col("recall", Double, "Mean share of the exact neighbours that were found, 0 to 1."),
    _col("ef_search", Integer, "HNSW search breadth in force."),
    _time("checked_at", "When.", server_default=NOW),
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
    _tenant(),
    _col("collection_id", UUID, "The collection."),
    _col("model_id", SmallInteger, "An embedding model with vectors, or to have vectors, in it."),
    _col(
        "state", Text, "backfilling, ready, serving or retired (served before; its vectors are kept for a roll-back)."
    ),
    _time("changed_at", "When the state last changed.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "collection_id", "model_id"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    CheckConstraint("state IN ('backfilling', 'ready', 'serving', 'retired')", name="state"),
    comment="Embedding models of a collection while it moves from one to another.",
)

# --- retrieval cache --------------------------------------------------------------------------------------------------

retrieval_cache = Table(
    "retrieval_cache",
    metadata,
    _tenant(),
    _col("key", Text, "MD5 over query, parameters, collections, model and settings (A7.02)."),
    _col("scope", Text, "MD5 over the same without the query: entries that may answer for one another."),
    _col("query", Text, "Normalised query."),
    _col("query_vector", HALFVEC, "Its embedding, for the semantic level; null where that is off.", nullable=True),
    _col("guards", ARRAY(Text), "Numbers, negations and names of the query; they must agree at the semantic level."),
    _col("collection_ids", ARRAY(UUID), "Collections searched."),
    _col("epochs", ARRAY(BigInteger), "Their epochs when they were read, in the same order; other epochs: stale."),
    _col("result", JSONB, "What was found."),
    _count("hits", "How often it answered."),
    _time("created_at", "When it was stored.", server_default=NOW),
    _time("used_at", "When it was last used, to 30 s.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "key"),
    comment="Results of searches; an entry is only used while the epochs of its collections are unchanged.",
)

cache_counters = Table(
    "cache_counters",
    metadata,
    _tenant(),
    _count("hits", "Searches answered from the cache.", BigInteger),
    _count("semantic_hits", "Those of them at the semantic level.", BigInteger),
    _count("misses", "Searches that were not.", BigInteger),
    _count("bypassed", "Searches that may not be cached (filters, or asked for).", BigInteger),
    PrimaryKeyConstraint("tenant_id"),
    comment="What the retrieval cache did, per tenant.",
)

query_embeddings = Table(
    "query_embeddings",
    metadata,
    _tenant(),
    _col("model_id", SmallInteger, "The embedding model."),
    _col("query_hash", LargeBinary, "SHA-256 of the query."),
    _col("embedding", HALFVEC, "Its vector."),
    _time("used_at", "When it was last used, to 30 s.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "model_id", "query_hash"),
    comment="Embeddings of repeated queries (A3.14).",
)

# --- knowledge graph --------------------------------------------------------------------------------------------------
# Mentions and evidence are the truth and go with their passages; entities, names, words, relations and adjacency are
# derived from them in the same transaction (sql/functions/graph.sql). Their ids are hashes of what they stand for, so that
# writers need not look them up and an entity that comes back is the same one (docs/adr/0025-graph-storage.md). Ids hold
# the collection already, so keys over ids leave it out: two indexes that begin with tenant and collection look alike to
# a planner without statistics, and it would take either.


def _collection_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    )


def _passage_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "passage_id"], ["rag.passages.tenant_id", "rag.passages.id"], ondelete="CASCADE"
    )


def _entity_key(column: str = "entity_id") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", column],
        ["rag.entities.tenant_id", "rag.entities.id"],
        ondelete="CASCADE",
    )


def _collection() -> Column[Any]:
    return _col("collection_id", UUID, "The collection.")


ORDERED = Text(collation="C")
"""Text whose prefixes are a range of an index, whatever the collation of the database."""

entities = Table(
    "entities",
    metadata,
    _tenant(),
    _collection(),
    _col("id", UUID, "Hash of collection, family and normal form: the same name has it again after a deletion."),
    _col("family", Text, "Kinds that may be the same thing share one: a normal form is one entity of a family."),
    _col("normal", ORDERED, "Normal form of the name, by which mentions are taken for the same thing."),
    _col("kind", Text, "Most frequent kind of its mentions: person, organisation, place, term, class, function..."),
    _col("name", Text, "Most frequent name of its mentions, as written."),
    _col("passage_count", Integer, "Passages that name it, exact."),
    _count("implied_count", "Passages that only imply it (a title, a pronoun), exact. It goes with the last of both."),
    _col("canonical_id", UUID, "Entity that stands for it in the graph: itself, unless it was merged into another."),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "collection_id", "normal", "family"),
    _collection_key(),
    Index(
        "entities_merged_idx",
        "tenant_id",
        "canonical_id",
        postgresql_where=text("canonical_id <> id"),
    ),
    comment="Things that passages speak of, and symbols of code.",
)

entity_aliases = Table(
    "entity_aliases",
    metadata,
    _tenant(),
    _collection(),
    _col("entity_id", UUID, "The entity."),
    _col("name", Text, "A name of it as written."),
    _col("kind", Text, "The kind that it was taken for."),
    _col("form", ORDERED, "Normal form of this name; differs from that of the entity for acronyms and the like."),
    _col("passage_count", Integer, "Passages that mention it by this name as this kind, exact."),
    PrimaryKeyConstraint("tenant_id", "entity_id", "name", "kind"),
    _entity_key(),
    Index("entity_aliases_form_idx", "tenant_id", "collection_id", "form"),
    comment="Names of entities, by which questions find them.",
)

entity_words = Table(
    "entity_words",
    metadata,
    _tenant(),
    _collection(),
    _col("word", ORDERED, "A word of the normal form of a name."),
    _col("entity_id", UUID, "The entity."),
    _col("form", ORDERED, "The normal form that it is a word of."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "word", "entity_id", "form"),
    _entity_key(),
    Index("entity_words_entity_idx", "tenant_id", "entity_id"),
    comment="Words of names, by which questions find entities that they name in part.",
)

mentions = Table(
    "mentions",
    metadata,
    _tenant(),
    _collection(),
    _col("passage_id", UUID, "The passage."),
    _col("entity_id", UUID, "The entity, also when that is merged into another."),
    _col("name", Text, "Its name here, as written."),
    _col("kind", Text, "What it was taken for here."),
    _col("occurrences", Integer, "How often it stands in the passage by this name."),
    _col("char_start", Integer, "First code point of the first occurrence in the document text."),
    _col("char_end", Integer, "One past its last code point."),
    _col("confidence", REAL, "How sure the extraction is, 0 to 1."),
    _col("by_model", Boolean, "Whether a chat model found it, not the rules.", server_default=text("false")),
    PrimaryKeyConstraint("tenant_id", "passage_id", "entity_id", "name", "kind"),
    _passage_key(),
    Index("mentions_entity_idx", "tenant_id", "entity_id", "passage_id"),
    comment="Which passage mentions which entity, and where.",
)

relations = Table(
    "relations",
    metadata,
    _tenant(),
    _collection(),
    _col("id", UUID, "Hash of source, kind and target."),
    _col("source_id", UUID, "The entity it goes out from; of a symmetric relation the one with the smaller id."),
    _col("kind", Text, "co_occurs (symmetric), contains, imports, calls, inherits, or what a pattern or model found."),
    _col("target_id", UUID, "The entity it leads to."),
    _col("evidence_count", Integer, "Passages that prove it, exact. It goes with the last one."),
    _col("strength", BigInteger, "Sum of the strengths of its evidence, in thousandths."),
    PrimaryKeyConstraint("tenant_id", "id"),
    _collection_key(),
    Index("relations_collection_idx", "tenant_id", "collection_id"),
    comment="Relations between entities, each proved by passages (rag.evidence).",
)

evidence = Table(
    "evidence",
    metadata,
    _tenant(),
    _collection(),
    _col("passage_id", UUID, "The passage that proves it."),
    _col("relation_id", UUID, "The relation."),
    _col("strength", Integer, "How much it says, in thousandths: whole numbers add up the same in any order."),
    _col("char_start", Integer, "First code point of the proof in the document text."),
    _col("char_end", Integer, "One past its last code point."),
    _col("by_model", Boolean, "Whether a chat model found it, not the rules.", server_default=text("false")),
    PrimaryKeyConstraint("tenant_id", "passage_id", "relation_id"),
    _passage_key(),
    Index("evidence_relation_idx", "tenant_id", "relation_id", text("strength DESC"), "passage_id"),
    comment="Which passage proves which relation, and where.",
)

adjacency = Table(
    "adjacency",
    metadata,
    _tenant(),
    _collection(),
    _col("relation_id", UUID, "The relation."),
    _col("outgoing", Boolean, "Whether the relation goes out from the node."),
    _col("node_id", UUID, "An end of the relation: the entity that stands for it after merges."),
    _col("neighbour_id", UUID, "The other end, likewise."),
    _col("weight", REAL, "Association of the two ends, above 0 and below 1 (rag.association)."),
    PrimaryKeyConstraint("tenant_id", "relation_id", "outgoing"),
    ForeignKeyConstraint(
        ["tenant_id", "relation_id"],
        ["rag.relations.tenant_id", "rag.relations.id"],
        ondelete="CASCADE",
    ),
    Index(
        "adjacency_node_idx",
        "tenant_id",
        "node_id",
        text("weight DESC"),
        "neighbour_id",
        postgresql_include=["relation_id", "outgoing"],
    ),
    comment="Relations as seen from each end, strongest first: what rag.graph_walk reads.",
)

entity_merges = Table(
    "entity_merges",
    metadata,
    _tenant(),
    _collection(),
    _col("id", UUID, "Merge id (UUIDv7)."),
    _col("entity_id", UUID, "The entity that was merged; it may be gone by now, and is merged again if it comes back."),
    _col("into_id", UUID, "The entity that stands for it."),
    _col("reason", Text, "Why, or by what method."),
    _time("merged_at", "When.", server_default=NOW),
    _time("undone_at", "When it was undone; null while it is in force.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    _collection_key(),
    Index(
        "entity_merges_entity_idx",
        "tenant_id",
        "entity_id",
        unique=True,
        postgresql_where=text("undone_at IS NULL"),
    ),
    Index(
        "entity_merges_into_idx",
        "tenant_id",
        "into_id",
        postgresql_where=text("undone_at IS NULL"),
    ),
    comment="Log of entities merged by hand or by similarity; each can be undone.",
)

communities = Table(
    "communities",
    metadata,
    _tenant(),
    _collection(),
    _col("id", UUID, "Community id."),
    _col("level", Integer, "0: not part of a larger one; 1: part of one of level 0, ..."),
    _col("parent_id", UUID, "Community of the level before that it is part of; null at level 0.", nullable=True),
    _count("entity_count", "Entities in it when made."),
    _count("sentence_count", "Sentences chosen for it; when fewer are left, it is summarised anew."),
    _col(
        "fingerprint", LargeBinary, "Hash of its entities and of the weights between them.",
        server_default=text("''::bytea"),
    ),
    _col("title", Text, "What a model calls it; empty: none did.", server_default=text("''")),
    _col("summary", Text, "What a model wrote; empty: none did.", server_default=text("''")),
    _col(
        "document_ids", ARRAY(UUID), "Documents that the model read; the deletion of one blanks what it wrote.",
        server_default=text("'{}'::uuid[]"),
    ),
    _col("epoch", BigInteger, "Epoch of the collection that it was made from."),
    _time("summarised_at", "When a model summarised it; null: not yet, or blanked.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    _collection_key(),
    Index("communities_collection_idx", "tenant_id", "collection_id"),
    comment="Groups of closely related entities, with summaries.",
)  # fmt: skip


def _community_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "community_id"], ["rag.communities.tenant_id", "rag.communities.id"], ondelete="CASCADE"
    )


community_members = Table(
    "community_members",
    metadata,
    _tenant(),
    _collection(),
    _col("community_id", UUID, "The community."),
    _col("entity_id", UUID, "The entity."),
    _col("weight", REAL, "Sum of the weights of its relations within the community."),
    PrimaryKeyConstraint("tenant_id", "community_id", "entity_id"),
    _community_key(),
    _entity_key(),
    Index("community_members_entity_idx", "tenant_id", "entity_id"),
    comment="Which entity belongs to which community.",
)

community_sentences = Table(
    "community_sentences",
    metadata,
    _tenant(),
    _collection(),
    _col("community_id", UUID, "The community."),
    _col("place", Integer, "Place in the summary, from 0."),
    _col("passage_id", UUID, "The passage that it stands in; it goes with it."),
    _col("char_start", Integer, "First code point in the document text."),
    _col("char_end", Integer, "One past its last code point."),
    PrimaryKeyConstraint("tenant_id", "community_id", "place"),
    _community_key(),
    _passage_key(),
    Index("community_sentences_passage_idx", "tenant_id", "passage_id"),
    comment="Sentences that sum up a community: places in passages, no text of their own.",
)

community_refreshes = Table(
    "community_refreshes",
    metadata,
    _tenant(),
    _collection(),
    _col("attempt", BigInteger, "Number of refreshes begun; an older one that still runs writes nothing any more."),
    _col(
        "epoch", BigInteger, "Epoch of the collection that the last finished one read.", server_default=text("0")
    ),
    _time("refreshed_at", "When the last one finished; null: none did.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "collection_id"),
    _collection_key(),
    comment="How far the communities of a collection follow its documents.",
)  # fmt: skip

extractions = Table(
    "extractions",
    metadata,
    _tenant(),
    _collection(),
    _col("document_id", UUID, "The document; what a model said of it goes with it."),
    _col("content_hash", LargeBinary, "SHA-256 of the passage that the model read."),
    _col("extractor", Text, "Model, checks and prompt."),
    _col("result", JSONB, "Entities, relations and aliases of the passage that passed the checks, and what did not."),
    _time("created_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "document_id", "content_hash", "extractor"),
    _document_key(),
    Index("extractions_reuse_idx", "tenant_id", "content_hash", "extractor"),
    comment="What models extracted, kept so that no text is sent twice.",
)

extraction_usage = Table(
    "extraction_usage",
    metadata,
    _tenant(),
    _col("day", Date, "Day of the calls (UTC)."),
    _col("job_id", UUID, "Job that made them; it may be gone by now."),
    _col("model", Text, "The chat model."),
    _count("calls", "Calls that were answered."),
    _count("input_tokens", "Tokens that it read, as reported or estimated.", BigInteger),
    _count("output_tokens", "Tokens that it wrote, likewise.", BigInteger),
    PrimaryKeyConstraint("tenant_id", "day", "job_id", "model"),
    comment="What extraction with models has cost, for the caps of graph.model.",
)

entity_vectors = Table(
    "entity_vectors",
    metadata,
    _tenant(),
    _collection(),
    _col("entity_id", UUID, "The entity; its vector goes with it."),
    _col("model_id", SmallInteger, "Embedding model."),
    _col("name", Text, "What was embedded."),
    _col("embedding", HALFVEC, "Unit vector of the name."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "model_id", "entity_id"),
    _entity_key(),
    Index("entity_vectors_entity_idx", "tenant_id", "entity_id"),
    comment="Vectors of names of entities, for questions that name none.",
)


def _refers(columns: list[str], table: str, others: list[str]) -> ForeignKeyConstraint:
    """Rows go with the one that they refer to."""
    return ForeignKeyConstraint(columns, [f"rag.{table}.{name}" for name in others], ondelete="CASCADE")


def _qa_session() -> tuple[Any, ...]:
    """Columns and key of what belongs to a session of the iterative strategy."""
    return (
        _tenant(),
        _col("collection_id", UUID, "Collection that is asked (rag.collections.id)."),
        _col("session_id", Text, "The session (rag.qa_sessions.id)."),
        _refers(["tenant_id", "collection_id", "session_id"], "qa_sessions", ["tenant_id", "collection_id", "id"]),
    )


qa_sessions = Table(
    "qa_sessions",
    metadata,
    _tenant(),
    _col("collection_id", UUID, "Collection that is asked (rag.collections.id)."),
    _col("id", Text, "Session id as the client gave it."),
    _time("created_at", "When it began.", server_default=NOW),
    _time(
        "last_accessed_at", "When it was last used; it is forgotten iterative.idleMinutes later.", server_default=NOW
    ),
    _collection_key(),
    PrimaryKeyConstraint("tenant_id", "collection_id", "id"),
    comment="Sessions of the iterative strategy: what it has read is at hand for the next question.",
)
Index("qa_sessions_idle_idx", qa_sessions.c.tenant_id, qa_sessions.c.last_accessed_at)

qa_nodes = Table(
    "qa_nodes",
    metadata,
    *_qa_session(),
    _col("passage_id", UUID, "A passage that was read (rag.passages.id)."),
    _time("used_at", "When it was last read; the least recently read ones make room.", server_default=NOW),
    _passage_key(),
    PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "passage_id"),
    comment="Passages that a session has read; their text is in rag.passages alone.",
)
Index("qa_nodes_passage_idx", qa_nodes.c.tenant_id, qa_nodes.c.passage_id)

qa_edges = Table(
    "qa_edges",
    metadata,
    *_qa_session(),
    _col("relation_id", UUID, "A relation that was followed (rag.relations.id)."),
    _refers(["tenant_id", "relation_id"], "relations", ["tenant_id", "id"]),
    PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "relation_id"),
    comment="Relations between symbols that a session has followed.",
)
Index("qa_edges_relation_idx", qa_edges.c.tenant_id, qa_edges.c.relation_id)

qa_gaps = Table(
    "qa_gaps",
    metadata,
    *_qa_session(),
    _col("gap", Text, "What was looked for in vain, in its normal form."),
    _col("epoch", BigInteger, "State of the collection then; in another one it may be found."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "session_id", "gap"),
    comment="What a session did not find; gone as soon as a document of the collection changes or goes.",
)
