-- Files that wait for a worker. They go with their document's transaction, or when their job ends (queries/jobs.sql).

-- name: add
INSERT INTO rag.uploads (tenant_id, id, collection_id, job_id, external_id, name, title, media_type, metadata, content)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: get
SELECT id, collection_id, job_id, external_id, name, title, media_type, metadata, content
  FROM rag.uploads
 WHERE tenant_id = $1 AND id = $2;

-- name: of_job
-- In order of arrival: ids are made one after the other by the process that took the files.
SELECT id FROM rag.uploads WHERE tenant_id = $1 AND job_id = $2 ORDER BY id;

-- name: delete
DELETE FROM rag.uploads WHERE tenant_id = $1 AND id = $2 RETURNING id;
