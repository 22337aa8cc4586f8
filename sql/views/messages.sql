-- What was said, and what each answer stood on: one row per message.
CREATE OR REPLACE VIEW analyst.messages AS
SELECT t.name || '' AS tenant,
       m.session_id || '' AS session_id,
       m.position,
       m.id AS message_id,
       m.role || '' AS role,
       m.content || '' AS content,
       m.run_id,
       m.metadata -> 'sources' AS sources,
       array_remove(m.document_ids, NULL) AS document_ids,
       (m.metadata ->> 'confidence')::double precision AS confidence,
       CASE WHEN NOT m.metadata ? 'source_deleted_at' AND NOT changed.source_changed THEN (m.metadata ->> 'grounded')::boolean END AS grounded,
       m.metadata ->> 'outcome' AS outcome,
       m.metadata #>> '{error,code}' AS error,
       (m.metadata ->> 'source_deleted_at')::timestamptz AS source_deleted_at,
       m.created_at,
       changed.source_changed,
       m.metadata ->> 'confidence_word' AS confidence_word
FROM rag.messages AS m
JOIN rag.tenants AS t ON t.id = m.tenant_id
CROSS JOIN LATERAL (SELECT EXISTS (
    SELECT FROM jsonb_array_elements(m.metadata -> 'sources') AS source
    JOIN rag.documents AS d ON d.tenant_id = m.tenant_id AND d.id = (source ->> 'document_id')::uuid
    WHERE (source -> 'cited')::boolean AND d.version > (source ->> 'version')::integer) AS source_changed) AS changed;

COMMENT ON VIEW analyst.messages IS 'Messages of conversations, one row each; analyst.retrieval_runs tells how an answer came to be (run_id).';
COMMENT ON COLUMN analyst.messages.tenant IS 'Name of the tenant that owns the message.';
COMMENT ON COLUMN analyst.messages.session_id IS 'The conversation; see analyst.conversations.';
COMMENT ON COLUMN analyst.messages.position IS 'Place in the conversation, from 1, without gaps.';
COMMENT ON COLUMN analyst.messages.message_id IS 'Id of the message.';
COMMENT ON COLUMN analyst.messages.role IS 'user or assistant.';
COMMENT ON COLUMN analyst.messages.content IS 'What was said; empty when a document that the answer cites was deleted since.';
COMMENT ON COLUMN analyst.messages.run_id IS 'The run that the message belongs to: both sides of an exchange have the same.';
COMMENT ON COLUMN analyst.messages.sources IS 'What an answer stood on (JSON array), n as it is cited: ids, span, score, preview; null for a question.';
COMMENT ON COLUMN analyst.messages.document_ids IS 'Documents of the sources; some may be deleted by now.';
COMMENT ON COLUMN analyst.messages.confidence IS 'Confidence in an answer, 0 to 1; null for a question.';
COMMENT ON COLUMN analyst.messages.grounded IS 'Whether the sources support an answer; null for a question, where that was not checked, and where a source is another or gone by now.';
COMMENT ON COLUMN analyst.messages.outcome IS 'Of a question that got no answer: error or cancelled; null otherwise.';
COMMENT ON COLUMN analyst.messages.error IS 'Of a question whose run failed: the code of the error; null otherwise.';
COMMENT ON COLUMN analyst.messages.source_deleted_at IS 'When a document among the sources was deleted, and its quotes with it; null otherwise.';
COMMENT ON COLUMN analyst.messages.created_at IS 'When the message was saved.';
COMMENT ON COLUMN analyst.messages.source_changed IS 'Whether the answer cites a document that has other content by now.';
COMMENT ON COLUMN analyst.messages.confidence_word IS 'What the confidence is worth (found, likely, not_sure), or what the answer is made of (exact, computed, recognised); null for a question, a refusal, small talk, a summary and what a model wrote.';
