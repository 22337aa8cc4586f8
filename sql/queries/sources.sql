-- Sources that collections follow, within one tenant. No statement takes an instant from the app: all are the database's.

-- name: add
INSERT INTO rag.sources (tenant_id, id, collection_id, address, prefix, options, sealed, secrets, every, most_deleted, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::interval, $10, statement_timestamp() + $9::interval);

-- name: list
SELECT s.*, c.name AS collection FROM rag.sources AS s
  JOIN rag.collections AS c ON c.tenant_id = s.tenant_id AND c.id = s.collection_id
 WHERE s.tenant_id = $1 AND ($2::uuid IS NULL OR s.collection_id = $2) AND ($3::uuid IS NULL OR s.id = $3)
 ORDER BY s.id;

-- name: sealed
SELECT sealed FROM rag.sources WHERE tenant_id = $1 AND id = $2;

-- name: change
-- Each value as it is to be; the next look follows from now on.
UPDATE rag.sources
   SET options = $3, sealed = $4, secrets = $5, every = $6::interval, most_deleted = $7, paused = $8,
       next_at = statement_timestamp() + $6::interval
 WHERE tenant_id = $1 AND id = $2;

-- name: remove
DELETE FROM rag.sources WHERE tenant_id = $1 AND id = $2;

-- name: begin
-- The next look is set before anything can go wrong; somewhat off, so that sources made together do not come together.
UPDATE rag.sources
   SET started_at = statement_timestamp(), finished_at = NULL,
       next_at = statement_timestamp() + every * (0.95 + 0.1 * random())
 WHERE tenant_id = $1 AND id = $2
RETURNING emptied;

-- name: end
-- $4: looks that failed in a row, this one included; the next one waits twice as long each time, up to a day, at least for $7.
UPDATE rag.sources
   SET finished_at = statement_timestamp(), error = $3, failures = $4, counts = coalesce($5, counts), emptied = $6,
       next_at = CASE WHEN $4 = 0 THEN next_at
                      ELSE statement_timestamp() + greatest(
                          $7::interval, least(every * power(2, least($4 - 1, 16)), greatest(every, interval '1 day'))) END
 WHERE tenant_id = $1 AND id = $2;

-- name: files
SELECT path, version, content_id, error FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2;

-- name: failed_files
SELECT path, version, content_id, error FROM rag.source_files
 WHERE tenant_id = $1 AND source_id = $2 AND error IS NOT NULL
 ORDER BY path LIMIT $3;

-- name: count_files
SELECT count(*) FILTER (WHERE error IS NULL) AS documents, count(error) AS failed
  FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2;

-- name: note
-- Files as they were read. A source that was removed meanwhile has none.
INSERT INTO rag.source_files (tenant_id, source_id, path, version, content_id, error)
SELECT $1, $2, f.path, f.version, f.content_id, f.error
  FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) AS f (path, version, content_id, error)
 WHERE EXISTS (SELECT 1 FROM rag.sources AS s WHERE s.tenant_id = $1 AND s.id = $2)
ON CONFLICT (tenant_id, source_id, path)
DO UPDATE SET version = excluded.version, content_id = excluded.content_id, error = excluded.error;

-- name: forget
DELETE FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2 AND path = ANY ($3);

-- name: forget_failed
DELETE FROM rag.source_files WHERE tenant_id = $1 AND source_id = $2 AND error IS NOT NULL;

-- name: strangers
-- Of these external ids those of documents that somebody else put there.
SELECT external_id FROM rag.documents
 WHERE tenant_id = $1 AND collection_id = $2 AND external_id = ANY ($3) AND metadata ->> 'source' IS DISTINCT FROM $4;

-- name: documents
-- Of these external ids the documents of the source.
SELECT id FROM rag.documents
 WHERE tenant_id = $1 AND collection_id = $2 AND external_id = ANY ($3) AND metadata ->> 'source' = $4;

-- name: all_documents
SELECT id FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND metadata ->> 'source' = $3;

-- name: due
SELECT tenant_id, id FROM rag.due_sources($1);
