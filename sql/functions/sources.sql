-- Which sources are to be looked at, over all tenants: ids, never what they are.

CREATE OR REPLACE FUNCTION rag.due_sources(most integer)
RETURNS TABLE (tenant_id bigint, id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    -- a time that lies further ahead than the span was reckoned on a clock that has been set back since
    RETURN QUERY
    SELECT s.tenant_id, s.id FROM rag.sources AS s
     WHERE s.paused IS NULL AND s.every IS NOT NULL
       AND (s.next_at <= clock_timestamp() OR s.next_at > clock_timestamp() + 2 * s.every)
     ORDER BY s.next_at LIMIT most;
END
$$;
COMMENT ON FUNCTION rag.due_sources(integer) IS 'Sources of all tenants whose time has come, those first that wait longest.';
