-- Contexts of chunks (rag.chunk_contexts), and documents that are not embedded with them.

-- name: pending
-- Indexed documents after $3 that are embedded without what the writer $4 wrote, or with chunks that lack it for the reason $6,
-- which may pass. `own`: whether who has the names $7 may read it, on whose key it is counted then.
SELECT d.id, d.version, d.title, d.media_type, d.enrichment, d.access IS NULL OR d.access && $7::text[] AS own, d.access FROM rag.documents d
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.id > $3 AND d.status = 'indexed'
  AND (d.enrichment ->> 'writer' IS DISTINCT FROM $4 OR d.enrichment -> 'without' ? $6)
ORDER BY d.id LIMIT $5

-- name: left
SELECT count(*) FROM rag.documents d
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.status = 'indexed'
  AND (d.enrichment ->> 'writer' IS DISTINCT FROM $3 OR d.enrichment -> 'without' ? $4)

-- name: chunks
-- With the hash of what model $3 embedded.
SELECT c.id, c.passage_id, c.char_start, c.char_end, c.headings, c.content, k.content_hash AS key, e.content_hash
FROM rag.chunks c JOIN rag.chunk_context_keys($2) AS k ON k.chunk_id = c.id
LEFT JOIN rag.embeddings e ON e.tenant_id = $1 AND e.chunk_id = c.id AND e.model_id = $3
WHERE c.tenant_id = $1 AND c.document_id = $2 ORDER BY c.ordinal

-- name: cached
-- For document $4: of documents that everybody may read who may read that, for who pays for a call learns that the text is new.
SELECT DISTINCT ON (e.content_hash) e.content_hash, e.context, e.reason FROM rag.chunk_contexts e
JOIN rag.documents k ON k.tenant_id = $1 AND k.id = e.document_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = $4
WHERE e.tenant_id = $1 AND e.content_hash = ANY ($2::bytea[]) AND e.writer = $3
  AND (k.access IS NULL OR k.access @> d.access OR k.id = d.id)
ORDER BY e.content_hash

-- name: forget
-- What an earlier release kept for a reason that may pass.
DELETE FROM rag.chunk_contexts
WHERE tenant_id = (SELECT rag.current_tenant()) AND document_id = $1 AND writer = $2 AND content_hash = ANY ($3::bytea[])
  AND reason = $4

-- name: keep
SELECT rag.keep_contexts($1, $2, $3, $4::bytea[], $5::text[], $6::text[])

-- name: hold
-- The document, locked, where it is still this version with these chunks.
SELECT ARRAY(SELECT c.id FROM rag.chunks c WHERE c.tenant_id = $1 AND c.document_id = $2 ORDER BY c.ordinal) AS chunks
FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = $2 AND d.version = $3 AND d.status = 'indexed' FOR UPDATE

-- name: put_vectors
INSERT INTO rag.embeddings AS e
  (tenant_id, chunk_id, model_id, document_id, collection_id, passage_id, content_hash, embedding, own)
SELECT $1, v.chunk_id, $2, $3, $4, c.passage_id, v.content_hash, v.embedding, (SELECT rag.has_own_index($1, $4, $2))
FROM unnest($5::uuid[], $6::bytea[], $7::halfvec[]) AS v (chunk_id, content_hash, embedding)
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = v.chunk_id
ON CONFLICT (tenant_id, chunk_id, model_id) DO UPDATE
SET content_hash = excluded.content_hash, embedding = excluded.embedding
WHERE e.content_hash <> excluded.content_hash

-- name: mark
UPDATE rag.documents SET enrichment = $3 WHERE tenant_id = $1 AND id = $2

-- name: renew
-- From here on the lock of the collection is held, until the commit: no model can be added meanwhile.
UPDATE rag.collections SET epoch = epoch + 1 WHERE tenant_id = $1 AND id = $2

-- name: place
SELECT rag.place_vectors($1, $2::uuid[])

-- name: applied
-- Contexts that chunks of these documents are embedded with.
SELECT k.chunk_id, x.context FROM rag.documents d CROSS JOIN LATERAL rag.chunk_context_keys(d.id) AS k
JOIN rag.chunk_contexts x ON x.tenant_id = $1 AND x.document_id = d.id AND x.content_hash = k.content_hash
  AND x.writer = d.enrichment ->> 'writer'
WHERE d.tenant_id = $1 AND d.id = ANY ($2::uuid[])
