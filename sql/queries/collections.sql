-- Named sets of documents.

-- name: create
INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING id, name, epoch, document_count, passage_count, chunk_count, created_at

-- name: by_name
SELECT id, name, epoch, document_count, passage_count, chunk_count, created_at
FROM rag.collections WHERE tenant_id = $1 AND name = $2

-- name: by_names
SELECT id, name, epoch, document_count, passage_count, chunk_count, created_at
FROM rag.collections WHERE tenant_id = $1 AND name = ANY ($2::text[]) ORDER BY name

-- name: page
SELECT id, name, epoch, document_count, passage_count, chunk_count, created_at
FROM rag.collections WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3

-- name: delete
DELETE FROM rag.collections WHERE tenant_id = $1 AND name = $2 RETURNING id

-- name: touch
-- The one lock between writers of a collection, held until commit.
UPDATE rag.collections SET epoch = epoch + 1 WHERE tenant_id = $1 AND id = $2 RETURNING epoch
