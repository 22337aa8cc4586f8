-- What users think of answers.

-- name: put
-- The run is the caller's to have looked up.
INSERT INTO rag.feedback AS f (tenant_id, run_id, run_started_at, session_id, rating, comment)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, run_id) DO UPDATE SET
  rating = excluded.rating, comment = excluded.comment, updated_at = clock_timestamp()
RETURNING run_id, session_id, rating, comment, created_at, updated_at
