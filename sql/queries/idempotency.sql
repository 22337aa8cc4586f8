-- Requests under an Idempotency-Key (rag.idempotency_keys): claimed before they are carried out, answered once.

-- name: claim
-- A row where the key is the caller's now: it is new, its time is over ($7 hours), or who had it died on the way.
INSERT INTO rag.idempotency_keys AS k (tenant_id, caller, key, fingerprint, claim, claimed_until, created_at)
VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6), now())
ON CONFLICT (tenant_id, caller, key) DO UPDATE
SET fingerprint = excluded.fingerprint, claim = excluded.claim, claimed_until = excluded.claimed_until,
    created_at = excluded.created_at, status = NULL, headers = '{}', body = NULL
WHERE extract(epoch FROM excluded.created_at - k.created_at) > 3600 * $7::integer
   OR (k.status IS NULL AND k.claimed_until < excluded.created_at AND k.fingerprint = excluded.fingerprint)
RETURNING true

-- name: get
SELECT fingerprint, status, headers, body FROM rag.idempotency_keys WHERE tenant_id = $1 AND caller = $2 AND key = $3

-- name: renew
UPDATE rag.idempotency_keys SET claimed_until = now() + make_interval(secs => $5)
WHERE tenant_id = $1 AND caller = $2 AND key = $3 AND claim = $4 AND status IS NULL

-- name: answer
UPDATE rag.idempotency_keys SET status = $5, headers = $6, body = $7
WHERE tenant_id = $1 AND caller = $2 AND key = $3 AND claim = $4 AND status IS NULL

-- name: release
-- Nothing was done: the key is free again.
DELETE FROM rag.idempotency_keys WHERE tenant_id = $1 AND caller = $2 AND key = $3 AND claim = $4 AND status IS NULL

-- name: expire
SELECT rag.expire_idempotency_keys($1)
