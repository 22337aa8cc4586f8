-- Whether tenants are spread over the nodes of a cluster (`cairn migrate --distribute`, docs/adr/0082-citus.md). In a file of its
-- own that comes before those which ask it.

CREATE OR REPLACE FUNCTION rag.is_distributed() RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN  -- no Citus
        RETURN false;
    END IF;
    RETURN EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('rag.collections') AND partmethod = 'h');
END
$$;
COMMENT ON FUNCTION rag.is_distributed() IS 'Whether the tables of tenants are distributed by Citus.';

-- The policy of analysts asks it there, because Citus takes no sub-select in a policy.
CREATE OR REPLACE FUNCTION rag.granted_tenants() RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT g.tenant_id FROM rag.analyst_grant AS g WHERE g.role_name = session_user);
END
$$;
COMMENT ON FUNCTION rag.granted_tenants() IS 'Tenants that the login may read in schema analyst.';
