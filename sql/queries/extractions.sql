-- What chat models extracted (rag.extractions), and documents that wait for it.

-- name: pending
-- Indexed documents in natural language after $3 whose graph has nothing of the extractor $4. `own`: whether who has the names $6 may
-- read it, on whose key it is counted then.
SELECT d.id, d.version, d.access IS NULL OR d.access && $6::text[] AS own FROM rag.documents d
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
-- For document $4: of documents that everybody may read who may read that, for who pays for a call learns that the text is new.
SELECT DISTINCT ON (e.content_hash) e.content_hash, e.result FROM rag.extractions e
JOIN rag.documents k ON k.tenant_id = $1 AND k.id = e.document_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = $4
WHERE e.tenant_id = $1 AND e.content_hash = ANY ($2::bytea[]) AND e.extractor = $3
  AND (k.access IS NULL OR k.access @> d.access OR k.id = d.id)
ORDER BY e.content_hash

-- name: keep
SELECT rag.keep_extractions($1, $2, $3, $4::bytea[], $5::jsonb[])

-- name: merge
SELECT rag.merge_model_graph($1, $2, $3, $4, $5::uuid[])
