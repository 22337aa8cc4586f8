"""Text search configurations by name, and keys of lexemes by SHA-256, so that pg_upgrade takes the database to a new major version of
PostgreSQL. Passages, their words and postings are written anew: a million chunks take some minutes, in which nobody searches."""

import structlog
from alembic import op
from sqlalchemy import text

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None
BREAKING = True

log = structlog.get_logger(__name__)

PORTION = 20_000
"""Passages whose postings are made by one statement; more than that are told of in the log."""

FUNCTIONS = (
    """CREATE OR REPLACE FUNCTION rag.config_named(name text) RETURNS regconfig
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN (CASE WHEN strpos(name, '.') > 0 THEN name ELSE 'pg_catalog.' || name END)::regconfig;
END
$$""",
    """CREATE OR REPLACE FUNCTION rag.config_name(config regconfig) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
  SELECT CASE n.nspname WHEN 'pg_catalog' THEN c.cfgname::text ELSE format('%I.%I', n.nspname, c.cfgname) END
  FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace WHERE c.oid = config)""",
    """CREATE OR REPLACE FUNCTION rag.lexeme_key(seed integer, config text, lexeme text) RETURNS integer
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN 1 + ('x' || encode(substr(sha256(convert_to(seed::text || ':' || config || ':' || lexeme, 'UTF8')), 1, 4), 'hex'))::bit(29)::integer""",
)
GONE = (
    "rag.question_words(uuid, text)",
    "rag.missing_words(text, regconfig, integer, integer[])",
    "rag.publish_document(uuid, uuid, smallint, text, bytea, text, text, jsonb, bigint, text, bytea)",
    "rag.name_staged(uuid)",
)
"""With other types now, or for releases that this revision ends."""

# Views of others on this one, and rights on it, stay: it is made anew with all views when the tables are as they should be.
WITHOUT_COLUMN = """DO $$
BEGIN
  IF to_regclass('analyst.passages') IS NOT NULL THEN
    EXECUTE 'CREATE OR REPLACE VIEW analyst.passages AS ' || replace(
      pg_get_viewdef('analyst.passages'::regclass), '(p.regconfig)::text AS text_search_config', 'NULL::text AS text_search_config');
  END IF;
END
$$"""
NAMED = "ALTER COLUMN regconfig TYPE text COLLATE \"C\" USING rag.config_name(regconfig)"
MADE_OF = "to_tsvector({}, content || ' ' || search_terms)"
WORDS = f"ADD COLUMN search_vector tsvector NOT NULL GENERATED ALWAYS AS ({MADE_OF}) STORED"
WORDS_INDEX = "CREATE INDEX passages_search_vector_idx ON rag.passages USING gin (search_vector)"
KEYS_INDEX = "CREATE INDEX lexical_index_keys_idx ON rag.lexical_index USING gin (keys) WITH (fastupdate = off)"
COMMENTS = {
    "passages.regconfig": (
        "Text search configuration (language).",
        "Text search configuration (language) by name (rag.config_named).",
    ),
    "lexical_index.regconfig": (
        "Text search configuration of the passage.", "Text search configuration of the passage, by name.",
    ),
    "lexical_stats.regconfig": ("Text search configuration.", "Text search configuration, by name."),
    "passages.search_vector": (
        "Lexemes of content and search terms, for phrases, boolean filters and BM25 weights.",
    ) * 2,
}  # fmt: skip
"""Before and after."""

