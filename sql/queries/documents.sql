-- Documents, their text, passages and chunks.

-- name: register
-- The rows of identities, made where they are new, locked until the transaction ends, in the order in which all lock them. The
-- assignment is also what locks and returns a row that is there already.
WITH known AS (
  INSERT INTO rag.documents AS d (tenant_id, id, collection_id, external_id, title, version, status, content_hash,
    media_type, metadata, byte_size, origin, access, access_from)
  SELECT $1, n.id, $2, n.external_id, n.title, 0, $3, n.content_hash, n.media_type, n.metadata, n.byte_size, n.origin,
    coalesce(nullif(n.access::text[], '{}'), nullif(r.access, '{}')),
    CASE WHEN coalesce(n.access::text[], '{}') = '{}' THEN r.prefix END
  FROM unnest($4::uuid[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::jsonb[], $10::bigint[], $11::text[], $12::text[])
    AS n (id, external_id, title, content_hash, media_type, metadata, byte_size, origin, access)
  LEFT JOIN rag.rules_of($2, $5::text[]) AS r ON r.external_id = n.external_id
  ORDER BY n.external_id COLLATE "C"
  ON CONFLICT (tenant_id, collection_id, external_id) DO UPDATE SET origin = coalesce(excluded.origin, d.origin),
    formerly = CASE WHEN d.access IS NULL OR d.access_from <> d.external_id OR d.content_hash = excluded.content_hash THEN d.formerly
      ELSE rag.remember_readers(d.formerly, d.content_hash, d.access) END
  RETURNING id, external_id, title, version, status, content_hash, media_type, passage_count, chunk_count, byte_size, metadata,
    loader_revision, access, access_from
)
SELECT k.*, EXISTS (SELECT 1 FROM rag.originals o WHERE o.tenant_id = $1 AND o.document_id = k.id) AS has_file FROM known k

-- name: keeps_address
SELECT rag.keeps_address($1, $2, $3)

-- name: clock
SELECT clock_timestamp()

-- name: is_distributed
SELECT rag.is_distributed()

-- name: set_access
SELECT rag.set_document_access($1, $2, $3)

-- name: restricted_contents
-- Documents with the content of one that has an access list of its own, with that list, null where theirs is of a rule or they have none.
-- A rule for the very name is a list of its own: one that was kept for it. After them, under no name, what such a document held before,
-- unless everybody reads it elsewhere: for whom that list and the one that the document has now both name, or where these have nobody in
-- common for whom it was.
WITH formerly AS MATERIALIZED (
  SELECT DISTINCT ON (f.content) decode(f.content, 'hex') AS content_hash,
    coalesce(nullif(ARRAY(SELECT r FROM unnest(f.readers) AS r WHERE r = ANY (d.access)), '{}'), f.readers) AS access
  FROM rag.documents d
  CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(d.formerly) AS (content text, readers text[])) WITH ORDINALITY AS f (content, readers, place)
  WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.formerly IS NOT NULL
  ORDER BY f.content, f.place, d.external_id COLLATE "C"
)
SELECT found.* FROM (
  SELECT d.content_hash, d.external_id, CASE WHEN coalesce(d.access_from = d.external_id, true) THEN d.access END AS access
  FROM rag.documents d
  WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.content_hash IN (
    SELECT o.content_hash FROM rag.documents o
    WHERE o.tenant_id = $1 AND o.collection_id = $2 AND o.access IS NOT NULL AND coalesce(o.access_from = o.external_id, true))
  UNION ALL
  SELECT f.content_hash, NULL, f.access FROM formerly f
  WHERE NOT EXISTS (
    SELECT 1 FROM rag.documents d
    WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.content_hash = f.content_hash AND d.access IS NULL)
) AS found
ORDER BY found.external_id COLLATE "C" NULLS LAST

-- name: readers_by_name
SELECT external_id, access FROM rag.documents
WHERE tenant_id = $1 AND collection_id = $2 AND external_id = ANY ($3::text[]) AND access IS NOT NULL

