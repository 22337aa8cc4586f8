-- A search of one collection in one flat statement: both legs, their fusion, and the passages that it shows
-- (docs/adr/0015-one-statement.md, docs/adr/0074-flat-statement.md). Everything else, and every search of which a part failed,
-- goes stepwise (app/retrieve/stepwise.py). All functions here but those that make others are STABLE: they see the one snapshot
-- of the statement that calls them.
DROP FUNCTION IF EXISTS rag.search_collection(bigint, text, smallint, halfvec, integer, integer, integer, integer, integer,
  integer, integer, text, integer, integer, integer, float8, integer, integer);
DROP FUNCTION IF EXISTS rag.search_collection(bigint, text, smallint, halfvec, integer, boolean, integer, integer, integer, text,
  integer, integer, integer, float8, integer, integer);
DROP FUNCTION IF EXISTS rag.vector_leg(bigint, uuid, integer, smallint, halfvec, integer, integer, integer, integer, integer,
  integer, integer);
DROP FUNCTION IF EXISTS rag.fused_best(uuid[], float8[], boolean, uuid[], float8[], boolean, float8, integer, integer);

-- hnsw.ef_search of a search for `wanted` chunks among so many, at most what pgvector allows.
CREATE OR REPLACE FUNCTION rag.search_breadth(ef_search integer, wanted integer, chunks integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN least(1000, greatest(wanted, rag.grown_effort(ef_search, chunks)));
COMMENT ON FUNCTION rag.search_breadth IS 'hnsw.ef_search of a search among so many chunks.';

-- Chooses the statement and runs it. `vector` or `query` null: without that leg. `chunks` nearest ones are looked at; `scan`:
-- all vectors are compared, whatever index there is. `rrf_k` null: relative scores. `top` passages come whole.
--
-- Lists ride on the first row, best first; each further row has a passage only. fused_vector and fused_lexical are the places of
-- a fused passage in its lists, shares what each leg gave to its score. No row: no such collection. `served` is false where
-- another model than `model` serves it; then nothing was searched. The tenant is set here, for this statement, as in
-- rag.find_cached.
CREATE OR REPLACE FUNCTION rag.search_collection(
  tenant bigint, collection text, model smallint,
  vector halfvec, chunks integer, scan boolean, exact_below integer, ef_search integer, max_scan_tuples integer,
  query text, hits integer, budget integer, cap integer,
  vector_share float8, rrf_k integer, top integer
) RETURNS TABLE (
  collection_id uuid, epoch bigint, passage_count integer, chunk_count integer, served boolean, regime text, breadth integer,
  chunks_found integer, vector_ms float8, lexical_ms float8,
  vector_passages uuid[], vector_documents uuid[], vector_chunks uuid[], vector_scores float8[],
  lexical_passages uuid[], lexical_documents uuid[], lexical_scores float8[],
  lexical_coverage float8, lexical_exact boolean,
  fused_vector integer[], fused_lexical integer[], fused_scores float8[], vector_shares float8[], lexical_shares float8[],
  id uuid, document_id uuid, external_id text, title text, content text, char_start integer, char_end integer,
  page integer, headings text[], landmarks jsonb, token_count integer, version integer, media_type text, metadata jsonb,
  chunk_id uuid, matched_start integer, matched_end integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  home collections%ROWTYPE; way regproc; begun timestamptz := clock_timestamp();
BEGIN
  PERFORM enter_tenant(tenant);
  tenant := current_tenant();  -- a value: Citus finds rows by no function
  SELECT c.* INTO home FROM collections c WHERE c.tenant_id = tenant AND c.name = collection;
  IF NOT FOUND THEN RETURN; END IF;
  collection_id := home.id; epoch := home.epoch; passage_count := home.passage_count; chunk_count := home.chunk_count;
  served := coalesce(home.model_id, (
    SELECT e.model_id FROM embeddings e WHERE e.tenant_id = home.tenant_id AND e.collection_id = home.id
    ORDER BY e.model_id LIMIT 1), model) = model;
  IF NOT served THEN RETURN NEXT; RETURN; END IF;

  IF vector IS NULL OR home.chunk_count = 0 THEN
    chunks := 0;
  ELSIF home.chunk_count > exact_below THEN
    SELECT CASE WHEN i.state = 'ready' THEN to_regproc('rag.' || search_name(i.name)) END INTO way FROM vector_indexes i
    WHERE i.tenant_id = home.tenant_id AND i.collection_id = home.id AND i.model_id = model AND i.exclusive;
    IF FOUND THEN
      regime := CASE WHEN way IS NOT NULL THEN 'dedicated' END;  -- else its vectors are being moved: all are compared
    ELSE
      way := to_regproc(format('rag.search_%s', model));
      regime := CASE WHEN way IS NOT NULL THEN 'shared' END;
    END IF;
    breadth := CASE WHEN way IS NOT NULL THEN search_breadth(ef_search, chunks, home.chunk_count) END;
    IF way IS NOT NULL AND NOT scan THEN
      IF set_config('hnsw.ef_search', breadth::text, true) <> breadth::text THEN
        RAISE EXCEPTION 'hnsw.ef_search is %, not %', current_setting('hnsw.ef_search'), breadth;
      END IF;
      PERFORM set_config('hnsw.max_scan_tuples', max_scan_tuples::text, true),
        set_config('hnsw.iterative_scan', 'relaxed_order', true);
    END IF;
  END IF;
  IF chunks > 0 THEN regime := coalesce(regime, 'exact'); END IF;
  IF way IS NULL OR scan THEN way := 'rag.search_exact'; END IF;
  RETURN QUERY EXECUTE
    'SELECT $1.id, $1.epoch, $1.passage_count, $1.chunk_count, true, $14::text, $15::integer, s.* FROM ' || way
    || '($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS s WHERE $13'
    USING home, model, vector, chunks, query, hits, budget, cap, vector_share, rrf_k, top, begun, true, regime, breadth;
END
$$;
COMMENT ON FUNCTION rag.search_collection IS
  'Both legs of a search of one collection, fused, and the best passages; see sql/functions/search.sql.';

-- Name of the function that searches by an HNSW index.
CREATE OR REPLACE FUNCTION rag.search_name(index text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(index, 'embeddings_hnsw_', 'search_');
COMMENT ON FUNCTION rag.search_name IS 'Name of the function that searches by an HNSW index.';

-- Makes the function that searches by an HNSW index on rag.embeddings: the flat statement with the predicate of the index as
-- literals, so that its plan, which is made once in a session, can use it. Null: the one that compares all vectors.
-- Sorting is disabled where an index gives the order, lest a table that was never analysed looks small enough to be sorted.
CREATE OR REPLACE FUNCTION rag.make_search(index regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $make$
DECLARE
  name text := coalesce(search_name((SELECT relname::text FROM pg_class WHERE oid = index)), 'search_exact');
  predicate text := coalesce((SELECT pg_get_expr(i.indpred, i.indrelid) FROM pg_index i WHERE i.indexrelid = index),
                             'e.model_id + 0 = model');  -- the sum leaves the planner the index on collections only
  -- the sum keeps the planner from the HNSW indexes
  distance text := coalesce('(' || pg_get_indexdef(index, 1, false) || ') <=> vector', '(e.embedding <=> vector) + 0.0');
  tie text := CASE WHEN index IS NULL THEN ', e.chunk_id' ELSE '' END;
  settings text := CASE WHEN index IS NULL THEN '' ELSE 'SET enable_sort = off' END;
  -- what the caller returns, but for what it knows itself
  columns text := regexp_replace(pg_get_function_result('rag.search_collection'::regproc), '^TABLE\(.*?(?=chunks_found)', 'TABLE(');
  -- Citus plans for a tenant
  mode text := CASE WHEN is_distributed() THEN 'force_custom_plan' ELSE 'force_generic_plan' END;
  statement text;
BEGIN
  statement := format($function$
CREATE OR REPLACE FUNCTION rag.%1$I(
  home rag.collections, model smallint, vector public.halfvec, chunks integer, query text, hits integer, budget integer, cap integer,
  vector_share float8, rrf_k integer, top integer, begun timestamptz
) RETURNS %2$s
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp SET plan_cache_mode = %7$s %3$s AS $body$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH near AS MATERIALIZED (
    SELECT e.chunk_id, e.document_id, e.passage_id, %4$s AS distance
    FROM embeddings e
    WHERE e.tenant_id = home.tenant_id AND e.collection_id = home.id AND %5$s
    ORDER BY %4$s %6$s LIMIT chunks
  ), vector_end AS MATERIALIZED (
    SELECT clock_timestamp() AS at, count(*)::integer AS found FROM near
  ), nearest AS MATERIALIZED (
    SELECT DISTINCT ON (n.passage_id) n.passage_id, n.document_id, n.chunk_id, n.distance
    FROM (
      SELECT n.chunk_id, n.document_id, n.distance + 0.0 AS distance,  -- an index yields them nearly, not quite, in order
        -- vectors from before the column are filled by a job
        coalesce(n.passage_id, (
          SELECT c.passage_id FROM chunks c WHERE c.tenant_id = home.tenant_id AND c.id = n.chunk_id)) AS passage_id
      FROM near n
    ) AS n
    ORDER BY n.passage_id, n.distance, n.chunk_id
  ), v AS MATERIALIZED (
    SELECT n.passage_id AS id, n.document_id, n.chunk_id, 1 - n.distance AS score,
      row_number() OVER (ORDER BY n.distance, n.chunk_id)::integer AS place
    FROM nearest n
  ), l AS MATERIALIZED (
    SELECT f.passage_id AS id, f.document_id, f.score, f.coverage, f.exact, f.place::integer AS place
    FROM vector_end
    -- after the vector leg, so that both are timed apart
    CROSS JOIN LATERAL lexical_search(home.id, CASE WHEN vector_end.at IS NOT NULL THEN query END, hits, budget, cap)
      WITH ORDINALITY AS f (passage_id, document_id, score, coverage, exact, place)
    WHERE query IS NOT NULL
  ), lexical_end AS MATERIALIZED (
    SELECT clock_timestamp() AS at, count(*)::integer AS found FROM l
  ), scale AS MATERIALIZED (
    -- of each leg: what its best counts, and what a passage counts that it does not hold (app/retrieve/fuse.py)
    SELECT best.v AS v_best, best.l AS l_best,
      CASE WHEN vector_end.found < chunks THEN 0 ELSE coalesce(vector_share * (greatest(least.v, 0) / best.v), 0) END AS v_floor,
      CASE WHEN lexical_end.found < hits THEN 0 ELSE coalesce((1 - vector_share) * (greatest(least.l, 0) / best.l), 0) END
        AS l_floor
    FROM vector_end, lexical_end,
      (SELECT nullif(greatest((SELECT max(v.score) FROM v), 0), 0) AS v,
              nullif(greatest((SELECT max(l.score) FROM l), 0), 0) AS l) AS best,
      (SELECT (SELECT min(v.score) FROM v) AS v, (SELECT min(l.score) FROM l) AS l) AS least
  ), shared AS MATERIALIZED (
    SELECT id, v.chunk_id, v.place AS v_place, l.place AS l_place,
      CASE WHEN rrf_k IS NOT NULL THEN (rrf_k + 1) * vector_share / (rrf_k + v.place)
           WHEN v.place IS NULL THEN scale.v_floor
           ELSE coalesce(vector_share * (greatest(v.score, 0) / scale.v_best), 0) END AS v_share,
      CASE WHEN rrf_k IS NOT NULL THEN (rrf_k + 1) * (1 - vector_share) / (rrf_k + l.place)
           WHEN l.place IS NULL THEN scale.l_floor
           ELSE coalesce((1 - vector_share) * (greatest(l.score, 0) / scale.l_best), 0) END AS l_share
    FROM v FULL JOIN l USING (id) CROSS JOIN scale
  ), fused AS MATERIALIZED (
    SELECT s.*, row_number() OVER (ORDER BY s.score DESC, least(s.v_place, s.l_place), s.id)::integer AS place
    FROM (
      SELECT s.*, least(1.0::float8, coalesce(s.l_share, 0) + coalesce(s.v_share, 0)) AS score FROM shared s
    ) AS s
  ), lists AS MATERIALIZED (
    SELECT 1 AS place, vector_end.found, 1000 * extract(epoch FROM vector_end.at - begun)::float8 AS v_ms,
      1000 * extract(epoch FROM lexical_end.at - vector_end.at)::float8 AS l_ms,
      v.*, l.*, f.*, (SELECT l.coverage FROM l WHERE l.place = 1) AS coverage
    FROM vector_end, lexical_end,
      (SELECT array_agg(v.id ORDER BY v.place) AS v_ids, array_agg(v.document_id ORDER BY v.place) AS v_documents,
              array_agg(v.chunk_id ORDER BY v.place) AS v_chunks, array_agg(v.score ORDER BY v.place) AS v_scores FROM v) AS v,
      (SELECT array_agg(l.id ORDER BY l.place) AS l_ids, array_agg(l.document_id ORDER BY l.place) AS l_documents,
              array_agg(l.score ORDER BY l.place) AS l_scores, bool_and(l.exact) AS exact FROM l) AS l,
      (SELECT array_agg(f.v_place ORDER BY f.place) AS f_vector, array_agg(f.l_place ORDER BY f.place) AS f_lexical,
              array_agg(f.score ORDER BY f.place) AS f_scores, array_agg(f.v_share ORDER BY f.place) AS f_v_shares,
              array_agg(f.l_share ORDER BY f.place) AS f_l_shares FROM fused f) AS f
  )
  SELECT a.found, a.v_ms, a.l_ms, a.v_ids, a.v_documents, a.v_chunks, a.v_scores,
    a.l_ids, a.l_documents, a.l_scores, a.coverage, a.exact, a.f_vector, a.f_lexical, a.f_scores, a.f_v_shares, a.f_l_shares,
    b.id, b.document_id, b.external_id, b.title, b.content, b.char_start, b.char_end, b.page, b.headings, b.landmarks,
    b.token_count, b.version, b.media_type, b.metadata, b.chunk_id, b.matched_start, b.matched_end
  FROM lists a FULL JOIN (
    SELECT f.place, p.*, d.external_id, d.title, d.version, d.media_type, d.metadata, f.chunk_id,
      k.char_start AS matched_start, k.char_end AS matched_end
    FROM fused f
    -- OFFSET 0, LIMIT: looked up one by one, by their keys
    CROSS JOIN LATERAL (
      SELECT p.id, p.document_id, p.content, p.char_start, p.char_end, p.page, p.headings, p.landmarks, p.token_count
      FROM passages p WHERE p.tenant_id = home.tenant_id AND p.id = f.id OFFSET 0
    ) AS p
    CROSS JOIN LATERAL (
      SELECT d.external_id, d.title, d.version, d.media_type, d.metadata
      FROM documents d WHERE d.tenant_id = home.tenant_id AND d.id = p.document_id OFFSET 0
    ) AS d
    LEFT JOIN LATERAL (
      SELECT c.char_start, c.char_end FROM chunks c WHERE c.tenant_id = home.tenant_id AND c.id = f.chunk_id LIMIT 1
    ) AS k ON true
    WHERE f.place <= top
  ) AS b ON b.place = a.place
  ORDER BY coalesce(b.place, 1);
END
$body$$function$, name, columns, settings, distance, predicate, tie, mode);
  PERFORM set_config('search_path', 'pg_catalog', true);  -- Citus tells other nodes what stands outside the path by full names
  EXECUTE statement;
  EXECUTE format('COMMENT ON FUNCTION rag.%I IS %L', name, 'One search in one statement; made by rag.make_search.');
  EXECUTE format('GRANT EXECUTE ON FUNCTION rag.%I TO cairn_app, cairn_definer, cairn_views', name);
END
$make$;
COMMENT ON FUNCTION rag.make_search(regclass) IS
  'For the owner: makes the function that searches by an HNSW index, or the one that compares all vectors.';

-- The functions that there should be: those of this release, for each index that is there, and no others.
CREATE OR REPLACE FUNCTION rag.make_searches() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  item regprocedure; index regclass;
BEGIN
  FOR item IN
    SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'rag'::regnamespace AND proname ~ '^search_([0-9]+(_c[0-9a-f]+)?|exact)$'
  LOOP
    EXECUTE format('DROP FUNCTION %s', item);
  END LOOP;
  PERFORM make_search(NULL);
  FOR index IN
    SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'rag.embeddings'::regclass AND i.indisvalid AND c.relname ~ '^embeddings_hnsw_[0-9]+(_c[0-9a-f]+)?$'
  LOOP
    PERFORM make_search(index);
  END LOOP;
END
$$;
COMMENT ON FUNCTION rag.make_searches() IS 'For the owner: makes the functions that search anew, one for each HNSW index.';
SELECT rag.make_searches();

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
  PERFORM enter_tenant(tenant);
  RETURN QUERY
  SELECT p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings,
    p.landmarks, p.token_count, d.version, d.media_type, d.metadata, k.id, k.char_start, k.char_end
  FROM unnest(ids, matched) AS b (id, chunk_id)
  JOIN passages p ON p.tenant_id = tenant AND p.id = b.id
  JOIN documents d ON d.tenant_id = tenant AND d.id = p.document_id
  LEFT JOIN LATERAL (  -- LIMIT: looked up one by one, which row security would forbid an outer join
    SELECT c.id, c.char_start, c.char_end FROM chunks c WHERE c.tenant_id = tenant AND c.id = b.chunk_id LIMIT 1
  ) AS k ON true
  WHERE EXISTS (
    SELECT 1 FROM collections c WHERE c.tenant_id = tenant AND c.id = collection AND c.epoch = passages_at.epoch);
END
$$;
COMMENT ON FUNCTION rag.passages_at(bigint, uuid, bigint, uuid[], uuid[]) IS
  'Passages by id, as long as the collection has this epoch; see sql/functions/search.sql.';
