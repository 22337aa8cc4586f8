-- What the tools of agents read besides searching: always of one collection ($2, by name) and of documents whose metadata
-- holds the caller's filters ($3).

-- name: in_scope
-- Of the passages $4 those that the question may see, with their place in the document.
SELECT p.id, p.ordinal
FROM rag.passages p
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
JOIN rag.collections c ON c.tenant_id = $1 AND c.id = d.collection_id
WHERE p.tenant_id = $1 AND c.name = $2 AND d.metadata @> $3 AND d.status = 'indexed' AND p.id = ANY ($4::uuid[])

-- name: relations
SELECT r.id, r.kind FROM rag.relations r WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[])

-- name: by_value
-- Documents by the value of a field: type, language, or a key of their metadata ($4).
SELECT CASE $4::text WHEN 'type' THEN d.media_type WHEN 'language' THEN coalesce(d.language, '')
    ELSE coalesce(d.metadata ->> $4::text, '') END AS value,
  count(*) AS documents, count(*) OVER () AS all_values
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = $1 AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.metadata @> $3 AND d.status = 'indexed'
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT $5

-- name: entities
-- Entities, those spoken of in most documents first; taken for one kind ($4) somewhere, or for any ('').
SELECT e.name, e.kind, count(DISTINCT p.document_id) AS documents, count(DISTINCT m.passage_id) AS passages,
  count(*) OVER () AS all_entities
FROM rag.collections c
JOIN rag.entities o ON o.tenant_id = $1 AND o.collection_id = c.id
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = o.canonical_id
JOIN rag.mentions m ON m.tenant_id = $1 AND m.entity_id = o.id
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = m.passage_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
WHERE c.tenant_id = $1 AND c.name = $2 AND d.metadata @> $3 AND d.status = 'indexed' AND ($4::text = '' OR m.kind = $4::text)
GROUP BY e.id, e.name, e.kind ORDER BY 3 DESC, 4 DESC, e.name COLLATE "C" LIMIT $5

-- name: mentions
-- Documents that mention an entity ($4) or what was merged into it, those that do so most first.
SELECT d.external_id, d.title, count(DISTINCT m.passage_id) AS passages, sum(m.occurrences)::bigint AS occurrences,
  count(*) OVER () AS all_documents, (sum(count(DISTINCT m.passage_id)) OVER ())::bigint AS all_passages
FROM rag.collections c
JOIN rag.entities o ON o.tenant_id = $1 AND o.collection_id = c.id AND (o.id = $4 OR o.canonical_id = $4)
JOIN rag.mentions m ON m.tenant_id = $1 AND m.entity_id = o.id
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = m.passage_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
WHERE c.tenant_id = $1 AND c.name = $2 AND d.metadata @> $3 AND d.status = 'indexed'
GROUP BY d.id, d.external_id, d.title ORDER BY 4 DESC, 3 DESC, d.external_id LIMIT $5
