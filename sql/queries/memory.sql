-- Conversations.

-- name: open_session
-- Takes the row of the conversation, made if it is new, and with it the next positions. Who comes second waits for the commit
-- of who came first, so an exchange is never torn apart by another.
INSERT INTO rag.sessions AS s (tenant_id, id, collection, message_count) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  collection = coalesce(excluded.collection, s.collection), last_used_at = clock_timestamp(),
  message_count = s.message_count + excluded.message_count
RETURNING message_count

-- name: add
INSERT INTO rag.messages (tenant_id, session_id, position, id, role, content, metadata, document_ids, run_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: blank
SELECT rag.blank_messages($1, $2)

-- name: recent
-- The last messages that still say something, newest first.
SELECT id, role, content, metadata, run_id, created_at
FROM rag.messages WHERE tenant_id = $1 AND session_id = $2 AND content <> '' ORDER BY position DESC LIMIT $3

-- name: page
-- `changed`: numbers of the sources that have a later version by now.
SELECT m.position, m.id, m.role, m.content, m.metadata, m.run_id, m.created_at, ARRAY(
  SELECT (source ->> 'n')::integer FROM jsonb_array_elements(m.metadata -> 'sources') AS source
  JOIN rag.documents d ON d.tenant_id = $1 AND d.id = (source ->> 'document_id')::uuid
  WHERE d.version > (source ->> 'version')::integer) AS changed
FROM rag.messages m WHERE m.tenant_id = $1 AND m.session_id = $2 AND m.position > $3 ORDER BY m.position LIMIT $4

-- name: forget
SELECT rag.forget_session($1)
