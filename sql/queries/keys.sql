-- Keys within one tenant; finding one by its hash is rag.find_key (sql/functions/keys.sql).

-- name: create
INSERT INTO rag.api_keys (
    tenant_id, id, name, key_hash, shown, scopes, requests_per_minute, concurrent_runs, tokens_per_day, cost_per_day,
    created_by, expires_at, groups
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
RETURNING *;

-- name: list
-- Newest first: ids are in the order of time.
SELECT * FROM rag.api_keys
WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC LIMIT $3;

-- name: revoke
-- What is revoked stays so since then. The notification is sent when the caller commits.
WITH key AS (
    UPDATE rag.api_keys SET revoked_at = coalesce(revoked_at, clock.present)
    FROM (SELECT statement_timestamp() AS present) AS clock
    WHERE tenant_id = $1 AND id = $2
    RETURNING rag.api_keys.*
)
SELECT key.*, pg_notify('cairn_keys', key.id::text) FROM key;

-- name: change_groups
-- With those of before. Who listens is told when the caller commits, and looks the key up again.
WITH before AS MATERIALIZED (
    SELECT id, groups FROM rag.api_keys WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
), key AS (
    UPDATE rag.api_keys AS k SET groups = $3
    FROM before
    WHERE k.tenant_id = $1 AND k.id = before.id
    RETURNING k.*, before.groups AS groups_before
)
SELECT key.*, pg_notify('cairn_keys', key.id::text) FROM key;

-- name: find
SELECT tenant_id, id FROM rag.find_key($1);

-- name: load
SELECT k.*, t.name AS tenant, extract(epoch FROM k.expires_at - statement_timestamp())::double precision AS seconds_left
FROM rag.api_keys AS k JOIN rag.tenants AS t ON t.id = k.tenant_id
WHERE k.tenant_id = $1 AND k.id = $2 AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp());

-- name: live
SELECT id FROM rag.live_keys($1) AS id;

-- name: notify
SELECT pg_notify('cairn_keys', $1);

-- name: ensure_tenant
SELECT rag.ensure_tenant($1);

-- name: from_now
SELECT statement_timestamp() + $1::interval;
