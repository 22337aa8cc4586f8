-- How well the vector leg finds: one row per check.
CREATE OR REPLACE VIEW analyst.recall_checks AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       m.name || '' AS model,
       r.regime || '' AS regime,
       r.k,
       r.sample,
       r.recall,
       r.ef_search,
       r.checked_at,
       r.id AS check_id
FROM rag.recall_checks AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
JOIN rag.collections AS c ON c.tenant_id = r.tenant_id AND c.id = r.collection_id
JOIN rag.embedding_models AS m ON m.id = r.model_id;

COMMENT ON VIEW analyst.recall_checks IS
    'Comparisons of the vector leg with the exact scan on samples of stored vectors; the last 30 of each collection.';
COMMENT ON COLUMN analyst.recall_checks.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN analyst.recall_checks.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.recall_checks.model IS 'Embedding model whose vectors were compared.';
COMMENT ON COLUMN analyst.recall_checks.regime IS 'exact, dedicated (an index of its own) or shared (that of all collections).';
COMMENT ON COLUMN analyst.recall_checks.k IS 'Neighbours compared for each vector of the sample.';
COMMENT ON COLUMN analyst.recall_checks.sample IS 'Stored vectors that were looked for.';
COMMENT ON COLUMN analyst.recall_checks.recall IS 'Mean share of the true k neighbours that were found, 0 to 1.';
COMMENT ON COLUMN analyst.recall_checks.ef_search IS 'HNSW search breadth in force.';
COMMENT ON COLUMN analyst.recall_checks.checked_at IS 'When the comparison was made.';
COMMENT ON COLUMN analyst.recall_checks.check_id IS 'Id of the check.';
