-- Keys before their tenant is known. What these return is an id, never content: the key itself is read within its tenant.

CREATE OR REPLACE FUNCTION rag.find_key(key_hash bytea)
RETURNS TABLE (tenant_id bigint, id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    found_key record;
    present   timestamptz := clock_timestamp();
BEGIN
    SELECT k.tenant_id, k.id, k.last_used_at INTO found_key
      FROM rag.api_keys AS k
     WHERE k.key_hash = find_key.key_hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > present);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- a standby notes nothing
    IF NOT pg_is_in_recovery()
       AND (found_key.last_used_at IS NULL OR found_key.last_used_at < present - interval '1 minute') THEN
        -- nobody waits for another process that notes the same, nor for a revocation under way
        UPDATE rag.api_keys AS k
           SET last_used_at = present
         WHERE k.tenant_id = found_key.tenant_id
           AND k.id IN (SELECT o.id FROM rag.api_keys AS o
                         WHERE o.tenant_id = found_key.tenant_id AND o.id = found_key.id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    RETURN QUERY SELECT found_key.tenant_id, found_key.id;
END
$$;
COMMENT ON FUNCTION rag.find_key(bytea) IS
    'Tenant and id of the key with this hash, if it is neither revoked nor expired; notes that it is used, once a minute.';

CREATE OR REPLACE FUNCTION rag.live_keys(ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT k.id FROM rag.api_keys AS k
     WHERE k.id = ANY (live_keys.ids) AND k.revoked_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp());
END
$$;
COMMENT ON FUNCTION rag.live_keys(uuid[]) IS 'Which of these keys, of any tenant, are neither revoked nor expired.';
