-- What the serving process asks about itself and does once a day.

-- name: load_vector
-- Settings named hnsw.* are taken unseen until the library is loaded; only then a wrong one shows.
SELECT '[1]'::public.vector <-> '[1]'::public.vector

-- name: iterative_scan
SELECT current_setting('hnsw.iterative_scan', true)

-- name: ensure_trace_partitions
SELECT rag.ensure_trace_partitions($1)

-- name: drop_trace_partitions
SELECT rag.drop_trace_partitions($1)

-- name: schema_revision
SELECT rag.schema_revision()

-- name: end_overdue_analysts
SELECT ended, unwatched FROM rag.end_overdue_analysts($1, $2)

-- name: tenant_ids
SELECT id FROM rag.tenant_ids() AS id

-- name: is_standby
SELECT pg_is_in_recovery();

-- name: database_bytes
SELECT pg_database_size(current_database())
