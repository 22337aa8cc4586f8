-- Traces of runs.

-- name: insert_runs
-- $2 and on are columns; arrays and documents within them are text.
INSERT INTO rag.runs (tenant_id, started_at, id, kind, collections, question, strategy, plan, timings_ms, legs_used,
  legs_failed, degraded, settings_revision, epochs, outcome, error, answer, usage, document_ids, session_id)
SELECT $1, r.started_at, r.id, r.kind, r.collections::text[], r.question, r.strategy, r.plan::jsonb, r.timings_ms::jsonb,
  r.legs_used::text[], r.legs_failed::jsonb, r.degraded::text[], r.settings_revision, r.epochs::jsonb, r.outcome, r.error,
  r.answer::jsonb, r.usage::jsonb, r.document_ids::uuid[], r.session_id
FROM unnest($2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
  $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
  $19::text[], $20::text[]) AS r (started_at, id, kind, collections, question, strategy, plan, timings_ms, legs_used, legs_failed,
  degraded, settings_revision, epochs, outcome, error, answer, usage, document_ids,
  session_id)
ON CONFLICT DO NOTHING

-- name: insert_legs
INSERT INTO rag.run_legs (tenant_id, started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)
SELECT $1, l.started_at, l.run_id, l.leg, l.passage_ids::uuid[], l.chunk_ids::uuid[], l.scores::float8[],
  l.shares::float8[], l.fates::text[]
FROM unnest($2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
  AS l (started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)
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
  plan = rag.wordless_plan(r.plan)
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
