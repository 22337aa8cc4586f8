-- How entities are related, a row for each passage that proves it. Ids of relations and entities are compared after row security
-- (entities.sql).
CREATE OR REPLACE VIEW analyst.relations AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       s.name || '' AS source,
       r.kind || '' AS relation,
       o.name || '' AS target,
       a.weight,
       r.evidence_count,
       v.strength / 1000.0 AS strength,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       substr(p.content, greatest(v.char_start - p.char_start, 0) + 1, v.char_end - v.char_start) AS evidence,
       (array_remove(ARRAY[r.id], NULL))[1] AS relation_id,
       (array_remove(ARRAY[r.source_id], NULL))[1] AS source_id,
       (array_remove(ARRAY[r.target_id], NULL))[1] AS target_id,
       v.passage_id,
       p.document_id,
       v.by_model
FROM rag.relations AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
JOIN rag.collections AS c ON c.tenant_id = r.tenant_id AND c.id = r.collection_id
JOIN rag.entities AS s ON s.tenant_id = r.tenant_id AND s.id = r.source_id
JOIN rag.entities AS o ON o.tenant_id = r.tenant_id AND o.id = r.target_id
JOIN rag.evidence AS v ON v.tenant_id = r.tenant_id AND v.relation_id = r.id
JOIN rag.passages AS p ON p.tenant_id = v.tenant_id AND p.id = v.passage_id
JOIN rag.documents AS d ON d.tenant_id = p.tenant_id AND d.id = p.document_id
LEFT JOIN rag.adjacency AS a ON a.tenant_id = r.tenant_id AND a.relation_id = r.id AND a.outgoing;

COMMENT ON VIEW analyst.relations IS 'Relations between entities, each with the passages that prove it.';
COMMENT ON COLUMN analyst.relations.tenant IS 'Name of the tenant that owns the documents.';
COMMENT ON COLUMN analyst.relations.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.relations.source IS 'Entity that the relation goes out from; co_occurs has no direction.';
COMMENT ON COLUMN analyst.relations.relation IS 'Kind of relation: co_occurs, or what the words between the two say.';
COMMENT ON COLUMN analyst.relations.target IS 'Entity that it leads to.';
COMMENT ON COLUMN analyst.relations.weight IS 'Association of the two, above 0 and below 1: together often, apart seldom; null when they were merged into one.';
COMMENT ON COLUMN analyst.relations.evidence_count IS 'Passages that prove it.';
COMMENT ON COLUMN analyst.relations.strength IS 'How much this passage says for it; 1 is a plain statement.';
COMMENT ON COLUMN analyst.relations.external_id IS 'The caller''s identity of the document that proves it; for files a path.';
COMMENT ON COLUMN analyst.relations.title IS 'Title of that document.';
COMMENT ON COLUMN analyst.relations.evidence IS 'What that document says.';
COMMENT ON COLUMN analyst.relations.relation_id IS 'Id of the relation.';
COMMENT ON COLUMN analyst.relations.source_id IS 'Id of the source (analyst.entities).';
COMMENT ON COLUMN analyst.relations.target_id IS 'Id of the target (analyst.entities).';
COMMENT ON COLUMN analyst.relations.passage_id IS 'The passage (analyst.passages).';
COMMENT ON COLUMN analyst.relations.document_id IS 'The document (analyst.documents).';
COMMENT ON COLUMN analyst.relations.by_model IS 'Whether a chat model found it here, not the rules.';
