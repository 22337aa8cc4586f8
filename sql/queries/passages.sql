-- Reading passages for results.

-- name: fetch
SELECT p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
  p.landmarks, p.token_count, d.version, c.name AS collection, d.media_type, d.metadata,
  k.id AS chunk_id, k.char_start AS matched_start, k.char_end AS matched_end
FROM unnest($2::uuid[], $3::uuid[]) AS wanted (passage_id, chunk_id)
JOIN rag.passages p ON p.tenant_id = $1 AND p.id = wanted.passage_id
JOIN rag.documents d ON d.tenant_id = $1 AND d.id = p.document_id
JOIN rag.collections c ON c.tenant_id = $1 AND c.id = p.collection_id
LEFT JOIN rag.chunks k ON k.tenant_id = $1 AND k.id = wanted.chunk_id
