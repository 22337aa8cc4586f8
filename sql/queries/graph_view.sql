-- The knowledge graph as people look at it. Entities are those that stand for others after merges. Lists leave names out that
-- code only refers to (family reference): `typing.Any` says nothing of a collection. By name and id they are found.

-- name: surest
-- A page of the entities of a collection, of the kinds $3, after $4 to $6 with certainty $9. Unless $8: without headings and
-- phrases, and without what more than ten passages and more than a tenth of them name, where it is no person, organisation or
-- place. Of the $10 most spoken of those come first of which their mentions are surest (4 to 1), and of these the most spoken of;
-- then the others (0). A name is as sure as its first 60 mentions on average; where four documents have it, little is wanted of
-- each. The steps are those of app/cairn/graph/certainty.py.
WITH listed AS NOT MATERIALIZED (
  SELECT e.id, e.name, e.kind, e.passage_count FROM rag.entities e
  WHERE e.tenant_id = $1 AND e.collection_id = $2 AND e.canonical_id = e.id AND e.family <> 'reference'
    AND ($3::text[] IS NULL OR e.kind = ANY ($3))
    AND ($8 OR e.kind <> ALL (ARRAY['topic', 'term'])
      AND (e.kind = ANY (ARRAY['person', 'organisation', 'place']) OR 10 * e.passage_count <= greatest(100, (
        -- of restricted documents the graph has nothing
        SELECT c.passage_count - h.passages FROM rag.collections c CROSS JOIN LATERAL rag.count_restricted(c.tenant_id, c.id) AS h
        WHERE c.tenant_id = $1 AND c.id = $2))))
), strongest AS MATERIALIZED (
  SELECT l.id, l.name, l.kind, l.passage_count FROM listed l
  ORDER BY -l.passage_count, l.name COLLATE "C", l.id LIMIT $10
), page AS MATERIALIZED (
  SELECT s.id, s.name, s.kind, s.passage_count, t.certainty FROM strongest s CROSS JOIN LATERAL (
    SELECT CASE WHEN s.kind = ANY (ARRAY['topic', 'term']) THEN 1
      WHEN avg(m.confidence) > 0.92 OR avg(m.confidence) >= 0.7 AND count(DISTINCT p.document_id) >= 4 THEN 4
      WHEN avg(m.confidence) >= 0.8 THEN 3 WHEN avg(m.confidence) >= 0.7 THEN 2 ELSE 1 END AS certainty
    FROM (SELECT m.passage_id, m.confidence FROM rag.mentions m
          WHERE m.tenant_id = $1 AND m.entity_id = s.id AND m.kind <> 'topic' ORDER BY m.passage_id LIMIT 60) AS m
    JOIN rag.passages p ON p.tenant_id = $1 AND p.id = m.passage_id) AS t
  WHERE $6::uuid IS NULL
    OR (-t.certainty, -s.passage_count, s.name COLLATE "C", s.id) > (-$9::integer, -$4::integer, $5::text COLLATE "C", $6)
  ORDER BY -t.certainty, -s.passage_count, s.name COLLATE "C", s.id LIMIT $7
)
SELECT u.id, u.name, u.kind, u.passage_count, u.certainty FROM (
  SELECT g.id, g.name, g.kind, g.passage_count, g.certainty FROM page g
  UNION ALL
  (SELECT l.id, l.name, l.kind, l.passage_count, 0 FROM listed l
   WHERE (SELECT count(*) FROM page) < $7 AND (SELECT count(*) FROM strongest) = $10
     AND (-l.passage_count, l.name COLLATE "C", l.id) > (
       SELECT -s.passage_count, s.name, s.id FROM strongest s
       ORDER BY -s.passage_count, s.name COLLATE "C", s.id OFFSET $10 - 1)
     AND ($6::uuid IS NULL OR $9::integer > 0
       OR (-l.passage_count, l.name COLLATE "C", l.id) > (-$4::integer, $5::text COLLATE "C", $6))
   ORDER BY -l.passage_count, l.name COLLATE "C", l.id LIMIT $7)
) AS u ORDER BY -u.certainty, -u.passage_count, u.name COLLATE "C", u.id LIMIT $7

