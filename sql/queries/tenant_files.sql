-- A tenant as a file (app/cairn/db/tenant_file.py), by the owner of the database. Statements that name tables are made from the catalog.

-- name: columns
-- Of every table of tenant data: partitioned ones as a whole, without what is generated. `served`: the serving role may write
-- all of it. `required`: a row needs a value.
SELECT c.relname::text AS name, c.relkind = 'p' AS partitioned, has_table_privilege('cairn_app', c.oid, 'INSERT') AS served,
       a.attname::text AS column, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AND NOT a.atthasdef AS required
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND EXISTS (SELECT 1 FROM pg_attribute AS t WHERE t.attrelid = c.oid AND t.attname = 'tenant_id' AND NOT t.attisdropped)
ORDER BY c.relname, a.attnum

-- name: references
SELECT s.relname::text AS source, t.relname::text AS target
FROM pg_constraint AS k JOIN pg_class AS s ON s.oid = k.conrelid JOIN pg_class AS t ON t.oid = k.confrelid
WHERE k.contype = 'f' AND k.connamespace = 'rag'::regnamespace AND k.conparentid = 0

-- name: revision
SELECT version_num::text FROM rag.alembic_version

-- name: find
SELECT id FROM rag.tenants WHERE name = $1

-- name: serve_as
SELECT set_config('role', 'cairn_app', true), set_config('app.tenant', $1::text, true), set_config('app.principals', '*', true)

-- name: models
SELECT id, name, dimensions FROM rag.embedding_models WHERE id = ANY ($1::smallint[]) ORDER BY id

-- name: known_models
SELECT id, name, dimensions FROM rag.embedding_models WHERE name = ANY ($1::text[])

-- name: days
-- Of traces (UTC), newest first.
SELECT DISTINCT (started_at AT TIME ZONE 'UTC')::date AS day FROM {table} WHERE tenant_id = $1 ORDER BY day DESC LIMIT 1000

-- name: add_tenant
-- No row when somebody else has that name.
INSERT INTO rag.tenants (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id

-- name: grant_owner
-- As rag.ensure_tenant does: whose database it is may read it in psql as well.
INSERT INTO rag.analyst_grant (tenant_id, role_name)
SELECT $1, pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = 'rag.tenants'::regclass

-- name: pages
SELECT pg_relation_size('pg_temp.staged') / current_setting('block_size')::bigint

-- name: place_indexes
-- Large collections get their vectors without an index first, and then one of their own (docs/adr/0077).
SELECT id AS collection_id, model_id, chunk_count FROM rag.collections
WHERE tenant_id = $1 AND chunk_count > $2 AND model_id IS NOT NULL

-- name: building
INSERT INTO rag.vector_indexes (tenant_id, collection_id, model_id, name, state, chunk_count, exclusive)
VALUES ($1, $2, $3, $4, 'building', $5, true)

-- name: unkept_access
-- A document, or a folder, whose access list this database cannot keep.
SELECT a.name FROM (
  SELECT external_id AS name FROM rag.documents WHERE tenant_id = $1 AND access IS NOT NULL
  UNION ALL SELECT prefix || '/' FROM rag.access_rules WHERE tenant_id = $1
) AS a WHERE rag.is_distributed() LIMIT 1

-- name: miscounted
-- Counts decide which collections of all tenants have an index of their own, and what a tenant may keep.
SELECT c.name FROM rag.collections AS c
LEFT JOIN (SELECT collection_id, count(*) AS n, sum(byte_size) AS bytes FROM rag.documents
           WHERE tenant_id = $1 AND status = 'indexed' GROUP BY 1) AS d ON d.collection_id = c.id
LEFT JOIN (SELECT collection_id, count(*) AS n FROM rag.passages WHERE tenant_id = $1 GROUP BY 1) AS p ON p.collection_id = c.id
LEFT JOIN (SELECT collection_id, count(*) AS n FROM rag.chunks WHERE tenant_id = $1 GROUP BY 1) AS k ON k.collection_id = c.id
WHERE c.tenant_id = $1 AND (c.document_count, c.passage_count, c.chunk_count, c.byte_count)
      <> (coalesce(d.n, 0), coalesce(p.n, 0), coalesce(k.n, 0), coalesce(d.bytes, 0))
ORDER BY c.name LIMIT 1

-- name: rebuild_postings
SELECT rag.rebuild_postings(c.id) FROM (SELECT set_config('app.tenant', $1::text, true) OFFSET 0) AS s, rag.collections AS c
WHERE c.tenant_id = $1::text::bigint

-- name: order_job
INSERT INTO rag.jobs (tenant_id, id, kind, payload, dedupe_key, run_at, max_attempts, created_at)
VALUES ($1, $2, $3, '{}', $3, statement_timestamp(), 3, statement_timestamp())
ON CONFLICT (tenant_id, dedupe_key) WHERE status IN ('queued', 'running') DO NOTHING

-- name: wake_workers
SELECT pg_notify('cairn_jobs', '')

-- name: record
SELECT rag.record_deed($1, $2, $3, $4::text::jsonb)

-- name: at_work
-- What runs of a tenant, of whichever process: a lease that is over is nobody's.
SELECT (SELECT count(*) FROM rag.jobs WHERE tenant_id = $1 AND status = 'running' AND NOT rag.is_past(lease_until, statement_timestamp())) AS jobs,
       (SELECT count(*) FROM rag.resumable_runs
        WHERE tenant_id = $1 AND status = 'running' AND NOT rag.is_past(lease_until, statement_timestamp())) AS runs

-- name: stop_admission
-- Nobody begins anything for a tenant that goes: no key leads to it, and no job of it waits.
WITH closed AS (DELETE FROM rag.api_keys WHERE tenant_id = $1)
UPDATE rag.jobs SET status = 'cancelled', finished_at = statement_timestamp(), lease_until = NULL, worker = NULL
WHERE tenant_id = $1 AND status IN ('queued', 'running')

-- name: by_index
-- A sequential scan would begin each portion with the rows that the portions before have deleted.
SELECT set_config('enable_seqscan', 'off', false)

-- name: delete_portion
WITH portion AS (SELECT tableoid AS part, ctid AS row FROM {table} WHERE tenant_id = $1 LIMIT $2)
DELETE FROM {table} AS t USING portion AS p WHERE t.tableoid = p.part AND t.ctid = p.row AND t.tenant_id = $1

-- name: delete_rest
DELETE FROM {table} WHERE tenant_id = $1

-- name: delete_tenant
DELETE FROM rag.tenants WHERE id = $1
