-- Traces of runs.

-- name: insert
SELECT rag.insert_traces($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)

-- name: get
SELECT id, tenant_id, started_at, kind, collections, question, strategy, plan, timings_ms, legs_used, legs_failed,
  degraded, settings_revision, epochs, answer, usage, document_ids, session_id, asked_by,
  CASE WHEN lost THEN 'error' ELSE outcome END AS outcome, CASE WHEN lost THEN $3 ELSE error END AS error
FROM (SELECT *, outcome = 'running' AND (plan ->> 'alive_until')::float8 < extract(epoch FROM statement_timestamp()) AS lost
      FROM rag.runs WHERE tenant_id = $1 AND id = $2) AS run

-- name: bury
-- Runs whose process died: they were under way when they were last traced, and nobody says that they live.
UPDATE rag.runs SET outcome = 'error', error = $2
WHERE tenant_id = $1 AND outcome = 'running' AND (plan ->> 'alive_until')::float8 < extract(epoch FROM statement_timestamp())

-- name: legs
SELECT leg, passage_ids, chunk_ids, scores, shares, fates
FROM rag.run_legs WHERE tenant_id = $1 AND run_id = $2 ORDER BY leg

-- name: gone
-- Of what a run found, what is no longer there, where something may be withheld from the caller: whether he might have read it is
-- known of nothing that is gone, and a trace may be written after it went.
SELECT DISTINCT found.id
FROM rag.run_legs l CROSS JOIN LATERAL unnest(l.passage_ids) AS found (id)
WHERE l.tenant_id = $1 AND l.run_id = $2 AND (SELECT rag.withholds())
  AND NOT EXISTS (SELECT 1 FROM rag.passages p WHERE p.tenant_id = $1 AND p.id = found.id)

-- name: page
-- Newest first. $2: search or query, $3: the outcome, $4: words of the question in any case, $5: no older than so many days,
-- $6 and $7: when the last run of the page before began, and its id; null for all. $9: what a lost run is told to have failed by.
SELECT id, kind, started_at, collections, question, strategy, outcome_now AS outcome, error_now AS error, timings_ms,
  usage, degraded, answer ->> 'answered' AS answered, (answer ->> 'grounded')::boolean AS grounded,
  answer ->> 'confidence_word' AS confidence_word
FROM (
  SELECT r.*, CASE WHEN lost THEN 'error' ELSE r.outcome END AS outcome_now,
    CASE WHEN lost THEN $9 ELSE r.error END AS error_now
  FROM rag.runs r
  CROSS JOIN LATERAL (SELECT r.outcome = 'running'
    AND (r.plan ->> 'alive_until')::float8 < extract(epoch FROM statement_timestamp()) AS lost) AS l
  WHERE r.tenant_id = $1 AND ($2::text IS NULL OR r.kind = $2)
    AND ($5::int IS NULL OR r.started_at > now() - make_interval(days => $5))
    AND ($4::text IS NULL OR strpos(lower(r.question), lower($4)) > 0)
    AND ($6::timestamptz IS NULL OR (r.started_at, r.id) < ($6, $7::uuid))
) AS run
WHERE $3::text IS NULL OR outcome_now = $3
ORDER BY started_at DESC, id DESC LIMIT $8

-- name: days
-- What became of the questions of the last $2 days, by day of the time zone $3; days without any are left out. Small talk and questions
-- back have no verdict and count as other answers.
SELECT (r.started_at AT TIME ZONE $3)::date AS day, count(*) AS questions,
  count(*) FILTER (WHERE r.answer ->> 'answered' = 'no') AS refused,
  count(*) FILTER (WHERE r.answer ->> 'answered' <> 'no' AND (
    r.answer ->> 'answered' = 'unsure' OR r.answer ->> 'confidence_word' = 'not_sure')) AS unsure,
  count(*) FILTER (WHERE r.outcome = 'error') AS failed,
  count(*) FILTER (WHERE f.rating = 1) AS good, count(*) FILTER (WHERE f.rating = -1) AS bad
FROM rag.runs r
LEFT JOIN rag.feedback f ON f.tenant_id = r.tenant_id AND f.run_id = r.id
WHERE r.tenant_id = $1 AND r.kind = 'query' AND r.started_at > now() - make_interval(days => $2)
GROUP BY 1 ORDER BY 1

-- name: explain
SELECT stage, verdict, rank, score FROM rag.explain_passage($1, $2)

-- name: forget_stale
-- Runs just written whose answers cite a document that is gone lose their text; ids stay, so that the run can still be
-- counted. Those that were written before it went are blanked with it.
UPDATE rag.runs r SET
  answer = (r.answer - 'text' - 'insufficiencies' - 'digests') || jsonb_build_object('source_deleted_at', now()),
  plan = rag.wordless_plan(r.plan)
WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[]) AND NOT r.answer ? 'source_deleted_at' AND EXISTS (
  SELECT 1 FROM unnest(r.document_ids) AS cited (id)
  WHERE NOT EXISTS (SELECT 1 FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = cited.id))

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
