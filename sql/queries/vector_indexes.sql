-- HNSW indexes of single collections: their state, and checks of what they find. Indexes are made by app/cairn/db/vector_indexes.py.

-- name: places
SELECT collection_id, model_id, state = 'ready' AS ready FROM rag.vector_indexes
WHERE tenant_id = $1 AND collection_id = ANY ($2::uuid[]) AND exclusive

-- name: plan
SELECT tenant_id, collection_id, model_id, dimensions, chunk_count, wanted, ready
FROM rag.plan_vector_indexes($1, $2)

-- name: due
-- Whether a plan would change something for this collection: it has grown beyond $3 without an index, is small and has one, or
-- was left on its way.
SELECT EXISTS (
  SELECT 1 FROM rag.collections c
  LEFT JOIN rag.vector_indexes x ON x.tenant_id = $1 AND x.collection_id = c.id AND x.model_id = c.model_id
  WHERE c.tenant_id = $1 AND c.id = $2 AND CASE
    WHEN x.bulk_until > now() THEN false
    WHEN x.state = 'ready' THEN c.chunk_count < $3 * 0.8 OR NOT x.exclusive
    ELSE x.state IS NOT NULL OR c.chunk_count > $3 END)

-- name: building
INSERT INTO rag.vector_indexes AS x (tenant_id, collection_id, model_id, name, state, chunk_count, exclusive, created_at)
SELECT $1, c.id, $3, $4, 'building', c.chunk_count, true, now() FROM rag.collections c WHERE c.tenant_id = $1 AND c.id = $2
ON CONFLICT (tenant_id, collection_id, model_id) DO UPDATE
SET state = 'building', name = excluded.name, chunk_count = excluded.chunk_count, created_at = excluded.created_at, ready_at = NULL,
    exclusive = true, bulk_until = NULL
RETURNING true

-- name: built
UPDATE rag.vector_indexes SET state = 'ready', ready_at = now()
WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND state = 'building' RETURNING true

-- name: dropping
UPDATE rag.vector_indexes SET state = 'dropping' WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3

-- name: dropped
DELETE FROM rag.vector_indexes WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND state = 'dropping'

-- name: misplaced
-- Some of the vectors that are not where they belong ($4: own).
SELECT chunk_id FROM rag.embeddings
WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND own <> $4 ORDER BY chunk_id LIMIT $5

-- name: move
-- Without waiting for rows: who has one may be waiting for the collection.
WITH free AS MATERIALIZED (
  SELECT e.chunk_id FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.chunk_id = ANY ($2::uuid[]) AND e.model_id = $3 AND e.own <> $4 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE rag.embeddings e SET own = $4 FROM free
WHERE e.tenant_id = $1 AND e.chunk_id = free.chunk_id AND e.model_id = $3
RETURNING 1

-- name: begin_bulk
-- Or renews. Nothing where the index is there already, or being dropped, or no index can be made. One that is being built goes on.
-- A collection of more than $6 chunks that has none gets none: others are larger.
INSERT INTO rag.vector_indexes AS x (tenant_id, collection_id, model_id, name, state, chunk_count, exclusive, bulk_until)
SELECT $1, c.id, $3, $4, 'building', c.chunk_count, true, now() + $5::float8 * interval '1 second'
FROM rag.collections c JOIN rag.embedding_models m ON m.id = $3 AND m.dimensions <= 4000
WHERE c.tenant_id = $1 AND c.id = $2 AND (c.chunk_count <= $6 OR EXISTS (
  SELECT 1 FROM rag.vector_indexes o WHERE o.tenant_id = $1 AND o.collection_id = $2 AND o.model_id = $3))
ON CONFLICT (tenant_id, collection_id, model_id) DO UPDATE SET bulk_until = excluded.bulk_until
WHERE x.state = 'building' AND x.bulk_until IS NOT NULL

-- name: end_bulk
UPDATE rag.vector_indexes SET bulk_until = now() WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND bulk_until > now()

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
  SELECT 1 FROM rag.recall_checks r
  WHERE r.tenant_id = $1 AND r.collection_id = c.id AND r.checked_at > now() - interval '20 hours')
ORDER BY c.id
