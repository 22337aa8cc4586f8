-- Writing documents: everything between the binary COPY and the commit, in one round trip. Run with the rights of the
-- caller, so row security decides what may be written.
--
-- Locks, in this order: the rows of the documents (the caller has them, in the order of their external ids), then the
-- collection's row, last. While only the first are held, the new versions are inserted beside the old ones; under the second,
-- which all writers of a collection share, the old postings go, statistics change by one net delta, and the old passages go.
-- A separate decrement and increment would lock the same statistics rows in different orders and deadlock. Small documents
-- come in groups: what they have in common, most of all their words, is counted once (docs/adr/0079-groups.md).

-- What app/cairn/store/documents.py copies into, and where statistics collect what changes. Once per session.
CREATE OR REPLACE FUNCTION rag.prepare_stage() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  IF to_regclass('pg_temp.stage_documents') IS NOT NULL THEN RETURN; END IF;
  CREATE TEMP TABLE stage_documents (
    id uuid, title text, content_hash bytea, media_type text, language text, metadata text, byte_size bigint, body text,
    original bytea
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_passages (
    id uuid, ordinal integer, char_start integer, char_end integer, page integer, headings text[], landmarks text,
    token_count integer, content text, search_terms text, config text, document_id uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_chunks (
    id uuid, passage_id uuid, ordinal integer, char_start integer, char_end integer, page integer, headings text[],
    token_count integer, token_counter text, content text, content_hash bytea, embedding halfvec, document_id uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_vectors (chunk_id uuid, model_id smallint, embedding halfvec)
  ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_terms (key integer, delta bigint, max_weight real) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_totals (config text, passages bigint, length bigint) ON COMMIT DELETE ROWS;
  PERFORM rag.prepare_graph_stage();
END
$$;
COMMENT ON FUNCTION rag.prepare_stage IS 'Makes the temporary tables that documents are published from, once per session.';

-- Inserts the postings of new passages, and stages what they add to the statistics. Weights use the average length on record, or that of
-- these passages where they are the first of their language.
CREATE OR REPLACE FUNCTION rag.insert_postings(collection uuid, fresh uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  WITH posting AS MATERIALIZED (
    SELECT p.id, p.document_id, p.regconfig, reference.average, posted.*
    FROM unnest(fresh) AS new (id)
    JOIN passages p ON p.tenant_id = tenant AND p.id = new.id
    JOIN collections c ON c.tenant_id = tenant AND c.id = collection
    LEFT JOIN lexical_stats s ON s.tenant_id = tenant AND s.collection_id = collection AND s.regconfig = p.regconfig
    CROSS JOIN LATERAL (
      SELECT coalesce(s.average_length, (
        SELECT avg(lexical_length(o.search_vector)) FROM unnest(fresh) AS n (id) JOIN passages o ON o.id = n.id
        WHERE o.tenant_id = tenant AND o.regconfig = p.regconfig)::real) AS average
    ) AS reference
    CROSS JOIN LATERAL lexical_posting(p.search_vector, p.regconfig, c.lex_seed, reference.average) AS posted
  ), rows AS (
    INSERT INTO lexical_index
      (tenant_id, passage_id, document_id, collection_id, regconfig, length, average_length, keys, weights)
    SELECT tenant, id, document_id, collection, regconfig, length, average, keys, weights FROM posting
  ), totals AS (
    INSERT INTO pg_temp.stage_totals SELECT regconfig, count(*), sum(length) FROM posting GROUP BY regconfig
  )
  INSERT INTO pg_temp.stage_terms
  SELECT term.key, count(*), max(term.weight)
  FROM posting, unnest(keys, key_weights) AS term (key, weight) GROUP BY term.key;
END
$$;
COMMENT ON FUNCTION rag.insert_postings IS 'Inserts the postings of new passages, and stages what they add to the statistics.';

-- All postings of a collection, made anew out of its passages: for rows out of files of releases that hashed lexemes in another way.
CREATE OR REPLACE FUNCTION rag.rebuild_postings(collection uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  portion uuid[];
BEGIN
  PERFORM prepare_stage();
  DELETE FROM pg_temp.stage_terms;
  DELETE FROM lexical_index WHERE tenant_id = tenant AND collection_id = collection;
  DELETE FROM lexical_terms WHERE tenant_id = tenant AND collection_id = collection;
  FOR portion IN
    SELECT array_agg(p.id) FROM (
      SELECT id, row_number() OVER (ORDER BY document_id, ordinal) / 10000 AS part FROM passages
      WHERE tenant_id = tenant AND collection_id = collection) AS p
    GROUP BY p.part
  LOOP
    PERFORM insert_postings(collection, portion);
  END LOOP;
  INSERT INTO lexical_terms (tenant_id, collection_id, key, document_frequency, max_weight)
  SELECT tenant, collection, key, sum(delta), max(max_weight) FROM pg_temp.stage_terms GROUP BY key;
END
$$;
COMMENT ON FUNCTION rag.rebuild_postings IS 'Makes all postings of a collection of the current tenant anew out of its passages.';

-- Inserts the staged passages, chunks, vectors, postings, mentions and evidence of new versions.
CREATE OR REPLACE FUNCTION rag.insert_staged(collection uuid, model smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  INSERT INTO passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, page, headings,
    landmarks, token_count, content, search_terms, regconfig)
  SELECT tenant, id, document_id, collection, ordinal, char_start, char_end, page, headings, landmarks::jsonb, token_count,
    content, search_terms, config_name(config::regconfig)
  FROM pg_temp.stage_passages ORDER BY id;

  INSERT INTO chunks (tenant_id, id, passage_id, document_id, collection_id, ordinal, char_start, char_end, page,
    headings, token_count, token_counter, content)
  SELECT tenant, id, passage_id, document_id, collection, ordinal, char_start, char_end, page, headings, token_count,
    token_counter, content
  FROM pg_temp.stage_chunks ORDER BY id;

  INSERT INTO embeddings (tenant_id, chunk_id, model_id, document_id, collection_id, passage_id, content_hash, embedding, own)
  SELECT tenant, id, model, document_id, collection, passage_id, content_hash, embedding,
    (SELECT has_own_index(tenant, collection, model))
  FROM pg_temp.stage_chunks ORDER BY id;

  INSERT INTO embeddings (tenant_id, chunk_id, model_id, document_id, collection_id, passage_id, content_hash, embedding, own)
  SELECT tenant, s.id, v.model_id, s.document_id, collection, s.passage_id, s.content_hash, v.embedding,
    has_own_index(tenant, collection, v.model_id)
  FROM pg_temp.stage_vectors v JOIN pg_temp.stage_chunks s ON s.id = v.chunk_id;

  PERFORM insert_postings(collection, ARRAY(SELECT s.id FROM pg_temp.stage_passages s));
  PERFORM insert_graph(collection);
END
$$;
COMMENT ON FUNCTION rag.insert_staged IS 'Inserts the staged passages, chunks, vectors, postings, mentions and evidence of documents.';

-- Removes every passage of the documents that is not staged, and applies what is staged to the statistics and the graph.
-- The caller holds the collection's row. `replaced`: those of them that had passages before. What is kept is looked up by its hash,
-- which `<> ALL (keep)` is by constants alone: 12,000 passages of a document took 457 ms, and take 12.
CREATE OR REPLACE FUNCTION rag.settle_documents(replaced uuid[], collection uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  keep uuid[] := CASE WHEN replaced = '{}' THEN '{}' ELSE ARRAY(SELECT s.id FROM pg_temp.stage_passages s) END;
  shrinks boolean;
BEGIN
  PERFORM keep_withheld(replaced);
  WITH gone AS (
    DELETE FROM lexical_index
    WHERE tenant_id = tenant AND document_id = ANY (replaced) AND passage_id NOT IN (SELECT unnest(keep))
    RETURNING regconfig, length, keys
  ), totals AS (
    INSERT INTO pg_temp.stage_totals SELECT regconfig, -count(*), -sum(length) FROM gone GROUP BY regconfig
  )
  INSERT INTO pg_temp.stage_terms SELECT key, -count(*), 0 FROM gone, unnest(keys) AS key GROUP BY key;
  shrinks := FOUND;

  INSERT INTO lexical_terms AS t (tenant_id, collection_id, key, document_frequency, max_weight)
  SELECT tenant, collection, key, sum(delta), max(max_weight) FROM pg_temp.stage_terms
  GROUP BY key HAVING sum(delta) <> 0 OR max(max_weight) > 0 ORDER BY key
  ON CONFLICT (tenant_id, collection_id, key) DO UPDATE
  SET document_frequency = t.document_frequency + excluded.document_frequency,
      max_weight = greatest(t.max_weight, excluded.max_weight);

  INSERT INTO lexical_stats AS s (tenant_id, collection_id, regconfig, passage_count, total_length, average_length)
  SELECT tenant, collection, config, sum(passages), sum(length), greatest(sum(length)::real / greatest(sum(passages), 1), 1)
  FROM pg_temp.stage_totals GROUP BY config ORDER BY config
  ON CONFLICT (tenant_id, collection_id, regconfig) DO UPDATE
  SET passage_count = s.passage_count + excluded.passage_count, total_length = s.total_length + excluded.total_length;

  PERFORM settle_graph(replaced, collection, keep);

  IF shrinks THEN
    DELETE FROM lexical_terms
    WHERE tenant_id = tenant AND collection_id = collection AND document_frequency <= 0
      AND key IN (SELECT key FROM pg_temp.stage_terms GROUP BY key HAVING sum(delta) < 0);
    DELETE FROM lexical_stats WHERE tenant_id = tenant AND collection_id = collection AND passage_count <= 0;
    -- chunks, vectors and postings go with their passages
    DELETE FROM passages WHERE tenant_id = tenant AND document_id = ANY (replaced) AND id NOT IN (SELECT unnest(keep));
  END IF;
END
$$;
COMMENT ON FUNCTION rag.settle_documents IS 'Removes old passages of documents and brings the BM25 statistics and the graph up to date.';

-- Weights passages with the average length on record, and raises the bounds that pruning relies on. The caller holds the
-- collection's row.
CREATE OR REPLACE FUNCTION rag.reweight_passages(collection uuid, stale uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
BEGIN
  IF cardinality(stale) = 0 THEN RETURN; END IF;
  WITH posting AS MATERIALIZED (
    SELECT p.id, s.average_length, posted.keys, posted.key_weights, posted.weights
    FROM passages p
    JOIN collections c ON c.tenant_id = tenant AND c.id = p.collection_id
    JOIN lexical_stats s ON s.tenant_id = tenant AND s.collection_id = p.collection_id AND s.regconfig = p.regconfig
    CROSS JOIN LATERAL lexical_posting(p.search_vector, p.regconfig, c.lex_seed, s.average_length) AS posted
    WHERE p.tenant_id = tenant AND p.id = ANY (stale)
  ), rows AS (
    UPDATE lexical_index l SET weights = posting.weights, average_length = posting.average_length
    FROM posting WHERE l.tenant_id = tenant AND l.passage_id = posting.id
  )
  UPDATE lexical_terms t SET max_weight = bound.weight
  FROM (SELECT term.key, max(term.weight) AS weight
        FROM posting, unnest(keys, key_weights) AS term (key, weight) GROUP BY term.key) AS bound
  WHERE t.tenant_id = tenant AND t.collection_id = $1 AND t.key = bound.key AND t.max_weight < bound.weight;
END
$$;
COMMENT ON FUNCTION rag.reweight_passages IS 'Renews the BM25 weights of passages and the bounds of their terms.';

-- A collection may be served by another model, be on its way to one, or have given one up, since the vectors were made. Asked under
-- the lock of the collection, which a change of models takes as well, so that no published chunk ever lacks a vector, and none has
-- one that nobody would delete.
CREATE OR REPLACE FUNCTION rag.require_models(collection uuid, model smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  needed smallint[] := ARRAY(
    SELECT c.model_id FROM collections c WHERE c.tenant_id = tenant AND c.id = collection AND c.model_id IS NOT NULL
    UNION SELECT m.model_id FROM collection_models m WHERE m.tenant_id = tenant AND m.collection_id = collection);
  made smallint[] := ARRAY(SELECT model UNION SELECT v.model_id FROM pg_temp.stage_vectors v);
BEGIN
  IF cardinality(needed) > 0 AND NOT (needed @> made AND made @> needed) THEN
    RAISE EXCEPTION 'the embedding models of the collection have changed' USING ERRCODE = 'CR001';
  END IF;
END
$$;
COMMENT ON FUNCTION rag.require_models IS 'Raises CR001 unless vectors of the models of the collection are staged, and of no others.';

-- What becomes of documents that everybody in the tenant may read, for analyst.changes. Without names: those of a deleted document
-- go with it. Under the lock of the collection, so that who reads them in order misses none.
CREATE OR REPLACE FUNCTION rag.note_changes(documents uuid[], deleted boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  INSERT INTO document_changes (tenant_id, kind, collection, document_id, version, passage_count, byte_size)
  SELECT d.tenant_id, CASE WHEN $2 THEN 'deleted' WHEN d.version = 1 THEN 'added' ELSE 'replaced' END, c.name, d.id,
    d.version, d.passage_count, d.byte_size
  FROM documents d JOIN collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
  WHERE d.tenant_id = tenant AND d.id = ANY ($1) AND d.version > 0 AND d.access IS NULL;
END
$$;
COMMENT ON FUNCTION rag.note_changes IS 'Records that documents were added, replaced or are about to be deleted; nothing of one that was never indexed.';

-- Writes the staged versions of documents themselves: all that concerns nobody else. The caller holds their rows. `replaced`:
-- those that had a version before. `read_by`: the revision of the loaders that read them; `derived_by`: of the rules that made graph,
-- symbols and cells of what was read. Planned once, perhaps while the tables are empty: so rows are met by key alone.
DROP FUNCTION IF EXISTS rag.write_versions();
DROP FUNCTION IF EXISTS rag.write_versions(integer);
CREATE OR REPLACE FUNCTION rag.write_versions(
  read_by integer, derived_by integer, OUT published uuid[], OUT replaced uuid[], OUT documents integer, OUT passages integer,
  OUT chunks integer, OUT bytes bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
BEGIN
  WITH staged AS MATERIALIZED (
    SELECT s.*, old.version AS old_version, old.status AS old_status, old.passage_count AS old_passages,
      old.chunk_count AS old_chunks, CASE WHEN old.status = 'indexed' THEN old.byte_size ELSE 0 END AS old_bytes,
      (SELECT count(*)::integer FROM pg_temp.stage_passages p WHERE p.document_id = s.id) AS new_passages,
      (SELECT count(*)::integer FROM pg_temp.stage_chunks k WHERE k.document_id = s.id) AS new_chunks,
      (SELECT coalesce(sum(p.token_count), 0) FROM pg_temp.stage_passages p WHERE p.document_id = s.id) AS tokens
    FROM pg_temp.stage_documents s JOIN rag.documents old ON old.tenant_id = tenant AND old.id = s.id
  ), updated AS (
    UPDATE rag.documents d
    SET title = s.title, version = d.version + 1, status = 'indexed', content_hash = s.content_hash,
        media_type = s.media_type, language = s.language, metadata = s.metadata::jsonb, error = NULL, byte_size = s.byte_size,
        passage_count = s.new_passages, chunk_count = s.new_chunks, token_count = s.tokens, updated_at = now(),
        extractor = NULL, enrichment = NULL, loader_revision = read_by, derived_revision = derived_by
    FROM staged s WHERE d.tenant_id = tenant AND d.id = s.id
  ), texts AS (
    INSERT INTO document_texts AS t (tenant_id, document_id, version, text)
    SELECT tenant, s.id, s.old_version + 1, s.body FROM staged s
    ON CONFLICT (tenant_id, document_id) DO UPDATE SET version = excluded.version, text = excluded.text
  ), files AS (
    INSERT INTO originals AS o (tenant_id, document_id, content)
    SELECT tenant, s.id, s.original FROM staged s WHERE s.original IS NOT NULL
    ON CONFLICT (tenant_id, document_id) DO UPDATE SET content = excluded.content
  ), no_files AS (
    DELETE FROM originals o
    WHERE o.tenant_id = tenant AND o.document_id = ANY (ARRAY(SELECT s.id FROM staged s WHERE s.original IS NULL))
  )
  SELECT coalesce(array_agg(s.id), '{}'), coalesce(array_agg(s.id) FILTER (WHERE s.old_version > 0), '{}'),
    count(*) FILTER (WHERE s.old_status <> 'indexed'), sum(s.new_passages - s.old_passages), sum(s.new_chunks - s.old_chunks),
    sum(s.byte_size - s.old_bytes)
  INTO published, replaced, documents, passages, chunks, bytes FROM staged s;
END
$$;
COMMENT ON FUNCTION rag.write_versions IS 'Makes the staged versions those of their documents; returns ids, and what the collection grows by.';

-- Makes the staged versions the documents. Their statements are planned once, here and below: they meet few rows by key, whatever
-- the values, and planned anew they took the first documents of a connection 10 to 15 ms more (docs/adr/0149-planned-once.md).
-- Returns the version number of each. Releases before revision 0028 do not say which
-- loaders read them, those before 0031 not which rules made the rest.
DROP FUNCTION IF EXISTS rag.publish_documents(uuid, smallint);
DROP FUNCTION IF EXISTS rag.publish_documents(uuid, smallint, integer);
CREATE OR REPLACE FUNCTION rag.publish_documents(
  collection uuid, model smallint, read_by integer DEFAULT 0, derived_by integer DEFAULT 0
)
RETURNS TABLE (document_id uuid, version integer)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  written record;
BEGIN
  PERFORM insert_staged(collection, model);
  written := write_versions(read_by, derived_by);

  -- from here on the lock of the collection is held, until the commit
  UPDATE collections c
  SET epoch = c.epoch + 1, document_count = c.document_count + written.documents,
      passage_count = c.passage_count + written.passages, chunk_count = c.chunk_count + written.chunks,
      byte_count = c.byte_count + written.bytes
  WHERE c.tenant_id = tenant AND c.id = collection;
  PERFORM settle_published(written.published, written.replaced, collection, model);
  DELETE FROM qa_gaps g WHERE g.tenant_id = tenant AND g.collection_id = collection;
  PERFORM note_changes(written.published, false);
  RETURN QUERY SELECT d.id, d.version FROM documents d WHERE d.tenant_id = tenant AND d.id = ANY (written.published);
END
$$;
COMMENT ON FUNCTION rag.publish_documents IS
  'Makes the staged passages and chunks the indexed versions of the staged documents; returns their versions.';

-- What all publishing does under the lock of the collection.
CREATE OR REPLACE FUNCTION rag.settle_published(published uuid[], replaced uuid[], collection uuid, model smallint)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
BEGIN
  PERFORM require_models(collection, model);
  PERFORM place_vectors(collection, ARRAY(SELECT s.id FROM pg_temp.stage_chunks s));
  PERFORM settle_documents(replaced, collection);
  PERFORM weed_contexts(s) FROM unnest(replaced) AS s;

  -- The reference length may have been set or renewed while this writer was weighting with another.
  PERFORM reweight_passages(collection, ARRAY(
    SELECT l.passage_id FROM lexical_index l
    JOIN lexical_stats s ON s.tenant_id = tenant AND s.collection_id = collection AND s.regconfig = l.regconfig
    WHERE l.tenant_id = tenant AND l.document_id = ANY (published) AND l.average_length <> s.average_length));
  PERFORM forget_cached(collection);
END
$$;
COMMENT ON FUNCTION rag.settle_published IS
  'Removes what published documents had before, and brings all that is counted of the collection up to date.';

-- Puts the staged passages and chunks in the place of those of the same version: the text was cut or embedded anew. False
-- when the document has meanwhile become another version, or is gone.
DROP FUNCTION IF EXISTS rag.republish_document(uuid, uuid, smallint, integer, text);
CREATE OR REPLACE FUNCTION rag.republish_document(
  document uuid, collection uuid, model smallint, expected integer, language text, derived_by integer DEFAULT 0
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  old record;
  new_passages integer := (SELECT count(*) FROM pg_temp.stage_passages);
  new_chunks integer := (SELECT count(*) FROM pg_temp.stage_chunks);
BEGIN
  SELECT d.passage_count, d.chunk_count INTO old FROM documents d
  WHERE d.tenant_id = tenant AND d.id = document AND d.version = expected AND d.status = 'indexed' FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM insert_staged(collection, model);
  UPDATE documents d
  SET language = $5, passage_count = new_passages, chunk_count = new_chunks, updated_at = now(),
      token_count = (SELECT coalesce(sum(s.token_count), 0) FROM pg_temp.stage_passages s), extractor = NULL, enrichment = NULL,
      derived_revision = derived_by
  WHERE d.tenant_id = tenant AND d.id = document;
  UPDATE collections c
  SET epoch = c.epoch + 1, passage_count = c.passage_count + new_passages - old.passage_count,
      chunk_count = c.chunk_count + new_chunks - old.chunk_count
  WHERE c.tenant_id = tenant AND c.id = collection;
  PERFORM settle_published(ARRAY[document], ARRAY[document], collection, model);
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.republish_document IS
  'Makes the staged passages and chunks those of the same version of a document; false when that version is gone.';

-- Removes a document with everything derived from it, and blanks traced answers that cite it. False when it is not there.
CREATE OR REPLACE FUNCTION rag.remove_document(document uuid, collection uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  tenant bigint := current_tenant();
  old record;
BEGIN
  SELECT d.status, d.passage_count, d.chunk_count, d.byte_size INTO old
  FROM documents d WHERE d.tenant_id = tenant AND d.id = document AND d.collection_id = collection FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE collections c
  SET epoch = c.epoch + 1, document_count = c.document_count - (old.status = 'indexed')::integer,
      passage_count = c.passage_count - old.passage_count, chunk_count = c.chunk_count - old.chunk_count,
      byte_count = c.byte_count - CASE WHEN old.status = 'indexed' THEN old.byte_size ELSE 0 END
  WHERE c.tenant_id = tenant AND c.id = collection;
  PERFORM note_changes(ARRAY[document], true);
  PERFORM settle_documents(ARRAY[document], collection);
  PERFORM forget_document(document);
  PERFORM forget_cached(collection);
  DELETE FROM documents d WHERE d.tenant_id = tenant AND d.id = document;
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.remove_document IS 'Removes a document of the current tenant with everything derived from it.';

-- Gives a document other metadata. Search results show them, so for readers the content of the collection has changed.
CREATE OR REPLACE FUNCTION rag.set_document_metadata(document uuid, collection uuid, metadata jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  UPDATE documents d SET metadata = $3, updated_at = now() WHERE d.tenant_id = tenant AND d.id = document;
  UPDATE collections c SET epoch = c.epoch + 1 WHERE c.tenant_id = tenant AND c.id = collection;
  PERFORM forget_cached(collection);
END
$$;
COMMENT ON FUNCTION rag.set_document_metadata IS 'Replaces the metadata of a document of the current tenant.';
