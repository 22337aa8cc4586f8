-- Evaluation runs and their results.

-- name: insert_run
INSERT INTO rag.eval_runs (tenant_id, id, kind, name, data_set, data_hash, collection_id, collection, epochs, settings,
  settings_revision, code_version, parameters, started_at, finished_at, query_count, metrics, timings_ms, degraded)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)

-- name: insert_result
INSERT INTO rag.eval_results (tenant_id, run_id, query_id, query, ranking, judgements, metrics, total_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: page
-- Newest first: ids are UUIDv7.
SELECT id, kind, name, data_set, data_hash, collection_id, collection, epochs, settings, settings_revision,
  code_version, parameters, started_at, finished_at, query_count, metrics, timings_ms, degraded
FROM rag.eval_runs WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2

-- name: by_ending
-- The last part of a UUIDv7 is random, its first part a time: an ending tells runs apart.
SELECT id, kind, name, data_set, data_hash, collection_id, collection, epochs, settings, settings_revision,
  code_version, parameters, started_at, finished_at, query_count, metrics, timings_ms, degraded
FROM rag.eval_runs WHERE tenant_id = $1 AND right(id::text, length($2)) = $2 ORDER BY id LIMIT 2

-- name: results
SELECT query_id, query, ranking, judgements, metrics, total_ms
FROM rag.eval_results WHERE tenant_id = $1 AND run_id = $2 ORDER BY query_id

-- name: first_settings
-- Settings of the oldest run that searched this state of a collection.
SELECT settings FROM rag.eval_runs
WHERE tenant_id = $1 AND collection_id = $2 AND epochs = $3 ORDER BY id LIMIT 1

-- name: content_hashes
SELECT external_id, content_hash FROM rag.documents
WHERE tenant_id = $1 AND collection_id = $2 AND status = 'indexed'

-- name: external_ids
SELECT id, external_id FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND status = 'indexed'
