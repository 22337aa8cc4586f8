"""Tenants, models, the revision of the schema, and documents with what is derived from them."""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Date,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR, UUID

from cairn.db.tables.base import (
    NOW,
    ORDERED,
    col,
    count,
    document_key,
    json_object,
    metadata,
    moment,
    tenant_id,
    uncompressed,
)

tenants = Table(
    "tenants",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True, comment="Tenant id, first part of every key."),
    col("name", Text, "Name given as CAIRN_TENANT.", unique=True),
    moment("created_at", "When the tenant was first seen.", server_default=NOW),
    comment="Tenants: who owns documents, runs and jobs.",
)


embedding_models = Table(
    "embedding_models",
    metadata,
    Column("id", SmallInteger, Identity(always=False), primary_key=True, comment="Key used by rag.embeddings."),
    col("name", Text, "Name as in the setting rag.embeddingModel, with its precision.", unique=True),
    col("dimensions", Integer, "Length of the vectors."),
    moment("created_at", "When the model was first used.", server_default=NOW),
    comment="Embedding models that have vectors here; each has its own HNSW index on rag.embeddings.",
)


schema_revisions = Table(
    "schema_revisions",
    metadata,
    col("revision", Text, "Alembic revision.", primary_key=True),
    col("breaking", Boolean, "Code that does not know this revision must not serve the database."),
    moment("applied_at", "When it was applied.", server_default=NOW),
    comment="Applied migrations, and whether older code may still serve the database.",
)


schema_objects = Table(
    "schema_objects",
    metadata,
    col("name", Text, "Folder or file under sql/.", primary_key=True),
    col("hash", Text, "SHA-256 of what was applied."),
    moment("applied_at", "When it was applied.", server_default=NOW),
    comment="Hashes of the functions, views and roles applied from sql/.",
)


