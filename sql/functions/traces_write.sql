-- Writes traces of one tenant, several at once. `runs`: a JSON array of rows of rag.runs; those under way live for `alive_seconds`, and
-- are replaced by later ones of the same run until it has ended. The others are columns of rag.run_legs.
--
-- `alone`: called outside a transaction, as one that need not survive a crash of the server and waits no longer for a lock than others.
--
-- A trace is read by others than who asked, by those who could read as much (rag.asked_as).
--
-- A function, so that a cluster of nodes has the domains wherever it has this; in PL/pgSQL, because Citus takes no parameters of SQL functions.
DROP FUNCTION IF EXISTS rag.insert_legs;
CREATE OR REPLACE FUNCTION rag.insert_traces(
  tenant bigint, alone boolean, runs text, alive_seconds float8, started timestamptz[], run_ids uuid[], legs text[],
  passages rag.uuid_list[], chunks rag.uuid_list[], scores rag.float8_list[], shares rag.float8_list[], fates rag.text_list[]
) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  unwanted uuid[];
BEGIN
  IF alone THEN
    PERFORM enter_tenant(tenant), set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '20s', true),
      set_config('app.principals', '*', true);  -- it writes down what others asked
  END IF;
  -- of callers who were forgotten meanwhile nothing is kept
  unwanted := ARRAY(
    SELECT r.id FROM jsonb_populate_recordset(NULL::rag.runs, insert_traces.runs::jsonb) AS r WHERE forgotten_as(r.asked_by) IS NOT NULL);
  INSERT INTO rag.runs (tenant_id, started_at, id, kind, collections, question, strategy, plan, timings_ms, legs_used,
    legs_failed, degraded, settings_revision, epochs, outcome, error, answer, usage, document_ids, session_id,
    asked_by, asked_as)
  SELECT tenant, r.started_at, r.id, r.kind, r.collections, r.question, r.strategy,
    r.plan || CASE WHEN r.outcome = 'running'
      THEN jsonb_build_object('alive_until', extract(epoch FROM statement_timestamp()) + alive_seconds) ELSE '{}' END,
    r.timings_ms, r.legs_used, r.legs_failed, r.degraded, r.settings_revision, r.epochs, r.outcome, r.error,
    r.answer, r.usage, r.document_ids, r.session_id, r.asked_by, asked_as(r.asked_as, ARRAY(
      SELECT jsonb_array_elements_text(e -> 'held') FROM jsonb_array_elements(insert_traces.runs::jsonb) AS e WHERE (e ->> 'id')::uuid = r.id))
  FROM jsonb_populate_recordset(NULL::rag.runs, insert_traces.runs::jsonb) AS r WHERE r.id <> ALL (unwanted)
  ON CONFLICT (tenant_id, id, started_at) DO UPDATE SET
    question = excluded.question, strategy = excluded.strategy, plan = excluded.plan, timings_ms = excluded.timings_ms,
    legs_used = excluded.legs_used, legs_failed = excluded.legs_failed, degraded = excluded.degraded, epochs = excluded.epochs,
    outcome = excluded.outcome, error = excluded.error, answer = excluded.answer, usage = excluded.usage,
    document_ids = excluded.document_ids, asked_as = excluded.asked_as
  WHERE rag.runs.outcome = 'running';
  IF cardinality(legs) = 0 THEN RETURN; END IF;
  INSERT INTO run_legs (tenant_id, started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)
  SELECT tenant, l.* FROM (
    SELECT unnest(started), unnest(run_ids) AS run, unnest(legs), unnest(passages), unnest(chunks), unnest(scores), unnest(shares), unnest(fates)
  ) AS l WHERE l.run <> ALL (unwanted)
  ON CONFLICT (tenant_id, run_id, leg, started_at) DO UPDATE SET
    passage_ids = excluded.passage_ids, chunk_ids = excluded.chunk_ids, scores = excluded.scores, shares = excluded.shares,
    fates = excluded.fates
  WHERE run_legs.passage_ids <> excluded.passage_ids OR run_legs.fates <> excluded.fates;
END
$$;
COMMENT ON FUNCTION rag.insert_traces IS 'Writes traces of a tenant, several at once; see sql/functions/traces_write.sql.';
