-- What the check found of each sentence of an answer that a model wrote. Kept for trace.retentionDays days.
CREATE OR REPLACE VIEW analyst.answer_sentences AS
SELECT t.name || '' AS tenant,
       r.id AS run_id,
       r.started_at,
       s.n::integer AS n,
       substr(r.answer ->> 'text', (s.said ->> 'start')::integer + 1, (s.said ->> 'end')::integer - (s.said ->> 'start')::integer) AS sentence,
       (s.said ->> 'supported')::boolean AS supported,
       (s.said ->> 'score')::double precision AS score,
       ARRAY(SELECT jsonb_array_elements_text(s.said -> 'problems')) AS problems,
       (s.said ->> 'computed')::integer AS computed,
       ARRAY(SELECT jsonb_array_elements_text(s.said -> 'passages'))::uuid[] AS passage_ids,
       r.answer #>> '{grounding,layer}' AS layer,
       (s.said ->> 'start')::integer AS start,
       (s.said ->> 'end')::integer AS "end",
       r.answer ? 'source_deleted_at' AS source_deleted,
       EXISTS (SELECT FROM jsonb_array_elements(r.answer -> 'citations') AS source
               JOIN rag.documents AS d ON d.tenant_id = r.tenant_id AND d.id = (source ->> 'document_id')::uuid
               WHERE d.version > (source ->> 'version')::integer) AS source_changed
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
CROSS JOIN LATERAL jsonb_array_elements(r.answer #> '{grounding,sentences}') WITH ORDINALITY AS s (said, n)
WHERE r.answer ? 'grounding';

COMMENT ON VIEW analyst.answer_sentences IS
    'Sentences of answers that a model wrote and that claim something, one row each, with what the check found.';
COMMENT ON COLUMN analyst.answer_sentences.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.answer_sentences.run_id IS 'The run (analyst.retrieval_runs).';
COMMENT ON COLUMN analyst.answer_sentences.started_at IS 'When the run began. Partitions are days (UTC): a condition on this column makes queries fast.';
COMMENT ON COLUMN analyst.answer_sentences.n IS 'Place among the sentences that were checked, from 1.';
COMMENT ON COLUMN analyst.answer_sentences.sentence IS 'Its words; null when a document that the answer has words of was deleted since.';
COMMENT ON COLUMN analyst.answer_sentences.supported IS 'Whether the sources support it; agrees with the verdict on the whole answer, at the time of the answer.';
COMMENT ON COLUMN analyst.answer_sentences.score IS 'How probably they do, 0 to 1.';
COMMENT ON COLUMN analyst.answer_sentences.problems IS 'What is not the sources'': number, name, turned (negated, or tied to another), command, echo (of an order in a source), reason (a model''s), unstated; empty where it is supported.';
COMMENT ON COLUMN analyst.answer_sentences.computed IS 'How many of its numbers follow from two of the sources''.';
COMMENT ON COLUMN analyst.answer_sentences.passage_ids IS 'Passages that support it best (analyst.passages), best first.';
COMMENT ON COLUMN analyst.answer_sentences.layer IS 'Which layer decided on the whole answer: fast, model or sentences.';
COMMENT ON COLUMN analyst.answer_sentences.start IS 'Where it begins in the answer, in characters from 0.';
COMMENT ON COLUMN analyst.answer_sentences."end" IS 'Where it ends.';
COMMENT ON COLUMN analyst.answer_sentences.source_deleted IS 'Whether a document that the answer has words of was deleted since.';
COMMENT ON COLUMN analyst.answer_sentences.source_changed IS 'Whether the answer cites a document that has other content by now.';
