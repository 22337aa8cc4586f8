-- Reading passages for results.

-- name: fetch
SELECT p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
  p.landmarks, p.token_count, d.version, c.name AS collection, d.media_type, d.metadata,
  k.id AS chunk_id, k.char_start AS matched_start, k.char_end AS matched_end
FROM unnest($2::uuid[], $3::uuid[]) AS wanted (passage_id, chunk_id)
-- LIMIT: looked up one by one, by their keys
CROSS JOIN LATERAL (SELECT p.* FROM rag.passages p WHERE p.tenant_id = $1 AND p.id = wanted.passage_id LIMIT 1) AS p
CROSS JOIN LATERAL (SELECT d.* FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = p.document_id LIMIT 1) AS d
JOIN rag.collections c ON c.tenant_id = $1 AND c.id = p.collection_id
LEFT JOIN LATERAL (SELECT k.* FROM rag.chunks k WHERE k.tenant_id = $1 AND k.id = wanted.chunk_id LIMIT 1) AS k ON true

-- name: openings
-- The first passage of each of the documents $2.
SELECT p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
  p.landmarks, p.token_count, d.version, c.name AS collection, d.media_type, d.metadata,
  NULL::uuid AS chunk_id, NULL::integer AS matched_start, NULL::integer AS matched_end
FROM rag.passages p
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
JOIN rag.collections c ON c.tenant_id = $1 AND c.id = p.collection_id
WHERE p.tenant_id = $1 AND p.document_id = ANY ($2::uuid[]) AND p.ordinal = 0

-- name: in_order
-- Passages of some documents ($3, or all) as one reads them. Where they have more than $4 tokens, as large a share of them
-- as fits, evenly spread.
WITH scope AS (
  SELECT p.id, d.external_id, p.ordinal, p.token_count,
    row_number() OVER (ORDER BY d.external_id, p.ordinal) AS place,
    count(*) OVER () AS total, sum(p.token_count) OVER () AS tokens
  FROM rag.collections c
  JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = d.id
  WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND d.metadata @> $5
    AND ($3::uuid[] IS NULL OR d.id = ANY ($3))
), chosen AS (
  SELECT id, place, total FROM scope
  WHERE tokens <= $4
    OR floor(place * $4::float8 / tokens) > floor((place - 1) * $4::float8 / tokens)
)
SELECT p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
  p.landmarks, p.token_count, d.version, c.name AS collection, d.media_type, d.metadata,
  NULL::uuid AS chunk_id, NULL::integer AS matched_start, NULL::integer AS matched_end, chosen.total
FROM chosen
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = chosen.id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
JOIN rag.collections c ON c.tenant_id = $1 AND c.id = p.collection_id
ORDER BY chosen.place

-- name: marks_behind
-- Where sections begin, or go on in another passage, in a document from a place on, with their headings; at most $4. Each passage
-- has one at its beginning, so that behind the first $4 of them none is needed.
SELECT DISTINCT (mark ->> 0)::integer AS start, (mark ->> 1)::integer AS page, mark -> 2 AS headings
FROM (
  SELECT p.landmarks FROM rag.passages p
  WHERE p.tenant_id = $1 AND p.document_id = $2 AND p.char_end > $3 ORDER BY p.ordinal LIMIT $4 + 1
) AS p
CROSS JOIN jsonb_array_elements(p.landmarks) AS mark
WHERE (mark ->> 0)::integer >= $3
ORDER BY start
LIMIT $4

-- name: text_between
-- The text of a version of a document between two places, in code points; none of a version that is no more.
SELECT substring(t.text FROM $4::integer + 1 FOR $5::integer - $4::integer)
FROM rag.document_texts t
WHERE t.tenant_id = $1 AND t.document_id = $2 AND t.version = $3

-- name: chunks_at
-- Of each place of a passage the chunk that begins last at or before it, else the first of the passage.
SELECT DISTINCT ON (place.n) place.n, k.id
FROM unnest($2::uuid[], $3::integer[]) WITH ORDINALITY AS place (passage_id, at, n)
JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = place.passage_id
ORDER BY place.n, k.char_start > place.at, CASE WHEN k.char_start > place.at THEN k.char_start ELSE -k.char_start END

-- name: chunk_vectors
-- Vectors of the chunks of some passages, as the collection's own model made them, in order within each.
SELECT k.passage_id, k.char_start, k.char_end, e.model_id, e.embedding
FROM rag.chunks k
JOIN rag.embeddings e ON e.tenant_id = $1 AND e.chunk_id = k.id AND e.model_id = (
  SELECT coalesce(c.model_id, e.model_id) FROM rag.collections c WHERE c.tenant_id = $1 AND c.id = k.collection_id)
WHERE k.tenant_id = $1 AND k.passage_id = ANY ($2::uuid[])
ORDER BY k.passage_id, k.char_start
