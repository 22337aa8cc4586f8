-- What users think of answers: one row per run that was judged.
CREATE OR REPLACE VIEW analyst.feedback AS
SELECT t.name || '' AS tenant,
       f.run_id,
       f.run_started_at,
       f.session_id || '' AS session_id,
       f.rating,
       f.comment || '' AS comment,
       f.created_at,
       f.updated_at
FROM rag.feedback AS f
JOIN rag.tenants AS t ON t.id = f.tenant_id;

COMMENT ON VIEW analyst.feedback IS 'What users think of answers, one row per judged run; join analyst.retrieval_runs for question and answer.';
COMMENT ON COLUMN analyst.feedback.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.feedback.run_id IS 'The run that is judged; see analyst.retrieval_runs and analyst.retrieval_hits.';
COMMENT ON COLUMN analyst.feedback.run_started_at IS 'When that run began: with it a join with analyst.retrieval_runs is fast.';
COMMENT ON COLUMN analyst.feedback.session_id IS 'The conversation of the run (analyst.conversations); null outside of conversations.';
COMMENT ON COLUMN analyst.feedback.rating IS '-1 bad, 0 neither, 1 good.';
COMMENT ON COLUMN analyst.feedback.comment IS 'In the words of the user; null where there is none, or a document that the answer cites was deleted since.';
COMMENT ON COLUMN analyst.feedback.created_at IS 'When the run was first judged.';
COMMENT ON COLUMN analyst.feedback.updated_at IS 'When the judgement was last replaced.';
