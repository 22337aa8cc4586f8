-- Which rights a connection serves with, and the login that serves from an embedded server.

-- name: rights
-- Of the role in force. Asked of each new connection of the pool, before anything else uses it.
SELECT current_user AS role, r.rolsuper AS superuser, r.rolbypassrls AS bypasses,
       coalesce(pg_has_role(r.oid, to_regrole('cairn_app'), 'USAGE'), false) AS serves,
       EXISTS (SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace  -- a regclass wants USAGE
               WHERE n.nspname = 'rag' AND c.relname = 'tenants' AND pg_has_role(r.oid, c.relowner, 'MEMBER')) AS owns,
       ARRAY(SELECT name FROM unnest(ARRAY['cairn_definer', 'cairn_views']) AS name
             WHERE pg_has_role(r.oid, to_regrole(name), 'MEMBER')) AS above
FROM pg_roles AS r
WHERE r.rolname = current_user

-- name: tenant_id
SELECT id FROM rag.tenants WHERE name = $1

-- name: role_exists
SELECT to_regrole($1) IS NOT NULL

-- name: grant_analyst
SELECT rag.grant_analyst($1, $2)

-- name: server_login_is_ready
SELECT coalesce(bool_and(
    rolcanlogin AND pg_has_role(oid, to_regrole('cairn_app'), 'USAGE')
    AND NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
    AND NOT EXISTS (SELECT 1 FROM pg_auth_members AS m WHERE m.member = r.oid AND m.roleid <> to_regrole('cairn_app'))
), false)
FROM pg_roles AS r
WHERE rolname = 'cairn_server'

-- name: make_server_login
DO $$
DECLARE
    other regrole;
BEGIN
    IF to_regrole('cairn_server') IS NULL THEN
        CREATE ROLE cairn_server;
    END IF;
    ALTER ROLE cairn_server LOGIN INHERIT NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;
    FOR other IN
        SELECT m.roleid FROM pg_auth_members AS m
        WHERE m.member = 'cairn_server'::regrole AND m.roleid <> 'cairn_app'::regrole
    LOOP
        EXECUTE format('REVOKE %s FROM cairn_server', other);
    END LOOP;
    GRANT cairn_app TO cairn_server;
END
$$
