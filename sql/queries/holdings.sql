-- What a collection holds as such: answers to questions about the documents themselves.

-- name: documents
SELECT d.id, d.external_id, d.title, d.media_type, d.language, d.updated_at, (
  SELECT max(coalesce((p.landmarks -> -1 ->> 1)::integer, p.page)) FROM rag.passages p
  WHERE p.tenant_id = $1 AND p.document_id = d.id AND p.page IS NOT NULL) AS pages
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND d.metadata @> $3
ORDER BY d.external_id LIMIT $4

-- name: totals
SELECT count(*) FILTER (WHERE d.status = 'indexed') AS documents,
  count(*) FILTER (WHERE d.status <> 'indexed') AS unready,
  coalesce(sum(d.passage_count) FILTER (WHERE d.status = 'indexed'), 0)::bigint AS passages
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.metadata @> $3

-- name: kinds
SELECT d.media_type, coalesce(d.language, '') AS language, count(*) AS documents
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND d.metadata @> $3
GROUP BY 1, 2

-- name: filled
SELECT name FROM rag.collections WHERE tenant_id = $1 AND document_count > 0 ORDER BY document_count DESC, name LIMIT $2
