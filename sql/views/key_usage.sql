-- What calls of models of providers have cost: one row per key and day. The id of who has a token is made of their name: it is
-- compared after row security (entities.sql).
CREATE OR REPLACE VIEW analyst.key_usage AS
SELECT t.name || '' AS tenant,
       (array_remove(ARRAY[u.key_id], NULL))[1] AS key_id,
       u.day,
       u.calls,
       u.tokens,
       u.cost,
       k.name || '' AS key_name
FROM rag.key_usage AS u
JOIN rag.tenants AS t ON t.id = u.tenant_id
LEFT JOIN rag.api_keys AS k ON k.tenant_id = u.tenant_id AND k.id = u.key_id;

COMMENT ON VIEW analyst.key_usage IS 'What calls of models of providers have cost, one row per key and day; calls without a key are in analyst.retrieval_runs alone.';
COMMENT ON COLUMN analyst.key_usage.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN analyst.key_usage.key_id IS 'The key, or who a token is of.';
COMMENT ON COLUMN analyst.key_usage.key_name IS 'What it is called; null of callers with a token.';
COMMENT ON COLUMN analyst.key_usage.day IS 'Day of the calls (UTC).';
COMMENT ON COLUMN analyst.key_usage.calls IS 'Requests to models of providers (chat, embeddings, reranking), repeats included.';
COMMENT ON COLUMN analyst.key_usage.tokens IS 'Tokens read and written; of today with those that calls under way may use yet.';
COMMENT ON COLUMN analyst.key_usage.cost IS 'What they cost, by answer.prices; calls of models without a price are not in it.';
