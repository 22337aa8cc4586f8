-- A search of one collection in one statement: its row, both legs, and the passages that will most likely be shown
-- (docs/adr/0015-one-statement.md). Everything else, and every search of which a part failed, goes stepwise
-- (app/retrieve/stepwise.py). All functions here are STABLE: they see the one snapshot of the statement that calls them.

-- The vector leg of one collection, by the regimes of app/retrieve/vector.py: the nearest chunks, at least `chunks` of them
-- and four times as many as long as they lie in fewer than `wanted` passages; then each passage with its best chunk,
-- nearest first. Where HNSW yields fewer rows than there are, the exact scan takes over.
CREATE OR REPLACE FUNCTION rag.vector_leg(
  tenant bigint, collection uuid, visible integer, model smallint, vector halfvec, chunks integer, wanted integer,
  exact_below integer, max_dimensions integer, breadth integer, max_ef_search integer, max_scan_tuples integer,
  OUT passages uuid[], OUT documents uuid[], OUT nearest uuid[], OUT scores float8[],
  OUT regime text, OUT ef_search integer, OUT fell_back boolean, OUT complete boolean
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  ids uuid[]; distances float8[]; distance text; tie text;
BEGIN
  regime := CASE
    WHEN visible <= exact_below OR vector_dims(vector) > max_dimensions THEN 'exact'
    WHEN EXISTS (
      SELECT FROM vector_indexes i
      WHERE i.tenant_id = tenant AND i.collection_id = collection AND i.model_id = model AND i.state = 'ready')
    THEN 'dedicated' ELSE 'shared' END;
  fell_back := false;
  LOOP
    IF regime = 'exact' OR fell_back THEN
      distance := '(e.embedding <=> $1) + 0.0';  -- the sum keeps the planner from the HNSW index
      tie := ', e.chunk_id';
    ELSE
      distance := format('e.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s)', vector_dims(vector));
      tie := '';
      ef_search := least(max_ef_search, greatest(breadth, chunks));
      IF set_config('hnsw.ef_search', ef_search::text, true) <> ef_search::text THEN
        RAISE EXCEPTION 'hnsw.ef_search is %, not %', current_setting('hnsw.ef_search'), ef_search;
      END IF;
      PERFORM set_config('hnsw.max_scan_tuples', max_scan_tuples::text, true),
        set_config('hnsw.iterative_scan', 'relaxed_order', true);
    END IF;
    -- planned anew, with literals: no plan for parameters can use a partial index, or knows how small a collection is
    EXECUTE format(
      'SELECT array_agg(b.chunk_id ORDER BY b.distance, b.chunk_id), array_agg(b.distance ORDER BY b.distance, b.chunk_id)
       FROM (
         SELECT e.chunk_id, %1$s AS distance FROM embeddings e
         WHERE e.tenant_id = %2$s AND e.collection_id = %3$L::uuid AND e.model_id = %4$s
         ORDER BY %1$s %5$s LIMIT %6$s
       ) AS b', distance, tenant, collection, model, tie, chunks) INTO ids, distances USING vector;
    IF regime <> 'exact' AND NOT fell_back AND coalesce(cardinality(ids), 0) < least(chunks, visible) THEN
      fell_back := true;
      CONTINUE;
    END IF;
    SELECT array_agg(b.passage_id ORDER BY b.place), array_agg(b.document_id ORDER BY b.place),
           array_agg(b.chunk_id ORDER BY b.place), array_agg(1 - b.distance ORDER BY b.place)
      INTO passages, documents, nearest, scores
    FROM (
      SELECT DISTINCT ON (c.passage_id) c.passage_id, c.document_id, c.id AS chunk_id, n.distance, n.place
      FROM unnest(ids, distances) WITH ORDINALITY AS n (chunk_id, distance, place)
      JOIN (
        -- one pass over the key's index; 0: not merged into the join, which would look them up one by one
        SELECT k.id, k.passage_id, k.document_id FROM chunks k WHERE k.tenant_id = tenant AND k.id = ANY (ids) OFFSET 0
      ) AS c ON c.id = n.chunk_id
      ORDER BY c.passage_id, n.place
    ) AS b;
    complete := coalesce(cardinality(ids), 0) < chunks;
    EXIT WHEN complete OR cardinality(passages) >= wanted;
    chunks := 4 * chunks;
  END LOOP;
END
$$;
COMMENT ON FUNCTION rag.vector_leg IS
  'Passages of a collection of the current tenant by the cosine of their best chunk; see sql/functions/search.sql.';

-- The first row has the collection and the legs, the others the `top` passages that fuse best, whole. They are a guess:
-- the application fuses the legs itself and looks again if one of its best is not here. No row: no such collection.
-- `served` is false where another model than `model` serves it; then nothing was searched. The tenant is set here, for
-- this statement, as in rag.find_cached. `vector` or `query` null: without that leg. `rrf_k` null: relative scores.
CREATE OR REPLACE FUNCTION rag.search_collection(
  tenant bigint, collection text, model smallint,
  vector halfvec, chunks integer, wanted integer, exact_below integer, max_dimensions integer, breadth integer,
  max_ef_search integer, max_scan_tuples integer,
  query text, hits integer, budget integer, cap integer,
  vector_share float8, rrf_k integer, top integer
) RETURNS TABLE (
  collection_id uuid, epoch bigint, passage_count integer, chunk_count integer, served boolean,
  vector_passages uuid[], vector_documents uuid[], vector_chunks uuid[], vector_scores float8[],
  vector_regime text, vector_ef_search integer, vector_fell_back boolean, vector_complete boolean,
  lexical_passages uuid[], lexical_documents uuid[], lexical_scores float8[],
  lexical_coverage float8, lexical_exact boolean, vector_ms float8, lexical_ms float8,
  id uuid, document_id uuid, external_id text, title text, content text, char_start integer, char_end integer,
  page integer, headings text[], landmarks jsonb, token_count integer, version integer, media_type text, metadata jsonb,
  chunk_id uuid, matched_start integer, matched_end integer
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  home collections%ROWTYPE; v record; l record; best uuid[]; begun timestamptz := clock_timestamp();
BEGIN
  PERFORM set_config('app.tenant', tenant::text, true);
  SELECT c.* INTO home FROM collections c WHERE c.tenant_id = tenant AND c.name = collection;
  IF NOT FOUND THEN RETURN; END IF;
  collection_id := home.id; epoch := home.epoch; passage_count := home.passage_count; chunk_count := home.chunk_count;
  served := coalesce(home.model_id, (
    SELECT e.model_id FROM embeddings e WHERE e.tenant_id = tenant AND e.collection_id = home.id
    ORDER BY e.model_id LIMIT 1), model) = model;
  IF NOT served THEN RETURN NEXT; RETURN; END IF;
  IF vector IS NOT NULL AND home.chunk_count > 0 THEN
    SELECT f.* INTO v FROM vector_leg(
      tenant, home.id, home.chunk_count, model, vector, chunks, wanted, exact_below, max_dimensions, breadth,
      max_ef_search, max_scan_tuples) AS f;
    vector_passages := v.passages; vector_documents := v.documents; vector_chunks := v.nearest;
    vector_scores := v.scores; vector_regime := v.regime; vector_ef_search := v.ef_search;
    vector_fell_back := v.fell_back; vector_complete := v.complete;
    vector_ms := 1000 * extract(epoch FROM clock_timestamp() - begun);
    begun := clock_timestamp();
  END IF;
  IF query IS NOT NULL THEN
    SELECT array_agg(f.passage_id) AS passages, array_agg(f.document_id) AS documents, array_agg(f.score) AS scores,
           (array_agg(f.coverage))[1] AS coverage, bool_and(f.exact) AS exact
      INTO l FROM lexical_search(home.id, query, hits, budget, cap) AS f;
    lexical_passages := l.passages; lexical_documents := l.documents; lexical_scores := l.scores;
    lexical_coverage := l.coverage; lexical_exact := l.exact;
    lexical_ms := 1000 * extract(epoch FROM clock_timestamp() - begun);
  END IF;
  RETURN NEXT;

  best := fused_best(
    vector_passages, vector_scores, vector_complete, lexical_passages, lexical_scores,
    cardinality(lexical_passages) < hits, vector_share, rrf_k, top);
  RETURN QUERY
  SELECT NULL::uuid, NULL::bigint, NULL::integer, NULL::integer, NULL::boolean,
    NULL::uuid[], NULL::uuid[], NULL::uuid[], NULL::float8[], NULL::text, NULL::integer, NULL::boolean, NULL::boolean,
    NULL::uuid[], NULL::uuid[], NULL::float8[], NULL::float8, NULL::boolean, NULL::float8, NULL::float8,
    p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
    p.landmarks, p.token_count, d.version, d.media_type, d.metadata, k.id, k.char_start, k.char_end
  FROM unnest(best) AS b (id)
  JOIN passages p ON p.tenant_id = tenant AND p.id = b.id
  JOIN documents d ON d.tenant_id = tenant AND d.id = p.document_id
  LEFT JOIN LATERAL (  -- LIMIT: looked up one by one, which row security would forbid an outer join
    SELECT c.id, c.char_start, c.char_end FROM chunks c
    WHERE c.tenant_id = tenant AND c.id = vector_chunks[array_position(vector_passages, b.id)] LIMIT 1
  ) AS k ON true;
END
$$;
COMMENT ON FUNCTION rag.search_collection IS
  'Both legs of a search of one collection, and the passages that fuse best; see sql/functions/search.sql.';

-- Ids of the passages that fuse best, as app/retrieve/fuse.py fuses: by scores relative to each leg's best, or by ranks.
CREATE OR REPLACE FUNCTION rag.fused_best(
  vector_passages uuid[], vector_scores float8[], vector_complete boolean,
  lexical_passages uuid[], lexical_scores float8[], lexical_complete boolean,
  vector_share float8, rrf_k integer, top integer
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  -- of each leg: what its best counts, and what a passage counts that it does not hold
  vector_best float8 := nullif(greatest(vector_scores[1], 0), 0);
  lexical_best float8 := nullif(greatest(lexical_scores[1], 0), 0);
  vector_floor float8 := CASE WHEN vector_complete THEN 0 ELSE vector_scores[cardinality(vector_scores)] END;
  lexical_floor float8 := CASE WHEN lexical_complete THEN 0 ELSE lexical_scores[cardinality(lexical_scores)] END;
BEGIN
  RETURN ARRAY(
    SELECT id FROM unnest(vector_passages, vector_scores) WITH ORDINALITY AS v (id, score, rank)
    FULL JOIN unnest(lexical_passages, lexical_scores) WITH ORDINALITY AS l (id, score, rank) USING (id)
    ORDER BY CASE WHEN rrf_k IS NULL
      THEN vector_share * coalesce(greatest(coalesce(v.score, vector_floor), 0) / vector_best, 0)
        + (1 - vector_share) * coalesce(greatest(coalesce(l.score, lexical_floor), 0) / lexical_best, 0)
      ELSE coalesce(vector_share / (rrf_k + v.rank), 0) + coalesce((1 - vector_share) / (rrf_k + l.rank), 0)
      END DESC, least(v.rank, l.rank), id
    LIMIT top);
END
$$;
COMMENT ON FUNCTION rag.fused_best IS 'Ids of the passages that fuse best of two legs.';

-- Passages whole, outside a transaction, as long as the collection has this epoch: what the graph adds to a search.
CREATE OR REPLACE FUNCTION rag.passages_at(tenant bigint, collection uuid, epoch bigint, ids uuid[], matched uuid[])
RETURNS TABLE (
  id uuid, document_id uuid, external_id text, title text, content text, char_start integer, char_end integer,
  page integer, headings text[], landmarks jsonb, token_count integer, version integer, media_type text, metadata jsonb,
  chunk_id uuid, matched_start integer, matched_end integer
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.tenant', tenant::text, true);
  RETURN QUERY
  SELECT p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
    p.landmarks, p.token_count, d.version, d.media_type, d.metadata, k.id, k.char_start, k.char_end
  FROM unnest(ids, matched) AS b (id, chunk_id)
  JOIN passages p ON p.tenant_id = tenant AND p.id = b.id
  JOIN documents d ON d.tenant_id = tenant AND d.id = p.document_id
  LEFT JOIN LATERAL (  -- LIMIT: as above
    SELECT c.id, c.char_start, c.char_end FROM chunks c WHERE c.tenant_id = tenant AND c.id = b.chunk_id LIMIT 1
  ) AS k ON true
  WHERE EXISTS (
    SELECT FROM collections c WHERE c.tenant_id = tenant AND c.id = collection AND c.epoch = passages_at.epoch);
END
$$;
COMMENT ON FUNCTION rag.passages_at(bigint, uuid, bigint, uuid[], uuid[]) IS
  'Passages by id, as long as the collection has this epoch; see sql/functions/search.sql.';