analyst_grants = Table(
    "analyst_grant",
    metadata,
    tenant_id(),
    col("role_name", Text, "Login role (session_user) that may read this tenant through schema analyst."),
    moment("granted_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "role_name"),
    comment="Which database logins may read which tenant in the analyst views.",
)


# --- Documents and what is derived from them ---

collections = Table(
    "collections",
    metadata,
    tenant_id(),
    col("id", UUID, "Collection id (UUIDv7)."),
    col("name", Text, "Name, unique within the tenant."),
    col("lex_seed", Integer, "Seeds the hash of lexemes, so that postings of collections do not mix."),
    col("epoch", BigInteger, "Grows with every committed change of content.", server_default=text("0")),
    count("document_count", "Indexed documents."),
    count("passage_count", "Passages of indexed documents."),
    count("chunk_count", "Chunks of indexed documents."),
    moment("created_at", "When it was created.", server_default=NOW),
    col("model_id", SmallInteger, "Embedding model that serves it; null: that of the settings.", nullable=True),
    col("calibration", JSONB, "Of confidence, by cairn eval calibrate; null: as shipped.", nullable=True),
    count("byte_count", "Bytes of the files of indexed documents.", BigInteger),
    col("display_name", Text, "What people call it; null: its name.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "name"),
    comment="Named sets of documents that are searched together.",
)


documents = Table(
    "documents",
    metadata,
    tenant_id(),
    col("id", UUID, "Document id (UUIDv7)."),
    col("collection_id", UUID, "Collection the document belongs to."),
    col("external_id", Text, "The caller's identity of the document within the collection; for files the path."),
    col("title", Text, "Title shown in results."),
    col("version", Integer, "1, then one more with each replacement of the content."),
    col("status", Text, "pending, parsing, embedding, indexed or failed; only indexed ones are searchable."),
    col("content_hash", LargeBinary, "SHA-256 of title and original bytes; equal content is not indexed again."),
    col("media_type", Text, "Media type found by content."),
    col("language", Text, "ISO 639-1 code recognised in the text; null where not recognised.", nullable=True),
    json_object("metadata", "The caller's metadata; filters match it by containment."),
    col("error", Text, "Why indexing failed; null otherwise.", nullable=True),
    count("byte_size", "Size of the original, bytes.", BigInteger),
    count("passage_count", "Passages."),
    count("chunk_count", "Chunks."),
    count("token_count", "Tokens of all passages, by the embedding model's tokenizer."),
    moment("created_at", "When it was first handed over.", server_default=NOW),
    moment("updated_at", "When its row last changed.", server_default=NOW),
    col(
        "extractor",
        Text,
        "Model and prompt whose extraction is in its graph (rag.extractions); null: rules alone.",
        nullable=True,
    ),
    col("origin", Text, "Path of the file it was read from; null where it was handed over otherwise.", nullable=True),
    col(
        "enrichment",
        JSONB,
        "Who wrote the contexts that its chunks are embedded with, for how many of them, and why not for the others; null: "
        "embedded without.",
        nullable=True,
    ),
    count(
        "loader_revision",
        "Revision of the loaders that read it; 0: of none yet, or unknown; 2147483647: others read it.",
    ),
    count("derived_revision", "Revision of the rules that made graph, symbols and cells of its text; 0: unknown."),
    col(
        "access",
        ARRAY(Text),
        "Who may read it (group:<name>, person:<subject>, key:<id>); null: everybody in the tenant.",
        nullable=True,
    ),
    col("access_from", Text, "Folder whose rule gives its access list; null: it has its own, or none.", nullable=True),
    col(
        "formerly",
        JSONB,
        "Contents that it held before while it had an access list of its own, last first: [{content: hash, readers: list}]; "
        "null: none.",
        nullable=True,
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "collection_id", "external_id"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    CheckConstraint("status IN ('pending', 'parsing', 'embedding', 'indexed', 'failed')", name="status"),
    Index(None, "metadata", postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}),
    Index(  # documents with the same list stand together
        "documents_restricted_idx",
        "tenant_id",
        "collection_id",
        text("sha256(tsvectorsend(array_to_tsvector(access)))"),
        postgresql_where=text("access IS NOT NULL"),
    ),
    Index("documents_open_idx", "tenant_id", "collection_id", postgresql_where=text("access IS NULL")),
    Index("documents_formerly_idx", "tenant_id", "collection_id", postgresql_where=text("formerly IS NOT NULL")),
    comment="Documents with their state; the text is in rag.document_texts.",
)


access_rules = Table(
    "access_rules",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection."),
    col("prefix", Text, "Folder of external ids, or one of them, without a slash at its end; empty: the collection."),
    col("access", ARRAY(Text), "Who may read what is there; nobody: everybody in the tenant."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "prefix"),
    ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    ),
    comment="Who may read documents that have no access list of their own: the rule with the longest prefix counts.",
)


document_texts = Table(
    "document_texts",
    metadata,
    tenant_id(),
    col("document_id", UUID, "The document."),
    col("version", Integer, "Version of the document that this text is."),
    col("text", Text, "Normalised text; every span counts code points in it."),
    PrimaryKeyConstraint("tenant_id", "document_id"),
    document_key(),
    comment="Normalised text of each indexed document.",
)


originals = Table(
    "originals",
    metadata,
    tenant_id(),
    col("document_id", UUID, "The document."),
    col("content", LargeBinary, "Original bytes, kept when ingest.keepOriginal is on."),
    PrimaryKeyConstraint("tenant_id", "document_id"),
    document_key(),
    comment="Original bytes of documents, where the setting asks to keep them.",
)


document_changes = Table(
    "document_changes",
    metadata,
    tenant_id(),
    col("id", UUID, "Change id.", server_default=text("gen_random_uuid()")),
    moment("changed_at", "When.", server_default=NOW),
    col("kind", Text, "added, replaced (other content) or deleted."),
    col("collection", Text, "Name of the collection; it may be gone by now."),
    col("document_id", UUID, "The document; it may be gone, and its name with it."),
    col("version", Integer, "Version after the change; of a deletion the last one."),
    count("passage_count", "Passages of that version."),
    count("byte_size", "Size of its original, bytes.", BigInteger),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("kind IN ('added', 'replaced', 'deleted')", name="kind"),
    Index("document_changes_changed_at_idx", "tenant_id", text("changed_at DESC")),
    comment="Additions, replacements and deletions of documents, kept as long as the audit log; without names.",
)


passages = Table(
    "passages",
    metadata,
    tenant_id(),
    col("id", UUID, "Passage id (UUIDv7)."),
    col("document_id", UUID, "The document."),
    col("collection_id", UUID, "The collection."),
    col("ordinal", Integer, "Position in the document, from 0."),
    col("char_start", Integer, "First code point in the document text."),
    col("char_end", Integer, "One past the last code point."),
    col("page", Integer, "Page of the first character; null where there are no pages.", nullable=True),
    col("headings", ARRAY(Text), "Heading path, outermost first."),
    col(
        "landmarks",
        JSONB,
        "Places where page or heading path change: [code point, page, heading path], the first at char_start.",
        server_default=text("'[]'::jsonb"),
    ),
    col("token_count", Integer, "Tokens by the embedding model's tokenizer."),
    col("content", Text, "The text of the span."),
    col("search_terms", Text, "Extra search terms: title, headings, parts of identifiers."),
    col("regconfig", ORDERED, "Text search configuration (language) by name (rag.config_named)."),
    Column(
        "search_vector",
        TSVECTOR,
        Computed("to_tsvector(rag.config_named(regconfig), content || ' ' || search_terms)", persisted=True),
        nullable=False,
        comment="Lexemes of content and search terms, for phrases, boolean filters and BM25 weights.",
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    document_key(),
    Index(None, "tenant_id", "document_id", "ordinal"),
    Index(None, "search_vector", postgresql_using="gin"),
    comment="Coherent pieces of documents: what BM25 ranks, fusion merges, results show and answers cite.",
)


chunks = Table(
    "chunks",
    metadata,
    tenant_id(),
    col("id", UUID, "Chunk id (UUIDv7)."),
    col("passage_id", UUID, "The passage it lies in."),
    col("document_id", UUID, "The document."),
    col("collection_id", UUID, "The collection."),
    col("ordinal", Integer, "Position in the document, from 0."),
    col("char_start", Integer, "First code point in the document text."),
    col("char_end", Integer, "One past the last code point."),
    col("page", Integer, "Page of the first character; null where there are no pages.", nullable=True),
    col("headings", ARRAY(Text), "Heading path, outermost first."),
    col("token_count", Integer, "Tokens of the content."),
    col("token_counter", Text, "Which tokenizer counted, or estimate-v1."),
    col("content", Text, "The text of the span."),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "passage_id"], ["rag.passages.tenant_id", "rag.passages.id"], ondelete="CASCADE"
    ),
    Index(None, "tenant_id", "passage_id"),
    Index(None, "tenant_id", "document_id"),
    comment="Small pieces of passages: what vectors rank.",
)


