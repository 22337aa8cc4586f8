-- Sources of documents, and what was seen of their files. All times are the database's. No statement here but `secrets` reads what is sealed.

-- name: lock_collection
SELECT id FROM rag.collections WHERE tenant_id = $1 AND id = $2 FOR UPDATE

-- name: prefixes
SELECT id, prefix, address FROM rag.sources WHERE tenant_id = $1 AND collection_id = $2 ORDER BY prefix COLLATE "C"

-- name: add
INSERT INTO rag.sources (tenant_id, id, collection_id, address, prefix, options, secret_names, interval_seconds, access, most_deleted,
  requests_per_second, replaces, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
  CASE WHEN $8::integer > 0 THEN statement_timestamp() + make_interval(secs => $8::integer) END)

-- name: shelters_others
-- Whether documents that are not of the source have their access list from the rule of a folder ($3).
SELECT EXISTS (
  SELECT 1 FROM rag.documents d
  WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.access_from = $3
    AND NOT EXISTS (
      SELECT 1 FROM rag.source_files f
      WHERE f.tenant_id = $1 AND f.source_id = $4 AND f.external_id = d.external_id AND f.state NOT IN ('skipped', 'foreign')))

-- name: seal
INSERT INTO rag.source_secrets (tenant_id, source_id, sealed) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, source_id) DO UPDATE SET sealed = excluded.sealed

-- name: unseal
DELETE FROM rag.source_secrets WHERE tenant_id = $1 AND source_id = $2

-- name: secrets
SELECT sealed FROM rag.source_secrets WHERE tenant_id = $1 AND source_id = $2

-- name: sealed
SELECT source_id, sealed FROM rag.source_secrets WHERE tenant_id = $1 ORDER BY source_id FOR UPDATE

-- name: list
-- $2: one of them, or null for all.
SELECT s.id, c.name AS collection, s.collection_id, s.address, s.prefix, s.options, s.secret_names, s.interval_seconds, s.access,
  s.most_deleted, s.requests_per_second, s.replaces, s.paused, s.note, s.created_at, s.due_at, s.last_started_at,
  s.last_finished_at, s.last_error, s.failures, s.empty_listings, s.counts, s.job_id,
  coalesce(j.status IN ('queued', 'running'), false) AS running,
  (SELECT count(*) FROM rag.source_files f WHERE f.tenant_id = $1 AND f.source_id = s.id) AS files,
  (SELECT count(*) FROM rag.source_files f WHERE f.tenant_id = $1 AND f.source_id = s.id AND f.state IN ('failed', 'foreign')) AS failed
  FROM rag.sources s
  JOIN rag.collections c ON c.tenant_id = s.tenant_id AND c.id = s.collection_id
  LEFT JOIN rag.jobs j ON j.tenant_id = s.tenant_id AND j.id = s.job_id
 WHERE s.tenant_id = $1 AND ($2::uuid IS NULL OR s.id = $2)
 ORDER BY s.id

-- name: change
UPDATE rag.sources SET options = $3, secret_names = $4, interval_seconds = $5, access = $6, most_deleted = $7,
  requests_per_second = $8, paused = $9, note = CASE WHEN $9 THEN note END,
  due_at = CASE WHEN $5::integer > 0 THEN least(due_at, statement_timestamp() + make_interval(secs => $5)) END
 WHERE tenant_id = $1 AND id = $2

-- name: pause
-- What is paused already keeps the note that says why: some are resumed by few alone.
UPDATE rag.sources SET paused = true, note = CASE WHEN paused THEN coalesce(note, $3) ELSE $3 END WHERE tenant_id = $1 AND id = $2

-- name: unfinished_job
-- The job with the key $2 that waits or is at work: there is one at most.
SELECT id FROM rag.jobs WHERE tenant_id = $1 AND dedupe_key = $2 AND status IN ('queued', 'running')

-- name: lock
-- Whoever enqueues a synchronisation notes it at the source, and whoever begins one does.
SELECT id FROM rag.sources WHERE tenant_id = $1 AND id = $2 FOR UPDATE

-- name: remove
DELETE FROM rag.sources WHERE tenant_id = $1 AND id = $2

-- name: tenants_with_due
SELECT tenant_id FROM rag.tenants_with_due_sources() AS tenant_id

