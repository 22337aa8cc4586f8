-- Communities: found by app/cairn/graph/communities.py, kept here. All writing is done under the lock of the collection.

-- name: state
-- What a refresh is to follow, and how far the last finished one came.
-- The graph is of documents that everybody may read, so others count for nothing.
SELECT c.name, c.epoch, c.document_count - n.documents AS document_count, c.passage_count - n.passages AS passage_count, r.epoch AS refreshed,
  n.documents > 0 AS restricted
FROM rag.collections c
CROSS JOIN LATERAL rag.count_restricted($1, c.id) AS n
LEFT JOIN rag.community_refreshes r ON r.tenant_id = $1 AND r.collection_id = c.id
WHERE c.tenant_id = $1 AND c.id = $2

-- name: begin
-- The lock comes first, so that no batch of an older refresh is under way.
WITH held AS (SELECT id FROM rag.collections WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE)
INSERT INTO rag.community_refreshes AS r (tenant_id, collection_id, attempt) SELECT $1, id, 1 FROM held
ON CONFLICT (tenant_id, collection_id) DO UPDATE SET attempt = r.attempt + 1
RETURNING attempt

-- name: lock
-- The lock between writers of a collection, without a new epoch.
SELECT id FROM rag.collections WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE

-- name: attempt
SELECT attempt FROM rag.community_refreshes WHERE tenant_id = $1 AND collection_id = $2

-- name: finish
UPDATE rag.community_refreshes SET epoch = $4, refreshed_at = now()
WHERE tenant_id = $1 AND collection_id = $2 AND attempt = $3

-- name: entities
SELECT id, family = 'reference' AS reference FROM rag.entities WHERE tenant_id = $1 AND collection_id = $2 ORDER BY id

-- name: relations
-- Pairs of entities, by their places in the list above, with the weight of all that is between them. Of each entity the
-- $3 strongest relations, so that a hub brings no more than anybody else.
WITH node AS MATERIALIZED (
  SELECT id, (row_number() OVER (ORDER BY id) - 1)::integer AS place
  FROM rag.entities WHERE tenant_id = $1 AND collection_id = $2
), toward AS (
  SELECT n.place AS a, t.place AS b, sum(x.weight::float8) AS weight
  FROM node n CROSS JOIN LATERAL (
    SELECT a.neighbour_id, a.weight FROM rag.adjacency a
    WHERE a.tenant_id = $1 AND a.node_id = n.id ORDER BY a.weight DESC, a.neighbour_id LIMIT $3
  ) AS x JOIN node t ON t.id = x.neighbour_id
  GROUP BY n.place, t.place
)
SELECT least(a, b) AS first, greatest(a, b) AS second, max(weight) AS weight
FROM toward GROUP BY 1, 2 ORDER BY 1, 2

-- name: stored
SELECT c.id, c.level, c.parent_id, c.fingerprint, m.ids AS members,
  c.sentence_count = (SELECT count(*) FROM rag.community_sentences s
                      WHERE s.tenant_id = $1 AND s.community_id = c.id) AS complete
FROM rag.communities c CROSS JOIN LATERAL (
  SELECT coalesce(array_agg(m.entity_id), '{}') AS ids FROM rag.community_members m
  WHERE m.tenant_id = $1 AND m.community_id = c.id) AS m
WHERE c.tenant_id = $1 AND c.collection_id = $2

