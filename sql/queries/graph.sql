-- The knowledge graph: writing is part of rag.publish_documents (sql/functions/graph.sql).

-- name: prepare
SELECT rag.prepare_graph_stage()

-- name: walk
SELECT entity_id, score, hop, predecessor_id, relation_id, outgoing, passage_id, truncated
FROM rag.graph_walk($1, $2::uuid[], $3::float8[], $4, $5, $6, $7, $8, $9)

-- name: merge
SELECT rag.merge_entities($1, $2, $3, $4, $5)

-- name: unmerge
SELECT rag.unmerge_entities($1, $2)

-- name: named
SELECT id, name, kind, passage_count, family = 'reference' AS reference FROM rag.entities
WHERE tenant_id = $1 AND id = ANY ($2::uuid[])

-- name: stored_mentions
SELECT p.ordinal, m.entity_id, m.name, m.kind, m.occurrences, m.char_start, m.char_end
FROM rag.passages p JOIN rag.mentions m ON m.tenant_id = $1 AND m.passage_id = p.id
WHERE p.tenant_id = $1 AND p.document_id = $2 AND NOT m.by_model

-- name: stored_evidence
SELECT p.ordinal, v.relation_id, v.strength, v.char_start, v.char_end
FROM rag.passages p JOIN rag.evidence v ON v.tenant_id = $1 AND v.passage_id = p.id
WHERE p.tenant_id = $1 AND p.document_id = $2 AND NOT v.by_model

-- name: link
-- Entities called by one of the forms $3, or whose names hold some of the words $4; of each form and word $5 at most.
-- `rarity`: names that hold the rarest of the words matched.
WITH called AS (
  SELECT a.entity_id, a.form, 0 AS matched, 0 AS words, 1::bigint AS rarity
  FROM unnest($3::text[]) AS f (form) CROSS JOIN LATERAL (
    SELECT a.entity_id, a.form FROM rag.entity_aliases a
    WHERE a.tenant_id = $1 AND a.collection_id = $2 AND a.form = f.form LIMIT $5) AS a
  GROUP BY a.entity_id, a.form
), held AS (
  SELECT h.entity_id, h.form, count(*) AS matched, cardinality(string_to_array(h.form, ' ')) AS words, min(h.holders)
  FROM unnest($4::text[]) AS q (word) CROSS JOIN LATERAL (
    SELECT l.entity_id, l.form, count(*) OVER () AS holders FROM (
      SELECT w.entity_id, w.form FROM rag.entity_words w
      WHERE w.tenant_id = $1 AND w.collection_id = $2 AND w.word = q.word LIMIT $5) AS l
  ) AS h
  GROUP BY h.entity_id, h.form
)
SELECT c.id, c.name, c.kind, c.passage_count, f.form, f.form = e.normal AS own, f.matched, f.words, f.rarity,
  c.family = 'reference' AS reference
FROM (SELECT * FROM called UNION ALL SELECT * FROM held) AS f
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = f.entity_id
JOIN rag.entities c ON c.tenant_id = $1 AND c.id = e.canonical_id

-- name: passages
-- Passages that mention one of these entities or what was merged into it, those that mention it most first.
SELECT c.id AS entity_id, m.passage_id, m.occurrences, m.confidence
FROM unnest($2::uuid[]) AS c (id) CROSS JOIN LATERAL (
  SELECT m.passage_id, sum(m.occurrences)::integer AS occurrences, max(m.confidence) AS confidence
  FROM (SELECT c.id UNION SELECT e.id FROM rag.entities e
        WHERE e.tenant_id = $1 AND e.canonical_id = c.id AND e.canonical_id <> e.id) AS s
  JOIN rag.mentions m ON m.tenant_id = $1 AND m.entity_id = s.id
  GROUP BY m.passage_id ORDER BY occurrences DESC, m.passage_id LIMIT $3
) AS m

-- name: leg
SELECT found.* FROM unnest($1::uuid[]) AS c (id)
CROSS JOIN LATERAL rag.graph_leg(c.id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS found

-- name: leg_at
SELECT * FROM rag.graph_leg_at($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: context_entities
-- Which of the passages $3 mention each of the entities $2 or what was merged into it, in the order of the passages.
SELECT c.name, c.kind, array_agg(p.id ORDER BY p.place) AS passages
FROM unnest($2::uuid[]) WITH ORDINALITY AS e (id, place)
JOIN rag.entities c ON c.tenant_id = $1 AND c.id = e.id
JOIN (
  SELECT p.id, p.place, x.canonical_id AS entity_id
  FROM unnest($3::uuid[]) WITH ORDINALITY AS p (id, place)
  JOIN rag.mentions m ON m.tenant_id = $1 AND m.passage_id = p.id
  JOIN rag.entities x ON x.tenant_id = $1 AND x.id = m.entity_id
  GROUP BY p.id, p.place, x.canonical_id
) AS p ON p.entity_id = c.id
GROUP BY c.name, c.kind, e.place ORDER BY e.place

-- name: context_relations
-- Relations that the passages $3 prove and of which one of the entities $2 is an end, those proved best first; at most $4.
-- First all that they prove, then those of the entities: a planner without statistics, as on a server that was just filled, would
-- pair each entity with each other one for the sake of the condition on both ends.
WITH proved AS MATERIALIZED (
  SELECT r.id, r.kind, v.strength, v.passages, a.canonical_id AS source_id, b.canonical_id AS target_id
  FROM (
    SELECT v.relation_id, sum(v.strength) AS strength,
      (array_agg(v.passage_id ORDER BY v.strength DESC, v.passage_id)) AS passages
    FROM rag.evidence v WHERE v.tenant_id = $1 AND v.passage_id = ANY ($3::uuid[])
    GROUP BY v.relation_id
  ) AS v
  JOIN rag.relations r ON r.tenant_id = $1 AND r.id = v.relation_id
  JOIN rag.entities a ON a.tenant_id = $1 AND a.id = r.source_id
  JOIN rag.entities b ON b.tenant_id = $1 AND b.id = r.target_id
), best AS MATERIALIZED (
  SELECT p.*, row_number() OVER (
    ORDER BY p.kind = 'co_occurs', (p.source_id = ANY ($2::uuid[]))::integer + (p.target_id = ANY ($2::uuid[]))::integer DESC,
      p.strength DESC, p.id
  ) AS place
  FROM proved p
  WHERE (p.source_id = ANY ($2::uuid[]) OR p.target_id = ANY ($2::uuid[])) AND p.source_id <> p.target_id
)
SELECT s.name AS source, p.kind, t.name AS target, p.passages
FROM best p
JOIN rag.entities s ON s.tenant_id = $1 AND s.id = p.source_id
JOIN rag.entities t ON t.tenant_id = $1 AND t.id = p.target_id
WHERE p.place <= $4 ORDER BY p.place