document_tables = Table(
    "document_tables",
    metadata,
    tenant_id(),
    col("document_id", UUID, "The document; its tables go with it."),
    col("ordinal", Integer, "Which table of the document, from 0."),
    col("version", Integer, "Version of the document that it was read from."),
    col("char_start", Integer, "First code point in the document text."),
    col("char_end", Integer, "One past the last code point of its last row."),
    col("title", Text, "The line above it; empty: none."),
    col("headings", ARRAY(Text), "Heading path, outermost first."),
    col("header", ARRAY(Text), "Name of each column, header rows joined by slashes; empty: none."),
    col("starts", ARRAY(Integer), "Of each row the first code point."),
    col("ends", ARRAY(Integer), "Of each row one past the last code point."),
    col("groups", ARRAY(Text), "Of each row the labels that it stands under; empty: none."),
    col("totals", ARRAY(Boolean), "Of each row whether it sums up others."),
    col("decimal_mark", Text, "What parts decimals in its cells; null: they leave it open.", nullable=True),
    col("complete", Boolean, "Whether all of its rows are here: one too long for a table stands beside it as lines."),
    PrimaryKeyConstraint("tenant_id", "document_id", "ordinal"),
    document_key(),
    comment="Tables of documents, the pieces of a long one joined; their cells are in rag.table_columns.",
)