-- name: sources
-- For each community (number $2) the $6 passages that speak most of its entities $3 (weights $4), with the names they use.
-- Of an entity $5 mentions are looked at. A definition of code is mentioned by its full name; its last part stands there.
WITH spoken AS (
  SELECT c.number, c.entity_id, c.weight, m.passage_id, m.name
  FROM unnest($2::integer[], $3::uuid[], $4::float8[]) AS c (number, entity_id, weight) CROSS JOIN LATERAL (
    SELECT m.passage_id, CASE same.family WHEN 'code' THEN regexp_replace(m.name, '^.*::(.*[.])?', '') ELSE m.name END AS name
    FROM (SELECT e.id, e.family FROM rag.entities e WHERE e.tenant_id = $1 AND e.id = c.entity_id
          UNION SELECT e.id, e.family FROM rag.entities e
          WHERE e.tenant_id = $1 AND e.canonical_id = c.entity_id AND e.canonical_id <> e.id) AS same
    JOIN rag.mentions m ON m.tenant_id = $1 AND m.entity_id = same.id AND m.occurrences > 0
    ORDER BY m.passage_id LIMIT $5
  ) AS m
), best AS (
  SELECT number, passage_id, place FROM (
    SELECT number, passage_id, row_number() OVER (PARTITION BY number ORDER BY sum(weight) DESC, passage_id) AS place
    FROM (SELECT DISTINCT number, passage_id, entity_id, weight FROM spoken) AS once
    GROUP BY number, passage_id) AS ranked
  WHERE place <= $6
)
SELECT b.number, p.id, p.document_id, p.char_start, p.content,
  array_agg(s.entity_id ORDER BY s.entity_id, s.name) AS entities, array_agg(s.name ORDER BY s.entity_id, s.name) AS names,
  array_agg(s.weight ORDER BY s.entity_id, s.name) AS weights
FROM best b
JOIN spoken s ON s.number = b.number AND s.passage_id = b.passage_id
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = b.passage_id
GROUP BY b.number, b.place, p.id, p.document_id, p.char_start, p.content
ORDER BY b.number, b.place

-- name: remove
DELETE FROM rag.communities WHERE tenant_id = $1 AND collection_id = $2 AND id = ANY ($3::uuid[])

-- name: write
-- What a model wrote of a community stays, unless its sources go or it becomes another one (blank).
INSERT INTO rag.communities AS c (tenant_id, collection_id, id, level, parent_id, entity_count, fingerprint, epoch)
SELECT $1, $2, n.id, n.level, n.parent_id, n.size, n.fingerprint, $8
FROM unnest($3::uuid[], $4::integer[], $5::uuid[], $6::integer[], $7::bytea[]) AS n (id, level, parent_id, size, fingerprint)
ON CONFLICT (tenant_id, id) DO UPDATE
SET level = excluded.level, parent_id = excluded.parent_id, entity_count = excluded.entity_count,
    fingerprint = excluded.fingerprint, epoch = excluded.epoch

-- name: blank
UPDATE rag.communities SET title = '', summary = '', document_ids = '{}', summarised_at = NULL
WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND summarised_at IS NOT NULL

-- name: clear_members
DELETE FROM rag.community_members WHERE tenant_id = $1 AND community_id = ANY ($2::uuid[])

-- name: write_members
-- Entities that are gone by now are left out.
INSERT INTO rag.community_members (tenant_id, collection_id, community_id, entity_id, weight)
SELECT $1, $2, n.community_id, e.id, n.weight
FROM unnest($3::uuid[], $4::uuid[], $5::real[]) AS n (community_id, entity_id, weight)
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = n.entity_id

-- name: clear_sentences
DELETE FROM rag.community_sentences WHERE tenant_id = $1 AND community_id = ANY ($2::uuid[])

-- name: write_sentences
-- Passages that are gone by now, or not everybody's any more, are left out; the count then tells that something is missing.
WITH written AS (
  INSERT INTO rag.community_sentences (tenant_id, collection_id, community_id, place, passage_id, char_start, char_end)
  SELECT $1, $2, n.community_id, n.place, p.id, n.char_start, n.char_end
  FROM unnest($3::uuid[], $4::integer[], $5::uuid[], $6::integer[], $7::integer[])
    AS n (community_id, place, passage_id, char_start, char_end)
  JOIN rag.passages p ON p.tenant_id = $1 AND p.id = n.passage_id
  JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id AND d.access IS NULL
)
UPDATE rag.communities c SET sentence_count = n.total
FROM (SELECT k.id, count(n.id) AS total FROM unnest($8::uuid[]) AS k (id)
      LEFT JOIN unnest($3::uuid[]) AS n (id) ON n.id = k.id GROUP BY k.id) AS n
WHERE c.tenant_id = $1 AND c.id = n.id

