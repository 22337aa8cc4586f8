-- What keys and tenants may use, and have used (sql/functions/limits.sql).

-- name: lease_requests
SELECT granted, taken, second, seconds_left, full_for FROM rag.lease_requests($1, $2, $3, $4, $5)

-- name: take_slot
SELECT rag.take_run_slot($1, $2, $3, $4, $5)

-- name: renew_slots
SELECT rag.renew_run_slots($1, $2)

-- name: release_slot
DELETE FROM rag.run_slots WHERE tenant_id = $1 AND id = $2

-- name: reserve
SELECT day, written, exceeded FROM rag.reserve_tokens($1, $2, $3, $4, $5, $6, $7, $8)

-- name: book
-- What calls have cost, without what was booked for them before.
INSERT INTO rag.key_usage AS u (tenant_id, key_id, day, calls, tokens, cost)
SELECT $1, $2, coalesce($3, (now() AT TIME ZONE 'UTC')::date), $4::integer, greatest($5::bigint, 0), greatest($6::double precision, 0)
ON CONFLICT (tenant_id, key_id, day) DO UPDATE
SET calls = u.calls + $4, tokens = greatest(u.tokens + $5, 0), cost = greatest(u.cost + $6, 0)

-- name: check_room
SELECT rag.check_room($1, $2, $3)

-- name: check_waiting
SELECT rag.check_waiting($1)

-- name: set_tenant_limits
INSERT INTO rag.tenant_limits (tenant_id, documents, bytes, chunks) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id) DO UPDATE SET documents = excluded.documents, bytes = excluded.bytes, chunks = excluded.chunks

-- name: tenant_limits
SELECT documents, bytes, chunks FROM rag.tenant_limits WHERE tenant_id = $1

-- name: tenant_usage
SELECT coalesce(sum(document_count), 0)::bigint AS documents, coalesce(sum(byte_count), 0)::bigint AS bytes,
  coalesce(sum(chunk_count), 0)::bigint AS chunks
FROM rag.collections WHERE tenant_id = $1

-- name: readable_usage
-- The same of what the caller may read; null where nothing can be withheld.
SELECT count(*) AS documents, coalesce(sum(byte_size), 0)::bigint AS bytes, coalesce(sum(chunk_count), 0)::bigint AS chunks
FROM rag.documents WHERE tenant_id = $1 AND status = 'indexed'
HAVING (SELECT rag.withholds())

-- name: key_usage
-- Of a key ($2), or of every key that did something in the last sixty seconds, has runs, or used a model today.
WITH today AS (
  SELECT key_id, calls, tokens, cost FROM rag.key_usage
  WHERE tenant_id = $1 AND day = (now() AT TIME ZONE 'UTC')::date AND ($2::uuid IS NULL OR key_id = $2)
), minute AS (
  SELECT key_id, sum(n) AS taken FROM rag.key_requests, unnest(permits) WITH ORDINALITY AS o (n, place)
  WHERE tenant_id = $1 AND ($2::uuid IS NULL OR key_id = $2)
    AND second - cardinality(permits) + place > extract(epoch FROM statement_timestamp()) - 61 GROUP BY key_id
), running AS (
  SELECT key_id, count(*) AS runs FROM rag.run_slots
  WHERE tenant_id = $1 AND lease_until >= statement_timestamp() AND ($2::uuid IS NULL OR key_id = $2) GROUP BY key_id
)
SELECT key_id, coalesce(m.taken, 0) AS requests, coalesce(r.runs, 0) AS runs, coalesce(t.calls, 0) AS calls,
  coalesce(t.tokens, 0) AS tokens, coalesce(t.cost, 0) AS cost
FROM today t FULL JOIN minute m USING (key_id) FULL JOIN running r USING (key_id) ORDER BY key_id
