-- What is otherwise where Citus distributes the database by tenant. Applied after everything else, in the same transaction; in
-- any other database nothing comes of it (docs/adr/0082-citus.md).

DO $distributed$
DECLARE
    item record;
BEGIN
    IF NOT rag.is_distributed() THEN
        RETURN;
    END IF;

    -- A node that does not have the rows of the tenant could answer as if there were none: settings of the transaction, with
    -- them the tenant, stay where they are set. So it must not answer. To where the rows move while a transaction is under way, SET
    -- LOCAL goes with it. Functions that read tables are called for rows of others: all of them are here.
    CREATE OR REPLACE FUNCTION rag.enter_tenant(tenant bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        IF NOT EXISTS (
            SELECT 1 FROM pg_dist_placement AS p JOIN pg_dist_local_group AS here ON here.groupid = p.groupid
            WHERE p.shardid = get_shard_id_for_distribution_column('rag.collections', tenant)) THEN
            RAISE EXCEPTION 'tenant % is at another node', tenant USING ERRCODE = 'CR003';
        END IF;
        PERFORM set_config('citus.propagate_set_commands', 'local', true),
            set_config('citus.allow_nested_distributed_execution', 'on', true);
        EXECUTE format('SET LOCAL app.tenant TO %L', tenant);
    END
    $$;

    -- Tables are found by the tenant, and so need to be planned for it.
    FOR item IN
        SELECT p.oid::regprocedure AS name FROM pg_proc AS p
        WHERE p.pronamespace = 'rag'::regnamespace AND 'plan_cache_mode=force_generic_plan' = ANY (p.proconfig)
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_custom_plan', item.name);
    END LOOP;

    -- What a statement inserts from a query reaches shards of its own node by way of COPY, which does not ask row security.
    -- A constraint says the same: who serves writes rows of its tenant only.
    FOR item IN
        SELECT d.logicalrelid AS name, c.relowner::regrole::text AS owner
        FROM pg_dist_partition AS d JOIN pg_class AS c ON c.oid = d.logicalrelid
        WHERE c.relnamespace = 'rag'::regnamespace AND d.partmethod = 'h' AND NOT c.relispartition
          AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conrelid = c.oid AND k.conname = 'own_tenant')
    LOOP
        EXECUTE format($$
            ALTER TABLE %s ADD CONSTRAINT own_tenant CHECK (
                tenant_id = nullif(current_setting('app.tenant', true), '')::bigint
                OR NOT pg_has_role(current_user, 'cairn_app', 'USAGE') OR pg_has_role(current_user, %L, 'USAGE')) NOT VALID
        $$, item.name, item.owner);
    END LOOP;

    -- Shards of views are read as the login of the analyst, who may read no tables: said at the door.
    REVOKE USAGE ON SCHEMA analyst FROM cairn_analyst;

    -- Of columns nothing is granted on shards.
    GRANT INSERT ON rag.audit_events TO cairn_definer, cairn_app;
END
$distributed$;
