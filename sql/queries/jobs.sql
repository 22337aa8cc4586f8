-- Jobs within one tenant; claiming across tenants is rag.claim_job (sql/functions/jobs.sql).
-- No statement takes an instant from the app: leases, delays and stamps are reckoned on the database's clock.
-- Statements of a worker are fenced by (worker, attempts): once a job was taken over, its old worker changes nothing.

-- name: enqueue
-- No row when an unfinished job has the same dedupe_key. The notification is sent when the caller commits.
WITH job AS (
    INSERT INTO rag.jobs (tenant_id, id, kind, payload, dedupe_key, run_at, max_attempts, created_at)
    VALUES ($1, $2, $3, $4, $5, statement_timestamp() + $6::interval, $7, statement_timestamp())
    ON CONFLICT (tenant_id, dedupe_key) WHERE status IN ('queued', 'running') DO NOTHING
    RETURNING *
)
SELECT job.*, pg_notify('cairn_jobs', '') FROM job;

-- name: unfinished
SELECT * FROM rag.jobs WHERE tenant_id = $1 AND dedupe_key = $2 AND status IN ('queued', 'running');

-- name: of_key
-- The last ones with a dedupe key, newest first, ended or not.
SELECT * FROM rag.jobs WHERE tenant_id = $1 AND dedupe_key = $2 ORDER BY id DESC LIMIT $3;

-- name: get
SELECT * FROM rag.jobs WHERE tenant_id = $1 AND id = $2;

-- name: list
-- Newest first; $3 is the last id of the page before, null for the first page.
SELECT * FROM rag.jobs
 WHERE tenant_id = $1 AND ($2::text IS NULL OR status = $2) AND ($3::uuid IS NULL OR id < $3)
 ORDER BY id DESC
 LIMIT $4;

