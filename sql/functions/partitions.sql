-- Daily partitions (UTC) of the trace tables: every partitioned table of schema rag. Both functions are called by the
-- serving role but make and drop tables, so they belong to the tables' owner.

CREATE OR REPLACE FUNCTION rag.add_partition(parent regclass, day date) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    base   name := (SELECT relname FROM pg_class WHERE oid = parent);
    part   name := base || CASE WHEN day IS NULL THEN '_default' ELSE to_char(day, '"_"YYYYMMDD') END;
    begins timestamptz := day::timestamp AT TIME ZONE 'UTC';
    ends   timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    IF to_regclass(format('rag.%I', part)) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- One maker at a time, by the lock that attaching takes in any case; advisory locks are free for all. Who waited asks the
    -- catalog itself: to_regclass may still remember that there was none.
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', parent);
    IF EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relname = part) THEN
        RETURN false;
    END IF;
    -- Made apart and then attached: that does not lock readers and writers out of the parent.
    EXECUTE format('CREATE TABLE rag.%I (LIKE %s INCLUDING ALL)', part, parent);
    PERFORM rag.secure_table(format('rag.%I', part)::regclass);
    IF day IS NULL THEN
        EXECUTE format('ALTER TABLE %s ATTACH PARTITION rag.%I DEFAULT', parent, part);
        RETURN true;
    END IF;
    -- Rows that came before their partition wait in the default one.
    EXECUTE format('WITH early AS (DELETE FROM rag.%I WHERE started_at >= $1 AND started_at < $2 RETURNING *)
                    INSERT INTO rag.%I SELECT * FROM early', base || '_default', part) USING begins, ends;
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION rag.%I FOR VALUES FROM (%L) TO (%L)', parent, part, begins, ends);
    RETURN true;
END
$$;
COMMENT ON FUNCTION rag.add_partition(regclass, date) IS
    'For the owner: makes the partition of a day (UTC; null: the default one) with its row security; true if it was missing.';

CREATE OR REPLACE FUNCTION rag.ensure_trace_partitions(ahead int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    made   int := 0;
    parent regclass;
    today  date := (now() AT TIME ZONE 'UTC')::date;
    day    date;
BEGIN
    FOR parent IN
        SELECT oid FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind = 'p' ORDER BY relname
    LOOP
        -- so that an insert never fails, whatever the clock says
        made := made + rag.add_partition(parent, NULL)::int;
        FOR day IN SELECT today + n FROM generate_series(0, least(ahead, 366)) AS n LOOP
            made := made + rag.add_partition(parent, day)::int;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
COMMENT ON FUNCTION rag.ensure_trace_partitions(int) IS
    'As the owner: makes the missing daily partitions of the trace tables from today (UTC) to so many days ahead; how many it made.';

CREATE OR REPLACE FUNCTION rag.drop_trace_partitions(keep_days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp
-- Dropping locks the parent: better late than in the way of traces.
SET lock_timeout = '2s' AS $$
DECLARE
    dropped int := 0;
    part    record;
    oldest  date := (now() AT TIME ZONE 'UTC')::date - keep_days;
BEGIN
    IF keep_days < 1 THEN
        RAISE EXCEPTION 'traces are kept for one day at least, not %', keep_days USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR part IN
        SELECT c.oid::regclass AS name, substring(c.relname FROM '_(\d{8})$') AS day
        FROM pg_inherits AS i
        JOIN pg_class AS c ON c.oid = i.inhrelid
        JOIN pg_class AS p ON p.oid = i.inhparent
        WHERE p.relnamespace = 'rag'::regnamespace AND p.relkind = 'p'
        ORDER BY c.relname
    LOOP
        IF part.day IS NULL THEN
            EXECUTE format('DELETE FROM %s WHERE started_at < $1', part.name) USING oldest::timestamp AT TIME ZONE 'UTC';
        ELSIF to_date(part.day, 'YYYYMMDD') < oldest THEN
            BEGIN
                EXECUTE format('DROP TABLE IF EXISTS %s', part.name);
                dropped := dropped + 1;
            EXCEPTION WHEN lock_not_available THEN
                NULL;  -- in use; the next call tries again
            END;
        END IF;
    END LOOP;
    RETURN dropped;
END
$$;
COMMENT ON FUNCTION rag.drop_trace_partitions(int) IS
    'As the owner: drops the partitions of the trace tables that are older than so many days (UTC); how many it dropped.';
