-- What jobs have cost that ask chat models (rag.extraction_usage).

-- name: note_usage
INSERT INTO rag.extraction_usage AS u (tenant_id, day, job_id, model, calls, input_tokens, output_tokens, purpose)
VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, day, job_id, model) DO UPDATE
SET calls = u.calls + excluded.calls, input_tokens = u.input_tokens + excluded.input_tokens,
    output_tokens = u.output_tokens + excluded.output_tokens

-- name: usage
-- Of a job ($2) on whatever day, and of all jobs of its kind ($3) today.
SELECT u.job_id = $2 AS own, u.day = (now() AT TIME ZONE 'UTC')::date AS today, u.model,
  sum(u.calls)::integer AS calls, sum(u.input_tokens)::bigint AS input_tokens, sum(u.output_tokens)::bigint AS output_tokens
FROM rag.extraction_usage u
WHERE u.tenant_id = $1 AND (u.job_id = $2 OR u.purpose = $3 AND u.day = (now() AT TIME ZONE 'UTC')::date)
GROUP BY 1, 2, 3