LAST = """
SELECT id::text, count(*) OVER () FROM (
  SELECT id FROM rag.passages WHERE tenant_id = :tenant AND id > CAST(:after AS uuid) ORDER BY id LIMIT :portion) AS portion
ORDER BY id DESC LIMIT 1
"""
POSTED = """
FROM rag.passages p
JOIN rag.collections c ON c.tenant_id = p.tenant_id AND c.id = p.collection_id
JOIN rag.lexical_stats s ON s.tenant_id = p.tenant_id AND s.collection_id = p.collection_id AND s.regconfig = p.regconfig
CROSS JOIN LATERAL rag.lexical_posting(p.search_vector, p.regconfig, c.lex_seed, s.average_length) AS x
"""
POSTINGS = f"""
INSERT INTO rag.lexical_index
  (tenant_id, passage_id, document_id, collection_id, regconfig, length, average_length, keys, weights)
SELECT p.tenant_id, p.id, p.document_id, p.collection_id, p.regconfig, x.length, s.average_length, x.keys, x.weights
{POSTED} WHERE p.tenant_id = :tenant AND p.id > CAST(:after AS uuid) AND p.id <= CAST(:last AS uuid)
"""
TERMS = f"""
INSERT INTO rag.lexical_terms (tenant_id, collection_id, key, document_frequency, max_weight)
SELECT p.tenant_id, p.collection_id, t.key, count(*), max(t.weight)
{POSTED} CROSS JOIN LATERAL unnest(x.keys, x.key_weights) AS t (key, weight)
WHERE p.tenant_id = :tenant GROUP BY p.tenant_id, p.collection_id, t.key
"""


def upgrade() -> None:
    passages = op.get_bind().scalar(text("SELECT count(*) FROM rag.passages"))
    if passages > PORTION:
        log.warning("migrate.rewriting", passages=passages, hint="their words are written anew: nobody searches until that is done")
    op.execute("SET LOCAL statement_timeout = 0")
    for statement in FUNCTIONS:
        op.execute(statement)
    for function in GONE:
        op.execute(f"DROP FUNCTION IF EXISTS {function}")
    op.execute(WITHOUT_COLUMN)
    words = WORDS.format("rag.config_named(regconfig)")
    op.execute(f"ALTER TABLE rag.passages DROP COLUMN search_vector, {NAMED}, {words}")  # which writes the table once
    op.execute(WORDS_INDEX)
    op.execute(f"ALTER TABLE rag.lexical_stats {NAMED}")
    op.execute("DROP INDEX rag.lexical_index_keys_idx")
    op.execute("TRUNCATE rag.lexical_index, rag.lexical_terms")
    op.execute(f"ALTER TABLE rag.lexical_index {NAMED}")
    make_postings(passages)
    op.execute(KEYS_INDEX)
    comment(after=True)
    op.execute("ANALYZE rag.passages, rag.lexical_index, rag.lexical_terms, rag.lexical_stats")
    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )


def make_postings(total: int) -> None:
    """Those of all passages, with the average lengths on record; tenant by tenant, as Citus takes it."""
    connection, done = op.get_bind(), 0
    for (tenant,) in connection.execute(text("SELECT id FROM rag.tenants ORDER BY id")).all():
        after = "00000000-0000-0000-0000-000000000000"
        given = {"tenant": tenant, "portion": PORTION}
        while row := connection.execute(text(LAST), {**given, "after": after}).one_or_none():
            connection.execute(text(POSTINGS), {"tenant": tenant, "after": after, "last": row[0]})
            after, done = row[0], done + row[1]
            if total > PORTION:
                log.warning("migrate.postings", done=done, of=total)
        connection.execute(text(TERMS), {"tenant": tenant})


def comment(*, after: bool) -> None:
    for column, said in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN rag.{column} IS '{said[after]}'")


def downgrade() -> None:
    """For the test that an upgraded database equals a fresh one, whose tables are empty; the product never goes back."""
    op.execute("DROP VIEW IF EXISTS analyst.passages")
    op.execute("ALTER TABLE rag.passages DROP COLUMN search_vector")
    for table in ("passages", "lexical_index", "lexical_stats"):
        op.execute(f"ALTER TABLE rag.{table} ALTER COLUMN regconfig TYPE regconfig USING regconfig::regconfig")
    op.execute(f"ALTER TABLE rag.passages {WORDS.format('regconfig')}")
    op.execute(WORDS_INDEX)
    comment(after=False)
    op.execute(f"DELETE FROM rag.schema_revisions WHERE revision = '{revision}'")
