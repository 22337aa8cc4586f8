-- Sources of documents: which of them the schedule starts now.

-- Runs with the rights of its owner and returns ids alone. By the database's clock; an instant that lies further ahead than any
-- pause is long was reckoned on a clock that has been set back since.
CREATE OR REPLACE FUNCTION rag.tenants_with_due_sources() RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT DISTINCT s.tenant_id FROM sources s
     WHERE NOT s.paused AND s.interval_seconds > 0 AND is_due(s.due_at, s.interval_seconds, clock_timestamp());
END
$$;
COMMENT ON FUNCTION rag.tenants_with_due_sources() IS 'Ids of tenants that have sources which are to be synchronised now.';

-- No pause is longer than twice the interval, or a day where that is longer.
CREATE OR REPLACE FUNCTION rag.is_due(due_at timestamptz, interval_seconds integer, present timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN due_at IS NULL OR due_at <= present OR due_at > present + greatest(make_interval(secs => 2.0 * interval_seconds), interval '25 hours');
COMMENT ON FUNCTION rag.is_due(timestamptz, integer, timestamptz) IS
    'Whether a source is to be synchronised, or is due so late that the clock must have been set back.';
