-- Backups (app/cairn/db/backup.py), and a dump's rows into a schema that this release has just made (app/cairn/db/restore.py), in one transaction of the owner.

-- name: holds_tables
SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace IN (to_regnamespace('rag'), to_regnamespace('analyst')))

-- name: records_deeds
SELECT to_regprocedure('rag.record_deed(bigint, text, text, jsonb)') IS NOT NULL

-- name: record
-- In the audit log of every tenant.
SELECT rag.record_deed(id, $1, $2, '{}') FROM rag.tenants

-- name: columns
-- What rows may be given, of every table but what says which schema this is: partitioned tables as a whole, nothing generated.
SELECT c.relname::text AS name, c.relkind = 'p' AS partitioned, array_agg(a.attname::text) AS columns
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname NOT IN ('alembic_version', 'schema_revisions', 'schema_objects')
GROUP BY c.oid

-- name: sequences
SELECT s.relname::text AS sequence, c.relname::text AS table, a.attname::text AS column
FROM pg_depend AS d JOIN pg_class AS s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_class AS c ON c.oid = d.refobjid
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND c.relnamespace = 'rag'::regnamespace

-- name: deferred
-- Foreign keys and indexes that rows can do without while they come: checked and built once, when all are there, as pg_restore does
-- it. `make` is out of the catalog, before anything of the dump was read. What a partitioned table has stays.
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname) AS drop,
       format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) AS make
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
WHERE k.contype = 'f' AND k.connamespace = 'rag'::regnamespace AND k.conparentid = 0 AND c.relkind = 'r' AND NOT c.relispartition
UNION ALL
SELECT format('DROP INDEX %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition AND NOT i.indisunique
ORDER BY make

-- name: open_tables
-- COPY knows no row security. It is on again, with the rights that everybody has, once sql/row_security.sql was applied.
DO $$
DECLARE
    item regclass;
BEGIN
    FOR item IN
        SELECT oid FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    LOOP
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', item);
        EXECUTE format('GRANT INSERT ON TABLE %s TO cairn_definer', item);
    END LOOP;
END
$$

-- name: load_as
-- No superuser, and nobody who may read files or run programs: should a row make the server do something, it may do no more.
SET LOCAL ROLE cairn_definer

-- name: add_partition
SELECT rag.add_partition(format('rag.%I', $1::text)::regclass, $2)

-- name: rebuild_postings
SELECT rag.rebuild_postings(c.id) FROM rag.collections AS c CROSS JOIN LATERAL (SELECT set_config('app.tenant', c.tenant_id::text, true)) AS s

-- name: count_on
SELECT setval(format('rag.%I', $1::text)::regclass, $2)
