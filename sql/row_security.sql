-- Row security and grants, from the catalog: no list of tables or functions to forget. Applied last, in the transaction
-- that creates the functions and views.
--
-- Tables of schema rag with a tenant_id, and rag.tenants: row security enabled and forced, three policies. Rows of documents that not
-- everybody in the tenant may read are there for those who may (rag.readable, docs/adr/0126).
-- The audit log: added to and read, never changed.
-- Other tables of schema rag: closed, but for the reference tables named below. Partitions: reached through their parent.
-- Functions follow what they are, but for those of the table `exceptional` below:
--   rag, SECURITY DEFINER                 owned by cairn_definer, called by cairn_app
--   rag, SECURITY DEFINER, in policies    the same; run for whoever reads a view, cairn_analyst too, who cannot name what is in rag
--   rag, SECURITY DEFINER, as the owner   owned by the tables' owner, called by cairn_app
--   rag, SECURITY INVOKER                 helpers, called by cairn_app, cairn_definer, cairn_views
--   rag, SECURITY INVOKER, for the owner  called by the tables' owner
--   analyst                               owned by cairn_views, called by cairn_analyst
-- Views of schema analyst are owned by cairn_views.

CREATE OR REPLACE FUNCTION rag.set_policy(target regclass, policy_name text, clauses text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old record;
BEGIN
    SELECT obj_description(oid, 'pg_policy') AS clauses INTO old
    FROM pg_policy WHERE polrelid = target AND polname = policy_name;
    -- Only when it changed: CREATE POLICY locks out every reader, and start-up meets tables in use.
    IF NOT FOUND OR old.clauses IS DISTINCT FROM clauses THEN
        IF FOUND THEN
            EXECUTE format('DROP POLICY %I ON %s', policy_name, target);
        END IF;
        EXECUTE format('CREATE POLICY %I ON %s %s', policy_name, target, clauses);
        EXECUTE format('COMMENT ON POLICY %I ON %s IS %L', policy_name, target, clauses);
    END IF;
END
$$;
COMMENT ON FUNCTION rag.set_policy(regclass, text, text) IS
    'For the owner: makes the policy if it is missing or was made from other clauses.';

-- By what a table has. `shut`: nothing is withheld, so that no row has to be looked at; `readers`: principals. A policy that names
-- another table stands behind the policy of that one: a chunk is there where its document is. Asked for a value, row by row, and never as
-- a set: plans stay what they are without.
CREATE OR REPLACE FUNCTION rag.readable(target regclass, shut text, readers text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me      text := (SELECT quote_ident(relname) FROM pg_class WHERE oid = target);
    columns text[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = target AND attnum > 0 AND NOT attisdropped);
    -- a partition is what its table is, attached or not
    kind    text := (SELECT regexp_replace(relname, '_([0-9]{8}|default)$', '') FROM pg_class WHERE oid = target);
    rule    text;
    -- of rows that tell of a restricted document when it is gone and nothing is restricted any more: where that is marked
    marked  text := CASE kind WHEN 'jobs' THEN 'payload' WHEN 'eval_runs' THEN 'parameters' WHEN 'audit_events' THEN 'detail' END;
BEGIN
    rule := CASE
        WHEN kind = 'document_changes' THEN NULL  -- has no rows of restricted documents, and some of deleted ones
        WHEN kind = 'documents' THEN 'access IS NULL OR access && %2$s'
        WHEN kind = 'access_rules' THEN 'access && %2$s'
        WHEN kind IN ('sources', 'source_files', 'source_secrets') THEN 'false'  -- for who operates; they name all files
        -- what a question that got no answer, or none yet, would have stood on is not known
        WHEN kind = 'runs' THEN
            '(asked_by = ANY (%2$s) OR outcome = ''ok'' AND asked_as <@ %2$s) AND rag.reads_documents(tenant_id, document_ids, %2$s)
             AND rag.reads_session(tenant_id, session_id, %2$s) AND rag.reads_legs(tenant_id, started_at, id, %2$s)'
        WHEN kind = 'resumable_runs' THEN
            '(asked_by = ANY (%2$s) OR status = ''ok'' AND asked_as <@ %2$s) AND rag.reads_documents(tenant_id, document_ids, %2$s)
             AND rag.reads_session(tenant_id, session_id, %2$s)'
        WHEN kind = 'messages' THEN 'rag.reads_session(tenant_id, session_id, %2$s)'
        WHEN kind = 'sessions' THEN 'rag.reads_session(tenant_id, id, %2$s)'
        -- a comment quotes what its run stood on, and when the run has gone by its age nobody can tell what that was
        WHEN kind = 'feedback' THEN 'coalesce(rag.reads_run(tenant_id, run_id, %2$s), rated_by = ANY (%2$s))'
        WHEN kind = 'communities' THEN 'rag.reads_documents(tenant_id, document_ids, %2$s)'
        WHEN kind = 'run_legs' THEN
            '(SELECT true FROM rag.runs r WHERE r.tenant_id = %1$s.tenant_id AND r.started_at = %1$s.started_at AND r.id = %1$s.run_id)'
        WHEN kind = 'run_events' THEN
            '(SELECT true FROM rag.resumable_runs r WHERE r.tenant_id = %1$s.tenant_id AND r.id = %1$s.run_id)'
        WHEN kind = 'jobs' THEN  -- whose results and progress name and count documents
            'payload #>> ''{ordered_by,id}'' = ANY (%2$s) AND payload #>> ''{ordered_by,reads_all}'' IS DISTINCT FROM ''true''
             OR NOT payload ? ''tells_of_restricted'' AND kind NOT IN (''index_uploads'', ''fetch_urls'', ''sync_source'')
               AND payload ? ''collection_id'' AND rag.reads_collection(tenant_id, payload ->> ''collection_id'', %2$s)'
        WHEN kind = 'uploads' THEN
            '(SELECT true FROM rag.jobs j WHERE j.tenant_id = %1$s.tenant_id AND j.id = %1$s.job_id)'
        WHEN kind = 'audit_events' THEN  -- which documents are restricted, to whom, who is in these groups, and sources
            'action NOT IN (''document.access'', ''collection.access'', ''document.read_restricted'', ''conversation.read_others'', ''source.add'', ''source.change'', ''source.remove'') AND coalesce(detail -> ''groups'', ''[]'') = ''[]'' AND NOT detail ? ''tells_of_restricted'''
        WHEN kind = 'eval_runs' THEN 'false'  -- whoever ran it read everything, and found what is asked for or not
        WHEN kind = 'eval_results' THEN
            '(SELECT true FROM rag.eval_runs e WHERE e.tenant_id = %1$s.tenant_id AND e.id = %1$s.run_id)'
        WHEN kind = 'recall_checks' THEN 'rag.reads_collection(tenant_id, collection_id::text, %2$s)'
        WHEN 'document_id' = ANY (columns) THEN
            '(SELECT true FROM rag.documents d WHERE d.tenant_id = %1$s.tenant_id AND d.id = %1$s.document_id)'
        WHEN 'passage_id' = ANY (columns) THEN
            '(SELECT true FROM rag.passages p WHERE p.tenant_id = %1$s.tenant_id AND p.id = %1$s.passage_id)'
    END;
    IF marked IS NOT NULL THEN
        RETURN format('((NOT %5$s ? ''tells_of_restricted''%4$s) AND %3$s OR ' || rule || ')', me, readers, shut,
            CASE WHEN readers = 'rag.own_principals()' THEN ' OR current_setting(''app.principals'', true) = ''*''' ELSE '' END, marked);
    ELSIF kind = 'eval_results' THEN
        RETURN format(rule, me);
    END IF;
    RETURN format('(%3$s OR ' || rule || ')', me, readers, shut);
END
$$;
COMMENT ON FUNCTION rag.readable(regclass, text, text) IS
    'The clause of row security by which rows of restricted documents are there for their readers; null for a table without such rows.';

CREATE OR REPLACE FUNCTION rag.secure_table(target regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key     text := CASE WHEN target = 'rag.tenants'::regclass THEN 'id' ELSE 'tenant_id' END;
    own     text := format('%I = nullif(current_setting(''app.tenant'', true), '''')::bigint', key);
    granted text := CASE WHEN target = 'rag.analyst_grant'::regclass THEN 'role_name = session_user'
        -- Citus takes no sub-select in a policy
        WHEN rag.is_distributed() THEN format('%I = ANY (rag.granted_tenants())', key)
        ELSE format('%I IN (SELECT g.tenant_id FROM rag.analyst_grant g WHERE g.role_name = session_user)', key) END;
    -- Whether there is anything to withhold is asked once in a statement; of documents it costs no more to compare. Where searches read
    -- rows by the thousand it is asked of their collection, so that another one that has something to withhold does not slow them.
    itself  boolean := target = 'rag.documents'::regclass;
    -- Rules are few, and say whom something is kept from before it is there.
    ruled   boolean := itself OR target = 'rag.access_rules'::regclass;
    asked   boolean := (SELECT relname ~ '^(sessions|messages|feedback|resumable_runs|run_events|(runs|run_legs)(_([0-9]{8}|default))?)$'
                        FROM pg_class WHERE oid = target);
    shown   text := CASE WHEN NOT rag.is_distributed() THEN rag.readable(
        target, CASE WHEN ruled THEN 'current_setting(''app.principals'', true) = ''*'''
            WHEN target IN ('rag.passages'::regclass, 'rag.chunks'::regclass, 'rag.embeddings'::regclass)
                THEN '(collection_id <> ALL ((SELECT rag.withholding_collections())::uuid[]))'
            WHEN asked THEN '(SELECT NOT rag.withholds_questions())'
            ELSE '(SELECT NOT rag.withholds())' END,
        'rag.own_principals()') END;
    common  text := CASE WHEN NOT rag.is_distributed() THEN rag.readable(
        target, CASE WHEN ruled THEN 'false' WHEN asked THEN '(SELECT NOT rag.restricts_questions())'
            ELSE '(SELECT NOT rag.restricts())' END, '''{}''::text[]') END;
BEGIN
    IF NOT (SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = target) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', target);
    END IF;
    -- Who may not read a document writes none in its place either; what is made of it is written by whoever writes it.
    PERFORM rag.set_policy(target, 'app', format('TO cairn_app USING (%s) WITH CHECK (%s)', concat_ws(' AND ', own, shown),
        CASE WHEN itself THEN concat_ws(' AND ', own, shown) ELSE own END));
    PERFORM rag.set_policy(target, 'views', format('FOR SELECT TO cairn_views USING (%s)', concat_ws(' AND ', granted, common)));
    -- A constant leaves no security qual in the plan, so GIN indexes stay usable (docs/adr/0005).
    PERFORM rag.set_policy(target, 'definer', 'TO cairn_definer USING (true) WITH CHECK (true)');
END
$$;
COMMENT ON FUNCTION rag.secure_table(regclass) IS
    'For the owner: enables and forces row security on a table with a tenant_id (or rag.tenants), with its policies.';

CREATE OR REPLACE FUNCTION rag.open_to_everybody() RETURNS SETOF regprocedure
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace
      AND (proname ~ '^lo_' OR proname IN ('loread', 'lowrite')  -- large objects
           OR proname = 'pg_logical_emit_message'                 -- writes the log of changes
           OR proname ~ '^pg_(try_)?advisory_')                   -- fills the table of locks, which all share
      AND has_function_privilege('public', oid, 'EXECUTE')
    ORDER BY 1
$$;
COMMENT ON FUNCTION rag.open_to_everybody() IS
    'For the owner: functions by which a login that may only read writes or locks; none where a superuser has migrated.';

DO $tables$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT c.oid::regclass AS name, c.relispartition AS partition,
               c.oid = 'rag.tenants'::regclass OR EXISTS (
                   SELECT FROM pg_attribute AS a
                   WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped) AS tenant_data,
               c.oid IN ('rag.tenants'::regclass, 'rag.analyst_grant'::regclass) AS administered,
               c.relname = 'audit_events' AS append_only
        FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
        ORDER BY c.relname
    LOOP
        EXECUTE format('REVOKE ALL ON TABLE %s FROM PUBLIC, cairn_app, cairn_views, cairn_definer, cairn_analyst', item.name);
        CONTINUE WHEN NOT item.tenant_data;
        PERFORM rag.secure_table(item.name);
        CONTINUE WHEN item.partition;
        IF item.append_only THEN
            -- Without the time, which is the database's; deleting is the business of rag.expire_audit, taking names out that of
            -- rag.forget_person.
            EXECUTE format('GRANT SELECT, DELETE, UPDATE (caller, caller_name, target, detail) ON TABLE %s TO cairn_definer', item.name);
            EXECUTE format('GRANT INSERT (tenant_id, id, caller, caller_name, action, target, detail) ON TABLE %s
                            TO cairn_definer, cairn_app', item.name);
            EXECUTE format('GRANT SELECT ON TABLE %s TO cairn_app, cairn_views', item.name);
            CONTINUE;
        END IF;
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE %s TO cairn_definer', item.name);
        EXECUTE format('GRANT SELECT ON TABLE %s TO cairn_views', item.name);
        CONTINUE WHEN item.administered;
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE %s TO cairn_app', item.name);
    END LOOP;
END
$tables$;

-- Reference tables. Writing them is the business of definer functions.
GRANT SELECT ON rag.tenants, rag.embedding_models TO cairn_app;
GRANT SELECT ON rag.embedding_models TO cairn_views;
GRANT SELECT, INSERT ON rag.embedding_models TO cairn_definer;

-- An object can only be given to a role that may create in its schema: for this transaction.
GRANT CREATE ON SCHEMA rag TO cairn_definer;
GRANT CREATE ON SCHEMA analyst TO cairn_views;

DO $functions$
DECLARE
    item   record;
    owner  text;
    caller text;
    gone   text;
    master text := (SELECT relowner::regrole FROM pg_class WHERE oid = 'rag.tenants'::regclass);
    exceptional jsonb := '{
        "rag.drop_trace_partitions": "as the owner",
        "rag.end_overdue_analysts": "as the owner",
        "rag.ensure_trace_partitions": "as the owner",
        "rag.schema_revision": "as the owner",
        "rag.count_restricted": "asked for views",
        "rag.reads_collection": "asked for views",
        "rag.reads_documents": "asked for views",
        "rag.reads_legs": "asked for views",
        "rag.reads_run": "asked for views",
        "rag.reads_session": "asked for views",
        "rag.restricts": "asked for views",
        "rag.restricts_questions": "asked for views",
        "rag.add_partition": "for the owner",
        "rag.grant_analyst": "for the owner",
        "rag.make_search": "for the owner",
        "rag.make_searches": "for the owner",
        "rag.open_to_everybody": "for the owner",
        "rag.rebuild_postings": "for the owner",
        "rag.revoke_analyst": "for the owner",
        "rag.readable": "for the owner",
        "rag.secure_table": "for the owner",
        "rag.set_policy": "for the owner"
    }';
BEGIN
    SELECT string_agg(key, ', ') INTO gone FROM jsonb_object_keys(exceptional) AS key
    WHERE NOT EXISTS (SELECT FROM pg_proc WHERE format('%s.%s', pronamespace::regnamespace, proname) = key);
    IF gone IS NOT NULL THEN
        RAISE EXCEPTION 'no function has the name for which rights are given: %', gone;
    END IF;
    FOR item IN
        SELECT p.oid::regprocedure AS name, p.pronamespace = 'analyst'::regnamespace AS analyst, p.prosecdef AS definer,
               coalesce(exceptional ->> format('%s.%s', p.pronamespace::regnamespace, p.proname), '') AS kind, p.proowner::regrole::text AS owner
        FROM pg_proc AS p
        WHERE p.pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace)
          AND NOT EXISTS (SELECT FROM pg_depend AS d
                          WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    LOOP
        owner := CASE WHEN item.analyst THEN 'cairn_views'
                      WHEN item.definer AND item.kind <> 'as the owner' THEN 'cairn_definer'
                      ELSE master END;
        caller := CASE WHEN item.analyst THEN 'cairn_analyst'
                       WHEN item.kind = 'asked for views' THEN 'cairn_app, cairn_views, cairn_analyst'
                       WHEN item.definer THEN 'cairn_app'
                       WHEN item.kind <> 'for the owner' THEN 'cairn_app, cairn_definer, cairn_views' END;
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC, cairn_app, cairn_views, cairn_definer, cairn_analyst', item.name);
        IF item.owner <> owner THEN
            EXECUTE format('ALTER ROUTINE %s OWNER TO %s', item.name, owner);
        END IF;
        EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s', item.name, concat_ws(', ', owner, caller));
        -- what is planned within them has what is asked about as constants, and anybody can have plans printed, and be told what
        -- the planner thinks of words that stand only in what he may not read
        IF item.analyst OR item.kind = 'asked for views' THEN
            EXECUTE format('ALTER ROUTINE %s SET debug_print_plan = off SET client_min_messages = error', item.name);
        END IF;
    END LOOP;
END
$functions$;

-- In views each text is an expression (`|| ''`, of lists array_remove(..., NULL), which leaves null null): a comparison with it may say
-- something of its operands, so that PostgreSQL makes it after row security, and EXPLAIN ANALYZE counts nothing else (ADR 155, 160).
DO $views$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT c.oid::regclass AS name, c.relowner::regrole::text AS owner,
               coalesce(c.reloptions::text, '') ~* 'security_invoker=(true|on|yes|1)' AS invoker
        FROM pg_class AS c
        WHERE c.relnamespace = 'analyst'::regnamespace AND c.relkind IN ('v', 'm')
    LOOP
        IF item.invoker THEN
            RAISE EXCEPTION '% is security_invoker: analysts cannot read tables of schema rag', item.name;
        END IF;
        IF item.owner <> 'cairn_views' THEN
            EXECUTE format('ALTER TABLE %s OWNER TO cairn_views', item.name);
        END IF;
        EXECUTE format('GRANT SELECT ON TABLE %s TO cairn_analyst', item.name);
    END LOOP;
END
$views$;

REVOKE CREATE ON SCHEMA rag FROM cairn_definer;
REVOKE CREATE ON SCHEMA analyst FROM cairn_views;

-- Where the owner is no superuser this does nothing, and rag.grant_analyst tells what an administrator should run.
DO $everybody$
DECLARE
    item regprocedure;
BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        FOR item IN SELECT * FROM rag.open_to_everybody() LOOP
            EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', item);
            IF item::text ~ 'advisory' THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO cairn_app, cairn_definer', item);
            END IF;
        END LOOP;
    END IF;
END
$everybody$;
