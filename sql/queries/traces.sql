-- Traces of runs.

-- name: insert_run
INSERT INTO rag.runs (tenant_id, started_at, id, kind, collections, question, strategy, plan, timings_ms, legs_used,
  legs_failed, degraded, settings_revision, epochs, outcome, error, answer, usage, document_ids, session_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
ON CONFLICT DO NOTHING

-- name: insert_leg
INSERT INTO rag.run_legs (tenant_id, started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING

-- name: get
SELECT id, tenant_id, started_at, kind, collections, question, strategy, plan, timings_ms, legs_used, legs_failed,
  degraded, settings_revision, epochs, outcome, error, answer, usage, document_ids, session_id
FROM rag.runs WHERE tenant_id = $1 AND id = $2

-- name: legs
SELECT leg, passage_ids, chunk_ids, scores, shares, fates
FROM rag.run_legs WHERE tenant_id = $1 AND run_id = $2 ORDER BY leg

-- name: forget_stale
-- Runs just written whose answers cite a document that is gone lose their text; ids stay, so that the run can still be
-- counted. Those that were written before it went are blanked with it.
UPDATE rag.runs r SET
  answer = (r.answer - 'text' - 'insufficiencies') || jsonb_build_object('source_deleted_at', now()),
  plan = CASE WHEN r.plan ->> 'rewritten_by' IS NULL THEN r.plan ELSE rag.wordless_plan(r.plan) END
WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[]) AND NOT r.answer ? 'source_deleted_at' AND EXISTS (
  SELECT FROM unnest(r.document_ids) AS cited (id)
  WHERE NOT EXISTS (SELECT FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = cited.id))

-- name: hold_sessions
-- Those that are there; none of them can be deleted before this transaction ends.
SELECT id FROM rag.sessions WHERE tenant_id = $1 AND id = ANY ($2::text[]) ORDER BY id FOR KEY SHARE

-- name: blank_sessions
SELECT rag.blank_session_runs(gone.id, $2::uuid[]) FROM unnest($1::text[]) AS gone (id)

-- name: forget_collection
-- Its documents are held first: an answer that is being saved is either waited for and blanked, or finds them gone.
WITH held AS MATERIALIZED (
  SELECT d.id FROM rag.documents d WHERE d.tenant_id = $1 AND d.collection_id = $2 ORDER BY d.external_id COLLATE "C" FOR UPDATE
)
SELECT rag.forget_documents(ARRAY(SELECT id FROM held))
