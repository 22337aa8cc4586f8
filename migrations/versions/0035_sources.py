"""Sources that a collection is kept in step with, their secrets, and what was seen of their files."""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None
BREAKING = False

TABLES = (
    """
    CREATE TABLE rag.sources (
        tenant_id           bigint NOT NULL,
        id                  uuid NOT NULL,
        collection_id       uuid NOT NULL,
        address             text NOT NULL,
        prefix              text NOT NULL,
        options             jsonb DEFAULT '{}'::jsonb NOT NULL,
        secret_names        text[] DEFAULT '{}' NOT NULL,
        interval_seconds    integer NOT NULL,
        access              jsonb DEFAULT '{}'::jsonb NOT NULL,
        most_deleted        double precision NOT NULL,
        requests_per_second double precision,
        replaces            boolean NOT NULL,
        paused              boolean DEFAULT false NOT NULL,
        note                text,
        created_at          timestamptz DEFAULT now() NOT NULL,
        due_at              timestamptz,
        last_started_at     timestamptz,
        last_finished_at    timestamptz,
        last_error          text,
        failures            integer DEFAULT 0 NOT NULL,
        empty_listings      integer DEFAULT 0 NOT NULL,
        counts              jsonb,
        job_id              uuid,
        CONSTRAINT sources_pkey PRIMARY KEY (tenant_id, id),
        CONSTRAINT sources_tenant_id_collection_id_prefix_key UNIQUE (tenant_id, collection_id, prefix),
        CONSTRAINT sources_tenant_id_collection_id_fkey FOREIGN KEY (tenant_id, collection_id)
            REFERENCES rag.collections (tenant_id, id) ON DELETE CASCADE,
        CONSTRAINT sources_interval_check CHECK (interval_seconds >= 0),
        CONSTRAINT sources_most_deleted_check CHECK (most_deleted BETWEEN 0 AND 1)
    )
    """,
    "CREATE INDEX sources_due_at_idx ON rag.sources (due_at) WHERE NOT paused",
    """
    CREATE TABLE rag.source_secrets (
        tenant_id bigint NOT NULL,
        source_id uuid NOT NULL,
        sealed    bytea NOT NULL,
        CONSTRAINT source_secrets_pkey PRIMARY KEY (tenant_id, source_id),
        CONSTRAINT source_secrets_tenant_id_source_id_fkey FOREIGN KEY (tenant_id, source_id)
            REFERENCES rag.sources (tenant_id, id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE rag.source_files (
        tenant_id   bigint NOT NULL,
        source_id   uuid NOT NULL,
        path        text NOT NULL,
        external_id text NOT NULL,
        version     text NOT NULL,
        content_id  text,
        state       text NOT NULL,
        error       text,
        seen_at     timestamptz DEFAULT now() NOT NULL,
        CONSTRAINT source_files_pkey PRIMARY KEY (tenant_id, source_id, path),
        CONSTRAINT source_files_tenant_id_source_id_fkey FOREIGN KEY (tenant_id, source_id)
            REFERENCES rag.sources (tenant_id, id) ON DELETE CASCADE
    )
    """,
)
COMMENTS = {
    "rag.sources": (
        "Sources of documents that a collection is kept in step with.",
        {
            "tenant_id": "Tenant that owns the row (rag.tenants.id).",
            "id": "Source id (UUIDv7).",
            "collection_id": "The collection.",
            "address": "Where its files are, without credentials.",
            "prefix": "What the external ids of its documents begin with, before a slash; empty: nothing.",
            "options": "Options of its kind.",
            "secret_names": "Which secrets it needs.",
            "interval_seconds": "Seconds between two synchronisations; 0: only when somebody asks.",
            "access": "Who may read, by folder of the source; the empty name: all of it.",
            "most_deleted": "Share of its files that may be gone at once; more pauses it.",
            "requests_per_second": "How many files are read in a second at most; null: no limit.",
            "replaces": "Its files take the place of documents that came otherwise.",
            "paused": "The schedule leaves it alone.",
            "note": "Why it is paused, or what was left undone.",
            "created_at": "When it was added.",
            "due_at": "When the schedule starts it next.",
            "last_started_at": "When the last synchronisation began.",
            "last_finished_at": "When one last came to its end.",
            "last_error": "Why the last synchronisation failed.",
            "failures": "Synchronisations that failed one after the other.",
            "empty_listings": "Listings without a file one after the other.",
            "counts": "What the last synchronisation that came to its end did.",
            "job_id": "The job of the last synchronisation.",
        },
    ),
    "rag.source_secrets": (
        "Secrets of sources. They are in no file, no view and no answer.",
        {
            "tenant_id": "Tenant that owns the row (rag.tenants.id).",
            "source_id": "The source.",
            "sealed": "Its secrets, encrypted with the key of CAIRN_SECRETS_KEY.",
        },
    ),
    "rag.source_files": (
        "Files of sources, as they were read.",
        {
            "tenant_id": "Tenant that owns the row (rag.tenants.id).",
            "source_id": "The source.",
            "path": "Relative to the source.",
            "external_id": "Of its document.",
            "version": "Of the content that was read; changes when the file may have changed.",
            "content_id": "The same for the same bytes, wherever they lie; null: not read.",
            "state": "reading, indexed, failed, or foreign: the document of that id is of somebody else.",
            "error": "Why it is not indexed.",
            "seen_at": "When this was written.",
        },
    ),
}


def upgrade() -> None:
    for statement in TABLES:
        op.execute(statement)
    for table, (said, columns) in COMMENTS.items():
        op.execute(f"COMMENT ON TABLE {table} IS '{said}'")
        for column, meaning in columns.items():
            op.execute(f"COMMENT ON COLUMN {table}.{column} IS '{meaning}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    for table in ("source_files", "source_secrets", "sources"):
        op.execute(f"DROP TABLE rag.{table} CASCADE")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
