-- Documents, their text, passages and chunks.

-- name: register
-- A new document in its first state; nothing if the identity is known already.
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type,
  metadata, byte_size)
VALUES ($1, $2, $3, $4, $5, 0, 'pending', $6, $7, $8, $9)
ON CONFLICT (tenant_id, collection_id, external_id) DO NOTHING
RETURNING id

-- name: lock_by_external_id
SELECT id, version, status, content_hash, passage_count, chunk_count, metadata
FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND external_id = $3 FOR UPDATE

-- name: set_metadata
UPDATE rag.documents SET metadata = $3, updated_at = now() WHERE tenant_id = $1 AND id = $2

-- name: set_status
-- An indexed version keeps its status while its successor is being made.
UPDATE rag.documents SET status = $4, error = $5, updated_at = now()
WHERE tenant_id = $1 AND collection_id = $2 AND external_id = $3 AND status <> 'indexed'

-- name: publish
UPDATE rag.documents
SET title = $3, version = version + 1, status = 'indexed', content_hash = $4, media_type = $5, language = $6,
    metadata = $7, error = NULL, byte_size = $8, passage_count = $9, chunk_count = $10, token_count = $11,
    updated_at = now()
WHERE tenant_id = $1 AND id = $2
RETURNING version

-- name: put_text
INSERT INTO rag.document_texts (tenant_id, document_id, version, text) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, document_id) DO UPDATE SET version = excluded.version, text = excluded.text

-- name: put_original
INSERT INTO rag.originals (tenant_id, document_id, content) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, document_id) DO UPDATE SET content = excluded.content

-- name: drop_original
DELETE FROM rag.originals WHERE tenant_id = $1 AND document_id = $2

-- name: create_stage
CREATE TEMP TABLE IF NOT EXISTS stage_passages (
  id uuid, ordinal integer, char_start integer, char_end integer, page integer, headings text[], token_count integer,
  content text, search_terms text, config text
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS stage_chunks (
  id uuid, passage_id uuid, ordinal integer, char_start integer, char_end integer, page integer, headings text[],
  token_count integer, token_counter text, content text, content_hash bytea, embedding halfvec
) ON COMMIT DELETE ROWS

-- name: insert_passages
INSERT INTO rag.passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, page, headings,
  token_count, content, search_terms, regconfig)
SELECT $1, id, $2, $3, ordinal, char_start, char_end, page, headings, token_count, content, search_terms,
  config::regconfig
FROM stage_passages ORDER BY ordinal

-- name: insert_chunks
INSERT INTO rag.chunks (tenant_id, id, passage_id, document_id, collection_id, ordinal, char_start, char_end, page,
  headings, token_count, token_counter, content)
SELECT $1, id, passage_id, $2, $3, ordinal, char_start, char_end, page, headings, token_count, token_counter, content
FROM stage_chunks ORDER BY ordinal

-- name: insert_embeddings
INSERT INTO rag.embeddings (tenant_id, chunk_id, model_id, document_id, collection_id, content_hash, embedding)
SELECT $1, id, $4, $2, $3, content_hash, embedding FROM stage_chunks ORDER BY ordinal

-- name: delete_passages
-- Chunks, vectors and postings go with their passages. Passages of the version being written have other ids.
DELETE FROM rag.passages WHERE tenant_id = $1 AND document_id = $2 AND NOT id = ANY ($3::uuid[])

-- name: get
SELECT d.id, c.name AS collection, d.external_id, d.title, d.version, d.status, d.media_type, d.language, d.metadata,
  d.error, d.byte_size, d.passage_count, d.chunk_count, d.token_count, d.created_at, d.updated_at
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.id = $3

-- name: page
SELECT d.id, c.name AS collection, d.external_id, d.title, d.version, d.status, d.media_type, d.language, d.metadata,
  d.error, d.byte_size, d.passage_count, d.chunk_count, d.token_count, d.created_at, d.updated_at
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND d.external_id > $3
ORDER BY d.external_id LIMIT $4

-- name: text
SELECT version, text FROM rag.document_texts WHERE tenant_id = $1 AND document_id = $2

-- name: lock
SELECT id, collection_id, status, passage_count, chunk_count FROM rag.documents
WHERE tenant_id = $1 AND collection_id = $2 AND id = $3 FOR UPDATE

-- name: delete
DELETE FROM rag.documents WHERE tenant_id = $1 AND id = $2
