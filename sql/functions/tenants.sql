-- Tenants: which one a transaction serves, how one comes to be, and who may read it in schema analyst.

CREATE OR REPLACE FUNCTION rag.current_tenant() RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant text := nullif(current_setting('app.tenant', true), '');
BEGIN
    IF tenant IS NULL THEN
        RAISE EXCEPTION 'app.tenant is not set' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN tenant::bigint;
END
$$;
COMMENT ON FUNCTION rag.current_tenant() IS
    'Tenant of the transaction, from app.tenant; raises when it is unset. Functions that see all rows ask it.';

-- For functions that are called outside a transaction: the tenant is set for this statement. sql/distributed.sql has another one.
CREATE OR REPLACE FUNCTION rag.enter_tenant(tenant bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('app.tenant', tenant::text, true);
END
$$;
COMMENT ON FUNCTION rag.enter_tenant(bigint) IS 'Makes a tenant that of the transaction or statement.';

CREATE OR REPLACE FUNCTION rag.ensure_tenant(name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    found   bigint := (SELECT t.id FROM rag.tenants AS t WHERE t.name = $1);
    granted text;
BEGIN
    IF found IS NOT NULL THEN
        RETURN found;
    END IF;
    INSERT INTO rag.tenants AS t (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING t.id INTO found;
    IF found IS NULL THEN
        -- made meanwhile by another session: a new statement sees its row
        SELECT t.id INTO STRICT found FROM rag.tenants AS t WHERE t.name = $1;
        RETURN found;
    END IF;
    PERFORM rag.record_deed(found, 'tenant.create', $1, '{}');
    IF NOT rag.is_distributed() THEN
        PERFORM rag.lock_of('', found);  -- makes the secret of its locks: else its first writer does, and others wait for that
    END IF;
    -- Whose database it is may read it in psql as well.
    INSERT INTO rag.analyst_grant AS g (tenant_id, role_name)
    SELECT found, pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = 'rag.tenants'::regclass
    ON CONFLICT DO NOTHING
    RETURNING g.role_name INTO granted;
    IF granted IS NOT NULL THEN
        PERFORM rag.record_deed(found, 'analyst.grant', granted, '{}');
    END IF;
    RETURN found;
END
$$;
COMMENT ON FUNCTION rag.ensure_tenant(text) IS
    'Id of the tenant of that name, made if new. The owner of the tables may read a new tenant in schema analyst.';

CREATE OR REPLACE FUNCTION rag.tenant_ids() RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT t.id FROM rag.tenants AS t ORDER BY t.id;
END
$$;
COMMENT ON FUNCTION rag.tenant_ids() IS 'Ids of all tenants, for what is done for each of them once a day.';

CREATE OR REPLACE FUNCTION rag.grant_analyst(role_name text, tenant text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    login  regrole := to_regrole(quote_ident($1));
    owner  regrole := (SELECT relowner FROM pg_class WHERE oid = 'rag.tenants'::regclass);
    modern boolean := current_setting('server_version_num')::int >= 160000;
    open   text := (SELECT string_agg(f::text, ', ') FROM rag.open_to_everybody() AS f);
BEGIN
    IF login IS NULL THEN
        RAISE EXCEPTION 'there is no role %', $1 USING ERRCODE = 'undefined_object';
    END IF;
    INSERT INTO rag.analyst_grant AS g (tenant_id, role_name)
    SELECT t.id, $1 FROM rag.tenants AS t WHERE t.name = $2
    ON CONFLICT ON CONSTRAINT analyst_grant_pkey DO NOTHING;
    IF FOUND THEN
        PERFORM rag.record_deed((SELECT t.id FROM rag.tenants AS t WHERE t.name = $2), 'analyst.grant', $1, '{}');
    END IF;
    IF NOT EXISTS (SELECT 1 FROM rag.tenants AS t WHERE t.name = $2) THEN
        RAISE EXCEPTION 'there is no tenant %', $2 USING ERRCODE = 'no_data_found';
    END IF;
    IF NOT pg_has_role(login, 'cairn_analyst', 'MEMBER') THEN
        EXECUTE format('GRANT cairn_analyst TO %s', login);
    END IF;
    -- rag.end_overdue_analysts works as the owner, who may see and end sessions of roles that it is a member of.
    IF NOT pg_has_role(owner, login, 'USAGE')
       AND NOT (pg_has_role(owner, 'pg_signal_backend', 'USAGE') AND pg_has_role(owner, 'pg_read_all_stats', 'USAGE')) THEN
        BEGIN
            IF current_user <> owner::text THEN  -- an administrator may not mean to give the owner what this login has
                RAISE insufficient_privilege;
            END IF;
            EXECUTE format('GRANT %s TO %s %s', login, owner, CASE WHEN modern THEN 'WITH INHERIT TRUE' ELSE '' END);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING 'sessions of % cannot be watched; let an administrator run: GRANT pg_signal_backend, pg_read_all_stats TO %;',
                login, owner;
        END;
    END IF;
    IF open IS NOT NULL THEN
        RAISE WARNING 'analysts may write large objects and the log, and hold locks; let an administrator run: REVOKE EXECUTE ON FUNCTION % FROM PUBLIC;', open;
    END IF;
    -- Migration has taken it from everybody, but a copy of a database (CREATE DATABASE ... TEMPLATE, a dump) comes without that.
    IF has_database_privilege('public', current_database(), 'TEMPORARY') THEN
        BEGIN
            EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO cairn_app', current_database());
            EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
        EXCEPTION WHEN insufficient_privilege THEN
            NULL;
        END;
        IF has_database_privilege('public', current_database(), 'TEMPORARY') THEN  -- who may not revoke is only warned
            RAISE WARNING 'analysts may make temporary tables; let an administrator run: REVOKE TEMPORARY ON DATABASE % FROM PUBLIC;',
                quote_ident(current_database());
        END IF;
    END IF;
    IF (SELECT rolconnlimit < 0 AND NOT rolsuper FROM pg_roles WHERE oid = login) THEN
        BEGIN
            IF pg_has_role(login, 'cairn_app', 'MEMBER') THEN  -- it also serves, or owns the database
                RAISE insufficient_privilege;
            END IF;
            EXECUTE format('ALTER ROLE %s CONNECTION LIMIT 10', login);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING '% may take every connection of the server: ALTER ROLE % CONNECTION LIMIT 4;', login, login;
        END;
    END IF;
END
$$;
COMMENT ON FUNCTION rag.grant_analyst(text, text) IS
    'For the owner: lets a login read one tenant through schema analyst. Grants follow the name of the login.';

CREATE OR REPLACE FUNCTION rag.revoke_analyst(role_name text, tenant text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
    home bigint := (SELECT t.id FROM rag.tenants AS t WHERE t.name = $2);
BEGIN
    DELETE FROM rag.analyst_grant AS g WHERE g.tenant_id = home AND g.role_name = $1;
    IF FOUND THEN
        PERFORM rag.record_deed(home, 'analyst.revoke', $1, '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION rag.revoke_analyst(text, text) IS 'For the owner: takes back what rag.grant_analyst gave.';
