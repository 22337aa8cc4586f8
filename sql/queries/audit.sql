-- Who did what, when (rag.audit_events).

-- name: record
-- What is under way of a caller who was forgotten is the deed of their mark.
INSERT INTO rag.audit_events (tenant_id, id, caller, caller_name, action, target, detail)
VALUES ($1, $2, coalesce(rag.forgotten_as($3), $3), CASE WHEN rag.forgotten_as($3) IS NULL THEN $4 ELSE '' END, $5, $6, $7)

-- name: read_by_right_alone
-- Of documents $2 those whose access list names none of the principals $3.
SELECT d.id FROM rag.documents d
WHERE d.tenant_id = $1 AND d.id = ANY ($2::uuid[]) AND d.access IS NOT NULL AND NOT d.access && $3::text[]
ORDER BY d.id

-- name: list
-- Newest first, after the event ($5, $6) where there is one.
SELECT id, occurred_at, caller, caller_name, action, target, detail FROM rag.audit_events
WHERE tenant_id = $1
  AND ($2::text IS NULL OR action = $2 OR starts_with(action, $2 || '.'))
  AND ($3::text IS NULL OR caller = $3)
  AND ($4::timestamptz IS NULL OR occurred_at >= $4)
  AND ($5::timestamptz IS NULL OR (occurred_at, id) < ($5, $6::uuid))
ORDER BY occurred_at DESC, id DESC LIMIT $7

-- name: expire
SELECT rag.expire_audit($1)
