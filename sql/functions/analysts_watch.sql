-- What analysts' logins could do to everybody else, and who ends it. Limits that a login has of its own (statement_timeout) can be
-- lifted by its sessions; what stands here cannot.

CREATE OR REPLACE FUNCTION rag.end_overdue_analysts(
    statement_seconds int, idle_seconds int, OUT ended int, OUT unwatched int
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    statements interval := make_interval(secs => greatest(statement_seconds, 1));
    idle       interval := make_interval(secs => greatest(idle_seconds, 1));
    session    record;
BEGIN
    ended := 0;
    unwatched := 0;
    FOR session IN
        SELECT a.pid, a.state IS NULL AS hidden
        FROM pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
          AND coalesce(a.backend_type, 'client backend') = 'client backend'
          AND pg_has_role(a.usesysid, 'cairn_analyst', 'MEMBER')
          AND NOT pg_has_role(a.usesysid, 'cairn_app', 'MEMBER')  -- the owner, superusers and what serves
          AND (a.state IS NULL
               OR a.state NOT LIKE 'idle%' AND clock_timestamp() - a.query_start > statements
               OR clock_timestamp() - a.xact_start > statements  -- many short statements
               OR a.state LIKE 'idle in transaction%' AND clock_timestamp() - a.state_change > idle
               OR a.state = 'idle' AND clock_timestamp() - a.state_change > idle
                  AND EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'advisory'))
    LOOP
        IF session.hidden THEN
            unwatched := unwatched + 1;
            CONTINUE;
        END IF;
        BEGIN
            -- not pg_cancel_backend: a block of PL/pgSQL can catch that and go on
            ended := ended + pg_terminate_backend(session.pid)::int;
        EXCEPTION WHEN insufficient_privilege THEN
            unwatched := unwatched + 1;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rag.end_overdue_analysts(int, int) IS
    'As the owner: ends sessions of analysts whose statement or transaction takes longer than so many seconds, or which idle in a transaction or with a lock longer than so many; how many it ended, and how many it may not see or end.';
