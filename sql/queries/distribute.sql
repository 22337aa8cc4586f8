-- What `cairn migrate --distribute` asks of the catalogs of PostgreSQL and Citus (app/cairn/db/distribute.py).

-- name: has_citus
SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')

-- name: is_coordinator
SELECT citus_is_coordinator()

-- name: count_workers
SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary' AND groupid <> 0

-- name: holds_tenants_itself
SELECT EXISTS (SELECT 1 FROM pg_dist_node WHERE groupid = 0 AND shouldhaveshards)

-- name: roles_without_login
SELECT array_agg(rolname::text ORDER BY rolname) FROM pg_roles
WHERE rolname IN ('cairn_app', 'cairn_definer', 'cairn_views') AND NOT rolcanlogin

-- name: tables_with_lists
-- Those with access lists, where there are tables yet.
SELECT a.attrelid::regclass::text AS name FROM pg_attribute AS a
WHERE a.attrelid IN (to_regclass('rag.documents'), to_regclass('rag.access_rules')) AND a.attname = 'access' AND NOT a.attisdropped

-- name: see_all_rows
-- As the owner of the tables nobody sees any: row security is forced.
SET LOCAL ROLE cairn_definer

-- name: tables_to_distribute
-- With a tenant_id, and neither distributed nor copied to every node.
SELECT c.oid::regclass::text AS name FROM pg_class AS c
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.oid <> 'rag.analyst_grant'::regclass
  AND EXISTS (
    SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
  AND NOT EXISTS (SELECT 1 FROM pg_dist_partition AS d WHERE d.logicalrelid = c.oid AND d.partmethod = 'h')
ORDER BY 1

-- name: tables_to_share
SELECT name FROM unnest($1::text[]) AS name
WHERE NOT EXISTS (
  SELECT 1 FROM pg_dist_partition AS d WHERE d.logicalrelid = name::regclass AND d.partmethod = 'n' AND d.colocationid > 0)
ORDER BY 1

-- name: nested_policies
-- Those that ask a sub-select: sql/row_security.sql makes others in a distributed database.
SELECT quote_ident(polname) AS policy, polrelid::regclass::text AS name FROM pg_policy
WHERE polname = 'views' AND pg_get_expr(polqual, polrelid) LIKE '%SELECT%'

-- name: foreign_keys
-- From or to one of these tables.
SELECT conrelid::regclass::text AS name, quote_ident(conname) AS key, pg_get_constraintdef(oid) AS definition
FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0
  AND (conrelid = ANY (($1::text[])::regclass[]) OR confrelid = ANY (($1::text[])::regclass[]))
ORDER BY conrelid::regclass::text, conname

-- name: show_shards
SELECT format('ALTER DATABASE %I SET citus.override_table_visibility TO off', current_database())
