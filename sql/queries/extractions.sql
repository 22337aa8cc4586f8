-- What chat models extracted (rag.extractions), and documents that wait for it.

-- name: pending
-- Indexed documents in natural language after $3 whose graph has nothing of the extractor $4.
SELECT d.id, d.version FROM rag.documents d
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.id > $3 AND d.status = 'indexed'
  AND d.extractor IS DISTINCT FROM $4 AND d.media_type NOT LIKE 'text/x-%'
ORDER BY d.id LIMIT $5

-- name: left
SELECT count(*) FROM rag.documents d
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.status = 'indexed'
  AND d.extractor IS DISTINCT FROM $3 AND d.media_type NOT LIKE 'text/x-%'

-- name: passages
SELECT id, char_start, char_end, token_count FROM rag.passages
WHERE tenant_id = $1 AND document_id = $2 ORDER BY ordinal

-- name: cached
SELECT DISTINCT ON (content_hash) content_hash, result FROM rag.extractions
WHERE tenant_id = $1 AND content_hash = ANY ($2::bytea[]) AND extractor = $3 ORDER BY content_hash

-- name: keep
SELECT rag.keep_extractions($1, $2, $3, $4::bytea[], $5::jsonb[])

-- name: merge
SELECT rag.merge_model_graph($1, $2, $3, $4, $5::uuid[])
