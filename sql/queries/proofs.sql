-- What a proof of an answer says of the rows that lead from the answer to the documents.

-- name: documents
-- As they are now: SHA-256 of the kept file and of the normalised text.
SELECT d.id, c.name AS collection, d.external_id, d.title, d.version, d.media_type, length(x.text) AS length,
  encode(sha256(o.content), 'hex') AS file_sha256, encode(sha256(convert_to(x.text, 'UTF8')), 'hex') AS text_sha256
FROM rag.documents d
JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
LEFT JOIN rag.document_texts x ON x.tenant_id = d.tenant_id AND x.document_id = d.id AND x.version = d.version
LEFT JOIN rag.originals o ON o.tenant_id = d.tenant_id AND o.document_id = d.id
WHERE d.tenant_id = $1 AND d.id = ANY ($2::uuid[])

-- name: passages
-- Those that are there; one that is belongs to the present version of its document.
SELECT p.id, p.document_id, d.version, p.char_start AS start, p.char_end AS "end", p.page, p.content AS text
FROM rag.passages p JOIN rag.documents d ON d.tenant_id = p.tenant_id AND d.id = p.document_id
WHERE p.tenant_id = $1 AND p.id = ANY ($2::uuid[])

-- name: quotes
-- The words at code points $4 to $5 of version $3 of documents $2, one by one; null where the text is of another version.
SELECT substr(x.text, wanted.first + 1, wanted.last - wanted.first) AS quote
FROM unnest($2::uuid[], $3::integer[], $4::integer[], $5::integer[]) WITH ORDINALITY AS wanted (id, version, first, last, place)
LEFT JOIN rag.document_texts x ON x.tenant_id = $1 AND x.document_id = wanted.id AND x.version = wanted.version
ORDER BY wanted.place

-- name: chunks
-- Of passages $2, those in which code points $3 to $4 lie.
SELECT wanted.place::integer - 1 AS place, k.id, k.char_start AS start, k.char_end AS "end"
FROM unnest($2::uuid[], $3::integer[], $4::integer[]) WITH ORDINALITY AS wanted (passage_id, first, last, place)
JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = wanted.passage_id
  AND k.char_start < wanted.last AND k.char_end > wanted.first
ORDER BY wanted.place, k.char_start, k.id

-- name: collections
-- Their present epoch, and the embedding model that serves them.
SELECT c.name, c.epoch, m.name AS embedding_model
FROM rag.collections c LEFT JOIN rag.embedding_models m ON m.id = c.model_id
WHERE c.tenant_id = $1 AND c.name = ANY ($2::text[])

-- name: texts
SELECT document_id AS id, version, text FROM rag.document_texts WHERE tenant_id = $1 AND document_id = ANY ($2::uuid[])
