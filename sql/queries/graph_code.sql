-- Symbols of code: definitions (family code) and names that files refer to (family reference); app/cairn/graph/code/rows.py.

-- name: called
-- Symbols with one of the forms $3 as a name. Where $4 is not empty, definitions only of files whose path has it.
SELECT DISTINCT a.collection_id, a.id, a.family, a.normal, a.kind, a.form
FROM unnest($2::uuid[]) AS c (id) CROSS JOIN unnest($3::text[]) AS f (form) CROSS JOIN LATERAL (
  SELECT a.collection_id, e.id, e.family, e.normal, e.kind, a.form
  FROM rag.entity_aliases a JOIN rag.entities e ON e.tenant_id = $1 AND e.id = a.entity_id
  WHERE a.tenant_id = $1 AND a.collection_id = c.id AND a.form = f.form
    AND (e.family = 'reference' OR e.family = 'code' AND ($4 = '' OR strpos(e.normal, $4) > 0))
  LIMIT $5
) AS a

-- name: every_definition
SELECT e.id, e.normal, e.kind FROM rag.entities e
WHERE e.tenant_id = $1 AND e.collection_id = $2 AND e.family = 'code'

-- name: every_tie
-- What files import and classes inherit from, by names.
SELECT r.kind AS relation, s.normal AS source, t.normal AS target, t.family = 'code' AS defined
FROM rag.relations r
JOIN rag.entities s ON s.tenant_id = $1 AND s.id = r.source_id AND s.family = 'code'
JOIN rag.entities t ON t.tenant_id = $1 AND t.id = r.target_id
WHERE r.tenant_id = $1 AND r.collection_id = $2 AND r.kind IN ('imports', 'inherits')
ORDER BY s.normal, t.normal

-- name: begin
-- Definitions with a name that begins with $3; $4 is the end of the range.
SELECT DISTINCT a.collection_id, e.id, e.family, e.normal, e.kind, a.form
FROM unnest($2::uuid[]) AS c (id) CROSS JOIN LATERAL (
  SELECT a.collection_id, a.entity_id, a.form FROM rag.entity_aliases a
  WHERE a.tenant_id = $1 AND a.collection_id = c.id AND a.form >= $3 AND a.form < $4
    AND a.kind IN ('module', 'class', 'function', 'method')
  ORDER BY a.form LIMIT $5
) AS a JOIN rag.entities e ON e.tenant_id = $1 AND e.id = a.entity_id AND e.family = 'code'

-- name: within
-- Definitions with $3 somewhere in a name: every name of the collections is looked at, the last resort.
SELECT DISTINCT a.collection_id, e.id, e.family, e.normal, e.kind, a.form
FROM unnest($2::uuid[]) AS c (id) CROSS JOIN LATERAL (
  SELECT a.collection_id, a.entity_id, a.form FROM rag.entity_aliases a
  WHERE a.tenant_id = $1 AND a.collection_id = c.id AND strpos(a.form, $3) > 0
    AND a.kind IN ('module', 'class', 'function', 'method')
  ORDER BY a.form LIMIT $4
) AS a JOIN rag.entities e ON e.tenant_id = $1 AND e.id = a.entity_id AND e.family = 'code'

-- name: definitions
-- Where symbols are defined: the passage that mentions one by its full name holds its beginning, the span all of it.
SELECT m.entity_id, m.passage_id, p.document_id, d.external_id, m.char_start, m.char_end
FROM unnest($2::uuid[]) AS s (id)
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = s.id
CROSS JOIN LATERAL (
  SELECT m.entity_id, m.passage_id, m.char_start, m.char_end FROM rag.mentions m
  WHERE m.tenant_id = $1 AND m.entity_id = e.id AND m.name = e.normal
  ORDER BY m.passage_id LIMIT $3
) AS m
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = m.passage_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
ORDER BY m.entity_id, d.external_id COLLATE "C", m.char_start

-- name: neighbours
-- What symbols are related to, strongest first, at most $3 relations of each, with the passages that prove them.
SELECT s.id AS symbol_id, a.neighbour_id, NOT a.outgoing AS incoming, r.kind AS relation, e.family, e.normal, e.kind,
  v.passage_id, p.document_id, d.external_id, v.char_start, v.char_end
FROM unnest($2::uuid[]) AS s (id) CROSS JOIN LATERAL (
  SELECT a.relation_id, a.neighbour_id, a.outgoing FROM rag.adjacency a
  WHERE a.tenant_id = $1 AND a.node_id = s.id
  ORDER BY a.weight DESC, a.neighbour_id LIMIT $3
) AS a
JOIN rag.relations r ON r.tenant_id = $1 AND r.id = a.relation_id AND r.kind IN ('contains', 'imports', 'calls', 'inherits')
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = a.neighbour_id
CROSS JOIN LATERAL (
  SELECT v.passage_id, v.char_start, v.char_end FROM rag.evidence v
  WHERE v.tenant_id = $1 AND v.relation_id = a.relation_id ORDER BY v.strength DESC, v.passage_id LIMIT $3
) AS v
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = v.passage_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id

-- name: degrees
-- How many relations symbols have, counted up to $3.
SELECT s.id, a.relations FROM unnest($2::uuid[]) AS s (id) CROSS JOIN LATERAL (
  SELECT count(*) AS relations FROM (
    SELECT 1 FROM rag.adjacency a WHERE a.tenant_id = $1 AND a.node_id = s.id LIMIT $3) AS few
) AS a

-- name: beginnings
-- Texts of documents up to a code point of each.
SELECT s.document_id, left(t.text, s.place) AS text FROM unnest($2::uuid[], $3::integer[]) AS s (document_id, place)
JOIN rag.document_texts t ON t.tenant_id = $1 AND t.document_id = s.document_id

-- name: texts
SELECT t.document_id, t.text FROM rag.document_texts t WHERE t.tenant_id = $1 AND t.document_id = ANY ($2::uuid[])

-- name: texts_with
-- Files of code in whose text $3 stands.
SELECT d.id, d.external_id, t.text FROM rag.documents d
JOIN rag.document_texts t ON t.tenant_id = $1 AND t.document_id = d.id
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.status = 'indexed' AND d.media_type LIKE 'text/x-%'
  AND d.media_type <> ALL ($4::text[]) AND strpos(t.text, $3) > 0
ORDER BY d.external_id COLLATE "C" LIMIT $5

-- name: proofs
SELECT v.relation_id, v.passage_id, p.document_id, d.external_id, v.char_start, v.char_end
FROM rag.evidence v
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = v.passage_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
WHERE v.tenant_id = $1 AND v.relation_id = ANY ($2::uuid[])
ORDER BY d.external_id COLLATE "C", v.char_start

-- name: passages_at
SELECT s.document_id, s.place, p.id FROM unnest($2::uuid[], $3::integer[]) AS s (document_id, place)
CROSS JOIN LATERAL (
  SELECT p.id FROM rag.passages p
  WHERE p.tenant_id = $1 AND p.document_id = s.document_id AND p.char_start <= s.place AND p.char_end > s.place
  ORDER BY p.ordinal LIMIT 1
) AS p

-- name: steps
SELECT s.id, a.neighbour_id, a.relation_id, a.outgoing, a.weight, e.family, e.normal
FROM unnest($2::uuid[]) AS s (id) CROSS JOIN LATERAL (
  SELECT a.neighbour_id, a.relation_id, a.outgoing, a.weight FROM rag.adjacency a
  WHERE a.tenant_id = $1 AND a.node_id = s.id
  ORDER BY a.weight DESC, a.neighbour_id LIMIT $3
) AS a
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = a.neighbour_id