-- name: access_of_passage
SELECT d.access FROM rag.passages p JOIN rag.documents d ON d.tenant_id = p.tenant_id AND d.id = p.document_id
WHERE p.tenant_id = $1 AND p.id = $2

-- name: set_metadata
SELECT rag.set_document_metadata($1, $2, $3)

-- name: set_status
-- An indexed version keeps its status while its successor is being made.
UPDATE rag.documents SET status = $4, error = $5, updated_at = now()
WHERE tenant_id = $1 AND collection_id = $2 AND external_id = $3 AND status <> 'indexed'

-- name: keep_alive
UPDATE rag.documents SET updated_at = statement_timestamp()
WHERE tenant_id = $1 AND collection_id = $2 AND external_id = ANY ($3::text[])
  AND status IN ('pending', 'parsing', 'embedding')

-- name: end_abandoned
-- What waits for a job that is queued or running is not abandoned, however long that takes.
UPDATE rag.documents SET status = 'failed', error = $2, updated_at = statement_timestamp()
WHERE tenant_id = $1 AND id IN (
  SELECT d.id FROM rag.documents d
  WHERE d.tenant_id = $1 AND d.status IN ('pending', 'parsing', 'embedding') 
    AND d.updated_at NOT BETWEEN statement_timestamp() - $3::interval AND statement_timestamp() + $3::interval
    AND NOT EXISTS (
      SELECT 1 FROM rag.uploads u JOIN rag.jobs j ON j.tenant_id = u.tenant_id AND j.id = u.job_id
      WHERE u.tenant_id = $1 AND u.collection_id = d.collection_id AND u.external_id = d.external_id
        AND j.status IN ('queued', 'running'))
  ORDER BY d.collection_id, d.external_id COLLATE "C" FOR UPDATE SKIP LOCKED)
RETURNING id

-- name: origins
SELECT external_id, origin FROM rag.documents
WHERE tenant_id = $1 AND collection_id = $2 AND external_id = ANY ($3::text[]) AND origin IS NOT NULL

-- name: under
SELECT id, external_id, origin FROM rag.documents
WHERE tenant_id = $1 AND collection_id = $2 AND origin IS NOT NULL
  AND EXISTS (SELECT 1 FROM unnest($3::text[]) AS named (path)
              WHERE origin = named.path OR starts_with(origin, rtrim(named.path, '/') || '/'))
ORDER BY external_id COLLATE "C"

-- name: prepare_stage
SELECT rag.prepare_stage()

-- name: publish
SELECT document_id, version FROM rag.publish_documents($1, $2, $3, $4)

-- name: republish
SELECT rag.republish_document($1, $2, $3, $4, $5, $6)

-- name: remove
SELECT rag.remove_document($1, $2)

-- name: get
SELECT d.id, c.name AS collection, d.external_id, d.title, d.version, d.status, d.media_type, d.language, d.metadata,
  d.error, d.byte_size, d.passage_count, d.chunk_count, d.token_count, d.created_at, d.updated_at, d.enrichment,
  EXISTS (SELECT 1 FROM rag.originals o WHERE o.tenant_id = d.tenant_id AND o.document_id = d.id) AS has_file, d.access,
  d.access_from
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.id = $3

-- name: collection_of
SELECT c.name FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND d.id = $2

