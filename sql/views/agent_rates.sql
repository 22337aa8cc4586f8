-- How agents went about their questions: one row per day and strategy, out of the traces of answered runs that took steps or
-- passes. A mean is over the runs that have such a thing; null where none has.
CREATE OR REPLACE VIEW analyst.agent_rates AS
SELECT t.name || '' AS tenant,
       (r.started_at AT TIME ZONE 'UTC')::date AS day,
       r.strategy || '' AS strategy,
       count(*) AS runs,
       avg((r.plan -> 'cgrag' ->> 'passes_used')::integer)::double precision AS avg_passes,
       avg(jsonb_array_length(r.plan -> 'cgrag' -> 'gaps_identified'))::double precision AS avg_gaps,
       sum(jsonb_array_length(r.plan -> 'cgrag' -> 'gaps_resolved'))::double precision
           / nullif(sum(jsonb_array_length(r.plan -> 'cgrag' -> 'gaps_identified')), 0) AS gap_resolution_rate,
       avg(s.steps)::double precision AS avg_steps,
       avg(s.calls)::double precision AS avg_tool_calls,
       sum(s.failed)::double precision / nullif(sum(s.calls), 0) AS tool_failure_rate,
       avg((r.plan ->> 'budget_exceeded' IS NOT NULL)::integer)::double precision AS budget_exceeded_rate,
       avg((r.timings_ms ->> 'total')::double precision) AS avg_ms,
       avg((r.usage ->> 'calls')::double precision) AS avg_model_calls
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
CROSS JOIN LATERAL (
    SELECT nullif(count(DISTINCT step.place), 0) AS steps,
           count(tool.value) AS calls,
           count(tool.value) FILTER (WHERE tool.value ->> 'success' = 'false') AS failed
    FROM jsonb_array_elements(r.plan -> 'agent_steps') WITH ORDINALITY AS step (value, place)
    LEFT JOIN LATERAL jsonb_array_elements(step.value -> 'tools') AS tool (value) ON true
) AS s
WHERE r.kind = 'query' AND r.outcome = 'ok' AND (r.plan ? 'agent_steps' OR r.plan ? 'cgrag')
GROUP BY t.name, day, r.strategy;

COMMENT ON VIEW analyst.agent_rates IS
    'What agents needed for their answers, by day and strategy: passes, gaps, steps, calls of tools and of models.';
COMMENT ON COLUMN analyst.agent_rates.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.agent_rates.day IS 'Day on which the runs began (UTC).';
COMMENT ON COLUMN analyst.agent_rates.strategy IS 'The strategy that answered.';
COMMENT ON COLUMN analyst.agent_rates.runs IS 'Answered questions that the figures of this row are of; failed and cancelled ones have none.';
COMMENT ON COLUMN analyst.agent_rates.avg_passes IS 'Mean number of answers that a run of the iterative strategy made of what it had read.';
COMMENT ON COLUMN analyst.agent_rates.avg_gaps IS 'Mean number of things that such answers said were missing.';
COMMENT ON COLUMN analyst.agent_rates.gap_resolution_rate IS 'Share of all these gaps for which something was found, 0 to 1; null where there was none.';
COMMENT ON COLUMN analyst.agent_rates.avg_steps IS 'Mean number of steps of runs that took any.';
COMMENT ON COLUMN analyst.agent_rates.avg_tool_calls IS 'Mean number of tools called.';
COMMENT ON COLUMN analyst.agent_rates.tool_failure_rate IS 'Share of these calls that failed, 0 to 1; finding nothing for a gap counts.';
COMMENT ON COLUMN analyst.agent_rates.budget_exceeded_rate IS 'Share of runs that a limit of the budget ended early.';
COMMENT ON COLUMN analyst.agent_rates.avg_ms IS 'Mean time of a run, in milliseconds.';
COMMENT ON COLUMN analyst.agent_rates.avg_model_calls IS 'Mean number of calls of the chat model, of runs with any.';
