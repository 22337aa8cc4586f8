-- Embedding models and the vector leg, in three regimes (docs/adr/0012). {model} and {dimensions} are integers put in by
-- the store: an index on embedding::halfvec(d) WHERE model_id = m is only used where both stand as literals. {filter} is
-- empty or the statement `filter`. Searches by an index take tenant, collections, vector, number of chunks, and the filter if any.

-- name: model
SELECT id, name, dimensions FROM rag.embedding_models WHERE name = $1

-- name: models
SELECT id, name, dimensions FROM rag.embedding_models WHERE id = ANY ($1::smallint[]) ORDER BY id

-- name: reuse
-- Looked up one by one, also where the table was never analysed. Of documents that everybody may read, or exactly those who may read
-- what is embedded ($4, null for everybody): that no model is asked would tell others that the text stands somewhere.
SELECT asked.content_hash, known.embedding
FROM unnest($3::bytea[]) AS asked (content_hash) CROSS JOIN LATERAL (
  (SELECT e.embedding FROM rag.embeddings e
   WHERE e.tenant_id = $1 AND e.model_id = $2 AND e.content_hash = asked.content_hash
     AND (SELECT d.access IS NULL OR d.access = $4::text[] FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = e.document_id)
   LIMIT 1)
  UNION ALL
  (SELECT a.embedding FROM rag.embedded_ahead a
   WHERE a.tenant_id = $1 AND a.model_id = $2 AND a.content_hash = asked.content_hash
     AND (SELECT d.access IS NULL OR d.access = $4::text[] FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = a.document_id)
   LIMIT 1)
  LIMIT 1
) AS known

-- name: keep_ahead
-- Until the document is published. A document that was deleted meanwhile keeps nothing.
INSERT INTO rag.embedded_ahead (tenant_id, document_id, model_id, content_hash, embedding)
SELECT $1, d.id, $4, made.content_hash, made.embedding
FROM (
  SELECT id FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND external_id = $3 FOR KEY SHARE
) AS d, unnest($5::bytea[], $6::halfvec[]) AS made (content_hash, embedding)
ON CONFLICT DO NOTHING

-- name: drop_ahead
DELETE FROM rag.embedded_ahead WHERE tenant_id = $1 AND document_id = $2

-- name: visible
-- Chunks of each collection that a filter leaves, counted no further than just above $3.
SELECT c.id, rag.count_filtered(c.id, $2::jsonb, $3) AS chunks FROM unnest($1::uuid[]) AS c (id)

-- name: filter
-- Asked for each row that the index yields, limit / share of the filter in all: filters that leave more than the exact scan
-- is for match so many documents that collecting them first costs more. A subquery for a value is never made a join or a hash.
AND (SELECT d.metadata @> $5::jsonb FROM rag.documents d WHERE d.tenant_id = $1 AND d.id = e.document_id)

-- name: search_exact
SELECT chunk_id, passage_id, document_id, score FROM rag.compare_vectors($1, $4, {model}::smallint, $2, $3)

-- name: search_shared
-- An index yields nearly, not quite, in order: by the sum at the end the planner sorts, and does not take its order for granted.
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model} AND NOT e.own {filter}
  ORDER BY e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance + 0.0, best.chunk_id

-- name: search_dedicated
-- Tenant and collection are literals too ({tenant}, {collection}): no plan for parameters can use the partial index.
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = {tenant} AND e.collection_id = '{collection}'::uuid AND e.model_id = {model} AND e.own {filter}
  ORDER BY e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id AND c.collection_id = ANY ($2::uuid[])
ORDER BY best.distance + 0.0, best.chunk_id

-- name: search_exact_chosen
-- Operators of the query ($5, with the filter $6) name the passages to choose from.
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, (e.embedding <=> $3::halfvec) + 0.0 AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
    AND e.chunk_id IN (
      SELECT k.id FROM rag.scope_passages($2::uuid[], $5::jsonb, $6::jsonb) AS s
      JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = s.passage_id)
  ORDER BY 2, 1 LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: search_exact_scoped
-- As one set that is looked up, so that the planner keeps the plan of the unscoped search.
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, (e.embedding <=> $3::halfvec) + 0.0 AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id + 0 = {model}
    AND (e.chunk_id IN (
      SELECT k.id FROM rag.scope_passages($2::uuid[], $5::jsonb, $6::jsonb) AS s
      JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = s.passage_id)) = ($5::jsonb ->> 'inclusive')::boolean
  ORDER BY 2, 1 LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: count_scope
-- Chunks of the passages that operators of a query ($3, with the filter $4) speak of, by collection.
SELECT k.collection_id AS id, count(*)::integer AS chunks
FROM rag.scope_passages($2::uuid[], $3::jsonb, $4::jsonb) AS s
JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = s.passage_id
GROUP BY k.collection_id

-- name: configure
-- For this transaction, for a search for $2 chunks among $3 with vector.efSearch $1; answers with the values in force, and with the
-- breadth that was meant. The vector comes first, because settings named hnsw.* are taken unseen until the library is loaded.
SELECT '[1]'::public.vector IS NOT NULL AS loaded, set_config('hnsw.ef_search', b.breadth::text, true)::integer AS ef_search,
  b.breadth, set_config('hnsw.max_scan_tuples', $4::integer::text, true) AS max_scan_tuples,
  set_config('hnsw.iterative_scan', 'relaxed_order', true) AS iterative_scan
FROM rag.search_breadth($1, $2, $3) AS b (breadth)

-- name: sample
SELECT chunk_id, embedding FROM rag.embeddings
WHERE tenant_id = $1 AND collection_id = $2 AND model_id = $3 ORDER BY random() LIMIT $4

-- name: fill_passages
-- Of the next $3 chunks after $2, in the order of the key; the last chunk looked at, null at the end.
WITH portion AS MATERIALIZED (
  SELECT c.id, c.passage_id FROM rag.chunks c WHERE c.tenant_id = $1 AND c.id > $2 ORDER BY c.id LIMIT $3
), filled AS (
  UPDATE rag.embeddings e SET passage_id = p.passage_id FROM portion p
  WHERE e.tenant_id = $1 AND e.chunk_id = p.id AND e.passage_id IS NULL
  RETURNING 1
)
SELECT (SELECT id FROM portion ORDER BY id DESC LIMIT 1) AS last, (SELECT count(*) FROM filled) AS filled
