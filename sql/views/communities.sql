-- Groups of closely related entities, with what documents say of them. Sentences are read from their passages, so nothing
-- of a deleted document is left.
CREATE OR REPLACE VIEW analyst.communities AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       k.id AS community_id,
       k.level,
       k.parent_id,
       CASE WHEN k.title <> '' THEN k.title ELSE array_to_string(m.names[:3], ', ') END || '' AS title,
       CASE WHEN k.summary <> '' THEN k.summary ELSE array_to_string(s.sentences, ' ') END || '' AS summary,
       k.summary <> '' AS written_by_model,
       m.member_count,
       array_remove(m.names, NULL) AS members,
       s.sentence_count,
       array_remove(s.sentences, NULL) AS sentences,
       s.passage_ids,
       r.refreshed_at
FROM rag.communities AS k
JOIN rag.tenants AS t ON t.id = k.tenant_id
JOIN rag.collections AS c ON c.tenant_id = k.tenant_id AND c.id = k.collection_id
LEFT JOIN rag.community_refreshes AS r ON r.tenant_id = k.tenant_id AND r.collection_id = k.collection_id
CROSS JOIN LATERAL (
    SELECT count(*) AS member_count,
           coalesce(array_agg(e.name ORDER BY n.weight DESC, e.passage_count DESC, e.id), '{}') AS names
    FROM rag.community_members AS n
    JOIN rag.entities AS e ON e.tenant_id = n.tenant_id AND e.id = n.entity_id
    WHERE n.tenant_id = k.tenant_id AND n.community_id = k.id
) AS m
CROSS JOIN LATERAL (
    SELECT count(*) AS sentence_count,
           coalesce(array_agg(substr(p.content, n.char_start - p.char_start + 1, n.char_end - n.char_start)
                              ORDER BY n.place), '{}') AS sentences,
           coalesce(array_agg(n.passage_id ORDER BY n.place), '{}') AS passage_ids
    FROM rag.community_sentences AS n
    JOIN rag.passages AS p ON p.tenant_id = n.tenant_id AND p.id = n.passage_id
    WHERE n.tenant_id = k.tenant_id AND n.community_id = k.id
) AS s;

COMMENT ON VIEW analyst.communities IS
    'Communities: groups of closely related entities, with the sentences of documents that say most about them.';
COMMENT ON COLUMN analyst.communities.tenant IS 'Name of the tenant that owns the documents.';
COMMENT ON COLUMN analyst.communities.collection IS 'Name of the collection.';
COMMENT ON COLUMN analyst.communities.community_id IS 'Id of the community; it keeps it while most of its members stay.';
COMMENT ON COLUMN analyst.communities.level IS '0: not part of a larger one; 1: part of one of level 0, and so on.';
COMMENT ON COLUMN analyst.communities.parent_id IS 'The larger community that it is part of; null at level 0.';
COMMENT ON COLUMN analyst.communities.title IS 'What a model called it, else its three most central members.';
COMMENT ON COLUMN analyst.communities.summary IS 'What a model wrote, else its sentences one after the other.';
COMMENT ON COLUMN analyst.communities.written_by_model IS 'Whether title and summary are a model''s.';
COMMENT ON COLUMN analyst.communities.member_count IS 'Entities in it.';
COMMENT ON COLUMN analyst.communities.members IS 'Their names, the most central first.';
COMMENT ON COLUMN analyst.communities.sentence_count IS 'Sentences that sum it up.';
COMMENT ON COLUMN analyst.communities.sentences IS 'Sentences of documents that sum it up, word for word.';
COMMENT ON COLUMN analyst.communities.passage_ids IS 'The passage (analyst.passages) of each of them.';
COMMENT ON COLUMN analyst.communities.refreshed_at IS 'When communities of the collection were last brought up to date.';
