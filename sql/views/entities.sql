-- Things that documents speak of. An entity that was merged into another is shown as that one.
-- Its id is made of its name and the id of its collection, so a comparison with one, before row security, would tell whether
-- documents of others have the name. Ids of that kind, and of collections, are expressions, as texts are (sql/row_security.sql):
-- compared afterwards, and by no index. Ids of documents, passages, chunks and runs are made by chance, and stay open to indexes.
CREATE OR REPLACE VIEW analyst.entities AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       (array_remove(ARRAY[e.id], NULL))[1] AS entity_id,
       e.name || '' AS name,
       e.kind || '' AS kind,
       e.family || '' AS family,
       e.normal || '' AS normal,
       e.passage_count,
       array_remove(n.names, NULL) AS other_names,
       (array_remove(ARRAY[e.canonical_id], NULL))[1] AS stands_for,
       (SELECT count(*) FROM rag.adjacency AS a WHERE a.tenant_id = e.tenant_id AND a.node_id = e.id) AS relation_count
FROM rag.entities AS e
JOIN rag.tenants AS t ON t.id = e.tenant_id
JOIN rag.collections AS c ON c.tenant_id = e.tenant_id AND c.id = e.collection_id
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(DISTINCT a.name) FILTER (WHERE a.name <> e.name), '{}') AS names
    FROM rag.entity_aliases AS a WHERE a.tenant_id = e.tenant_id AND a.entity_id = e.id
) AS n;

COMMENT ON VIEW analyst.entities IS
    'Entities of the knowledge graph: people, places, organisations, terms, identifiers and symbols that passages mention.';
COMMENT ON COLUMN analyst.entities.tenant IS 'Name of the tenant that owns the documents.';
COMMENT ON COLUMN analyst.entities.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.entities.entity_id IS 'Id of the entity; the same name in the same collection always has the same.';
COMMENT ON COLUMN analyst.entities.name IS 'What most passages call it.';
COMMENT ON COLUMN analyst.entities.kind IS 'What most passages take it for: person, organisation, place, name, topic, term, identifier, or a kind of code symbol.';
COMMENT ON COLUMN analyst.entities.family IS 'text, identifier, code (a definition) or reference (a name that code refers to): the same normal form in two families is two entities.';
COMMENT ON COLUMN analyst.entities.normal IS 'Normal form of the name, by which mentions are taken for the same thing.';
COMMENT ON COLUMN analyst.entities.passage_count IS 'Passages that name it.';
COMMENT ON COLUMN analyst.entities.other_names IS 'Other names that passages give it.';
COMMENT ON COLUMN analyst.entities.stands_for IS 'Entity that stands for it in the graph: itself, unless it was merged into another.';
COMMENT ON COLUMN analyst.entities.relation_count IS 'Relations that end at it, with those of what was merged into it.';
