-- What there is to ask: one row per collection. Counts are of what everybody in the tenant may read. Ids of entities are made of
-- that of their collection, which is compared after row security (entities.sql).
CREATE OR REPLACE VIEW analyst.collections AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       c.document_count - hidden.documents AS document_count,
       states.failed AS failed_count,
       states.waiting AS waiting_count,
       c.passage_count - hidden.passages AS passage_count,
       c.chunk_count - hidden.chunks AS chunk_count,
       c.byte_count - hidden.bytes AS byte_count,
       m.name || '' AS embedding_model,
       c.calibration IS NOT NULL AS calibrated,
       c.epoch,
       c.created_at,
       states.updated_at,
       (array_remove(ARRAY[c.id], NULL))[1] AS collection_id,
       coalesce(c.display_name, c.name) || '' AS display_name
FROM rag.collections AS c
JOIN rag.tenants AS t ON t.id = c.tenant_id
LEFT JOIN rag.embedding_models AS m ON m.id = c.model_id
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE d.status = 'failed') AS failed,
           count(*) FILTER (WHERE d.status NOT IN ('failed', 'indexed')) AS waiting,
           max(d.updated_at) AS updated_at
    FROM rag.documents AS d WHERE d.tenant_id = c.tenant_id AND d.collection_id = c.id) AS states
CROSS JOIN LATERAL rag.count_restricted(c.tenant_id, c.id) AS hidden;

COMMENT ON VIEW analyst.collections IS 'Collections with their size, state and model, one row each.';
COMMENT ON COLUMN analyst.collections.tenant IS 'Name of the tenant that owns the collection.';
COMMENT ON COLUMN analyst.collections.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.collections.document_count IS 'Number of indexed documents.';
COMMENT ON COLUMN analyst.collections.failed_count IS 'Documents that could not be indexed; analyst.documents has the reasons.';
COMMENT ON COLUMN analyst.collections.waiting_count IS 'Documents that are being indexed, or wait for it.';
COMMENT ON COLUMN analyst.collections.passage_count IS 'Passages of indexed documents.';
COMMENT ON COLUMN analyst.collections.chunk_count IS 'Chunks of indexed documents.';
COMMENT ON COLUMN analyst.collections.byte_count IS 'Bytes of the files of indexed documents.';
COMMENT ON COLUMN analyst.collections.embedding_model IS 'Model whose vectors serve it, with their precision; null before the first document.';
COMMENT ON COLUMN analyst.collections.calibrated IS 'Whether its confidence was calibrated with judged questions (cairn eval calibrate).';
COMMENT ON COLUMN analyst.collections.epoch IS 'Grows with every change of its content; analyst.retrieval_runs.epochs has what a run read.';
COMMENT ON COLUMN analyst.collections.created_at IS 'When it was created.';
COMMENT ON COLUMN analyst.collections.updated_at IS 'When a document of it last changed; null without documents.';
COMMENT ON COLUMN analyst.collections.collection_id IS 'Id of the collection.';
COMMENT ON COLUMN analyst.collections.display_name IS 'What people call it; its name where nobody said.';
