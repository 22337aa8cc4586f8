-- Resumable runs and their events. Every instant is the database's own.

-- name: open
-- No row: the id is taken, by a resumable run or in a trace. In a conversation that is withheld from who asks nothing is kept, so
-- the run is of none.
INSERT INTO rag.resumable_runs (tenant_id, id, surface, session_id, owner, lease_until, asked_by, asked_as)
SELECT $1, $2, $3, CASE WHEN NOT rag.withholds_questions() OR rag.reads_session($1, $4, rag.own_principals()) THEN $4 END, $5,
  statement_timestamp() + $6::interval, $7, rag.asked_as()
WHERE NOT EXISTS (SELECT 1 FROM rag.runs WHERE tenant_id = $1 AND id = $2)
ON CONFLICT DO NOTHING
RETURNING session_id

-- name: asked_by
SELECT asked_by FROM rag.resumable_runs WHERE tenant_id = $1 AND id = $2

-- name: asked_as
SELECT rag.asked_as()

-- name: is_withheld
SELECT rag.withholds()

-- name: append
-- $5: how many events were stored before; $10: whether a document that they quote is gone; $12: names of who asked. Renews the lease, also without
-- events. No row: the run is no longer the owner's, or the events are stored already. Once the run is blanked, what may have
-- words is stored without them.
WITH held AS (
  UPDATE rag.resumable_runs SET
    last_seq = last_seq + cardinality($6::text[]),
    lease_until = statement_timestamp() + $4::interval,
    status = coalesce($9, status),
    ended_at = CASE WHEN $9::text IS NOT NULL THEN clock.present END,
    document_ids = CASE WHEN $11::uuid[] <@ document_ids THEN document_ids
                   ELSE ARRAY(SELECT DISTINCT unnest(document_ids || $11::uuid[])) END,
    asked_as = CASE WHEN $9::text IS NULL THEN asked_as ELSE rag.asked_as($12::text[], asked_as) END,
    blanked_at = CASE WHEN $10 THEN coalesce(blanked_at, clock.present) ELSE blanked_at END
  FROM (SELECT statement_timestamp() AS present) AS clock
  WHERE tenant_id = $1 AND id = $2 AND owner = $3 AND status = 'running' AND last_seq = $5
  RETURNING cancel_requested, blanked_at
), written AS (
  INSERT INTO rag.run_events (tenant_id, run_id, seq, kind, terminal, data)
  SELECT $1, $2, $5 + e.n, e.kind, e.terminal,
    CASE WHEN held.blanked_at IS NULL THEN e.data ELSE rag.wordless_event(e.kind, e.data) END
  FROM held, unnest($6::text[], $7::boolean[], $8::text[]) WITH ORDINALITY AS e (kind, terminal, data, n)
)
SELECT cancel_requested FROM held

-- name: blank
-- What was stored before a document turned out to be gone.
UPDATE rag.run_events SET data = rag.wordless_event(kind, data) WHERE tenant_id = $1 AND run_id = $2

-- name: get
SELECT r.id, r.surface, r.session_id, r.owner, r.status, r.started_at, r.ended_at, r.cancel_requested, r.last_seq,
  r.blanked_at, r.status = 'running' AND rag.is_past(r.lease_until, statement_timestamp()) AS lost,
  (SELECT e.data FROM rag.run_events e WHERE e.tenant_id = $1 AND e.run_id = $2 AND e.kind = 'Progress'
   ORDER BY e.seq DESC LIMIT 1) AS progress
FROM rag.resumable_runs r WHERE r.tenant_id = $1 AND r.id = $2

-- name: events
SELECT seq, kind, terminal, data
FROM rag.run_events
WHERE tenant_id = $1 AND run_id = $2 AND seq > $3 ORDER BY seq LIMIT $4

-- name: citations
SELECT answer -> 'citations' FROM rag.runs WHERE tenant_id = $1 AND id = $2

-- name: last_answer
SELECT data FROM rag.run_events WHERE tenant_id = $1 AND run_id = $2 AND terminal AND kind = 'Answered'

-- name: request_cancel
UPDATE rag.resumable_runs SET cancel_requested = true
WHERE tenant_id = $1 AND id = $2 AND status = 'running' AND NOT cancel_requested

-- name: bury
-- The last event of runs whose process is gone, and the end of their traces; $2: only this one. Who comes second finds it
-- ended.
WITH doomed AS (
  SELECT id FROM rag.resumable_runs
  WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id = $2) AND status = 'running' AND rag.is_past(lease_until, statement_timestamp())
  ORDER BY id FOR UPDATE SKIP LOCKED
), lost AS (
  UPDATE rag.resumable_runs r SET status = 'error', ended_at = statement_timestamp(), last_seq = last_seq + 1
  FROM doomed WHERE r.tenant_id = $1 AND r.id = doomed.id
  RETURNING r.id, r.last_seq
), traced AS (
  UPDATE rag.runs r SET outcome = 'error', error = $5
  FROM lost WHERE r.tenant_id = $1 AND r.id = lost.id AND r.outcome = 'running'
)
INSERT INTO rag.run_events (tenant_id, run_id, seq, kind, terminal, data)
SELECT $1, id, last_seq, $3, true, $4 FROM lost

-- name: known
-- When a run began, and in which conversation; from its trace where there is one.
SELECT started_at, session_id, status FROM (
  SELECT 1 AS place, started_at, session_id,
    CASE WHEN outcome = 'running' AND (plan ->> 'alive_until')::float8 < extract(epoch FROM statement_timestamp()) THEN 'error'
         ELSE outcome END AS status
  FROM rag.runs WHERE tenant_id = $1 AND id = $2
  UNION ALL
  SELECT 2, started_at, session_id, status FROM rag.resumable_runs WHERE tenant_id = $1 AND id = $2
) AS found ORDER BY place LIMIT 1

-- name: expire
SELECT tenant_id, id FROM rag.expire_runs($1, $2, $3)


-- name: put_feedback
-- The run is the caller's to have looked up.
INSERT INTO rag.feedback AS f (tenant_id, run_id, run_started_at, session_id, rating, comment, updated_at, rated_by)
VALUES ($1, $2, $3, $4, $5, $6, statement_timestamp(), $7)
ON CONFLICT (tenant_id, run_id) DO UPDATE SET
  rating = excluded.rating, comment = excluded.comment, updated_at = excluded.updated_at,
  rated_by = excluded.rated_by
RETURNING run_id, session_id, rating, comment, created_at, updated_at

-- name: list_feedback
SELECT run_id, session_id, rating, comment, created_at, updated_at
FROM rag.feedback
WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[])
