-- Vectors of names of entities (rag.entity_vectors). Only entities that stand for themselves and are no code have one.

-- name: missing
-- Of the $4 entities most spoken of, up to $5 whose name has no vector yet, or was another then.
SELECT e.id, e.name FROM (
  SELECT e.id, e.name FROM rag.entities e
  WHERE e.tenant_id = $1 AND e.collection_id = $2 AND e.family NOT IN ('code', 'reference') AND e.canonical_id = e.id
  ORDER BY e.passage_count DESC, e.id LIMIT $4
) AS e
LEFT JOIN rag.entity_vectors v ON v.tenant_id = $1 AND v.collection_id = $2 AND v.model_id = $3 AND v.entity_id = e.id
WHERE v.name IS DISTINCT FROM e.name LIMIT $5

-- name: put
-- Those of entities that are still there; the caller holds the collection's row, so none goes meanwhile.
INSERT INTO rag.entity_vectors AS v (tenant_id, collection_id, entity_id, model_id, name, embedding)
SELECT $1, $2, e.id, $3, made.name, made.embedding
FROM unnest($4::uuid[], $5::text[], $6::halfvec[]) AS made (id, name, embedding)
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = made.id
ON CONFLICT (tenant_id, collection_id, model_id, entity_id)
  DO UPDATE SET name = excluded.name, embedding = excluded.embedding

-- name: prune
-- Those of other models, and of all but the $4 entities most spoken of.
DELETE FROM rag.entity_vectors v
WHERE v.tenant_id = $1 AND v.collection_id = $2 AND (v.model_id <> $3 OR v.entity_id NOT IN (
  SELECT e.id FROM rag.entities e
  WHERE e.tenant_id = $1 AND e.collection_id = $2 AND e.family NOT IN ('code', 'reference') AND e.canonical_id = e.id
  ORDER BY e.passage_count DESC, e.id LIMIT $4))

-- name: all
SELECT e.id, e.normal, e.kind, e.passage_count, v.embedding
FROM rag.entity_vectors v JOIN rag.entities e ON e.tenant_id = $1 AND e.id = v.entity_id
WHERE v.tenant_id = $1 AND v.collection_id = $2 AND v.model_id = $3 AND e.canonical_id = e.id
ORDER BY e.id

-- name: decided
-- Pairs that were merged once, whether or not that was undone.
SELECT entity_id, into_id FROM rag.entity_merges WHERE tenant_id = $1 AND collection_id = $2

-- name: nearest
-- An exact scan: graph.vectors.maxEntities bounds it. Inner product and cosine are one for unit vectors.
SELECT c.id, c.name, c.kind, c.passage_count, n.cosine, n.name AS form FROM (
  SELECT v.entity_id, v.name, -(v.embedding <#> $4) AS cosine FROM rag.entity_vectors v
  WHERE v.tenant_id = $1 AND v.collection_id = $2 AND v.model_id = $3
  ORDER BY v.embedding <#> $4 LIMIT $5
) AS n
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = n.entity_id
JOIN rag.entities c ON c.tenant_id = $1 AND c.id = e.canonical_id
ORDER BY n.cosine DESC
