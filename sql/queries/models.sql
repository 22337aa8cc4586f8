-- Embedding models of collections. Every change takes the collection's row first, as rag.publish_documents does.

-- name: lock
SELECT id, name, epoch, document_count, passage_count, chunk_count, created_at, model_id
FROM rag.collections WHERE tenant_id = $1 AND id = $2 FOR UPDATE

-- name: needed
-- What every new chunk must have a vector of, the serving model first.
SELECT m.id, m.name, m.dimensions
FROM rag.collections c JOIN rag.embedding_models m ON m.id = c.model_id OR m.id IN (
  SELECT w.model_id FROM rag.collection_models w WHERE w.tenant_id = $1 AND w.collection_id = $2)
WHERE c.tenant_id = $1 AND c.id = $2
ORDER BY m.id <> c.model_id, m.id

-- name: all
SELECT id, name, dimensions FROM rag.embedding_models ORDER BY name

-- name: serving
-- What collections that have documents are searched by.
SELECT DISTINCT m.id, m.name, m.dimensions
FROM rag.collections c JOIN rag.embedding_models m ON m.id = c.model_id
WHERE c.tenant_id = $1 AND c.chunk_count > 0 ORDER BY m.id

-- name: of_collections
-- A backfill whose job was cancelled, failed or parked has stopped: the same order again goes on with it.
SELECT c.name AS collection, m.name AS model, w.changed_at,
  CASE WHEN w.state = 'backfilling' AND NOT EXISTS (
    SELECT 1 FROM rag.jobs j WHERE j.tenant_id = $1 AND j.status IN ('queued', 'running')
      AND j.dedupe_key = 'backfill:' || c.id || ':' || m.id)
  THEN 'stopped' ELSE coalesce(w.state, 'serving') END AS state
FROM rag.collections c
JOIN rag.embedding_models m ON m.id = c.model_id OR m.id IN (
  SELECT x.model_id FROM rag.collection_models x WHERE x.tenant_id = $1 AND x.collection_id = c.id)
LEFT JOIN rag.collection_models w ON w.tenant_id = $1 AND w.collection_id = c.id AND w.model_id = m.id
WHERE c.tenant_id = $1 AND ($2::text IS NULL OR c.name = $2)
ORDER BY c.name, m.name

-- name: reindexing
SELECT c.name FROM rag.jobs j JOIN rag.collections c ON c.tenant_id = $1 AND c.id = (j.payload ->> 'collection_id')::uuid
WHERE j.tenant_id = $1 AND j.kind = 'reindex' AND j.status IN ('queued', 'running')

-- name: set_state
INSERT INTO rag.collection_models (tenant_id, collection_id, model_id, state, changed_at)
VALUES ($1, $2, $3, $4, statement_timestamp())
ON CONFLICT (tenant_id, collection_id, model_id) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at

-- name: state
SELECT state FROM rag.collection_models WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3

-- name: last_retired
SELECT m.id, m.name, m.dimensions
FROM rag.collection_models w JOIN rag.embedding_models m ON m.id = w.model_id
WHERE w.tenant_id = $1 AND w.collection_id = $2 AND w.state = 'retired' ORDER BY w.changed_at DESC LIMIT 1

-- name: serve
UPDATE rag.collections SET model_id = $3, epoch = epoch + 1 WHERE tenant_id = $1 AND id = $2

-- name: missing
SELECT count(*) FROM rag.chunks c JOIN rag.documents d ON d.tenant_id = $1 AND d.id = c.document_id
WHERE c.tenant_id = $1 AND d.collection_id = $2 AND NOT EXISTS (
  SELECT 1 FROM rag.embeddings e WHERE e.tenant_id = $1 AND e.chunk_id = c.id AND e.model_id = $3)

-- name: next_missing
-- Chunks without a vector of model $3, with what is needed to make one. $4 is the model that serves.
SELECT c.id, c.document_id, c.char_start, c.char_end, c.headings, d.title, d.media_type, s.content_hash, d.enrichment,
  d.access
FROM rag.documents d JOIN rag.chunks c ON c.tenant_id = $1 AND c.document_id = d.id
LEFT JOIN rag.embeddings s ON s.tenant_id = $1 AND s.chunk_id = c.id AND s.model_id = $4
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND NOT EXISTS (
  SELECT 1 FROM rag.embeddings e WHERE e.tenant_id = $1 AND e.chunk_id = c.id AND e.model_id = $3)
ORDER BY d.id, c.ordinal LIMIT $5

-- name: add_vectors
-- A chunk that was replaced meanwhile is left out, and so are all where the collection has given up the model; what is there stays
-- until the commit.
WITH made AS (
  SELECT * FROM unnest($3::uuid[], $4::bytea[], $5::halfvec[]) AS v (chunk_id, content_hash, embedding)
), here AS (
  SELECT c.id, c.document_id, c.collection_id, c.passage_id FROM rag.chunks c
  JOIN rag.collection_models m ON m.tenant_id = $1 AND m.collection_id = c.collection_id AND m.model_id = $2
  WHERE c.tenant_id = $1 AND c.id = ANY ($3::uuid[]) FOR KEY SHARE
)
INSERT INTO rag.embeddings
  (tenant_id, chunk_id, model_id, document_id, collection_id, passage_id, content_hash, embedding, own)
SELECT $1, here.id, $2, here.document_id, here.collection_id, here.passage_id, made.content_hash, made.embedding,
  rag.has_own_index($1, here.collection_id, $2)
FROM made JOIN here ON here.id = made.chunk_id
ON CONFLICT DO NOTHING

-- name: place
-- The state of the index may have changed while vectors were added.
UPDATE rag.embeddings SET own = NOT own
WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 AND own <> (SELECT rag.has_own_index($1, $2, $3))

-- name: forget
DELETE FROM rag.collection_models WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3

-- name: forget_vectors
DELETE FROM rag.embeddings WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3
