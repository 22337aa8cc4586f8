-- Resumable runs: what must not outlive a deletion, and retention.

-- Blanks the events of runs that quote documents, or belong to conversations, in the transaction that deletes these. From
-- then on a run that is still under way stores no text either (append in sql/queries/runs.sql).
-- A definer function, because row security would keep the planner from the GIN index on document_ids.
CREATE OR REPLACE FUNCTION rag.blank_run_events(documents uuid[], told text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE
  tenant bigint := current_tenant();
  doomed uuid[] := ARRAY(
    SELECT r.id FROM resumable_runs r
    WHERE r.tenant_id = tenant AND (r.document_ids && documents OR r.session_id = ANY (told)) AND r.blanked_at IS NULL
    ORDER BY r.id FOR UPDATE);
  present timestamptz := clock_timestamp();
BEGIN
  UPDATE resumable_runs r SET blanked_at = present WHERE r.tenant_id = tenant AND r.id = ANY (doomed);
  UPDATE run_events e SET data = wordless_event(e.kind, e.data) WHERE e.tenant_id = tenant AND e.run_id = ANY (doomed);
END
$$;
COMMENT ON FUNCTION rag.blank_run_events IS
  'Blanks stored events of the current tenant that may quote deleted documents or conversations.';

CREATE OR REPLACE FUNCTION rag.wordless_event(kind text, data text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN kind IN ('RunStarted', 'Cancelled') THEN data
              WHEN kind = 'Progress' THEN (data::jsonb - 'message' - 'detail')::text END -- what agents say they do
$$;
COMMENT ON FUNCTION rag.wordless_event IS 'What may stay of an event when documents or conversations that it may quote go.';

-- Ended runs older than keep_days, and those that were lost as long ago, with their events; and feedback on runs whose
-- traces are gone; and of whom nothing was kept for an hour.
--
-- Feedback on what was asked by who could read more than everybody goes before its run: who may see it stands there alone, and
-- what is left when nothing is restricted any more is everybody's. Traces go by whole days (rag.drop_trace_partitions): so what
-- the upkeep of tomorrow drops counts as gone today.
CREATE OR REPLACE FUNCTION rag.expire_runs(keep_days integer, keep_traces_days integer, max_runs integer)
RETURNS TABLE (tenant_id bigint, id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  old record;
  present timestamptz := clock_timestamp();
  runs_from timestamptz := present - make_interval(days => keep_days);
  traces_from timestamptz := ((present AT TIME ZONE 'UTC')::date - keep_traces_days + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
  IF least(keep_days, keep_traces_days) < 1 THEN
    RAISE EXCEPTION 'runs are kept for one day at least, not %', least(keep_days, keep_traces_days)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  DELETE FROM forgotten_callers AS f WHERE f.forgotten_at < present - interval '1 hour';
  DELETE FROM feedback AS f
  WHERE f.run_started_at < present - make_interval(days => greatest(keep_days, keep_traces_days) + 1);
  IF NOT is_distributed() THEN  -- which keeps no access lists
    DELETE FROM feedback AS f
    USING (SELECT r.tenant_id, r.id FROM runs AS r WHERE r.asked_as <> '{}' AND r.started_at < traces_from
           UNION SELECT r.tenant_id, r.id FROM resumable_runs AS r WHERE r.asked_as <> '{}' AND r.started_at < runs_from) AS o
    WHERE f.tenant_id = o.tenant_id AND f.run_id = o.id
      AND NOT EXISTS (SELECT 1 FROM runs AS r
                      WHERE r.tenant_id = o.tenant_id AND r.id = o.id AND r.started_at >= traces_from)
      AND NOT EXISTS (SELECT 1 FROM resumable_runs AS r
                      WHERE r.tenant_id = o.tenant_id AND r.id = o.id AND r.started_at >= runs_from);
  END IF;
  FOR old IN
    SELECT o.tenant_id, array_agg(o.id) AS ids
    FROM (SELECT r.tenant_id, r.id FROM resumable_runs AS r
          WHERE r.started_at < runs_from
            AND (r.status <> 'running' OR r.lease_until < present)
          ORDER BY r.started_at LIMIT max_runs) AS o
    GROUP BY o.tenant_id
  LOOP
    RETURN QUERY
    DELETE FROM resumable_runs AS r
    USING (SELECT o.id FROM resumable_runs AS o
           WHERE o.tenant_id = old.tenant_id AND o.id = ANY (old.ids)
             AND (o.status <> 'running' OR o.lease_until < present) FOR UPDATE SKIP LOCKED) AS free
    WHERE r.tenant_id = old.tenant_id AND r.id = free.id
    RETURNING r.tenant_id, r.id;
  END LOOP;
END
$$;
COMMENT ON FUNCTION rag.expire_runs(integer, integer, integer) IS
  'Deletes resumable runs of all tenants that began more than so many days ago, a batch at a time, and feedback; which runs.';
