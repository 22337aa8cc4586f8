-- Sessions of the iterative strategy: what was read is at hand for the next question, what was not found is not
-- looked for again until a document of the collection changes.

-- name: expire
-- Forgets sessions of the tenant that nobody has used for $2 minutes.
DELETE FROM rag.qa_sessions WHERE tenant_id = $1 AND last_accessed_at < now() - make_interval(mins => $2)

-- name: own
-- What was read in a session of this name by who could read more than everybody is at hand for those who could read as much. No name
-- that somebody gives has a slash.
SELECT CASE WHEN own.names = '{}' THEN $1::text ELSE $1::text || '/' || md5(own.names::text) END AS id
FROM (SELECT rag.asked_as() AS names) AS own

-- name: open
-- The session, begun if need be; false where it began just now.
INSERT INTO rag.qa_sessions AS s (tenant_id, collection_id, id, last_accessed_at, asked_by) VALUES ($1, $2, $3, now(), $4)
ON CONFLICT (tenant_id, collection_id, id) DO UPDATE SET
  last_accessed_at = excluded.last_accessed_at,
  asked_by = CASE WHEN excluded.asked_by <@ s.asked_by THEN s.asked_by ELSE coalesce(s.asked_by, '{}') || excluded.asked_by END
RETURNING xmax <> 0 AS known

-- name: collection
SELECT id, epoch FROM rag.collections WHERE tenant_id = $1 AND name = $2

-- name: nodes
-- Passages that the session has read, those read last first.
SELECT passage_id FROM rag.qa_nodes WHERE tenant_id = $1 AND collection_id = $2 AND session_id = $3
ORDER BY used_at DESC, passage_id LIMIT $4

-- name: forget_gaps
-- What was not found in another state of the collection may be there now.
DELETE FROM rag.qa_gaps WHERE tenant_id = $1 AND collection_id = $2 AND session_id = $3 AND epoch <> $4

-- name: gaps
SELECT gap FROM rag.qa_gaps WHERE tenant_id = $1 AND collection_id = $2 AND session_id = $3

-- name: edges
-- Relations that the session has followed, by name, each with the passages that prove it.
SELECT r.id, s.name AS source, r.kind, t.name AS target, array_agg(v.passage_id ORDER BY v.passage_id) AS passages
FROM unnest($2::uuid[]) AS e (id)
JOIN rag.relations r ON r.tenant_id = $1 AND r.id = e.id
JOIN rag.entities s ON s.tenant_id = $1 AND s.id = r.source_id
JOIN rag.entities t ON t.tenant_id = $1 AND t.id = r.target_id
JOIN rag.evidence v ON v.tenant_id = $1 AND v.relation_id = r.id
GROUP BY r.id, s.name, r.kind, t.name ORDER BY s.name, r.kind, t.name

-- name: followed
SELECT relation_id FROM rag.qa_edges WHERE tenant_id = $1 AND collection_id = $2 AND session_id = $3

-- name: keep_nodes
-- Remembers passages, in this order the last one read last; those that are gone meanwhile are left out.
INSERT INTO rag.qa_nodes (tenant_id, collection_id, session_id, passage_id, used_at)
SELECT $1, $2, $3, p.id, statement_timestamp() + n * interval '1 microsecond'
FROM unnest($4::uuid[]) WITH ORDINALITY AS q (id, n) JOIN rag.passages p ON p.tenant_id = $1 AND p.id = q.id
ORDER BY p.id FOR KEY SHARE OF p
ON CONFLICT (tenant_id, collection_id, session_id, passage_id) DO UPDATE SET used_at = excluded.used_at

-- name: trim_nodes
DELETE FROM rag.qa_nodes WHERE tenant_id = $1 AND collection_id = $2 AND session_id = $3 AND passage_id NOT IN (
  SELECT passage_id FROM rag.qa_nodes WHERE tenant_id = $1 AND collection_id = $2 AND session_id = $3
  ORDER BY used_at DESC, passage_id LIMIT $4)

-- name: keep_edges
INSERT INTO rag.qa_edges (tenant_id, collection_id, session_id, relation_id)
SELECT $1, $2, $3, r.id FROM rag.relations r WHERE r.tenant_id = $1 AND r.id = ANY ($4::uuid[])
ORDER BY r.id FOR KEY SHARE OF r LIMIT $5
ON CONFLICT DO NOTHING

-- name: keep_gaps
-- Only where the collection is still in the state that was searched, and held there until commit.
INSERT INTO rag.qa_gaps (tenant_id, collection_id, session_id, gap, epoch)
SELECT $1, $2, $3, g, c.epoch FROM unnest($4::text[]) AS g CROSS JOIN (
  SELECT epoch FROM rag.collections WHERE tenant_id = $1 AND id = $2 AND epoch = $5 FOR SHARE) AS c
ON CONFLICT (tenant_id, collection_id, session_id, gap) DO UPDATE SET epoch = excluded.epoch

-- name: delete
-- Of its name, and of those who could read as much.
DELETE FROM rag.qa_sessions WHERE tenant_id = $1 AND id IN ($2, $3)
