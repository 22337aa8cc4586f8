-- What a database is, out of its catalogs: what two databases of one schema have alike. Read by tests/catalog.py; each part gives
-- one line of text for each thing. Daily partitions are made at run time, and left out.

-- name: schemas
SELECT row(n.nspname, n.nspowner::regrole, n.nspacl, obj_description(n.oid))::text
FROM pg_namespace AS n WHERE n.nspname IN ('rag', 'analyst');

-- name: relations
SELECT row(c.oid::regclass, c.relkind, c.relpersistence, c.relowner::regrole, c.reloptions, c.relrowsecurity, c.relforcerowsecurity,
           c.relreplident, (SELECT amname FROM pg_am WHERE oid = c.relam), pg_get_partkeydef(c.oid), obj_description(c.oid, 'pg_class'))::text
FROM pg_class AS c
WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND NOT c.relispartition AND c.relkind NOT IN ('i', 'I');

-- name: rights on relations
SELECT row(c.oid::regclass, acl.grantor::regrole, acl.grantee::regrole, acl.privilege_type, acl.is_grantable)::text
FROM pg_class AS c, aclexplode(c.relacl) AS acl
WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND NOT c.relispartition;

-- name: columns
SELECT row(c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstorage,
           a.attcompression, a.attcollation::regcollation, a.attstattarget, a.attoptions, a.attacl, pg_get_expr(d.adbin, d.adrelid),
           col_description(c.oid, a.attnum))::text
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND NOT c.relispartition AND c.relkind IN ('r', 'p', 'v', 'm')
  AND a.attnum > 0 AND NOT a.attisdropped;

-- name: constraints
SELECT row(k.conrelid::regclass, k.conname, k.contype, k.condeferrable, k.convalidated, pg_get_constraintdef(k.oid),
           obj_description(k.oid, 'pg_constraint'))::text
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
WHERE c.relnamespace = 'rag'::regnamespace AND NOT c.relispartition;

-- name: indexes
SELECT row(i.indrelid::regclass, pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisunique, i.indisprimary, i.indisclustered,
           obj_description(i.indexrelid, 'pg_class'))::text
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE c.relnamespace = 'rag'::regnamespace AND NOT c.relispartition;

-- name: policies
SELECT row(p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[], pg_get_expr(p.polqual, p.polrelid),
           pg_get_expr(p.polwithcheck, p.polrelid), obj_description(p.oid, 'pg_policy'))::text
FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid WHERE NOT c.relispartition;

-- name: sequences
SELECT row(s.seqrelid::regclass, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle)::text
FROM pg_sequence AS s JOIN pg_class AS c ON c.oid = s.seqrelid WHERE c.relnamespace = 'rag'::regnamespace;

-- name: views
SELECT row(c.oid::regclass, pg_get_viewdef(c.oid))::text
FROM pg_class AS c WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND c.relkind IN ('v', 'm');

-- name: functions
SELECT row(p.oid::regprocedure, p.proowner::regrole, p.proacl, p.procost, p.prorows, p.prosecdef, p.provolatile, p.proparallel, p.proconfig,
           pg_get_function_result(p.oid), pg_get_function_arguments(p.oid), p.prosrc, obj_description(p.oid, 'pg_proc'))::text
FROM pg_proc AS p WHERE p.pronamespace IN ('rag'::regnamespace, 'analyst'::regnamespace);

-- name: types
SELECT row(t.oid::regtype, t.typtype, t.typowner::regrole, format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault,
           obj_description(t.oid, 'pg_type'))::text
FROM pg_type AS t
WHERE t.typnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND t.typtype <> 'c' AND t.typelem = 0;

-- name: triggers
SELECT row(t.tgrelid::regclass, t.tgname)::text
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid WHERE c.relnamespace = 'rag'::regnamespace AND NOT t.tgisinternal;

-- name: rules
SELECT row(r.ev_class::regclass, r.rulename)::text
FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class
WHERE c.relnamespace IN ('rag'::regnamespace, 'analyst'::regnamespace) AND r.rulename <> '_RETURN';

-- name: statistics
SELECT pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext AS s WHERE s.stxnamespace = 'rag'::regnamespace;

-- name: default rights
SELECT row(d.defaclrole::regrole, d.defaclnamespace::regnamespace, d.defaclobjtype, d.defaclacl)::text FROM pg_default_acl AS d;

-- name: extensions
SELECT row(e.extname, e.extversion, e.extnamespace::regnamespace)::text FROM pg_extension AS e;

-- name: revision
SELECT version_num FROM rag.alembic_version;