-- name: wanted
-- Documents that meet everything that is given (null: any): $3 ids, $4 external ids, $5 what title or external id contain, $6
-- states, $7 media type, $8 what the metadata contain, $9 since when they changed, $10 words that stand in them, one after the
-- other in any inflection, $11 principals of whom one may read it. The two statements below stand behind it.
WITH mentioning AS MATERIALIZED (
  -- The function reads the index of the words, which row security keeps from this statement. It lets pass what has no word.
  -- Each one is looked up by its id, however many the planner expects.
  SELECT DISTINCT found.document_id
  FROM rag.scope_passages(ARRAY[$2::uuid], jsonb_build_object('inclusive', true, 'must_not', '[]'::jsonb,
    'must', jsonb_build_array(jsonb_build_object('field', 'text', 'value', $10::text)))) AS s
  CROSS JOIN LATERAL (
    SELECT p.document_id FROM rag.passages p
    WHERE p.tenant_id = $1 AND p.id = s.passage_id AND p.search_vector @@ phraseto_tsquery(rag.config_named(p.regconfig), $10::text) OFFSET 0) AS found
  WHERE $10::text IS NOT NULL
), wanted AS (
  SELECT d.id, c.name AS collection, d.external_id, d.title, d.version, d.status, d.media_type, d.language, d.metadata,
    d.error, d.byte_size, d.passage_count, d.chunk_count, d.token_count, d.created_at, d.updated_at, d.enrichment,
    EXISTS (SELECT 1 FROM rag.originals o WHERE o.tenant_id = d.tenant_id AND o.document_id = d.id) AS has_file, d.access,
    d.access_from
  FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
  WHERE d.tenant_id = $1 AND d.collection_id = $2
    AND ($3::uuid[] IS NULL OR d.id = ANY ($3::uuid[]))
    AND ($4::text[] IS NULL OR d.external_id = ANY ($4::text[]))
    AND ($5::text IS NULL OR strpos(lower(d.title), lower($5)) > 0 OR strpos(lower(d.external_id), lower($5)) > 0)
    AND ($6::text[] IS NULL OR d.status = ANY ($6::text[]))
    AND ($7::text IS NULL OR d.media_type = $7::text)
    AND ($8::jsonb IS NULL OR d.metadata @> $8::jsonb)
    AND ($9::timestamptz IS NULL OR d.updated_at >= $9::timestamptz)
    AND ($10::text IS NULL OR d.id IN (SELECT m.document_id FROM mentioning m))
    AND ($11::text[] IS NULL OR d.access IS NULL OR d.access && $11::text[]))

-- name: page
-- As the index has them, $12 at most, after the external id $13.
SELECT * FROM wanted WHERE external_id > $13 ORDER BY external_id LIMIT $12

