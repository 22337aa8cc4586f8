-- What is in the database: one row per document.
CREATE OR REPLACE VIEW analyst.documents AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       d.id AS document_id,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       d.version,
       d.status || '' AS status,
       d.media_type || '' AS media_type,
       d.language || '' AS language,
       d.metadata,
       d.error || '' AS error,
       d.byte_size,
       d.passage_count,
       d.chunk_count,
       d.token_count,
       d.created_at,
       d.updated_at
FROM rag.documents AS d
JOIN rag.tenants AS t ON t.id = d.tenant_id
JOIN rag.collections AS c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id;

COMMENT ON VIEW analyst.documents IS 'Documents with their state and size, one row each.';
COMMENT ON COLUMN analyst.documents.tenant IS 'Name of the tenant that owns the document.';
COMMENT ON COLUMN analyst.documents.collection IS 'Name of the collection that holds the document.';
COMMENT ON COLUMN analyst.documents.document_id IS 'Id of the document; passages, chunks and runs refer to it.';
COMMENT ON COLUMN analyst.documents.external_id IS 'The caller''s identity of the document; for files a path.';
COMMENT ON COLUMN analyst.documents.title IS 'Title shown in results.';
COMMENT ON COLUMN analyst.documents.version IS '1 after the first indexing, one more with each new content; 0 while it was never indexed.';
COMMENT ON COLUMN analyst.documents.status IS 'pending, parsing, embedding, indexed or failed; only indexed documents are found.';
COMMENT ON COLUMN analyst.documents.media_type IS 'Kind of file, recognised by its content.';
COMMENT ON COLUMN analyst.documents.language IS 'Language recognised in the text (ISO 639-1 code); null where none was.';
COMMENT ON COLUMN analyst.documents.metadata IS 'What the caller said about the document (JSON object); filters match it.';
COMMENT ON COLUMN analyst.documents.error IS 'Why indexing failed; null otherwise.';
COMMENT ON COLUMN analyst.documents.byte_size IS 'Size of the file or text as it was handed over, in bytes.';
COMMENT ON COLUMN analyst.documents.passage_count IS 'Number of passages.';
COMMENT ON COLUMN analyst.documents.chunk_count IS 'Number of chunks.';
COMMENT ON COLUMN analyst.documents.token_count IS 'Tokens of all passages as the embedding model counts them; overlaps count twice.';
COMMENT ON COLUMN analyst.documents.created_at IS 'When the document was first handed over.';
COMMENT ON COLUMN analyst.documents.updated_at IS 'When its row last changed.';