-- name: matching
-- Communities of the collections $2 in which entities with words $3 in their names ($4 of each at most) weigh most for their
-- size. A word counts the less, the more names have it.
WITH asked AS (
  SELECT e.canonical_id AS id, max(1 / sqrt(h.holders)) AS worth
  FROM unnest($2::uuid[]) AS k (id) CROSS JOIN unnest($3::text[]) AS q (word) CROSS JOIN LATERAL (
    SELECT l.entity_id, count(*) OVER () AS holders FROM (
      SELECT w.entity_id FROM rag.entity_words w
      WHERE w.tenant_id = $1 AND w.collection_id = k.id AND w.word = q.word LIMIT $4) AS l) AS h
  JOIN rag.entities e ON e.tenant_id = $1 AND e.id = h.entity_id
  GROUP BY e.canonical_id
)
SELECT c.id, sum(m.weight * a.worth) / sqrt(greatest(c.entity_count, 1)) AS score
FROM asked a
JOIN rag.community_members m ON m.tenant_id = $1 AND m.entity_id = a.id
JOIN rag.communities c ON c.tenant_id = $1 AND c.id = m.community_id AND c.collection_id = ANY ($2::uuid[])
GROUP BY c.id, c.entity_count ORDER BY score DESC, c.id LIMIT $5

-- name: largest
SELECT id, 0::float8 AS score FROM rag.communities
WHERE tenant_id = $1 AND collection_id = ANY ($2::uuid[]) AND level = 0
ORDER BY entity_count DESC, id LIMIT $3

-- name: listed
-- A page of those of a collection: large ones before their parts, of level $3 or all, after the one with $4 to $6.
SELECT id, level, entity_count FROM rag.communities
WHERE tenant_id = $1 AND collection_id = $2 AND ($3::integer IS NULL OR level = $3)
  AND ($6::uuid IS NULL OR (level, -entity_count, id) > ($4::integer, -$5::integer, $6))
ORDER BY level, -entity_count, id LIMIT $7

-- name: described
-- Communities by id, with the names of their $3 most central entities.
SELECT c.id, c.collection_id, c.level, c.parent_id, c.title, c.summary, m.size, m.names
FROM rag.communities c CROSS JOIN LATERAL (
  SELECT count(*)::integer AS size,
    (array_agg(e.name ORDER BY m.weight DESC, e.passage_count DESC, e.id))[:$3] AS names
  FROM rag.community_members m JOIN rag.entities e ON e.tenant_id = $1 AND e.id = m.entity_id
  WHERE m.tenant_id = $1 AND m.community_id = c.id) AS m
WHERE c.tenant_id = $1 AND c.id = ANY ($2::uuid[])

-- name: sentences
SELECT s.community_id, s.passage_id, p.document_id, s.char_start, s.char_end,
  substr(p.content, s.char_start - p.char_start + 1, s.char_end - s.char_start) AS text
FROM rag.community_sentences s JOIN rag.passages p ON p.tenant_id = $1 AND p.id = s.passage_id
WHERE s.tenant_id = $1 AND s.community_id = ANY ($2::uuid[])
ORDER BY s.community_id, s.place

-- name: unwritten
-- The $3 largest communities that no model has summarised, or whose text was blanked.
SELECT id FROM rag.communities
WHERE tenant_id = $1 AND collection_id = $2 AND summarised_at IS NULL AND sentence_count > 0
ORDER BY level, entity_count DESC, id LIMIT $3

-- name: open_passages
-- Those of the passages $2 that everybody in the tenant may read.
SELECT p.id FROM rag.passages p JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
WHERE p.tenant_id = $1 AND p.id = ANY ($2::uuid[]) AND d.access IS NULL

-- name: write_summary
-- Only while every document that the model read is what it was: all passages $6 are there, and everybody in the tenant may
-- read them. Row security would hide the summary no longer than its restricted document is there.
UPDATE rag.communities SET title = $4, summary = $5, summarised_at = now(),
  document_ids = ARRAY(SELECT DISTINCT p.document_id FROM rag.passages p WHERE p.tenant_id = $1 AND p.id = ANY ($6::uuid[]))
WHERE tenant_id = $1 AND collection_id = $2 AND id = $3 AND cardinality($6::uuid[]) = (
  SELECT count(*) FROM rag.passages p JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
  WHERE p.tenant_id = $1 AND p.id = ANY ($6::uuid[]) AND d.access IS NULL)
RETURNING true
