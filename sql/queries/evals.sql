-- Evaluation runs and their results.

-- name: insert_run
INSERT INTO rag.eval_runs (tenant_id, id, kind, name, data_set, data_hash, collection_id, collection, epochs, settings,
  settings_revision, code_version, parameters, started_at, finished_at, query_count, metrics, timings_ms, degraded)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)

-- name: insert_result
INSERT INTO rag.eval_results (tenant_id, run_id, query_id, query, ranking, judgements, metrics, total_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: page
-- Newest first: ids are UUIDv7.
SELECT id, kind, name, data_set, data_hash, collection_id, collection, epochs, settings, settings_revision,
  code_version, parameters, started_at, finished_at, query_count, metrics, timings_ms, degraded
FROM rag.eval_runs WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2

-- name: by_ending
-- The last part of a UUIDv7 is random, its first part a time: an ending tells runs apart.
SELECT id, kind, name, data_set, data_hash, collection_id, collection, epochs, settings, settings_revision,
  code_version, parameters, started_at, finished_at, query_count, metrics, timings_ms, degraded
FROM rag.eval_runs WHERE tenant_id = $1 AND right(id::text, length($2)) = $2 ORDER BY id LIMIT 2

-- name: results
SELECT query_id, query, ranking, judgements, metrics, total_ms
FROM rag.eval_results WHERE tenant_id = $1 AND run_id = $2 ORDER BY query_id

-- name: first_settings
-- Settings of the oldest run that searched this state of a collection.
SELECT settings FROM rag.eval_runs
WHERE tenant_id = $1 AND collection_id = $2 AND epochs = $3 ORDER BY id LIMIT 1

-- name: content_hashes
SELECT external_id, content_hash FROM rag.documents
WHERE tenant_id = $1 AND collection_id = $2 AND status = 'indexed' AND loader_revision >= $3

-- name: is_restricted
-- $2: a collection. What a document held while it had a list gets the list again when it comes back.
SELECT rag.is_ruled($2) OR rag.holds_restricted(ARRAY[$2::uuid]) OR EXISTS (
  SELECT 1 FROM rag.documents d WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.formerly IS NOT NULL)

-- name: holds_restricted
SELECT rag.holds_restricted(ARRAY(SELECT id FROM rag.collections WHERE tenant_id = $1 AND name = ANY ($2::text[])))

-- name: external_ids
SELECT id, external_id FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND status = 'indexed'

-- name: agentic_rates
-- Rates of self-correction over some runs, as analyst.agentic_rates has them by day; no row where none of them tells how it went.
SELECT count(*)::double precision AS runs,
       avg((f.hallucination_retries > 0)::integer)::double precision AS retry_rate,
       avg((f.rewrites > 0)::integer)::double precision AS rewrite_rate,
       avg((f.expansions > 0)::integer)::double precision AS expansion_rate,
       avg((f.subquestions > 0)::integer)::double precision AS decomposition_rate,
       (avg((f.hallucinations > 0)::integer) FILTER (WHERE f.answers > 0))::double precision AS hallucination_rate,
       avg(f.rounds)::double precision AS avg_retrieval_rounds,
       avg(f.relevant::double precision / nullif(f.graded, 0)) AS avg_relevant_ratio,
       avg(f.graded)::double precision AS avg_graded_docs,
       avg(f.rerank_delta) AS avg_rerank_delta
FROM rag.runs AS r
CROSS JOIN LATERAL jsonb_to_record(r.plan -> 'agentic') AS f (
    rounds integer, rewrites integer, expansions integer, subquestions integer, graded integer, relevant integer,
    answers integer, hallucinations integer, hallucination_retries integer, rerank_delta double precision
)
WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[]) AND r.started_at >= $3 AND r.outcome = 'ok'
  AND jsonb_typeof(r.plan -> 'agentic') = 'object'
HAVING count(*) > 0

-- name: agent_rates
-- What agents needed over some runs, as analyst.agent_rates has it by day; no row where none of them took steps or passes.
SELECT count(*)::double precision AS runs,
       avg((r.plan -> 'cgrag' ->> 'passes_used')::integer)::double precision AS avg_passes,
       avg(jsonb_array_length(r.plan -> 'cgrag' -> 'gaps_identified'))::double precision AS avg_gaps,
       sum(jsonb_array_length(r.plan -> 'cgrag' -> 'gaps_resolved'))::double precision
         / nullif(sum(jsonb_array_length(r.plan -> 'cgrag' -> 'gaps_identified')), 0) AS gap_resolution_rate,
       avg(nullif(jsonb_array_length(r.plan -> 'agent_steps'), 0))::double precision AS avg_steps,
       avg(s.calls)::double precision AS avg_tool_calls,
       sum(s.failed)::double precision / nullif(sum(s.calls), 0) AS tool_failure_rate
FROM rag.runs AS r
CROSS JOIN LATERAL (
  SELECT count(*) AS calls, count(*) FILTER (WHERE tool.value ->> 'success' = 'false') AS failed
  FROM jsonb_array_elements(r.plan -> 'agent_steps') AS step (value)
  CROSS JOIN LATERAL jsonb_array_elements(step.value -> 'tools') AS tool (value)
) AS s
WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[]) AND r.started_at >= $3 AND r.outcome = 'ok'
  AND (r.plan ? 'agent_steps' OR r.plan ? 'cgrag')
HAVING count(*) > 0

-- name: judged_runs
-- What users rated up or down, newest first; $2: of one collection, or null. A run whose words were deleted has no question.
SELECT f.run_id, f.rating, r.question, r.collections[1] AS collection, r.strategy, r.plan, r.settings_revision,
  r.answer -> 'citations' AS citations
FROM rag.feedback AS f
JOIN rag.runs AS r ON r.tenant_id = f.tenant_id AND r.id = f.run_id
WHERE f.tenant_id = $1 AND f.rating <> 0 AND r.kind = 'query' AND r.outcome = 'ok' AND r.question <> ''
  AND ($2::text IS NULL OR r.collections[1] = $2)
ORDER BY f.run_started_at DESC, f.run_id DESC LIMIT $3

-- name: collection_epochs
SELECT name, id, epoch FROM rag.collections WHERE tenant_id = $1 AND name = ANY ($2::text[])
