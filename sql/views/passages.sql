-- What is ranked by words, shown and cited: one row per passage.
CREATE OR REPLACE VIEW analyst.passages AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       p.document_id,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       p.id AS passage_id,
       p.ordinal,
       p.page,
       array_remove(p.headings, NULL) AS headings,
       p.char_start,
       p.char_end,
       p.token_count,
       p.regconfig COLLATE "default" || '' AS text_search_config,
       p.content || '' AS content
FROM rag.passages AS p
JOIN rag.tenants AS t ON t.id = p.tenant_id
JOIN rag.collections AS c ON c.tenant_id = p.tenant_id AND c.id = p.collection_id
JOIN rag.documents AS d ON d.tenant_id = p.tenant_id AND d.id = p.document_id;

COMMENT ON VIEW analyst.passages IS
    'Passages: coherent pieces of documents that BM25 ranks, fusion merges, results show and answers cite.';
COMMENT ON COLUMN analyst.passages.tenant IS 'Name of the tenant that owns the document.';
COMMENT ON COLUMN analyst.passages.collection IS 'Name of the collection that holds the document.';
COMMENT ON COLUMN analyst.passages.document_id IS 'The document (analyst.documents).';
COMMENT ON COLUMN analyst.passages.external_id IS 'The caller''s identity of the document; for files a path.';
COMMENT ON COLUMN analyst.passages.title IS 'Title of the document.';
COMMENT ON COLUMN analyst.passages.passage_id IS 'Id of the passage; chunks and hits refer to it. A new version of the document has new ones.';
COMMENT ON COLUMN analyst.passages.ordinal IS 'Position in the document, counted from 0.';
COMMENT ON COLUMN analyst.passages.page IS 'Page of its first character, counted from 1; null for documents without pages.';
COMMENT ON COLUMN analyst.passages.headings IS 'Headings above the passage, outermost first.';
COMMENT ON COLUMN analyst.passages.char_start IS 'First character in the document''s text, counted from 0 in Unicode code points.';
COMMENT ON COLUMN analyst.passages.char_end IS 'One past its last character, in Unicode code points.';
COMMENT ON COLUMN analyst.passages.token_count IS 'Length in tokens of the embedding model.';
COMMENT ON COLUMN analyst.passages.text_search_config IS 'PostgreSQL text search configuration (language) that cut it into lexemes.';
COMMENT ON COLUMN analyst.passages.content IS 'The text of the passage.';
