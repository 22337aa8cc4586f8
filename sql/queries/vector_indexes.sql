-- HNSW indexes of single collections: their state, and checks of what they find. Indexes are made by app/db/vector_indexes.py.

-- name: ready
SELECT collection_id, model_id FROM rag.vector_indexes
WHERE tenant_id = $1 AND collection_id = ANY ($2::uuid[]) AND state = 'ready'

-- name: plan
SELECT tenant_id, collection_id, model_id, dimensions, chunk_count, wanted, ready
FROM rag.vector_index_plan($1, $2)

-- name: due
-- Whether a plan would change something for this collection: it has grown beyond $3 without an index, or is small and has one.
SELECT EXISTS (
  SELECT FROM rag.collections c
  LEFT JOIN rag.vector_indexes x ON x.tenant_id = $1 AND x.collection_id = c.id AND x.model_id = c.model_id
  WHERE c.tenant_id = $1 AND c.id = $2 AND CASE WHEN x.state = 'ready' THEN c.chunk_count < $3 * 0.8 ELSE c.chunk_count > $3 END)

-- name: building
INSERT INTO rag.vector_indexes AS x (tenant_id, collection_id, model_id, name, state, chunk_count)
SELECT $1, c.id, $3, $4, 'building', c.chunk_count FROM rag.collections c WHERE c.tenant_id = $1 AND c.id = $2
ON CONFLICT (tenant_id, collection_id, model_id) DO UPDATE
SET state = 'building', name = excluded.name, chunk_count = excluded.chunk_count, created_at = now(), ready_at = NULL
RETURNING true

-- name: built
UPDATE rag.vector_indexes SET state = 'ready', ready_at = now()
WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 RETURNING true

-- name: dropping
UPDATE rag.vector_indexes SET state = 'dropping' WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3

-- name: dropped
DELETE FROM rag.vector_indexes WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND state = 'dropping'

-- name: record_check
INSERT INTO rag.recall_checks (tenant_id, id, collection_id, model_id, regime, k, sample, recall, ef_search)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: forget_checks
-- All but the last 30 of a collection.
DELETE FROM rag.recall_checks WHERE tenant_id = $1 AND id IN (
  SELECT id FROM rag.recall_checks WHERE tenant_id = $1 AND collection_id = $2 ORDER BY checked_at DESC, id DESC OFFSET 30)

-- name: latest_check
SELECT r.regime, m.name AS model, r.k, r.sample, r.recall, r.ef_search, r.checked_at
FROM rag.recall_checks r JOIN rag.embedding_models m ON m.id = r.model_id
WHERE r.tenant_id = $1 AND r.collection_id = $2 ORDER BY r.checked_at DESC, r.id DESC LIMIT 1

-- name: latest_checks
-- The last one of each collection, worst first.
SELECT c.name AS collection, last.recall
FROM rag.collections c CROSS JOIN LATERAL (
  SELECT r.recall FROM rag.recall_checks r WHERE r.tenant_id = $1 AND r.collection_id = c.id
  ORDER BY r.checked_at DESC, r.id DESC LIMIT 1) AS last
WHERE c.tenant_id = $1 AND c.chunk_count > $2 ORDER BY last.recall, c.name LIMIT $3

-- name: unchecked
-- Collections too large for the exact scan whose last check is not of today.
SELECT c.id FROM rag.collections c
WHERE c.tenant_id = $1 AND c.chunk_count > $2 AND NOT EXISTS (
  SELECT FROM rag.recall_checks r
  WHERE r.tenant_id = $1 AND r.collection_id = c.id AND r.checked_at > now() - interval '20 hours')
ORDER BY c.id
