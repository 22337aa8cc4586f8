-- Who talked with the documents, when and how much: one row per conversation.
CREATE OR REPLACE VIEW analyst.conversations AS
SELECT t.name || '' AS tenant,
       s.id || '' AS session_id,
       s.collection || '' AS collection,
       s.message_count,
       (SELECT count(*) FROM rag.messages AS m
        WHERE m.tenant_id = s.tenant_id AND m.session_id = s.id AND m.role = 'user' AND m.metadata ? 'outcome') AS unanswered,
       (SELECT m.content FROM rag.messages AS m
        WHERE m.tenant_id = s.tenant_id AND m.session_id = s.id AND m.position = 1) AS first_message,
       s.created_at,
       s.last_used_at
FROM rag.sessions AS s
JOIN rag.tenants AS t ON t.id = s.tenant_id;

COMMENT ON VIEW analyst.conversations IS 'Conversations, one row each; what was said is in analyst.messages.';
COMMENT ON COLUMN analyst.conversations.tenant IS 'Name of the tenant that owns the conversation.';
COMMENT ON COLUMN analyst.conversations.session_id IS 'Id of the conversation as the client gave it; runs and messages refer to it.';
COMMENT ON COLUMN analyst.conversations.collection IS 'Name of the collection that was asked last; it may be gone by now.';
COMMENT ON COLUMN analyst.conversations.message_count IS 'Messages of both sides.';
COMMENT ON COLUMN analyst.conversations.unanswered IS 'Questions without an answer: their run failed or was cancelled.';
COMMENT ON COLUMN analyst.conversations.first_message IS 'What the user said first.';
COMMENT ON COLUMN analyst.conversations.created_at IS 'When the first message was saved.';
COMMENT ON COLUMN analyst.conversations.last_used_at IS 'When the last message was saved.';
