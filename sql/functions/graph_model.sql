-- What chat models say of passages: kept with the document, and merged with what the rules found in it.

-- Keeps results, each with the hash of the passage that it is about. How many; those of passages that the document no longer
-- has are left out. The lock makes a writer that replaces or deletes the document wait, or this function see that it has.
CREATE OR REPLACE FUNCTION rag.keep_extractions(
  document uuid, collection uuid, made_by text, hashes bytea[], results jsonb[]
) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  tenant bigint := current_tenant();
  kept integer;
BEGIN
  PERFORM 1 FROM documents d WHERE d.tenant_id = tenant AND d.id = document FOR SHARE;
  IF NOT FOUND THEN RETURN 0; END IF;
  INSERT INTO extractions AS x (tenant_id, collection_id, document_id, content_hash, extractor, result)
  SELECT tenant, collection, document, said.hash, $3, said.result
  FROM unnest(hashes, results) AS said (hash, result)
  WHERE said.hash IN (SELECT sha256(convert_to(p.content, 'UTF8')) FROM passages p
                      WHERE p.tenant_id = tenant AND p.document_id = document)
  ORDER BY said.hash
  ON CONFLICT (tenant_id, document_id, content_hash, extractor) DO NOTHING;
  GET DIAGNOSTICS kept = ROW_COUNT;
  RETURN kept;
END
$$;
COMMENT ON FUNCTION rag.keep_extractions(uuid, uuid, text, bytea[], jsonb[]) IS
  'Keeps what a model said of passages of a document of the current tenant; returns how many results are new.';

-- Puts the staged graph of a model beside that of the rules, in the place of an earlier model's. False when the document is
-- another version by now, or was cut anew: then nothing changes. Locks as rag.publish_documents does.
CREATE OR REPLACE FUNCTION rag.merge_model_graph(
  document uuid, collection uuid, expected integer, made_by text, passages_read uuid[]
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  tenant bigint := current_tenant();
  old_passages uuid[];
BEGIN
  PERFORM 1 FROM documents d
  WHERE d.tenant_id = tenant AND d.id = document AND d.version = expected AND d.status = 'indexed' FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  old_passages := ARRAY(SELECT p.id FROM passages p WHERE p.tenant_id = tenant AND p.document_id = document);
  IF NOT (old_passages @> passages_read AND old_passages <@ passages_read) THEN RETURN false; END IF;
  UPDATE documents d SET extractor = $4 WHERE d.tenant_id = tenant AND d.id = document;
  IF NOT EXISTS (SELECT 1 FROM pg_temp.stage_mentions)
     AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.tenant_id = tenant AND m.passage_id = ANY (old_passages) AND m.by_model)
  THEN RETURN true; END IF;

  -- What the rules found stays as it is; what the model says as well adds nothing.
  INSERT INTO pg_temp.stage_mentions
  SELECT m.passage_id, m.entity_id, e.family, e.normal, m.name, m.kind, a.form, m.occurrences, m.char_start, m.char_end,
    m.confidence, false
  FROM mentions m
  JOIN entities e ON e.tenant_id = tenant AND e.id = m.entity_id
  JOIN entity_aliases a ON a.tenant_id = tenant AND a.entity_id = m.entity_id AND a.name = m.name AND a.kind = m.kind
  WHERE m.tenant_id = tenant AND m.passage_id = ANY (old_passages) AND NOT m.by_model;
  DELETE FROM pg_temp.stage_mentions s USING pg_temp.stage_mentions r
  WHERE s.by_model AND NOT r.by_model AND r.passage_id = s.passage_id AND r.entity_id = s.entity_id AND r.name = s.name
    AND r.kind = s.kind;
  INSERT INTO pg_temp.stage_evidence
  SELECT v.passage_id, v.relation_id, r.source_id, r.kind, r.target_id, v.strength, v.char_start, v.char_end, false
  FROM evidence v JOIN relations r ON r.tenant_id = tenant AND r.id = v.relation_id
  WHERE v.tenant_id = tenant AND v.passage_id = ANY (old_passages) AND NOT v.by_model;
  DELETE FROM pg_temp.stage_evidence s USING pg_temp.stage_evidence r
  WHERE s.by_model AND NOT r.by_model AND r.passage_id = s.passage_id AND r.relation_id = s.relation_id;

  -- from here on the lock of the collection is held, until the commit
  UPDATE collections c SET epoch = c.epoch + 1 WHERE c.tenant_id = tenant AND c.id = collection;
  PERFORM settle_graph(ARRAY[document], collection, '{}', true);
  PERFORM forget_cached(collection);
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.merge_model_graph(uuid, uuid, integer, text, uuid[]) IS
  'Merges the staged graph of a model into that of a document; false when the document is another by now.';
