-- How good retrieval was: one row per evaluation run.
CREATE OR REPLACE VIEW analyst.eval_runs AS
SELECT t.name || '' AS tenant,
       r.id AS run_id,
       r.kind || '' AS kind,
       r.name || '' AS name,
       r.data_set || '' AS data_set,
       r.parameters ->> 'mode' AS mode,
       r.collection || '' AS collection,
       r.query_count,
       (r.metrics -> 'ndcg@10' ->> 'mean')::double precision AS ndcg_at_10,
       (r.metrics -> 'ndcg@10' ->> 'low')::double precision AS ndcg_at_10_low,
       (r.metrics -> 'ndcg@10' ->> 'high')::double precision AS ndcg_at_10_high,
       (r.metrics -> 'recall@5' ->> 'mean')::double precision AS recall_at_5,
       (r.metrics -> 'recall@10' ->> 'mean')::double precision AS recall_at_10,
       (r.metrics -> 'recall@100' ->> 'mean')::double precision AS recall_at_100,
       (r.metrics -> 'mrr' ->> 'mean')::double precision AS mrr,
       (r.metrics -> 'map' ->> 'mean')::double precision AS map,
       (r.timings_ms ->> 'p50')::double precision AS median_ms,
       (r.timings_ms ->> 'p95')::double precision AS p95_ms,
       r.started_at,
       r.finished_at,
       array_remove(r.degraded, NULL) AS degraded,
       r.epochs,
       r.settings_revision || '' AS settings_revision,
       r.code_version || '' AS code_version,
       r.data_hash || '' AS data_hash,
       r.parameters,
       r.settings,
       r.metrics
FROM rag.eval_runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id;

COMMENT ON VIEW analyst.eval_runs IS
    'Evaluation runs, one row each: a data set searched with one state of collection, settings and code.';
COMMENT ON COLUMN analyst.eval_runs.tenant IS 'Name of the tenant that evaluated.';
COMMENT ON COLUMN analyst.eval_runs.run_id IS 'Id of the evaluation run; cairn eval list and compare use it.';
COMMENT ON COLUMN analyst.eval_runs.kind IS 'What was measured: retrieval.';
COMMENT ON COLUMN analyst.eval_runs.name IS 'Name given to the run with --name; empty where none was.';
COMMENT ON COLUMN analyst.eval_runs.data_set IS 'Name of the data set: its folder, and the split where there are several.';
COMMENT ON COLUMN analyst.eval_runs.mode IS 'How was searched: hybrid, text (without the graph), vector, lexical or graph.';
COMMENT ON COLUMN analyst.eval_runs.collection IS 'Name of the collection that was searched; it may be gone by now.';
COMMENT ON COLUMN analyst.eval_runs.query_count IS 'Number of queries; with fewer than about 100 the means are noisy.';
COMMENT ON COLUMN analyst.eval_runs.ndcg_at_10 IS 'nDCG of the first ten documents, 0 to 1, mean over queries (gain = grade, as trec_eval counts).';
COMMENT ON COLUMN analyst.eval_runs.ndcg_at_10_low IS 'Lower end of its 95 % bootstrap interval.';
COMMENT ON COLUMN analyst.eval_runs.ndcg_at_10_high IS 'Upper end of its 95 % bootstrap interval.';
COMMENT ON COLUMN analyst.eval_runs.recall_at_5 IS 'Share of the relevant documents among the first 5, mean over queries.';
COMMENT ON COLUMN analyst.eval_runs.recall_at_10 IS 'Share of the relevant documents among the first 10, mean over queries.';
COMMENT ON COLUMN analyst.eval_runs.recall_at_100 IS 'Share of the relevant documents among the first 100, mean over queries.';
COMMENT ON COLUMN analyst.eval_runs.mrr IS 'Mean of 1 / rank of the first relevant document; 0 where none was found.';
COMMENT ON COLUMN analyst.eval_runs.map IS 'Mean average precision of the first 100 documents.';
COMMENT ON COLUMN analyst.eval_runs.median_ms IS 'Median time of a search, in milliseconds.';
COMMENT ON COLUMN analyst.eval_runs.p95_ms IS 'Time that 95 % of the searches stayed under, in milliseconds.';
COMMENT ON COLUMN analyst.eval_runs.started_at IS 'When the first query was sent.';
COMMENT ON COLUMN analyst.eval_runs.finished_at IS 'When the last query was answered.';
COMMENT ON COLUMN analyst.eval_runs.degraded IS 'What did not work as asked, with the number of queries it concerned; empty when all did.';
COMMENT ON COLUMN analyst.eval_runs.epochs IS 'State of the collection that was searched (JSON object): grows with every change of its content.';
COMMENT ON COLUMN analyst.eval_runs.settings_revision IS 'Which settings were in force: equal values, equal revision.';
COMMENT ON COLUMN analyst.eval_runs.code_version IS 'Version of Cairn that searched.';
COMMENT ON COLUMN analyst.eval_runs.data_hash IS 'Identifies queries and judgements: runs with the same hash can be compared directly.';
COMMENT ON COLUMN analyst.eval_runs.parameters IS 'What the searches were asked for: mode, legs, top_k, reranking (JSON object).';
COMMENT ON COLUMN analyst.eval_runs.settings IS 'All settings in force (JSON object, keys as in settings.json).';
COMMENT ON COLUMN analyst.eval_runs.metrics IS 'All metrics with their intervals (JSON object: metric to mean, low, high).';
