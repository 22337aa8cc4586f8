-- Sentences of context that chat models write for chunks (rag.chunk_contexts), each known by all that the model was told.

-- Of each chunk of a document: SHA-256 of title, beginning of the text, headings, passage and chunk. app/cairn/ingest/contexts.py
-- makes the same.
CREATE OR REPLACE FUNCTION rag.chunk_context_keys(document uuid) RETURNS TABLE (chunk_id uuid, content_hash bytea)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN QUERY
  SELECT c.id, sha256(convert_to(concat_ws(chr(31), d.title, left(t.text, 1500), array_to_string(c.headings, chr(30)),
    p.content, c.content), 'UTF8'))
  FROM documents d
  JOIN document_texts t ON t.tenant_id = d.tenant_id AND t.document_id = d.id
  JOIN chunks c ON c.tenant_id = d.tenant_id AND c.document_id = d.id
  JOIN passages p ON p.tenant_id = d.tenant_id AND p.id = c.passage_id
  WHERE d.tenant_id = tenant AND d.id = document;
END
$$;
COMMENT ON FUNCTION rag.chunk_context_keys(uuid) IS
  'Chunks of a document of the current tenant, with the key of all that a model is told when it writes their contexts.';

-- Keeps what a model wrote; how many are new. Of chunks that the document no longer has nothing is kept. The lock makes a
-- writer that replaces or deletes the document wait, or this function see that it has.
CREATE OR REPLACE FUNCTION rag.keep_contexts(
  document uuid, collection uuid, written_by text, hashes bytea[], contexts text[], reasons text[]
) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  kept integer;
BEGIN
  PERFORM 1 FROM documents d WHERE d.tenant_id = tenant AND d.id = document FOR SHARE;
  IF NOT FOUND THEN RETURN 0; END IF;
  INSERT INTO chunk_contexts AS x (tenant_id, collection_id, document_id, content_hash, writer, context, reason)
  SELECT tenant, collection, document, made.hash, written_by, made.context, made.reason
  FROM unnest(hashes, contexts, reasons) AS made (hash, context, reason)
  WHERE made.hash IN (SELECT k.content_hash FROM chunk_context_keys(document) AS k)
  ORDER BY made.hash
  ON CONFLICT (tenant_id, document_id, content_hash, writer) DO NOTHING;
  GET DIAGNOSTICS kept = ROW_COUNT;
  RETURN kept;
END
$$;
COMMENT ON FUNCTION rag.keep_contexts(uuid, uuid, text, bytea[], text[], text[]) IS
  'Keeps contexts that a model wrote for chunks of a document of the current tenant; returns how many are new.';

-- What was written for chunks that a document no longer has: it may have words of them.
CREATE OR REPLACE FUNCTION rag.weed_contexts(document uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  IF EXISTS (SELECT 1 FROM chunk_contexts x WHERE x.tenant_id = tenant AND x.document_id = document) THEN
    DELETE FROM chunk_contexts x WHERE x.tenant_id = tenant AND x.document_id = document
      AND x.content_hash NOT IN (SELECT k.content_hash FROM chunk_context_keys(document) AS k);
  END IF;
END
$$;
COMMENT ON FUNCTION rag.weed_contexts(uuid) IS
  'Deletes contexts of chunks that a document of the current tenant no longer has.';