table_columns = Table(
    "table_columns",
    metadata,
    tenant_id(),
    col("document_id", UUID, "The document."),
    col("ordinal", Integer, "Which table of it, from 0."),
    col("position", Integer, "Which column of the table, from 0."),
    col("filled", Integer, "Cells that say something."),
    col("numbered", Integer, "Cells that are numbers."),
    col("dated", Integer, "Cells that are days."),
    col("unit", Text, "Unit that all its numbers share; null: they differ.", nullable=True),
    col("texts", ARRAY(Text), "Of each row the cell as it is written; empty: nothing."),
    col("numbers", ARRAY(Numeric), "Of each row the number of the cell, as it is written; null: none."),
    col("units", ARRAY(Text), "Of each row what stands around the digits, which are a #; empty: nothing."),
    col("dates", ARRAY(Date), "Of each row the day of the cell; null: none."),
    col("keys", ARRAY(Text), "Of each row the folded words by which a question may call the cell; empty: by none."),
    PrimaryKeyConstraint("tenant_id", "document_id", "ordinal", "position"),
    ForeignKeyConstraint(
        ["tenant_id", "document_id", "ordinal"],
        ["rag.document_tables.tenant_id", "rag.document_tables.document_id", "rag.document_tables.ordinal"],
        ondelete="CASCADE",
    ),
    comment="Cells of the tables of documents, a row for each column: what computations read.",
)


chunk_contexts = Table(
    "chunk_contexts",
    metadata,
    tenant_id(),
    col("collection_id", UUID, "The collection."),
    col("document_id", UUID, "The document; what a model wrote of it goes with it."),
    col("content_hash", LargeBinary, "rag.context_key of all that the model read."),
    col("writer", Text, "Model, checks and prompt."),
    col("context", Text, "The sentence; empty where none passed the checks."),
    col("reason", Text, "Why there is none; null where there is one.", nullable=True),
    moment("created_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "document_id", "content_hash", "writer"),
    document_key(),
    Index("chunk_contexts_reuse_idx", "tenant_id", "content_hash", "writer"),
    comment="A sentence of context for each chunk by a model, kept so that none is paid for twice.",
)


embeddings = Table(
    "embeddings",
    metadata,
    tenant_id(),
    col("chunk_id", UUID, "The chunk."),
    col("model_id", SmallInteger, "The embedding model (rag.embedding_models.id)."),
    col("document_id", UUID, "The document."),
    col("collection_id", UUID, "The collection."),
    col("content_hash", LargeBinary, "SHA-256 of what was embedded; equal input is not embedded again."),
    col("embedding", HALFVEC, "L2-normalised vector of the model's dimension."),
    col("passage_id", UUID, "Passage of the chunk; null: not filled yet (job fill_passages).", nullable=True),
    col(
        "own",
        Boolean,
        "Whether it belongs in the index of its collection, and not in the shared one.",
        server_default=false(),
    ),
    PrimaryKeyConstraint("tenant_id", "chunk_id", "model_id"),
    ForeignKeyConstraint(["tenant_id", "chunk_id"], ["rag.chunks.tenant_id", "rag.chunks.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["model_id"], ["rag.embedding_models.id"]),
    Index("embeddings_collection_idx", "tenant_id", "collection_id", "document_id", "model_id"),
    Index("embeddings_reuse_idx", "tenant_id", "model_id", "content_hash"),
    comment="Vectors of chunks, one per embedding model.",
    postgresql_with={"toast_tuple_target": 8160},
)
uncompressed(embeddings, "embedding")


embedded_ahead = Table(
    "embedded_ahead",
    metadata,
    tenant_id(),
    col("document_id", UUID, "The document that is being indexed; what was embedded of it goes with it."),
    col("model_id", SmallInteger, "The embedding model (rag.embedding_models.id)."),
    col("content_hash", LargeBinary, "SHA-256 of what was embedded."),
    col("embedding", HALFVEC, "L2-normalised vector of the model's dimension."),
    PrimaryKeyConstraint("tenant_id", "document_id", "model_id", "content_hash"),
    document_key(),
    ForeignKeyConstraint(["model_id"], ["rag.embedding_models.id"]),
    Index("embedded_ahead_reuse_idx", "tenant_id", "model_id", "content_hash"),
    comment="Vectors of large documents not yet published, so that none is made again after a crash.",
)
