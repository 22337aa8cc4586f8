-- What agents did: one row per step and tool.
CREATE OR REPLACE VIEW analyst.agent_steps AS
SELECT t.name || '' AS tenant,
       r.id AS run_id,
       r.started_at,
       r.strategy || '' AS strategy,
       (s.step ->> 'step')::integer AS step,
       s.step ->> 'thought' AS thought,
       u.tool ->> 'tool' AS tool,
       u.tool -> 'arguments' AS arguments,
       (u.tool ->> 'success')::boolean AS success,
       (u.tool ->> 'repeated')::boolean AS repeated,
       jsonb_array_length(u.tool -> 'found') AS found,
       u.tool -> 'found' AS passage_ids,
       u.tool ->> 'reason' AS reason,
       (u.tool ->> 'ms')::double precision AS ms
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
CROSS JOIN LATERAL jsonb_array_elements(r.plan -> 'agent_steps') AS s (step)
CROSS JOIN LATERAL jsonb_array_elements(s.step -> 'tools') AS u (tool)
WHERE r.plan ? 'agent_steps';

COMMENT ON VIEW analyst.agent_steps IS
    'Steps of agent runs, a row for each tool that was called. A run loses them when a document that it read is deleted.';
COMMENT ON COLUMN analyst.agent_steps.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.agent_steps.run_id IS 'The run (analyst.retrieval_runs).';
COMMENT ON COLUMN analyst.agent_steps.started_at IS 'When the run began. Partitions are days (UTC): a condition on this column makes queries fast.';
COMMENT ON COLUMN analyst.agent_steps.strategy IS 'The strategy that was chosen.';
COMMENT ON COLUMN analyst.agent_steps.step IS 'Number of the step, from 1.';
COMMENT ON COLUMN analyst.agent_steps.thought IS 'What the model said it was about.';
COMMENT ON COLUMN analyst.agent_steps.tool IS 'The tool, as the model named it.';
COMMENT ON COLUMN analyst.agent_steps.arguments IS 'Its arguments (JSON object); empty where they could not be used.';
COMMENT ON COLUMN analyst.agent_steps.success IS 'Whether it did what it was asked; true also where it found nothing.';
COMMENT ON COLUMN analyst.agent_steps.repeated IS 'The same call had been made before, and was not made again.';
COMMENT ON COLUMN analyst.agent_steps.found IS 'How many passages it found.';
COMMENT ON COLUMN analyst.agent_steps.passage_ids IS 'Their ids (JSON array; analyst.passages).';
COMMENT ON COLUMN analyst.agent_steps.reason IS 'Why it failed; empty where it did not.';
COMMENT ON COLUMN analyst.agent_steps.ms IS 'How long it took, in milliseconds.';