-- name: beginning
-- The most spoken of first: those with a name that begins with $8, or has a word that does; $9 is the end of the range.
SELECT c.id, c.name, c.kind, c.passage_count FROM (
  (SELECT a.entity_id FROM rag.entity_aliases a
   WHERE a.tenant_id = $1 AND a.collection_id = $2 AND a.form >= $8 AND a.form < $9 ORDER BY a.form LIMIT 2000)
  UNION
  (SELECT w.entity_id FROM rag.entity_words w
   WHERE w.tenant_id = $1 AND w.collection_id = $2 AND w.word >= $8 AND w.word < $9 ORDER BY w.word LIMIT 2000)
) AS f
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = f.entity_id
JOIN rag.entities c ON c.tenant_id = $1 AND c.id = e.canonical_id
WHERE c.family <> 'reference' AND ($3::text[] IS NULL OR c.kind = ANY ($3))
  AND ($6::uuid IS NULL OR (-c.passage_count, c.name COLLATE "C", c.id) > (-$4::integer, $5::text COLLATE "C", $6))
GROUP BY c.id, c.name, c.kind, c.passage_count
ORDER BY -c.passage_count, c.name COLLATE "C", c.id LIMIT $7

-- name: standing
SELECT c.id, c.name, c.kind, c.passage_count, c.collection_id, n.name AS collection
FROM rag.entities e
JOIN rag.entities c ON c.tenant_id = $1 AND c.id = e.canonical_id
JOIN rag.collections n ON n.tenant_id = $1 AND n.id = c.collection_id
WHERE e.tenant_id = $1 AND e.id = $2

-- name: names
SELECT a.name, a.kind, sum(a.passage_count)::integer AS passage_count
FROM (SELECT $2::uuid AS id UNION SELECT e.id FROM rag.entities e
      WHERE e.tenant_id = $1 AND e.canonical_id = $2 AND e.canonical_id <> e.id) AS same
JOIN rag.entity_aliases a ON a.tenant_id = $1 AND a.entity_id = same.id
GROUP BY a.name, a.kind ORDER BY 3 DESC, a.name COLLATE "C", a.kind LIMIT $3

-- name: counts
SELECT count(DISTINCT m.passage_id)::integer AS passages, count(DISTINCT p.document_id)::integer AS documents,
  (SELECT count(*) FROM rag.adjacency a WHERE a.tenant_id = $1 AND a.node_id = $2)::integer AS relations
FROM (SELECT $2::uuid AS id UNION SELECT e.id FROM rag.entities e
      WHERE e.tenant_id = $1 AND e.canonical_id = $2 AND e.canonical_id <> e.id) AS same
JOIN rag.mentions m ON m.tenant_id = $1 AND m.entity_id = same.id
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = m.passage_id

-- name: merged_into
SELECT m.id, n.name AS collection, m.entity_id AS from_id, e.name AS from_name, m.into_id, i.name AS into_name, m.reason, m.merged_at,
  m.undone_at
FROM rag.entities e
JOIN rag.entity_merges m ON m.tenant_id = $1 AND m.entity_id = e.id AND m.undone_at IS NULL
JOIN rag.collections n ON n.tenant_id = $1 AND n.id = m.collection_id
LEFT JOIN rag.entities i ON i.tenant_id = $1 AND i.id = m.into_id
WHERE e.tenant_id = $1 AND e.canonical_id = $2 AND e.canonical_id <> e.id
ORDER BY m.id

-- name: merges
-- The newest first, of one collection $2 or all, before $3; or the one with id $5. Ids of entities are made of their names: those that are
-- no more may have been those of a document that is restricted now.
SELECT m.id, n.name AS collection, m.entity_id AS from_id, e.name AS from_name, m.into_id, i.name AS into_name, m.reason, m.merged_at,
  m.undone_at
FROM rag.entity_merges m
JOIN rag.collections n ON n.tenant_id = $1 AND n.id = m.collection_id
LEFT JOIN rag.entities e ON e.tenant_id = $1 AND e.id = m.entity_id
LEFT JOIN rag.entities i ON i.tenant_id = $1 AND i.id = m.into_id
WHERE m.tenant_id = $1 AND ($2::uuid IS NULL OR m.collection_id = $2) AND ($3::uuid IS NULL OR m.id < $3)
  AND ($5::uuid IS NULL OR m.id = $5)
  AND ((SELECT NOT rag.withholds()) OR e.id IS NOT NULL AND i.id IS NOT NULL)
ORDER BY m.id DESC LIMIT $4

