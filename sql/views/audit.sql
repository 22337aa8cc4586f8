-- Who did what, when: one row per deed.
CREATE OR REPLACE VIEW analyst.audit AS
SELECT t.name || '' AS tenant,
       a.occurred_at,
       a.caller || '' AS caller,
       a.caller_name || '' AS caller_name,
       a.action || '' AS action,
       a.target || '' AS target,
       a.detail,
       a.id
FROM rag.audit_events AS a
JOIN rag.tenants AS t ON t.id = a.tenant_id;

COMMENT ON VIEW analyst.audit IS 'Deeds that matter afterwards, one row each: deletions, exports, keys, grants, settings, models, backups.';
COMMENT ON COLUMN analyst.audit.tenant IS 'Name of the tenant whose data it is about.';
COMMENT ON COLUMN analyst.audit.occurred_at IS 'When, by the clock of the database.';
COMMENT ON COLUMN analyst.audit.caller IS 'Who: local (command line, library, a server without keys), key:<id>, token:<subject>, or database:<login> for SQL.';
COMMENT ON COLUMN analyst.audit.caller_name IS 'The name that the caller had at that time.';
COMMENT ON COLUMN analyst.audit.action IS 'What was done, as <what>.<deed>, for example collection.delete; docs/security.md lists them.';
COMMENT ON COLUMN analyst.audit.target IS 'The name or id of what it was done to.';
COMMENT ON COLUMN analyst.audit.detail IS 'What else belongs to it, for example counts of what went.';
COMMENT ON COLUMN analyst.audit.id IS 'Id of the event.';
