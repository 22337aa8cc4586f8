-- What became of documents: one row per addition, replacement and deletion. Kept for audit.retentionDays days.
CREATE OR REPLACE VIEW analyst.changes AS
SELECT t.name || '' AS tenant,
       h.changed_at,
       h.kind || '' AS kind,
       h.collection || '' AS collection,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       h.version,
       h.passage_count,
       h.byte_size,
       h.document_id,
       h.id AS change_id
FROM rag.document_changes AS h
JOIN rag.tenants AS t ON t.id = h.tenant_id
LEFT JOIN rag.documents AS d ON d.tenant_id = h.tenant_id AND d.id = h.document_id;

COMMENT ON VIEW analyst.changes IS 'Additions, replacements and deletions of documents, one row each, kept for audit.retentionDays days; analyst.audit tells who deleted.';
COMMENT ON COLUMN analyst.changes.tenant IS 'Name of the tenant that owns the document.';
COMMENT ON COLUMN analyst.changes.changed_at IS 'When, by the clock of the database.';
COMMENT ON COLUMN analyst.changes.kind IS 'added (first indexed), replaced (other content) or deleted (also with its collection).';
COMMENT ON COLUMN analyst.changes.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.changes.external_id IS 'The caller''s identity of the document; null when it was deleted since: its name goes with it.';
COMMENT ON COLUMN analyst.changes.title IS 'Its title today; null when it was deleted since.';
COMMENT ON COLUMN analyst.changes.version IS 'Version after the change; of a deletion the last one.';
COMMENT ON COLUMN analyst.changes.passage_count IS 'Passages of that version.';
COMMENT ON COLUMN analyst.changes.byte_size IS 'Size of its file or text as it was handed over, in bytes.';
COMMENT ON COLUMN analyst.changes.document_id IS 'Id of the document (analyst.documents, as long as it is there).';
COMMENT ON COLUMN analyst.changes.change_id IS 'Id of the change.';
