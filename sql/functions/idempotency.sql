-- Requests under an Idempotency-Key (rag.idempotency_keys).

CREATE OR REPLACE FUNCTION rag.expire_idempotency_keys(keep_hours int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    gone int;
BEGIN
    DELETE FROM rag.idempotency_keys
    WHERE created_at < now() - make_interval(hours => greatest(keep_hours, 1)) AND (status IS NOT NULL OR claimed_until < now());
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
COMMENT ON FUNCTION rag.expire_idempotency_keys(int) IS
    'Forgets requests under an Idempotency-Key that are older than so many hours (1 at least), of all tenants; how many.';
