-- Conversations.

-- name: open_session
-- Takes the row of the conversation, made if it is new, and with it the next positions. Who comes second waits for the commit
-- of who came first, so an exchange is never torn apart by another.
INSERT INTO rag.sessions AS s (tenant_id, id, collection, message_count, last_used_at, asked_by)
VALUES ($1, $2, $3, $4, statement_timestamp(), $5)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  collection = coalesce(excluded.collection, s.collection), last_used_at = excluded.last_used_at,
  message_count = s.message_count + excluded.message_count,
  asked_by = CASE WHEN excluded.asked_by <@ s.asked_by THEN s.asked_by ELSE coalesce(s.asked_by, '{}') || excluded.asked_by END
RETURNING message_count

-- name: add
INSERT INTO rag.messages (tenant_id, session_id, position, id, role, content, metadata, document_ids, run_id, asked_as)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ARRAY(SELECT unnest(rag.asked_as()) UNION SELECT unnest($10::text[])))

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

-- name: asked_by
SELECT asked_by FROM rag.sessions WHERE tenant_id = $1 AND id = $2

-- name: forget
SELECT rag.forget_session($1)

-- name: list
-- Conversations, the one used last first. $2: words that stand in a title or a message, in any case; null for all. $3, $4: time
-- and id of the last one of the page before. The title is what the user calls it, else how the first message begins.
SELECT s.id AS session_id, coalesce(s.title, left(m.content, $6::integer), '') AS title, s.collection, s.message_count, s.created_at,
  s.last_used_at
FROM rag.sessions s LEFT JOIN rag.messages m ON m.tenant_id = s.tenant_id AND m.session_id = s.id AND m.position = 1
WHERE s.tenant_id = $1
  AND ($2::text IS NULL OR strpos(lower(s.title), lower($2)) > 0 OR EXISTS (
    SELECT 1 FROM rag.messages said
    WHERE said.tenant_id = $1 AND said.session_id = s.id AND strpos(lower(said.content), lower($2)) > 0))
  AND ($3::timestamptz IS NULL OR (s.last_used_at, s.id) < ($3, $4::text))
ORDER BY s.last_used_at DESC, s.id DESC LIMIT $5

-- name: get
SELECT s.id AS session_id, coalesce(s.title, left(m.content, $3::integer), '') AS title, s.collection, s.message_count, s.created_at,
  s.last_used_at
FROM rag.sessions s LEFT JOIN rag.messages m ON m.tenant_id = s.tenant_id AND m.session_id = s.id AND m.position = 1
WHERE s.tenant_id = $1 AND s.id = $2

-- name: rename
UPDATE rag.sessions SET title = $3 WHERE tenant_id = $1 AND id = $2
