-- Embedding models and the vector leg. {model} and {dimensions} are integers put in by the store: an index on
-- embedding::halfvec(d) WHERE model_id = m is only used where both stand as literals.

-- name: model
SELECT id, dimensions FROM rag.embedding_models WHERE name = $1

-- name: reuse
SELECT DISTINCT ON (content_hash) content_hash, embedding
FROM rag.embeddings WHERE tenant_id = $1 AND model_id = $2 AND content_hash = ANY ($3::bytea[])

-- name: search_exact
-- The sum keeps the planner from the HNSW index: it would return fewer rows than there are.
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, (e.embedding <=> $3::halfvec) + 0.0 AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
  ORDER BY 2, 1 LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: search_exact_filtered
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, (e.embedding <=> $3::halfvec) + 0.0 AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
    AND e.document_id IN (SELECT f.document_id FROM rag.filter_documents($2::uuid[], $5::jsonb) AS f)
  ORDER BY 2, 1 LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: search_index
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
  ORDER BY e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: search_index_filtered
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
    AND e.document_id IN (SELECT f.document_id FROM rag.filter_documents($2::uuid[], $5::jsonb) AS f)
  ORDER BY e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

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
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
    AND (e.chunk_id IN (
      SELECT k.id FROM rag.scope_passages($2::uuid[], $5::jsonb, $6::jsonb) AS s
      JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = s.passage_id)) = ($5::jsonb ->> 'inclusive')::boolean
  ORDER BY 2, 1 LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: search_index_scoped
SELECT best.chunk_id, c.passage_id, c.document_id, 1 - best.distance AS score
FROM (
  SELECT e.chunk_id, e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) AS distance
  FROM rag.embeddings e
  WHERE e.tenant_id = $1 AND e.collection_id = ANY ($2::uuid[]) AND e.model_id = {model}
    AND (e.chunk_id IN (
      SELECT k.id FROM rag.scope_passages($2::uuid[], $5::jsonb, $6::jsonb) AS s
      JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = s.passage_id)) = ($5::jsonb ->> 'inclusive')::boolean
  ORDER BY e.embedding::halfvec({dimensions}) <=> $3::halfvec({dimensions}) LIMIT $4
) AS best
JOIN rag.chunks c ON c.tenant_id = $1 AND c.id = best.chunk_id
ORDER BY best.distance, best.chunk_id

-- name: count_scope
-- Chunks of the passages that operators of a query ($3, with the filter $4) speak of.
SELECT count(*)::integer FROM rag.scope_passages($2::uuid[], $3::jsonb, $4::jsonb) AS s
JOIN rag.chunks k ON k.tenant_id = $1 AND k.passage_id = s.passage_id

-- name: visible
SELECT coalesce(sum(f.chunk_count), 0)::integer FROM rag.filter_documents($1::uuid[], $2::jsonb) AS f

-- name: configure
SELECT set_config('hnsw.ef_search', $1, true), set_config('hnsw.max_scan_tuples', $2, true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true)
