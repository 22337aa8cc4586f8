-- The retrieval cache. An entry answers only while its collections are what they were: ids and epochs are compared in the
-- statement that reads it. Nothing here but `forget` and `clear` waits for a lock, so that no search waits for a writer of
-- the cache and no writer of documents meets a deadlock in it (docs/adr/0011).

-- name: look_up
-- Outside a transaction, in one round trip: the whole of a hit. Its use is counted, unless who asks, $5, can read more than everybody: it
-- would tell others that they asked.
SELECT serving, result, age, result IS NOT NULL AND rag.asked_as($5::text[]) = '{}' AS counted FROM rag.find_cached($1, $2, $3, $4)

-- name: look_up_similar
-- Nearest entries of the same scope with the same guards, by an exact scan over the few that there are. Materialised,
-- because vectors of another length (another model, so another scope) must not even be compared.
WITH candidate AS MATERIALIZED (
  SELECT r.key, r.query, r.query_vector, r.created_at
  FROM rag.retrieval_cache r
  WHERE r.tenant_id = $1 AND r.scope = $2 AND r.guards = $5::text[] AND r.query_vector IS NOT NULL
    AND r.created_at > now() - make_interval(secs => $4)
    AND (r.collection_ids, r.epochs) = (
      SELECT array_agg(c.id ORDER BY c.id), array_agg(c.epoch ORDER BY c.id)
      FROM rag.collections c WHERE c.tenant_id = $1 AND c.name = ANY ($3::text[]))
), near AS MATERIALIZED (
  SELECT key, query, 1 - (query_vector <=> $6::halfvec) AS similarity, created_at
  FROM candidate WHERE 1 - (query_vector <=> $6::halfvec) >= $7
  ORDER BY similarity DESC, key LIMIT 5
)
SELECT near.key, near.query, near.similarity, extract(epoch FROM now() - near.created_at)::float8 AS age, r.result,
  rag.asked_as() = '{}' AS counted
FROM near JOIN rag.retrieval_cache r ON r.tenant_id = $1 AND r.key = near.key
ORDER BY near.similarity DESC, near.key

-- name: store
-- $12: who asked, of whom nothing is kept if they were forgotten meanwhile.
SELECT CASE WHEN rag.forgotten_as($12) IS NOT NULL THEN false ELSE
  rag.store_cached($1, $2, $3, $4, $5, $6::text[], $7::uuid[], $8::bigint[], $9::jsonb, $10::integer, $11::float8) END

-- name: touch
-- Uses that a process has collected. Rows that somebody holds are passed over: the order of last use may lag.
WITH used AS (
  SELECT u.key, u.hits, u.used_at FROM unnest($2::text[], $3::integer[], $4::timestamptz[]) AS u (key, hits, used_at)
), free AS MATERIALIZED (
  SELECT f.key FROM rag.retrieval_cache f WHERE f.tenant_id = $1 AND f.key = ANY ($2::text[]) FOR UPDATE SKIP LOCKED
)
UPDATE rag.retrieval_cache r SET hits = r.hits + used.hits, used_at = greatest(r.used_at, used.used_at)
FROM used JOIN free USING (key)
WHERE r.tenant_id = $1 AND r.key = used.key

-- name: count
INSERT INTO rag.cache_counters AS c (tenant_id, hits, semantic_hits, misses, bypassed) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id) DO UPDATE
SET hits = c.hits + excluded.hits, semantic_hits = c.semantic_hits + excluded.semantic_hits,
    misses = c.misses + excluded.misses, bypassed = c.bypassed + excluded.bypassed

-- name: counters
SELECT hits, semantic_hits, misses, bypassed FROM rag.cache_counters WHERE tenant_id = $1

-- name: size
-- Entries that can answer now: not expired, and of collections that are what they were.
SELECT count(*) FROM rag.retrieval_cache r
WHERE r.tenant_id = $1 AND r.created_at > now() - make_interval(secs => $2) AND rag.cached_is_current(r.collection_ids, r.epochs)

-- name: embeddings_size
SELECT count(*) FROM rag.query_embeddings WHERE tenant_id = $1

-- name: forget
SELECT rag.forget_cached($1)

-- name: clear
WITH doomed AS MATERIALIZED (
  SELECT key FROM rag.retrieval_cache WHERE tenant_id = $1 ORDER BY key FOR UPDATE
), gone AS (
  DELETE FROM rag.retrieval_cache r USING doomed WHERE r.tenant_id = $1 AND r.key = doomed.key RETURNING 1
)
SELECT count(*) FROM gone

-- name: embedding
SELECT embedding, used_at < now() - interval '30 s' AS touch
FROM rag.query_embeddings WHERE tenant_id = $1 AND model_id = $2 AND query_hash = $3

-- name: keep_embedding
SELECT rag.keep_embedding($1, $2::smallint, $3, $4, $5::integer)
