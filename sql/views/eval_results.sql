-- Where retrieval failed: one row per evaluation run and query. What is missing is worked out from the judgements here.
CREATE OR REPLACE VIEW analyst.eval_results AS
SELECT t.name || '' AS tenant,
       q.run_id,
       r.data_set || '' AS data_set,
       r.parameters ->> 'mode' AS mode,
       r.name || '' AS name,
       r.started_at,
       q.query_id || '' AS query_id,
       q.query || '' AS query,
       (q.metrics ->> 'ndcg@10')::double precision AS ndcg_at_10,
       (q.metrics ->> 'recall@10')::double precision AS recall_at_10,
       (q.metrics ->> 'recall@100')::double precision AS recall_at_100,
       (q.metrics ->> 'map')::double precision AS average_precision,
       round((1 / nullif((q.metrics ->> 'mrr')::double precision, 0))::numeric)::integer AS first_relevant_rank,
       array_remove(judged.relevant, NULL) AS relevant,
       array_remove(judged.missed, NULL) AS missed,
       array_remove(q.ranking, NULL) AS ranking,
       q.judgements,
       q.metrics,
       q.total_ms
FROM rag.eval_results AS q
JOIN rag.eval_runs AS r ON r.tenant_id = q.tenant_id AND r.id = q.run_id
JOIN rag.tenants AS t ON t.id = q.tenant_id
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(grade.key ORDER BY grade.key), '{}') AS relevant,
           coalesce(array_agg(grade.key ORDER BY grade.key) FILTER (WHERE grade.key <> ALL (q.ranking)), '{}') AS missed
    FROM jsonb_each_text(q.judgements) AS grade
    WHERE grade.value::integer > 0
) AS judged;

COMMENT ON VIEW analyst.eval_results IS
    'Queries of evaluation runs, one row per run and query: what was found, what was missed, and the metrics.';
COMMENT ON COLUMN analyst.eval_results.tenant IS 'Name of the tenant that evaluated.';
COMMENT ON COLUMN analyst.eval_results.run_id IS 'The evaluation run (analyst.eval_runs).';
COMMENT ON COLUMN analyst.eval_results.data_set IS 'Name of the data set.';
COMMENT ON COLUMN analyst.eval_results.mode IS 'How was searched: hybrid, vector or lexical.';
COMMENT ON COLUMN analyst.eval_results.name IS 'Name given to the run; empty where none was.';
COMMENT ON COLUMN analyst.eval_results.started_at IS 'When the run began.';
COMMENT ON COLUMN analyst.eval_results.query_id IS 'Id of the query in the data set; the same query of two runs has the same id.';
COMMENT ON COLUMN analyst.eval_results.query IS 'The query as it was sent.';
COMMENT ON COLUMN analyst.eval_results.ndcg_at_10 IS 'nDCG of the first ten documents, 0 to 1.';
COMMENT ON COLUMN analyst.eval_results.recall_at_10 IS 'Share of the relevant documents among the first 10.';
COMMENT ON COLUMN analyst.eval_results.recall_at_100 IS 'Share of the relevant documents among the first 100.';
COMMENT ON COLUMN analyst.eval_results.average_precision IS 'Average precision of the first 100 documents.';
COMMENT ON COLUMN analyst.eval_results.first_relevant_rank IS 'Rank of the first relevant document, from 1; null where none was found.';
COMMENT ON COLUMN analyst.eval_results.relevant IS 'External ids of the relevant documents (analyst.documents.external_id in the collection of the run).';
COMMENT ON COLUMN analyst.eval_results.missed IS 'Relevant documents that are not among those found.';
COMMENT ON COLUMN analyst.eval_results.ranking IS 'External ids of the documents found, best first, at most 100.';
COMMENT ON COLUMN analyst.eval_results.judgements IS 'Grade of each judged document (JSON object); above 0 is relevant.';
COMMENT ON COLUMN analyst.eval_results.metrics IS 'All metrics of this query (JSON object).';
COMMENT ON COLUMN analyst.eval_results.total_ms IS 'Time that the search took, in milliseconds.';