-- name: page_sorted
-- $12 at most; $13: by what they are sorted; $14: downwards; $15 and $16: sort value and external id of the one after which it goes
-- on, null at the beginning.
SELECT w.* FROM wanted w
CROSS JOIN LATERAL (SELECT CASE $13::text
  WHEN 'title' THEN lower(w.title)
  WHEN 'created_at' THEN to_char(w.created_at AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSUS')
  WHEN 'updated_at' THEN to_char(w.updated_at AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSUS')
  WHEN 'byte_size' THEN lpad(w.byte_size::text, 20, '0')
  ELSE w.external_id END AS value) AS sorted
CROSS JOIN LATERAL (SELECT CASE $13::text WHEN 'title' THEN lower($15::text) ELSE $15::text END AS value) AS last
WHERE CASE
  WHEN $16::text IS NULL THEN true
  WHEN $14::boolean THEN (sorted.value, w.external_id) < (last.value, $16::text)
  ELSE (sorted.value, w.external_id) > (last.value, $16::text) END
ORDER BY CASE WHEN NOT $14::boolean THEN sorted.value END, CASE WHEN $14::boolean THEN sorted.value END DESC,
  CASE WHEN NOT $14::boolean THEN w.external_id END, CASE WHEN $14::boolean THEN w.external_id END DESC
LIMIT $12

-- name: id_of
SELECT id FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND external_id = $3

-- name: lock
-- In the order in which uploads lock them.
SELECT id, metadata FROM rag.documents WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
ORDER BY collection_id, external_id COLLATE "C" FOR UPDATE

-- name: set_title
UPDATE rag.documents SET title = $3, updated_at = now() WHERE tenant_id = $1 AND id = $2

-- name: stored
SELECT id, external_id, title, version, media_type, language, content_hash, enrichment
FROM rag.documents WHERE tenant_id = $1 AND id = $2 AND status = 'indexed'

-- name: text_range
-- From code point $3 on, $4 of them at most.
SELECT version, length(text) AS length, substr(text, $3::integer + 1, $4::integer) AS part
FROM rag.document_texts WHERE tenant_id = $1 AND document_id = $2

-- name: text
SELECT version, text FROM rag.document_texts WHERE tenant_id = $1 AND document_id = $2

-- name: stale
-- Indexed documents after $3 that were last written before $4 and not before $5, where these are given: what a reindexing has
-- still to look at.
SELECT d.id, d.external_id, d.title, d.version, d.media_type, d.language, d.content_hash, d.enrichment
FROM rag.documents d
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.id > $3 AND d.status = 'indexed'
  AND ($4::timestamptz IS NULL OR d.updated_at < $4) AND ($5::timestamptz IS NULL OR d.updated_at >= $5)
ORDER BY d.id LIMIT $6

-- name: outdated
-- Indexed documents after $3 that loaders before revision $4 read.
SELECT d.id, d.external_id, d.title, d.version, d.media_type, d.language, d.content_hash, d.enrichment, d.byte_size, d.chunk_count,
  d.origin, EXISTS (SELECT 1 FROM rag.originals o WHERE o.tenant_id = d.tenant_id AND o.document_id = d.id) AS has_file
FROM rag.documents d
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.id > $3 AND d.status = 'indexed' AND d.loader_revision < $4
ORDER BY d.id LIMIT $5

-- name: which_outdated
SELECT id FROM rag.documents WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND status = 'indexed' AND loader_revision < $3

-- name: count_older
-- Indexed documents that loaders before revision $3 read, and those of the others whose graph, symbols and cells were made by
-- rules before revision $4: who reads a document anew makes these as well.
SELECT count(*) FILTER (WHERE loader_revision < $3) AS read,
  count(*) FILTER (WHERE loader_revision >= $3 AND derived_revision < $4) AS derived
FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND status = 'indexed'

-- name: derived_revision
SELECT derived_revision FROM rag.documents WHERE tenant_id = $1 AND id = $2

-- name: mark_derived
UPDATE rag.documents SET derived_revision = $4
WHERE tenant_id = $1 AND id = $2 AND version = $3 AND derived_revision < $4

-- name: lock_version
SELECT metadata FROM rag.documents WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'indexed' FOR UPDATE

-- name: mark_read
UPDATE rag.documents SET loader_revision = $3 WHERE tenant_id = $1 AND id = $2 AND loader_revision < $3

-- name: indexed_passages
SELECT char_start, char_end, page, headings, landmarks, token_count, search_terms,
  rag.config_named(regconfig)::text AS config  -- as settings name it
FROM rag.passages WHERE tenant_id = $1 AND document_id = $2 ORDER BY ordinal

-- name: indexed_chunks
SELECT c.char_start, c.char_end, c.headings, c.token_counter, c.content, e.content_hash
FROM rag.chunks c LEFT JOIN rag.embeddings e ON e.tenant_id = $1 AND e.chunk_id = c.id AND e.model_id = $3
WHERE c.tenant_id = $1 AND c.document_id = $2 ORDER BY c.ordinal

-- name: versions
SELECT id, version FROM rag.documents WHERE tenant_id = $1 AND id = ANY ($2::uuid[])

-- name: hold
-- Those that are there; none of them can be deleted before this transaction ends. In the order in which uploads lock them.
SELECT id FROM rag.documents WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
ORDER BY collection_id, external_id COLLATE "C" FOR KEY SHARE

-- name: heirs
-- Documents that came with the same content since then, or have it since, and have no list of their own.
SELECT h.id, h.access FROM rag.documents d
JOIN rag.documents h ON h.tenant_id = $1 AND h.collection_id = d.collection_id AND h.content_hash = d.content_hash AND h.id <> d.id
WHERE d.tenant_id = $1 AND d.id = $2 AND (h.created_at >= $3 OR (h.version > 1 AND h.updated_at >= $3))
  AND (h.access IS NULL OR h.access_from IS NOT NULL)
ORDER BY h.external_id COLLATE "C"

-- name: readers_of
-- Of a document that not everybody may read.
SELECT external_id, access, access_from IS NULL AS own FROM rag.documents WHERE tenant_id = $1 AND id = $2 AND access IS NOT NULL
