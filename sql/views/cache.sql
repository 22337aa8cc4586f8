-- The retrieval cache: one row per stored result.
CREATE OR REPLACE VIEW analyst.cache AS
SELECT t.name || '' AS tenant,
       r.key || '' AS key,
       r.query || '' AS query,
       ARRAY(SELECT c.name FROM rag.collections AS c
             WHERE c.tenant_id = r.tenant_id AND c.id = ANY (r.collection_ids) ORDER BY c.name) AS collections,
       r.epochs,
       coalesce((r.collection_ids, r.epochs) = (
           SELECT array_agg(c.id ORDER BY c.id), array_agg(c.epoch ORDER BY c.id) FROM rag.collections AS c
           WHERE c.tenant_id = r.tenant_id AND c.id = ANY (r.collection_ids)), false) AS current,
       (r.result ->> 'run_id')::uuid AS run_id,
       jsonb_array_length(r.result -> 'passages') AS passage_count,
       CASE WHEN NOT rag.restricts() THEN r.hits END AS hits,
       r.query_vector IS NOT NULL AS semantic,
       r.created_at,
       CASE WHEN NOT rag.restricts() THEN r.used_at END AS used_at
FROM rag.retrieval_cache AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id;

COMMENT ON VIEW analyst.cache IS
    'Results of searches that repeated searches are answered from. What the cache did in all is at GET /cache.';
COMMENT ON COLUMN analyst.cache.tenant IS 'Name of the tenant that searched.';
COMMENT ON COLUMN analyst.cache.key IS 'MD5 of all that decides the result: query, parameters, collections, model, settings.';
COMMENT ON COLUMN analyst.cache.query IS 'The query in lower case, with single spaces and without its last signs.';
COMMENT ON COLUMN analyst.cache.collections IS 'Names of the collections that were searched.';
COMMENT ON COLUMN analyst.cache.epochs IS 'Their states when they were searched, in order of their ids.';
COMMENT ON COLUMN analyst.cache.current IS 'Whether the collections are still in those states; only then the entry answers.';
COMMENT ON COLUMN analyst.cache.run_id IS 'The run that made the entry; see analyst.retrieval_runs and analyst.retrieval_hits.';
COMMENT ON COLUMN analyst.cache.passage_count IS 'Passages in the stored result.';
COMMENT ON COLUMN analyst.cache.hits IS 'How often it answered; processes write this every 30 s. Null while any document is restricted: who may read more uses it, too.';
COMMENT ON COLUMN analyst.cache.semantic IS 'Whether it may also answer nearly the same queries (cache.semantic).';
COMMENT ON COLUMN analyst.cache.created_at IS 'When it was stored; it answers for cache.ttlSeconds seconds (300).';
COMMENT ON COLUMN analyst.cache.used_at IS 'When it last answered, to 30 s; the order of eviction. Null while any document is restricted.';
