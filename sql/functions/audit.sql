-- The audit log (rag.audit_events). What the application does, it records itself (app/cairn/store/audit.py); here is what is done
-- in SQL, and the end of what is old.

CREATE OR REPLACE FUNCTION rag.record_deed(tenant bigint, action text, target text, detail jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
    INSERT INTO rag.audit_events (tenant_id, id, caller, caller_name, action, target, detail)
    VALUES ($1, gen_random_uuid(), 'database:' || session_user, session_user, $2, left($3, 500), $4);
END
$$;
COMMENT ON FUNCTION rag.record_deed(bigint, text, text, jsonb) IS
    'Adds to the audit log what a login of the database does to a tenant.';

CREATE OR REPLACE FUNCTION rag.expire_audit(keep_days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    gone int;
BEGIN
    -- The same bound as the setting audit.retentionDays has: whoever can call this cannot wipe out what was just done.
    IF keep_days IS NULL OR keep_days < 30 THEN
        RAISE EXCEPTION 'the audit log is kept for 30 days at least, not %', keep_days USING ERRCODE = 'invalid_parameter_value';
    END IF;
    DELETE FROM rag.document_changes WHERE changed_at < now() - make_interval(days => keep_days);
    DELETE FROM rag.audit_events WHERE occurred_at < now() - make_interval(days => keep_days);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
COMMENT ON FUNCTION rag.expire_audit(int) IS
    'Deletes events of the audit log, and changes of documents, that are older than so many days (30 at least), of all tenants; how many events.';
