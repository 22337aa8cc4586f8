-- What correcting itself costs and yields: one row per day and strategy, out of the traces of runs that say how they went
--. A rate is a share of runs; null where nothing counts for it.
CREATE OR REPLACE VIEW analyst.agentic_rates AS
SELECT t.name || '' AS tenant,
       (r.started_at AT TIME ZONE 'UTC')::date AS day,
       r.strategy || '' AS strategy,
       count(*) AS runs,
       avg((f.hallucination_retries > 0)::integer)::double precision AS retry_rate,
       avg((f.rewrites > 0)::integer)::double precision AS rewrite_rate,
       avg((f.expansions > 0)::integer)::double precision AS expansion_rate,
       avg((f.subquestions > 0)::integer)::double precision AS decomposition_rate,
       (avg((f.hallucinations > 0)::integer) FILTER (WHERE f.answers > 0))::double precision AS hallucination_rate,
       avg(f.rounds)::double precision AS avg_retrieval_rounds,
       avg(f.relevant::double precision / nullif(f.graded, 0)) AS avg_relevant_ratio,
       avg(f.graded)::double precision AS avg_graded_docs,
       avg(f.rerank_delta) AS avg_rerank_delta,
       avg((r.timings_ms ->> 'total')::double precision) AS avg_ms,
       avg((r.usage ->> 'calls')::double precision) AS avg_model_calls
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
CROSS JOIN LATERAL jsonb_to_record(r.plan -> 'agentic') AS f (
    rounds integer, rewrites integer, expansions integer, subquestions integer, graded integer, relevant integer,
    answers integer, hallucinations integer, hallucination_retries integer, rerank_delta double precision
)
WHERE r.kind = 'query' AND r.outcome = 'ok' AND jsonb_typeof(r.plan -> 'agentic') = 'object'
GROUP BY t.name, day, r.strategy;

COMMENT ON VIEW analyst.agentic_rates IS
    'How often strategies that correct themselves had to, by day and strategy: retries, rewrites, grades, rounds.';
COMMENT ON COLUMN analyst.agentic_rates.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.agentic_rates.day IS 'Day on which the runs began (UTC).';
COMMENT ON COLUMN analyst.agentic_rates.strategy IS 'The strategy that answered.';
COMMENT ON COLUMN analyst.agentic_rates.runs IS 'Answered questions that the figures of this row are of; failed and cancelled ones have none.';
COMMENT ON COLUMN analyst.agentic_rates.retry_rate IS 'Share of runs that went back to retrieval because the answer was not grounded, 0 to 1.';
COMMENT ON COLUMN analyst.agentic_rates.rewrite_rate IS 'Share of runs in which another query was made of what was found.';
COMMENT ON COLUMN analyst.agentic_rates.expansion_rate IS 'Share of runs in which other phrasings were searched.';
COMMENT ON COLUMN analyst.agentic_rates.decomposition_rate IS 'Share of runs in which sub-questions were searched.';
COMMENT ON COLUMN analyst.agentic_rates.hallucination_rate IS 'Share of runs with an answer in which the check flagged at least one; null where none was made.';
COMMENT ON COLUMN analyst.agentic_rates.avg_retrieval_rounds IS 'Mean number of rounds of retrieving and grading.';
COMMENT ON COLUMN analyst.agentic_rates.avg_relevant_ratio IS 'Mean share of the graded passages that were relevant, 0 to 1; null where nothing was graded.';
COMMENT ON COLUMN analyst.agentic_rates.avg_graded_docs IS 'Mean number of graded passages.';
COMMENT ON COLUMN analyst.agentic_rates.avg_rerank_delta IS 'Mean number of places by which reranking moved a passage; null where nothing was reranked.';
COMMENT ON COLUMN analyst.agentic_rates.avg_ms IS 'Mean time of a run, in milliseconds.';
COMMENT ON COLUMN analyst.agentic_rates.avg_model_calls IS 'Mean number of calls of the chat model, of runs with any.';
