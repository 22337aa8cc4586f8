-- Every call of files of code (rag.code_calls): one row a file, the calls in arrays; app/cairn/store/code_calls.py.

-- name: write
-- The tenant is that of the transaction, as of all that a document is published with.
INSERT INTO rag.code_calls AS c (tenant_id, collection_id, document_id, names, sources, targets, starts, ends)
VALUES (rag.current_tenant(), $1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, document_id) DO UPDATE
SET names = excluded.names, sources = excluded.sources, targets = excluded.targets, starts = excluded.starts,
    ends = excluded.ends

-- name: forget
DELETE FROM rag.code_calls WHERE tenant_id = rag.current_tenant() AND document_id = ANY ($1::uuid[])

-- name: of_document
SELECT s.* FROM rag.code_calls c
CROSS JOIN LATERAL unnest(c.names, c.sources, c.targets, c.starts, c.ends) AS s (name, source, target, char_start, char_end)
WHERE c.tenant_id = $1 AND c.document_id = $2

-- name: read
-- Whether the calls of a document were read.
SELECT EXISTS (SELECT 1 FROM rag.code_calls c WHERE c.tenant_id = $1 AND c.document_id = $2)

-- name: of_name
-- Calls by a name, or of what has it and is called otherwise here (`from a import b as c`), at most $4, in order of files and
-- places.
SELECT c.document_id, d.external_id, s.* FROM rag.code_calls c
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = c.document_id
CROSS JOIN LATERAL unnest(c.names, c.sources, c.targets, c.starts, c.ends) AS s (name, source, target, char_start, char_end)
WHERE c.tenant_id = $1 AND c.collection_id = ANY ($2::uuid[])
  AND (s.name = $3 OR right(s.target, length($3) + 1) IN ('.' || $3, ':' || $3))
ORDER BY d.external_id COLLATE "C", s.char_start, s.char_end LIMIT $4

-- name: inside
-- Calls of a document that stand in a definition, or in what is defined in it.
SELECT c.document_id, d.external_id, s.* FROM rag.code_calls c
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = c.document_id
CROSS JOIN LATERAL unnest(c.names, c.sources, c.targets, c.starts, c.ends) AS s (name, source, target, char_start, char_end)
WHERE c.tenant_id = $1 AND c.document_id = $2 AND (s.source = $3 OR starts_with(s.source, $3 || '.'))
ORDER BY s.char_start, s.char_end LIMIT $4

-- name: unread
-- Files of code whose calls are not known, and in whose text the name $4 stands: of a language that is not read, of one that
-- could not be, or indexed before calls were kept.
SELECT d.id, d.external_id, t.text FROM rag.documents d
JOIN rag.document_texts t ON t.tenant_id = $1 AND t.document_id = d.id
WHERE d.tenant_id = $1 AND d.collection_id = ANY ($2::uuid[]) AND d.status = 'indexed' AND d.media_type LIKE 'text/x-%'
  AND d.media_type <> ALL ($3::text[])
  AND strpos(t.text, $4) > 0
  AND NOT EXISTS (SELECT 1 FROM rag.code_calls c WHERE c.tenant_id = $1 AND c.document_id = d.id)
ORDER BY d.external_id COLLATE "C" LIMIT $5
