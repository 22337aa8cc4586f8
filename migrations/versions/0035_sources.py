"""Sources that collections keep in step with, and their files as they were last read."""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None
BREAKING = False

SOURCES = """
    CREATE TABLE rag.sources (
        tenant_id     bigint NOT NULL,
        id            uuid NOT NULL,
        collection_id uuid NOT NULL,
        address       text NOT NULL,
        prefix        text COLLATE "C" NOT NULL,
        options       jsonb DEFAULT '{}'::jsonb NOT NULL,
        sealed        bytea,
        secrets       text[] DEFAULT '{}'::text[] NOT NULL,
        every         interval,
        most_deleted  double precision NOT NULL,
        paused        text,
        emptied       boolean DEFAULT false NOT NULL,
        failures      integer DEFAULT 0 NOT NULL,
        error         text,
        counts        jsonb DEFAULT '{}'::jsonb NOT NULL,
        created_at    timestamp with time zone DEFAULT now() NOT NULL,
        started_at    timestamp with time zone,
        finished_at   timestamp with time zone,
        next_at       timestamp with time zone,
        CONSTRAINT sources_pkey PRIMARY KEY (tenant_id, id),
        CONSTRAINT sources_tenant_id_collection_id_prefix_key UNIQUE (tenant_id, collection_id, prefix),
        CONSTRAINT sources_tenant_id_collection_id_fkey FOREIGN KEY (tenant_id, collection_id)
            REFERENCES rag.collections (tenant_id, id) ON DELETE CASCADE
    )
"""
FILES = """
    CREATE TABLE rag.source_files (
        tenant_id  bigint NOT NULL,
        source_id  uuid NOT NULL,
        path       text COLLATE "C" NOT NULL,
        version    text NOT NULL,
        content_id text,
        error      text,
        CONSTRAINT source_files_pkey PRIMARY KEY (tenant_id, source_id, path),
        CONSTRAINT source_files_tenant_id_source_id_fkey FOREIGN KEY (tenant_id, source_id)
            REFERENCES rag.sources (tenant_id, id) ON DELETE CASCADE
    )
"""
COMMENTS = (
    ("TABLE rag.sources", "Sources that collections keep in step with."),
    ("COLUMN rag.sources.tenant_id", "Tenant that owns the row (rag.tenants.id)."),
    ("COLUMN rag.sources.id", "Source id (UUIDv7)."),
    ("COLUMN rag.sources.collection_id", "The collection."),
    ("COLUMN rag.sources.address", "Where it is: a URL without credentials."),
    ("COLUMN rag.sources.prefix", "Folder of external ids under which its documents stand; empty: none."),
    ("COLUMN rag.sources.options", "What its kind takes besides, such as include and branch."),
    ("COLUMN rag.sources.sealed", "Its secrets, encrypted with CAIRN_SECRETS_KEY; null: none."),
    ("COLUMN rag.sources.secrets", "Names of these."),
    ("COLUMN rag.sources.every", "Between two looks; null: only when asked."),
    ("COLUMN rag.sources.most_deleted", "Share of its documents that may go at one look, 0 to 1."),
    ("COLUMN rag.sources.paused", "Why it is not looked at; null: it is."),
    ("COLUMN rag.sources.emptied", "Whether the last listing held nothing where there was something."),
    ("COLUMN rag.sources.failures", "Looks that failed, in a row."),
    ("COLUMN rag.sources.error", "Why the last look failed, or kept documents; null: it did not."),
    ("COLUMN rag.sources.counts", "What the last look found and did, in files."),
    ("COLUMN rag.sources.created_at", "When it was made."),
    ("COLUMN rag.sources.started_at", "When the last look began."),
    ("COLUMN rag.sources.finished_at", "When the last look ended."),
    ("COLUMN rag.sources.next_at", "When it is looked at next; null: when asked."),
    ("TABLE rag.source_files", "Files of sources as they were last read."),
    ("COLUMN rag.source_files.tenant_id", "Tenant that owns the row (rag.tenants.id)."),
    ("COLUMN rag.source_files.source_id", "The source."),
    ("COLUMN rag.source_files.path", "Of the file within the source."),
    ("COLUMN rag.source_files.version", "As the source gave it when the file was read."),
    ("COLUMN rag.source_files.content_id", "The same for the same bytes; null: the source does not tell."),
    ("COLUMN rag.source_files.error", "Why it is no document; null: it is one."),
)  # fmt: skip


def upgrade() -> None:
    op.execute(SOURCES)
    op.execute(FILES)
    for target, said in COMMENTS:
        op.execute(f"COMMENT ON {target} IS '{said}'")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one; the product never goes back."""
    op.execute("DROP TABLE rag.source_files CASCADE")
    op.execute("DROP TABLE rag.sources CASCADE")
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
