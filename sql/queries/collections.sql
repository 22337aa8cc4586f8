-- Named sets of documents. Counts are of what the caller may read.

-- name: create
INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING id, name, display_name, epoch, document_count, passage_count, chunk_count, created_at, model_id

-- name: by_name
-- Collections that are older than the column have the model of their vectors.
SELECT id, name, display_name, epoch, document_count - h.documents AS document_count, passage_count - h.passages AS passage_count,
  chunk_count - h.chunks AS chunk_count, created_at, coalesce(model_id, (
  SELECT e.model_id FROM rag.embeddings e WHERE e.tenant_id = $1 AND e.collection_id = collections.id LIMIT 1)) AS model_id
FROM rag.collections CROSS JOIN LATERAL rag.count_hidden(id) AS h WHERE tenant_id = $1 AND name = $2

-- name: by_id
SELECT id, name, display_name, epoch, document_count - h.documents AS document_count, passage_count - h.passages AS passage_count,
  chunk_count - h.chunks AS chunk_count, created_at, coalesce(model_id, (
  SELECT e.model_id FROM rag.embeddings e WHERE e.tenant_id = $1 AND e.collection_id = collections.id LIMIT 1)) AS model_id
FROM rag.collections CROSS JOIN LATERAL rag.count_hidden(id) AS h WHERE tenant_id = $1 AND id = $2

-- name: by_names
-- With how many chunks the caller may not read beside those counted: no reply tells that number.
SELECT id, name, display_name, epoch, document_count - h.documents AS document_count, passage_count - h.passages AS passage_count,
  chunk_count - h.chunks AS chunk_count, created_at, coalesce(model_id, (
  SELECT e.model_id FROM rag.embeddings e WHERE e.tenant_id = $1 AND e.collection_id = collections.id LIMIT 1)) AS model_id,
  h.chunks AS withheld
FROM rag.collections CROSS JOIN LATERAL rag.count_hidden(id) AS h WHERE tenant_id = $1 AND name = ANY ($2::text[]) ORDER BY name

-- name: page
SELECT id, name, display_name, epoch, document_count - h.documents AS document_count, passage_count - h.passages AS passage_count,
  chunk_count - h.chunks AS chunk_count, created_at, model_id
FROM rag.collections CROSS JOIN LATERAL rag.count_hidden(id) AS h WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3

-- name: rename
UPDATE rag.collections SET display_name = $3 WHERE tenant_id = $1 AND name = $2 RETURNING id

-- name: note_deletion
-- The row is locked first, so that no document is published between the two.
WITH noted AS (
  INSERT INTO rag.document_changes (tenant_id, kind, collection, document_id, version, passage_count, byte_size)
  SELECT d.tenant_id, 'deleted', $3, d.id, d.version, d.passage_count, d.byte_size
  FROM rag.documents d WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.version > 0 AND d.access IS NULL
  RETURNING 1
)
SELECT count(*) FROM noted

-- name: lock_by_name
SELECT id FROM rag.collections WHERE tenant_id = $1 AND name = $2 FOR UPDATE

-- name: delete
DELETE FROM rag.collections WHERE tenant_id = $1 AND name = $2 RETURNING id

-- name: touch
-- The one lock between writers of a collection, held until commit.
UPDATE rag.collections SET epoch = epoch + 1 WHERE tenant_id = $1 AND id = $2 RETURNING epoch

-- name: pin_model
-- The model that serves it from its first document on: that of vectors it has already, else the given one.
UPDATE rag.collections c SET model_id = coalesce(c.model_id, (
  SELECT e.model_id FROM rag.embeddings e WHERE e.tenant_id = $1 AND e.collection_id = $2 LIMIT 1), $3)
WHERE c.tenant_id = $1 AND c.id = $2 AND c.model_id IS NULL

-- name: calibration
SELECT calibration FROM rag.collections WHERE tenant_id = $1 AND name = $2

-- name: calibrate
-- Another calibration of confidence, null for the one that is shipped.
UPDATE rag.collections SET calibration = $3 WHERE tenant_id = $1 AND name = $2 RETURNING id

-- name: withholds
SELECT rag.hidden_documents($1, ARRAY[$2::uuid], $3) IS NOT NULL

-- name: is_ruled
SELECT rag.is_ruled($1)

-- name: count_open
-- What of a collection everybody in the tenant may read.
SELECT c.document_count - h.documents AS documents, c.chunk_count - h.chunks AS chunks
FROM rag.collections c CROSS JOIN LATERAL rag.count_restricted(c.tenant_id, c.id) AS h WHERE c.tenant_id = $1 AND c.id = $2
