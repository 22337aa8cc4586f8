-- What was asked and what came of it: one row per search or question. Kept for trace.retentionDays days.
CREATE OR REPLACE VIEW analyst.retrieval_runs AS
SELECT t.name || '' AS tenant,
       r.id AS run_id,
       r.started_at,
       r.kind || '' AS kind,
       array_remove(r.collections, NULL) AS collections,
       r.question || '' AS question,
       r.strategy || '' AS strategy,
       r.outcome || '' AS outcome,
       r.error || '' AS error,
       (r.timings_ms ->> 'total')::double precision AS total_ms,
       r.timings_ms,
       array_remove(r.legs_used, NULL) AS legs_used,
       r.legs_failed,
       array_remove(r.degraded, NULL) AS degraded,
       r.answer ->> 'text' AS answer,
       (r.answer ->> 'confidence')::double precision AS confidence,
       CASE WHEN NOT r.answer ? 'source_deleted_at' AND NOT changed.source_changed THEN (r.answer ->> 'grounded')::boolean END AS grounded,
       (r.answer ->> 'groundedness_score')::double precision AS groundedness_score,
       (r.answer ->> 'source_deleted_at')::timestamptz AS source_deleted_at,
       array_remove(r.document_ids, NULL) AS document_ids,
       r.plan,
       r.usage,
       r.settings_revision || '' AS settings_revision,
       r.epochs,
       r.session_id || '' AS session_id,
       changed.source_changed,
       (r.plan ->> 'found')::boolean AS found,
       r.answer ->> 'answered' AS answered,
       r.answer ->> 'confidence_word' AS confidence_word
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
CROSS JOIN LATERAL (SELECT EXISTS (
    SELECT FROM jsonb_array_elements(r.answer -> 'citations') AS source
    JOIN rag.documents AS d ON d.tenant_id = r.tenant_id AND d.id = (source ->> 'document_id')::uuid
    WHERE d.version > (source ->> 'version')::integer) AS source_changed) AS changed;

COMMENT ON VIEW analyst.retrieval_runs IS
    'Searches and questions, one row each; what every leg found is in analyst.retrieval_hits.';
COMMENT ON COLUMN analyst.retrieval_runs.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.retrieval_runs.run_id IS 'Id of the run; the API calls it run_id or trace_id.';
COMMENT ON COLUMN analyst.retrieval_runs.started_at IS 'When it began. Partitions are days (UTC): a condition on this column makes queries fast.';
COMMENT ON COLUMN analyst.retrieval_runs.kind IS 'search (passages were wanted) or query (an answer was wanted).';
COMMENT ON COLUMN analyst.retrieval_runs.collections IS 'Names of the collections that were searched.';
COMMENT ON COLUMN analyst.retrieval_runs.question IS 'What was asked.';
COMMENT ON COLUMN analyst.retrieval_runs.strategy IS 'How the question was answered; null for a plain search.';
COMMENT ON COLUMN analyst.retrieval_runs.outcome IS 'ok, error, cancelled; running while it is under way, and of a process that died until the next upkeep.';
COMMENT ON COLUMN analyst.retrieval_runs.error IS 'Why it failed; null otherwise.';
COMMENT ON COLUMN analyst.retrieval_runs.total_ms IS 'Time from start to end, in milliseconds; null where it was not measured.';
COMMENT ON COLUMN analyst.retrieval_runs.timings_ms IS 'Time of each stage, in milliseconds (JSON object).';
COMMENT ON COLUMN analyst.retrieval_runs.legs_used IS 'Legs of the search that answered: vector, lexical, graph.';
COMMENT ON COLUMN analyst.retrieval_runs.legs_failed IS 'Legs that failed, each with its reason (JSON object).';
COMMENT ON COLUMN analyst.retrieval_runs.degraded IS 'What did not work as asked; empty when all did.';
COMMENT ON COLUMN analyst.retrieval_runs.answer IS 'Text of the answer; null for a search, or when a cited document was deleted since.';
COMMENT ON COLUMN analyst.retrieval_runs.confidence IS 'Confidence in the answer, 0 to 1; null for a search.';
COMMENT ON COLUMN analyst.retrieval_runs.grounded IS 'Whether the sources support the answer; null where that was not checked, or a source is another or gone by now.';
COMMENT ON COLUMN analyst.retrieval_runs.groundedness_score IS 'How far the sources support the answer, 0 to 1; null where that was not checked.';
COMMENT ON COLUMN analyst.retrieval_runs.source_deleted_at IS 'When a document that was cited, or read by an agent, was deleted, and the text of the answer with it.';
COMMENT ON COLUMN analyst.retrieval_runs.document_ids IS 'Documents that the answer cites, or that an agent has read; some may be deleted by now.';
COMMENT ON COLUMN analyst.retrieval_runs.plan IS 'How the run was planned: legs, weights, routing factors, request parameters (JSON object).';
COMMENT ON COLUMN analyst.retrieval_runs.usage IS 'Chat model and tokens used (JSON object); empty where no model was called.';
COMMENT ON COLUMN analyst.retrieval_runs.settings_revision IS 'Which settings were in force: equal values, equal revision.';
COMMENT ON COLUMN analyst.retrieval_runs.epochs IS 'State of each collection that was read (JSON object): grows with every change of its content.';
COMMENT ON COLUMN analyst.retrieval_runs.session_id IS 'The conversation that the question was asked in; null outside of conversations.';
COMMENT ON COLUMN analyst.retrieval_runs.source_changed IS 'Whether the answer cites a document that has other content by now.';
COMMENT ON COLUMN analyst.retrieval_runs.found IS 'Whether the documents answered (a question), or anything was found (a search); null where it did not come to that.';
COMMENT ON COLUMN analyst.retrieval_runs.answered IS 'yes, unsure (a guess that is shown as one) or no (a refusal); null for a search and a run without an answer.';
COMMENT ON COLUMN analyst.retrieval_runs.confidence_word IS 'What the confidence is worth (found, likely, not_sure), or what the answer is made of (exact, computed, recognised); null for a search, a refusal, small talk, a summary and what a model wrote.';
