-- What is ranked by meaning: one row per chunk. analyst.similar_chunks takes their ids.
CREATE OR REPLACE VIEW analyst.chunks AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       k.document_id,
       k.passage_id,
       k.id AS chunk_id,
       k.ordinal,
       k.page,
       array_remove(k.headings, NULL) AS headings,
       k.char_start,
       k.char_end,
       k.token_count,
       k.token_counter || '' AS token_counter,
       k.content || '' AS content
FROM rag.chunks AS k
JOIN rag.tenants AS t ON t.id = k.tenant_id
JOIN rag.collections AS c ON c.tenant_id = k.tenant_id AND c.id = k.collection_id;

COMMENT ON VIEW analyst.chunks IS 'Chunks: small pieces of passages that vectors rank.';
COMMENT ON COLUMN analyst.chunks.tenant IS 'Name of the tenant that owns the document.';
COMMENT ON COLUMN analyst.chunks.collection IS 'Name of the collection that holds the document.';
COMMENT ON COLUMN analyst.chunks.document_id IS 'The document (analyst.documents).';
COMMENT ON COLUMN analyst.chunks.passage_id IS 'The passage that the chunk lies in (analyst.passages).';
COMMENT ON COLUMN analyst.chunks.chunk_id IS 'Id of the chunk; hits refer to it. A new version of the document has new ones.';
COMMENT ON COLUMN analyst.chunks.ordinal IS 'Position in the document, counted from 0.';
COMMENT ON COLUMN analyst.chunks.page IS 'Page of its first character, counted from 1; null for documents without pages.';
COMMENT ON COLUMN analyst.chunks.headings IS 'Headings above the chunk, outermost first.';
COMMENT ON COLUMN analyst.chunks.char_start IS 'First character in the document''s text, counted from 0 in Unicode code points.';
COMMENT ON COLUMN analyst.chunks.char_end IS 'One past its last character, in Unicode code points.';
COMMENT ON COLUMN analyst.chunks.token_count IS 'Length in tokens of token_counter.';
COMMENT ON COLUMN analyst.chunks.token_counter IS 'Which tokenizer counted; estimate-v1 means that none was at hand.';
COMMENT ON COLUMN analyst.chunks.content IS 'The text of the chunk.';
