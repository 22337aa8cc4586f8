-- The knowledge graph: writing is part of rag.publish_document (sql/functions/graph.sql).

-- name: prepare
SELECT rag.prepare_graph_stage()

-- name: walk
SELECT entity_id, score, hop, predecessor_id, relation_id, outgoing, passage_id, truncated
FROM rag.graph_walk($1, $2::uuid[], $3::float8[], $4, $5, $6, $7, $8, $9)

-- name: merge
SELECT rag.merge_entities($1, $2, $3, $4, $5)

-- name: unmerge
SELECT rag.unmerge_entities($1, $2)

-- name: named
SELECT id, name, kind, passage_count, canonical_id FROM rag.entities
WHERE tenant_id = $1 AND collection_id = $2 AND id = ANY ($3::uuid[])

-- name: stored_mentions
SELECT p.ordinal, m.entity_id, m.name, m.kind, m.occurrences, m.char_start, m.char_end
FROM rag.passages p JOIN rag.mentions m ON m.tenant_id = $1 AND m.passage_id = p.id
WHERE p.tenant_id = $1 AND p.document_id = $2

-- name: stored_evidence
SELECT p.ordinal, v.relation_id, v.strength, v.char_start, v.char_end
FROM rag.passages p JOIN rag.evidence v ON v.tenant_id = $1 AND v.passage_id = p.id
WHERE p.tenant_id = $1 AND p.document_id = $2
