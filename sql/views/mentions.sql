-- Which passage mentions which entity. Ids of entities are compared after row security (entities.sql).
CREATE OR REPLACE VIEW analyst.mentions AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       e.name || '' AS entity,
       m.name || '' AS written,
       m.kind || '' AS kind,
       m.occurrences,
       m.confidence,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       m.char_start,
       m.char_end,
       (array_remove(ARRAY[m.entity_id], NULL))[1] AS entity_id,
       m.passage_id,
       p.document_id,
       m.by_model
FROM rag.mentions AS m
JOIN rag.tenants AS t ON t.id = m.tenant_id
JOIN rag.collections AS c ON c.tenant_id = m.tenant_id AND c.id = m.collection_id
JOIN rag.entities AS e ON e.tenant_id = m.tenant_id AND e.id = m.entity_id
JOIN rag.passages AS p ON p.tenant_id = m.tenant_id AND p.id = m.passage_id
JOIN rag.documents AS d ON d.tenant_id = p.tenant_id AND d.id = p.document_id;

COMMENT ON VIEW analyst.mentions IS 'Mentions of entities in passages.';
COMMENT ON COLUMN analyst.mentions.tenant IS 'Name of the tenant that owns the document.';
COMMENT ON COLUMN analyst.mentions.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.mentions.entity IS 'Name of the entity (analyst.entities).';
COMMENT ON COLUMN analyst.mentions.written IS 'How the passage writes it.';
COMMENT ON COLUMN analyst.mentions.kind IS 'What it was taken for here.';
COMMENT ON COLUMN analyst.mentions.occurrences IS 'How often it is written so in the passage; 0: only implied, by a title or another name of it.';
COMMENT ON COLUMN analyst.mentions.confidence IS 'How sure the extraction is, 0 to 1.';
COMMENT ON COLUMN analyst.mentions.external_id IS 'The caller''s identity of the document; for files a path.';
COMMENT ON COLUMN analyst.mentions.title IS 'Title of the document.';
COMMENT ON COLUMN analyst.mentions.char_start IS 'First character of the first occurrence in the document''s text, counted from 0 in Unicode code points.';
COMMENT ON COLUMN analyst.mentions.char_end IS 'One past its last character.';
COMMENT ON COLUMN analyst.mentions.entity_id IS 'The entity as it was found, also when it was merged into another.';
COMMENT ON COLUMN analyst.mentions.passage_id IS 'The passage (analyst.passages).';
COMMENT ON COLUMN analyst.mentions.document_id IS 'The document (analyst.documents).';
COMMENT ON COLUMN analyst.mentions.by_model IS 'Whether a chat model found it here, not the rules.';
