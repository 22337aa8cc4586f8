-- The queue's three questions that concern every tenant. They run with the rights of their owner and therefore return no
-- tenant data: ids, and counts. Everything else about a job happens inside its tenant's transaction.

-- Whether the time until an instant is over. No lease and no delay is longer than an hour (app/cairn/settings/sections.py), so
-- an instant that lies further ahead was reckoned on a clock that has been set back since: nobody waits for it.
CREATE OR REPLACE FUNCTION rag.is_past(instant timestamptz, present timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN instant <= present OR instant > present + interval '1 hour';
COMMENT ON FUNCTION rag.is_past(timestamptz, timestamptz) IS 'Whether an instant has come, or is too far ahead to be meant.';

CREATE OR REPLACE FUNCTION rag.is_past(instant timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN rag.is_past(instant, clock_timestamp());
COMMENT ON FUNCTION rag.is_past(timestamptz) IS 'The same as the clock has it now.';

-- Claims the oldest runnable job of these kinds: queued and due, or running with a lease that is over. The attempt is
-- counted here, before any work, so that a job which kills its worker is parked after max_attempts instead of looping.
-- All times are the database's, so workers with wrong clocks cannot claim twice. Where its clock jumps ahead, leases end
-- early: the job is claimed anew, and its first worker finds itself fenced.
CREATE OR REPLACE FUNCTION rag.claim_job(worker text, kinds text[], lease interval)
RETURNS TABLE (tenant_id bigint, id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    next_job record;
    found_job record;
    present timestamptz;
    taken uuid[] := '{}';
BEGIN
    LOOP
        present := clock_timestamp();
        -- Looked for among all tenants, then locked within its own: a lock over tenants cannot be had in a distributed database.
        SELECT j.tenant_id, j.id INTO next_job
          FROM rag.jobs AS j
         WHERE j.status IN ('queued', 'running') AND is_past(CASE j.status WHEN 'queued' THEN j.run_at ELSE j.lease_until END, present)
           AND j.kind = ANY (claim_job.kinds) AND j.id <> ALL (taken)
         ORDER BY j.run_at, j.id
         LIMIT 1;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        SELECT j.tenant_id, j.id, j.attempts, j.max_attempts, j.cancel_requested, j.error INTO found_job
          FROM rag.jobs AS j
         WHERE j.tenant_id = next_job.tenant_id AND j.id = next_job.id AND j.status IN ('queued', 'running')
           AND is_past(CASE j.status WHEN 'queued' THEN j.run_at ELSE j.lease_until END, present)
           FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN  -- another worker has it
            taken := taken || next_job.id;
            CONTINUE;
        END IF;

        IF found_job.cancel_requested THEN
            UPDATE rag.jobs AS j
               SET status = 'cancelled', finished_at = present, lease_until = NULL, worker = NULL
             WHERE j.tenant_id = found_job.tenant_id AND j.id = found_job.id;
            DELETE FROM rag.uploads AS u WHERE u.tenant_id = found_job.tenant_id AND u.job_id = found_job.id;
        ELSIF found_job.attempts >= found_job.max_attempts THEN
            UPDATE rag.jobs AS j
               SET status = 'parked', finished_at = present, lease_until = NULL, worker = NULL,
                   error = CASE WHEN found_job.error IS NULL
                                THEN format('its worker died %s times', found_job.attempts)
                                ELSE format('its worker died in attempt %s; an attempt before it failed with: %s',
                                            found_job.attempts, found_job.error) END
             WHERE j.tenant_id = found_job.tenant_id AND j.id = found_job.id;
        ELSE
            UPDATE rag.jobs AS j
               SET status = 'running', attempts = j.attempts + 1, worker = claim_job.worker,
                   lease_until = present + claim_job.lease, started_at = coalesce(j.started_at, present),
                   progress = '{}'
             WHERE j.tenant_id = found_job.tenant_id AND j.id = found_job.id;
            RETURN QUERY SELECT found_job.tenant_id, found_job.id;
            RETURN;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rag.claim_job(text, text[], interval) IS
    'Claims the oldest runnable job of any tenant for a worker; no row when there is none.';

-- For readiness and metrics: a runnable job that nobody takes for a minute means that no worker lives.
CREATE OR REPLACE FUNCTION rag.queue_state()
RETURNS TABLE (queued bigint, running bigint, runnable bigint, oldest_runnable_seconds double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH job AS (
        SELECT status,
               -- a head start is no wait
               CASE status WHEN 'queued' THEN greatest(run_at, created_at) ELSE lease_until END AS runnable_at
          FROM rag.jobs
         WHERE status IN ('queued', 'running')
    )
    SELECT count(*) FILTER (WHERE status = 'queued'),
           count(*) FILTER (WHERE status = 'running'),
           count(*) FILTER (WHERE is_past(runnable_at)),
           extract(epoch FROM clock_timestamp()
                   - min(runnable_at) FILTER (WHERE runnable_at <= clock_timestamp()))::double precision
      FROM job;
END
$$;
COMMENT ON FUNCTION rag.queue_state() IS
    'Unfinished jobs of all tenants, how many could run now, and since how many seconds the oldest of these waits.';

-- Ended jobs older than keep_days, at most max_jobs of them, go with the uploads that parked and failed ones kept.
CREATE OR REPLACE FUNCTION rag.expire_jobs(keep_days integer, max_jobs integer)
RETURNS TABLE (tenant_id bigint, id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    old record;
    present timestamptz := clock_timestamp();
BEGIN
    IF keep_days < 1 THEN
        RAISE EXCEPTION 'jobs are kept for one day at least, not %', keep_days USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR old IN
        SELECT o.tenant_id, array_agg(o.id) AS ids
          FROM (SELECT j.tenant_id, j.id FROM rag.jobs AS j
                 WHERE j.status NOT IN ('queued', 'running')
                   AND j.finished_at < present - make_interval(days => keep_days)
                 ORDER BY j.finished_at
                 LIMIT max_jobs) AS o
         GROUP BY o.tenant_id
    LOOP
        RETURN QUERY
        DELETE FROM rag.jobs AS j
         USING (SELECT o.id FROM rag.jobs AS o
                 WHERE o.tenant_id = old.tenant_id AND o.id = ANY (old.ids) AND o.status NOT IN ('queued', 'running')
                   FOR UPDATE SKIP LOCKED) AS free
         WHERE j.tenant_id = old.tenant_id AND j.id = free.id
        RETURNING j.tenant_id, j.id;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rag.expire_jobs(integer, integer) IS
    'Deletes jobs of all tenants that ended more than so many days ago, a batch at a time; which ones.';
