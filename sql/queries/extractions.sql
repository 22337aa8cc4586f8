-- What chat models extracted (rag.extractions), what it has cost, and documents that wait for it.

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

-- name: note_usage
INSERT INTO rag.extraction_usage AS u (tenant_id, day, job_id, model, calls, input_tokens, output_tokens)
VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, day, job_id, model) DO UPDATE
SET calls = u.calls + excluded.calls, input_tokens = u.input_tokens + excluded.input_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens

-- name: usage
-- Of a job ($2) on whatever day, and of all jobs today.
SELECT u.job_id = $2 AS own, u.day = (now() AT TIME ZONE 'UTC')::date AS today, u.model,
  sum(u.calls)::integer AS calls, sum(u.input_tokens)::bigint AS input_tokens, sum(u.output_tokens)::bigint AS output_tokens
FROM rag.extraction_usage u
WHERE u.tenant_id = $1 AND (u.job_id = $2 OR u.day = (now() AT TIME ZONE 'UTC')::date)
GROUP BY 1, 2, 3
