-- The roles of Cairn, who may use them, and who may connect. Applied first; row security and grants are in row_security.sql.
--
--   cairn_app       serves: sees the rows of app.tenant only
--   cairn_definer   owns the search and job functions: sees all rows, so each function names its tenant itself
--   cairn_views     owns schema analyst: sees the tenants granted to session_user in rag.analyst_grant
--   cairn_analyst   reads schema analyst and nothing else; given to analysts' logins
--
-- Roles belong to the whole cluster, so each step first looks whether it is needed: in a second database, or where an
-- administrator prepared them, nothing has to be allowed. What may not be done is asked for in one message.

DO $roles$
DECLARE
    modern      boolean := current_setting('server_version_num')::int >= 160000;
    superuser   boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    database    text := current_database();
    statement   text;
    missing     text[] := '{}';
    unsafe      text;
BEGIN
    FOR statement IN
        SELECT format('CREATE ROLE %I NOLOGIN NOBYPASSRLS', name)
        FROM unnest(ARRAY['cairn_app', 'cairn_views', 'cairn_analyst', 'cairn_definer']) AS name
        WHERE to_regrole(name) IS NULL
    LOOP
        BEGIN
            EXECUTE statement;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN
                NULL;  -- another database of the cluster was faster
            WHEN insufficient_privilege THEN
                missing := missing || statement;
        END;
    END LOOP;

    -- The owner takes the role cairn_app to serve, and inherits the owners of functions and views to replace these.
    FOR statement IN
        SELECT format('GRANT %I TO %I', name, current_user)
               || CASE WHEN modern THEN format(' WITH INHERIT %s, SET TRUE', upper(inherit::text)) ELSE '' END
        FROM (VALUES ('cairn_app', false), ('cairn_views', true), ('cairn_definer', true)) AS needed (name, inherit)
        WHERE NOT superuser
          AND CASE WHEN to_regrole(name) IS NULL THEN true
                   ELSE NOT pg_has_role(current_user, to_regrole(name), CASE WHEN modern THEN 'SET' ELSE 'MEMBER' END)
                        OR inherit AND NOT pg_has_role(current_user, to_regrole(name), 'USAGE') END
    LOOP
        BEGIN
            EXECUTE statement;
        EXCEPTION
            WHEN unique_violation THEN
                NULL;
            WHEN insufficient_privilege OR undefined_object THEN
                missing := missing || statement;
        END;
    END LOOP;

    FOR statement IN
        SELECT text FROM (VALUES
            (format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', database),
                has_database_privilege('public', database, 'CONNECT')
                OR has_database_privilege('public', database, 'TEMPORARY')),
            -- nodes of a cluster connect to each other as whoever runs a statement, or owns the function that does
            (format('GRANT CONNECT ON DATABASE %I TO %I, cairn_app, cairn_analyst, cairn_definer, cairn_views',
                    database, current_user), true),
            (format('GRANT TEMPORARY ON DATABASE %I TO cairn_app', database), true),
            -- databases that began under PostgreSQL 14 or older: a stranger's operator there would be found by search_path
            ('REVOKE CREATE ON SCHEMA public FROM PUBLIC', has_schema_privilege('public', 'public', 'CREATE'))
        ) AS step (text, needed)
        WHERE needed
    LOOP
        CONTINUE WHEN cardinality(missing) > 0 AND statement LIKE 'GRANT%';
        BEGIN
            EXECUTE statement;
        EXCEPTION
            WHEN insufficient_privilege THEN
                missing := missing || statement;
        END;
    END LOOP;

    IF cardinality(missing) > 0 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'insufficient_privilege',
            MESSAGE = format('role %s may not prepare the roles of Cairn; let a database administrator run once, in database %s: %s;',
                             current_user, database, array_to_string(missing, '; '));
    END IF;

    SELECT string_agg(format('%s is %s', low.rolname, CASE WHEN low.rolsuper OR low.rolbypassrls
                             THEN 'above row security' ELSE 'a member of ' || high.rolname END), ', ')
    INTO unsafe
    FROM pg_roles AS low
    JOIN pg_roles AS high ON high.rolname <> low.rolname
         AND (high.rolname = current_user OR high.rolname IN ('cairn_app', 'cairn_views', 'cairn_analyst', 'cairn_definer'))
    WHERE low.rolname IN ('cairn_app', 'cairn_views', 'cairn_analyst', 'cairn_definer')
      AND (low.rolsuper OR low.rolbypassrls OR pg_has_role(low.oid, high.oid, 'MEMBER'));
    IF unsafe IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = 'unsafe roles: ' || unsafe;
    END IF;
END
$roles$;

GRANT USAGE ON SCHEMA rag TO cairn_app, cairn_definer, cairn_views;
GRANT USAGE ON SCHEMA analyst TO cairn_analyst, cairn_views;
COMMENT ON SCHEMA rag IS 'Private data of Cairn; read it through schema analyst.';
COMMENT ON SCHEMA analyst IS 'Views and functions for analysts; columns may be added, losing one is a breaking change.';

-- Functions are executable by PUBLIC unless told otherwise, and only a default for all schemas can tell. Schema public,
-- where extensions put theirs, keeps PostgreSQL's usual default.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON ROUTINES TO PUBLIC;
