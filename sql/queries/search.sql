-- A search of one collection without filters and operators, by the model that serves it, in one round trip.

-- name: collection
-- Outside a transaction: one statement is one snapshot, and the function sets the tenant for it. Lists of candidates stay as
-- bytes, most of which nobody reads before they are in the trace (app/cairn/store/arrays.py).
SELECT collection_id, epoch, passage_count, chunk_count, served, regime, breadth, chunks_found, vector_ms, lexical_ms,
  array_send(vector_passages) AS vector_passages, array_send(vector_documents) AS vector_documents,
  array_send(vector_chunks) AS vector_chunks, array_send(vector_scores) AS vector_scores,
  array_send(vector_parts) AS vector_parts, vector_rest,
  array_send(lexical_passages) AS lexical_passages, array_send(lexical_documents) AS lexical_documents,
  array_send(lexical_scores) AS lexical_scores, array_send(lexical_parts) AS lexical_parts, lexical_rest,
  lexical_coverage, lexical_exact,
  array_send(fused_passages) AS fused_passages, array_send(fused_vector) AS fused_vector,
  array_send(fused_lexical) AS fused_lexical, array_send(fused_scores) AS fused_scores,
  id, document_id, external_id, title, content, char_start, char_end, page, headings, landmarks, token_count, version,
  media_type, metadata, chunk_id, matched_start, matched_end
FROM rag.search_collection($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- name: whole
SELECT * FROM rag.passages_at($1, $2, $3, $4, $5)