-- name: take_due
-- What is due is put off by its interval, and a tenth more or less long, so that what was added together is not read together.
UPDATE rag.sources AS s
   SET due_at = statement_timestamp() + make_interval(secs => s.interval_seconds * (0.95 + 0.1 * random()))
 WHERE s.tenant_id = $1 AND s.id IN (
       SELECT id FROM rag.sources
        WHERE tenant_id = $1 AND NOT paused AND interval_seconds > 0
          AND rag.is_due(due_at, interval_seconds, statement_timestamp())
        ORDER BY id FOR UPDATE SKIP LOCKED)
RETURNING s.id, s.collection_id

-- name: note_job
UPDATE rag.sources SET job_id = $3 WHERE tenant_id = $1 AND id = $2

-- name: begin
UPDATE rag.sources SET last_started_at = statement_timestamp() WHERE tenant_id = $1 AND id = $2

-- name: end
UPDATE rag.sources SET last_finished_at = statement_timestamp(), last_error = NULL, failures = 0, counts = $3, empty_listings = $4,
  paused = paused OR $5, note = $6
 WHERE tenant_id = $1 AND id = $2

-- name: hold_up
-- A worker could not do it, another one may: its turn does not change.
UPDATE rag.sources SET last_error = $3 WHERE tenant_id = $1 AND id = $2

-- name: fail
-- Twice as long after each failure, a day at most unless the interval is longer; not before the source said ($4, seconds).
UPDATE rag.sources SET last_error = $3, failures = failures + 1,
  due_at = CASE WHEN interval_seconds > 0 THEN statement_timestamp() + make_interval(secs => greatest($4::float8,
    least(interval_seconds * 2.0 ^ least(failures, 20), greatest(interval_seconds, 86400)))) END
 WHERE tenant_id = $1 AND id = $2

-- name: known
-- arrived: it was read since the last synchronisation that came to its end, by one that had its turn or broke off.
-- passed_over: it led elsewhere (version $4) since the time $3.
SELECT path, external_id, version, content_id, state, state = 'indexed'
    AND seen_at >= coalesce((SELECT last_finished_at FROM rag.sources WHERE tenant_id = $1 AND id = $2), '-infinity') AS arrived,
  version = $4 AND seen_at >= $3 AS passed_over
  FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2

-- name: elsewhere
-- Those with the version $3.
SELECT count(*)::integer AS files, (array_agg(error ORDER BY path COLLATE "C"))[1] AS first
  FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2 AND version = $3

-- name: leave_out
UPDATE rag.source_files SET state = 'skipped', content_id = NULL WHERE tenant_id = $1 AND source_id = $2 AND path = $3

-- name: claim
-- Files that are read next: paths $4 with ids $5. An id that some other document has is somebody else's, unless the source takes
-- its place ($6). What was claimed before stays as it was until it is recorded, so that a run that dies is repeated.
INSERT INTO rag.source_files AS f (tenant_id, source_id, path, external_id, version, state, error)
SELECT $1, $2, n.path, n.external_id, '', CASE WHEN $6::boolean OR d.id IS NULL THEN 'reading' ELSE 'foreign' END,
  CASE WHEN NOT $6::boolean AND d.id IS NOT NULL THEN $7::text END
  FROM unnest($4::text[], $5::text[]) AS n (path, external_id)
  LEFT JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = $3 AND d.external_id = n.external_id
ON CONFLICT (tenant_id, source_id, path) DO UPDATE
   SET state = CASE WHEN f.state = 'foreign' THEN excluded.state ELSE f.state END,
       error = CASE WHEN f.state = 'foreign' THEN excluded.error ELSE f.error END
RETURNING path, state

-- name: record
-- How reading went, a file each: paths $3, versions, ids of their contents, states, errors.
UPDATE rag.source_files AS f
   SET version = n.version, content_id = n.content_id, state = n.state, error = n.error, seen_at = statement_timestamp()
  FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS n (path, version, content_id, state, error)
 WHERE f.tenant_id = $1 AND f.source_id = $2 AND f.path = n.path

-- name: forget
DELETE FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2 AND path = $3

-- name: failed
SELECT path, external_id, error, seen_at FROM rag.source_files
 WHERE tenant_id = $1 AND source_id = $2 AND state IN ('failed', 'foreign')
 ORDER BY path COLLATE "C" LIMIT $3

-- name: documents
-- Of files that are its own, a page after the path $3.
SELECT path, external_id FROM rag.source_files
 WHERE tenant_id = $1 AND source_id = $2 AND state NOT IN ('skipped', 'foreign') AND path COLLATE "C" > $3
 ORDER BY path COLLATE "C" LIMIT $4