-- name: strongest
-- The strongest relations of an entity, one for each neighbour: what words state before mere co-occurrence.
SELECT relation_id FROM (
  SELECT DISTINCT ON (a.neighbour_id) a.neighbour_id, a.relation_id, a.weight
  FROM (SELECT a.neighbour_id, a.relation_id, a.weight FROM rag.adjacency a
        WHERE a.tenant_id = $1 AND a.node_id = $2 ORDER BY a.weight DESC, a.neighbour_id LIMIT 4 * $3) AS a
  JOIN rag.relations r ON r.tenant_id = $1 AND r.id = a.relation_id
  ORDER BY a.neighbour_id, r.kind = 'co_occurs', a.weight DESC, a.relation_id
) AS best ORDER BY weight DESC, neighbour_id LIMIT $3

-- name: between
-- For each pair of entities ($2, $3) the relation that says most of them: a stated one before co-occurrence.
SELECT best.relation_id FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS pair (node_id, neighbour_id, place)
CROSS JOIN LATERAL (
  SELECT a.relation_id FROM rag.adjacency a
  JOIN rag.relations r ON r.tenant_id = $1 AND r.id = a.relation_id
  WHERE a.tenant_id = $1 AND a.node_id = pair.node_id AND a.neighbour_id = pair.neighbour_id
  ORDER BY r.kind = 'co_occurs', a.weight DESC, a.relation_id LIMIT 1
) AS best ORDER BY pair.place

-- name: relations
-- Relations by id, each with the passage that proves it best. Of a proof at most $3 characters are quoted.
SELECT r.id, r.kind, a.weight, r.evidence_count,
  s.id AS source_id, s.name AS source_name, s.kind AS source_kind, s.passage_count AS source_count,
  o.id AS target_id, o.name AS target_name, o.kind AS target_kind, o.passage_count AS target_count,
  v.passage_id, v.document_id, d.external_id, d.title, v.page, v.headings, v.landmarks, v.quote, v.char_start
FROM unnest($2::uuid[]) AS wanted (id)
JOIN rag.relations r ON r.tenant_id = $1 AND r.id = wanted.id
JOIN rag.adjacency a ON a.tenant_id = $1 AND a.relation_id = r.id AND a.outgoing
JOIN rag.entities s ON s.tenant_id = $1 AND s.id = a.node_id
JOIN rag.entities o ON o.tenant_id = $1 AND o.id = a.neighbour_id
CROSS JOIN LATERAL (
  SELECT v.passage_id, v.char_start, p.document_id, p.page, p.headings, p.landmarks,
    substr(p.content, v.char_start - p.char_start + 1, least(v.char_end - v.char_start, $3)) AS quote
  FROM rag.evidence v JOIN rag.passages p ON p.tenant_id = $1 AND p.id = v.passage_id
  WHERE v.tenant_id = $1 AND v.relation_id = r.id
  ORDER BY v.strength DESC, v.char_end - v.char_start, v.passage_id LIMIT 1
) AS v
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = v.document_id

-- name: nodes
SELECT e.id, e.name, e.kind, e.passage_count, n.names
FROM rag.entities e CROSS JOIN LATERAL (
  SELECT array_agg(DISTINCT a.name) FILTER (WHERE a.name <> e.name) AS names FROM rag.entity_aliases a
  WHERE a.tenant_id = $1 AND a.entity_id IN (
    SELECT e.id UNION SELECT s.id FROM rag.entities s
    WHERE s.tenant_id = $1 AND s.canonical_id = e.id AND s.canonical_id <> s.id)
) AS n
WHERE e.tenant_id = $1 AND e.collection_id = $2 AND e.canonical_id = e.id
ORDER BY e.id

-- name: links
SELECT r.id, a.node_id AS source, a.neighbour_id AS target, r.kind, a.weight, r.evidence_count,
  d.external_id AS document, v.quote AS evidence, CASE WHEN o.family = 'reference' THEN o.normal ELSE '' END AS refers_to,
  s.normal AS source_name
FROM rag.relations r
JOIN rag.entities s ON s.tenant_id = $1 AND s.id = r.source_id
JOIN rag.entities o ON o.tenant_id = $1 AND o.id = r.target_id
JOIN rag.adjacency a ON a.tenant_id = $1 AND a.relation_id = r.id AND a.outgoing
CROSS JOIN LATERAL (
  SELECT p.document_id, substr(p.content, v.char_start - p.char_start + 1, least(v.char_end - v.char_start, $3)) AS quote
  FROM rag.evidence v JOIN rag.passages p ON p.tenant_id = $1 AND p.id = v.passage_id
  WHERE v.tenant_id = $1 AND v.relation_id = r.id
  ORDER BY v.strength DESC, v.char_end - v.char_start, v.passage_id LIMIT 1
) AS v
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = v.document_id
WHERE r.tenant_id = $1 AND r.collection_id = $2
ORDER BY r.id