-- name: release_lost
-- Jobs whose worker is gone wait for another one; whose cancellation was asked for, end here. A worker that was only cut off
-- finds that it lost them.
WITH job AS (
    UPDATE rag.jobs
       SET status = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
           finished_at = CASE WHEN cancel_requested THEN clock.present END, lease_until = NULL, worker = NULL
      FROM (SELECT statement_timestamp() AS present) AS clock
     WHERE tenant_id = $1 AND id IN (
           SELECT id FROM rag.jobs
            WHERE tenant_id = $1 AND status = 'running' AND rag.is_past(lease_until, statement_timestamp())
            ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING id, status
), gone AS (
    DELETE FROM rag.uploads AS u USING job
     WHERE u.tenant_id = $1 AND u.job_id = job.id AND job.status = 'cancelled'
)
SELECT id, pg_notify('cairn_jobs', '') FROM job;

-- name: request_cancel
-- A job that nobody runs ends at once, with its uploads; a running one is told through its heartbeat.
WITH job AS (
    UPDATE rag.jobs
       SET cancel_requested = true,
           status = CASE status WHEN 'running' THEN status ELSE 'cancelled' END,
           finished_at = CASE status WHEN 'running' THEN finished_at ELSE clock.present END
      FROM (SELECT statement_timestamp() AS present) AS clock
     WHERE tenant_id = $1 AND id = $2 AND status IN ('queued', 'running', 'parked')
    RETURNING rag.jobs.*
), gone AS (
    DELETE FROM rag.uploads AS u USING job
     WHERE u.tenant_id = $1 AND u.job_id = job.id AND job.status = 'cancelled'
)
SELECT * FROM job;

-- name: revive
-- A parked or failed job is queued once more with its attempts forgotten (its uploads are still there).
WITH job AS (
    UPDATE rag.jobs
       SET status = 'queued', attempts = 0, error = NULL, finished_at = NULL, run_at = statement_timestamp(),
           cancel_requested = false
     WHERE tenant_id = $1 AND id = $2 AND status IN ('parked', 'failed')
    RETURNING *
)
SELECT job.*, pg_notify('cairn_jobs', '') FROM job;

-- name: heartbeat
-- Renews the lease and, where given, stores the progress. No row: the job is no longer this worker's.
UPDATE rag.jobs
   SET lease_until = statement_timestamp() + $5::interval, progress = coalesce($6::jsonb, progress)
 WHERE tenant_id = $1 AND id = $2 AND worker = $3 AND attempts = $4 AND status = 'running'
RETURNING cancel_requested;

-- name: end
-- Parked and failed jobs keep their uploads, because they may be revived; every other end deletes them.
WITH job AS (
    UPDATE rag.jobs
       SET status = $5, result = $6, error = $7, progress = coalesce($8::jsonb, progress),
           finished_at = statement_timestamp(), lease_until = NULL, worker = NULL
     WHERE tenant_id = $1 AND id = $2 AND worker = $3 AND attempts = $4 AND status = 'running'
    RETURNING id, status
), gone AS (
    DELETE FROM rag.uploads AS u USING job
     WHERE u.tenant_id = $1 AND u.job_id = job.id AND job.status NOT IN ('parked', 'failed')
)
SELECT status FROM job;

-- name: requeue
-- Back into the queue after $6; $5 attempts are given back (1 when the worker was only asked to stop).
-- A job whose cancellation was asked for meanwhile ends here.
WITH job AS (
    UPDATE rag.jobs
       SET status = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
           finished_at = CASE WHEN cancel_requested THEN clock.present END,
           attempts = attempts - $5, run_at = clock.present + $6::interval, error = coalesce($7, error),
           lease_until = NULL, worker = NULL
      FROM (SELECT statement_timestamp() AS present) AS clock
     WHERE tenant_id = $1 AND id = $2 AND worker = $3 AND attempts = $4 AND status = 'running'
    RETURNING id, status
), gone AS (
    DELETE FROM rag.uploads AS u USING job
     WHERE u.tenant_id = $1 AND u.job_id = job.id AND job.status = 'cancelled'
)
SELECT job.status, pg_notify('cairn_jobs', '') FROM job;

-- name: claim
SELECT tenant_id, id FROM rag.claim_job($1, $2, $3);

-- name: enter_tenant
-- The rest of the transaction is that tenant's, its own row in rag.tenants included, and sees all that there is.
SELECT set_config('app.tenant', $1, true), set_config('app.principals', '*', true);

-- name: tenant_name
SELECT name FROM rag.tenants WHERE id = $1;

-- name: queue_state
SELECT queued, running, runnable, oldest_runnable_seconds FROM rag.queue_state();

-- name: expire
SELECT tenant_id, id FROM rag.expire_jobs($1, $2);

-- name: add_upload
-- A file that waits for a worker: it goes with its document's transaction, or when its job ends.
INSERT INTO rag.uploads (tenant_id, id, collection_id, job_id, external_id, name, title, media_type, metadata, content,
  access)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: get_upload
SELECT id, collection_id, job_id, external_id, name, title, media_type, metadata, content, access
  FROM rag.uploads
 WHERE tenant_id = $1 AND id = $2;

-- name: list_uploads
-- Small files first; several of one document stay in order of arrival: ids are made one after the other by the process that took
-- them.
SELECT id FROM rag.uploads WHERE tenant_id = $1 AND job_id = $2
 ORDER BY max(octet_length(content)) OVER (PARTITION BY external_id), external_id, id;

-- name: waits_already
SELECT EXISTS (
  SELECT 1 FROM rag.uploads u JOIN rag.jobs j ON j.tenant_id = u.tenant_id AND j.id = u.job_id
   WHERE u.tenant_id = $1 AND u.collection_id = $2 AND u.external_id = ANY ($3::text[]) AND j.status IN ('queued', 'running'));

-- name: queue_of_files
-- Files of the jobs $2 that have not ended, as list_uploads orders them; `place`: from 1 in the job; `ahead`: files of the tenant's
-- jobs that are claimed before, without those that are done.
WITH job AS (
    SELECT j.id, j.status, j.run_at, j.progress, n.files, coalesce((j.progress ->> 'done')::integer, 0) AS done,
           coalesce(sum(n.files - CASE j.status WHEN 'running' THEN coalesce((j.progress ->> 'done')::integer, 0) ELSE 0 END)
             OVER (ORDER BY j.status = 'queued', j.run_at, j.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::integer AS ahead
      FROM rag.jobs AS j
     CROSS JOIN LATERAL (
           SELECT count(*) AS files FROM rag.uploads AS u WHERE u.tenant_id = j.tenant_id AND u.job_id = j.id) AS n
     WHERE j.tenant_id = $1 AND j.status IN ('queued', 'running') AND n.files > 0
)
SELECT job.id AS job_id, u.external_id, octet_length(u.content) AS byte_size, job.status = 'running' AS running, job.done, job.ahead,
       row_number() OVER (PARTITION BY job.id ORDER BY u.largest, u.external_id, u.id)::integer AS place, d.status, d.error,
       (job.progress -> 'shares' ->> u.external_id)::float8 AS share
  FROM job
 CROSS JOIN LATERAL (
       SELECT u.*, max(octet_length(u.content)) OVER (PARTITION BY u.external_id) AS largest
         FROM rag.uploads AS u WHERE u.tenant_id = $1 AND u.job_id = job.id) AS u
  LEFT JOIN rag.documents AS d ON d.tenant_id = $1 AND d.collection_id = u.collection_id AND d.external_id = u.external_id
 WHERE job.id = ANY ($2::uuid[])
 ORDER BY job.ahead, job.id, place;
