-- A search of one collection in one statement: both legs, their fusion, and the passages that it shows
-- (docs/adr/0015-one-statement.md, docs/adr/0086-small-plans.md). Everything else, and every search of which a part failed,
-- goes stepwise (app/cairn/retrieve/stepwise.py). All functions here but those that make others are STABLE: they see the one snapshot
-- of the statement that calls them.
DROP FUNCTION IF EXISTS rag.search_collection(bigint, text, smallint, halfvec, integer, integer, integer, integer, integer,
  integer, integer, text, integer, integer, integer, float8, integer, integer);
DROP FUNCTION IF EXISTS rag.search_collection(bigint, text, smallint, halfvec, integer, boolean, integer, integer, integer, text,
  integer, integer, integer, float8, integer, integer);
DROP FUNCTION IF EXISTS rag.vector_leg(bigint, uuid, integer, smallint, halfvec, integer, integer, integer, integer, integer,
  integer, integer);
DROP FUNCTION IF EXISTS rag.fused_best(uuid[], float8[], boolean, uuid[], float8[], boolean, float8, integer, integer);

-- Of a collection of so many chunks, up to how many readable ones are all compared, by way of their documents. Above, the index is asked
-- and hidden documents are dropped, which goes through everything / readable times as many rows as are wanted. measured: 1 us a row of the
-- former, 13 of the latter (384 dimensions, docs/adr/0126): about the same where the square of readable is 15 * wanted * everything.
CREATE OR REPLACE FUNCTION rag.most_compared(everything integer, wanted integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sqrt(15.0::float8 * wanted * everything)::integer;
COMMENT ON FUNCTION rag.most_compared IS
  'Readable chunks of a collection up to which comparing them all is faster than an index of which most is dropped.';

-- hnsw.ef_search of a search for `wanted` chunks among so many, at most what pgvector allows.
CREATE OR REPLACE FUNCTION rag.search_breadth(ef_search integer, wanted integer, chunks integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN least(1000, greatest(wanted, rag.grown_effort(ef_search, chunks)));
COMMENT ON FUNCTION rag.search_breadth IS 'hnsw.ef_search of a search among so many chunks.';

-- Chooses the statement and runs it. `vector` or `query` null: without that leg. `chunks` nearest ones are looked at; `scan`:
-- all vectors are compared, whatever index there is. `rrf_k` null: relative scores. `top` passages come whole.
--
-- Lists ride on the first row, best first; each further row has a passage only. fused_vector and fused_lexical are the places of
-- a fused passage in the lists of the legs, 0 where it is not in one. Parts are what a leg gives to the fused score of each passage of its
-- list, `rest` what it gives to any other. No row: no such collection. `served` is false where another model than `model` serves
-- it; then nothing was searched. The tenant is set here, for this statement, as in rag.find_cached. `principals`: of the caller, as
-- app.principals has them; counts and lists are of what these may read, and where that is everything nothing is asked of a row.
-- `regime` is `readable` where something is withheld, and more may be read than is always compared.
CREATE OR REPLACE FUNCTION rag.search_collection(
  tenant bigint, collection text, model smallint,
  vector halfvec, chunks integer, scan boolean, exact_below integer, ef_search integer, max_scan_tuples integer,
  query text, hits integer, budget integer, cap integer,
  vector_share float8, rrf_k integer, top integer, principals text DEFAULT ''
) RETURNS TABLE (
  collection_id uuid, epoch bigint, passage_count integer, chunk_count integer, served boolean, regime text, breadth integer,
  chunks_found integer, vector_ms float8, lexical_ms float8,
  vector_passages uuid[], vector_documents uuid[], vector_chunks uuid[], vector_scores float8[], vector_parts float8[], vector_rest float8,
  lexical_passages uuid[], lexical_documents uuid[], lexical_scores float8[], lexical_parts float8[], lexical_rest float8,
  lexical_coverage float8, lexical_exact boolean,
  fused_passages uuid[], fused_vector integer[], fused_lexical integer[], fused_scores float8[],
  id uuid, document_id uuid, external_id text, title text, content text, char_start integer, char_end integer,
  page integer, headings text[], landmarks jsonb, token_count integer, version integer, media_type text, metadata jsonb,
  chunk_id uuid, matched_start integer, matched_end integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  home collections%ROWTYPE; way regproc; begun timestamptz := clock_timestamp(); searched timestamptz;
  best float8; best_chunks uuid[]; hidden uuid[]; readable uuid[];
BEGIN
  PERFORM enter_tenant(tenant);
  tenant := current_tenant();  -- a value: Citus finds rows by no function
  SELECT c.* INTO home FROM collections c WHERE c.tenant_id = tenant AND c.name = collection;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT r.readable, r.hidden, coalesce(r.passages, home.passage_count), coalesce(r.chunks, home.chunk_count)
  INTO readable, hidden, home.passage_count, home.chunk_count
  FROM find_readable(home.tenant_id, home.id, principals, CASE WHEN scan THEN -1 ELSE most_compared(home.chunk_count, chunks) END,
    home.passage_count, home.chunk_count) AS r;
  collection_id := home.id; epoch := home.epoch; passage_count := home.passage_count; chunk_count := home.chunk_count;
  served := coalesce(home.model_id, (
    SELECT e.model_id FROM embeddings e WHERE e.tenant_id = home.tenant_id AND e.collection_id = home.id
    ORDER BY e.document_id LIMIT 1), model) = model;  -- in the order of the index
  IF NOT served THEN RETURN NEXT; RETURN; END IF;

  chunks_found := 0;
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
    IF way IS NOT NULL AND NOT scan AND readable IS NULL THEN
      IF set_config('hnsw.ef_search', breadth::text, true) <> breadth::text THEN
        RAISE EXCEPTION 'hnsw.ef_search is %, not %', current_setting('hnsw.ef_search'), breadth;
      END IF;
      PERFORM set_config('hnsw.max_scan_tuples', max_scan_tuples::text, true),
        set_config('hnsw.iterative_scan', 'relaxed_order', true);
    END IF;
  END IF;
  IF chunks > 0 THEN
    IF readable IS NOT NULL THEN
      regime := 'exact'; way := 'rag.search_readable';
    ELSIF way IS NULL OR scan THEN
      regime := coalesce(regime, 'exact'); way := 'rag.search_exact';
    END IF;
    -- which way is quicker goes by how many chunks there are, and so would what is told of it
    IF home.chunk_count > exact_below AND (readable IS NOT NULL OR hidden IS NOT NULL) THEN regime := 'readable'; END IF;
    EXECUTE 'SELECT * FROM ' || way || '($1, $2, $3, $4, $5, $6)'
    INTO chunks_found, vector_passages, vector_documents, vector_chunks, vector_scores
    USING home.tenant_id, home.id, model, vector, chunks, coalesce(readable, hidden);
  END IF;
  searched := clock_timestamp();
  vector_ms := 1000 * extract(epoch FROM searched - begun)::float8;

  IF readable = '{}' THEN
    lexical_scores := '{}';
  ELSIF query IS NOT NULL THEN
    SELECT f.best, f.owners, f.scores, f.coverage, f.exact
    INTO lexical_passages, lexical_documents, lexical_scores, lexical_coverage, lexical_exact
    FROM lexical_best(home.tenant_id, home.id, query, hits, budget, cap, NULL, NULL, hidden, readable, home.passage_count) AS f;
  END IF;
  lexical_ms := 1000 * extract(epoch FROM clock_timestamp() - searched)::float8;

  -- as in app/cairn/retrieve/fuse.py: a list that was cut off may lack a passage that would have got what its last one got
  IF rrf_k IS NULL THEN
    best := nullif(greatest(vector_scores[1], 0), 0);
    vector_parts := ARRAY(SELECT coalesce(vector_share * (greatest(v.score, 0) / best), 0) FROM unnest(vector_scores) AS v (score));
    vector_rest := CASE WHEN chunks_found < chunks THEN 0 ELSE coalesce(vector_parts[cardinality(vector_parts)], 0) END;
    best := nullif(greatest(lexical_scores[1], 0), 0);
    lexical_parts := ARRAY(SELECT coalesce((1 - vector_share) * (greatest(l.score, 0) / best), 0) FROM unnest(lexical_scores) AS l (score));
    lexical_rest := coalesce(lexical_parts[hits], 0);
  ELSE
    vector_parts := ARRAY(SELECT (rrf_k + 1) * vector_share / (rrf_k + n) FROM generate_series(1, cardinality(vector_scores)) AS n);
    lexical_parts := ARRAY(SELECT (rrf_k + 1) * (1 - vector_share) / (rrf_k + n) FROM generate_series(1, cardinality(lexical_scores)) AS n);
    vector_rest := 0;
    lexical_rest := 0;
  END IF;
  SELECT array_agg(f.id), array_agg(coalesce(f.v_place, 0)), array_agg(coalesce(f.l_place, 0)), array_agg(f.score),
         (array_agg(f.chunk_id))[:top]
  INTO fused_passages, fused_vector, fused_lexical, fused_scores, best_chunks
  FROM (
    SELECT id, v.chunk_id, v.place::integer AS v_place, l.place::integer AS l_place,
      least(1.0::float8, coalesce(l.part, lexical_rest) + coalesce(v.part, vector_rest)) AS score
    FROM unnest(vector_passages, vector_chunks, vector_parts) WITH ORDINALITY AS v (id, chunk_id, part, place)
    FULL JOIN unnest(lexical_passages, lexical_parts) WITH ORDINALITY AS l (id, part, place) USING (id)
    ORDER BY score DESC, least(v.place, l.place), id
  ) AS f;
  IF fused_passages IS NULL THEN RETURN NEXT; RETURN; END IF;

  RETURN QUERY
  SELECT home.id, home.epoch, home.passage_count, home.chunk_count, true, regime, breadth, chunks_found, vector_ms, lexical_ms,
    CASE WHEN b.place = 1 THEN vector_passages END, CASE WHEN b.place = 1 THEN vector_documents END,
    CASE WHEN b.place = 1 THEN vector_chunks END, CASE WHEN b.place = 1 THEN vector_scores END,
    CASE WHEN b.place = 1 THEN vector_parts END, vector_rest,
    CASE WHEN b.place = 1 THEN lexical_passages END, CASE WHEN b.place = 1 THEN lexical_documents END,
    CASE WHEN b.place = 1 THEN lexical_scores END, CASE WHEN b.place = 1 THEN lexical_parts END, lexical_rest,
    lexical_coverage, lexical_exact,
    CASE WHEN b.place = 1 THEN fused_passages END, CASE WHEN b.place = 1 THEN fused_vector END, CASE WHEN b.place = 1 THEN fused_lexical END,
    CASE WHEN b.place = 1 THEN fused_scores END,
    p.id, p.document_id, d.external_id, d.title, p.content, p.char_start, p.char_end, p.page, p.headings, p.landmarks,
    p.token_count, d.version, d.media_type, d.metadata, b.chunk_id, k.char_start, k.char_end
  FROM unnest(fused_passages[:top], best_chunks) WITH ORDINALITY AS b (id, chunk_id, place)
  -- LIMIT: looked up one by one, by their keys
  LEFT JOIN LATERAL (
    SELECT p.id, p.document_id, p.content, p.char_start, p.char_end, p.page, p.headings, p.landmarks, p.token_count
    FROM passages p WHERE p.tenant_id = home.tenant_id AND p.id = b.id LIMIT 1
  ) AS p ON true
  LEFT JOIN LATERAL (
    SELECT d.external_id, d.title, d.version, d.media_type, d.metadata
    FROM documents d WHERE d.tenant_id = home.tenant_id AND d.id = p.document_id LIMIT 1
  ) AS d ON true
  LEFT JOIN LATERAL (
    SELECT c.char_start, c.char_end FROM chunks c WHERE c.tenant_id = home.tenant_id AND c.id = b.chunk_id LIMIT 1
  ) AS k ON true
  ORDER BY b.place;
END
$$;
COMMENT ON FUNCTION rag.search_collection IS
  'Both legs of a search of one collection, fused, and the best passages; see sql/functions/search.sql.';

-- Name of the function that searches by an HNSW index.
CREATE OR REPLACE FUNCTION rag.search_name(index text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(index, 'embeddings_hnsw_', 'search_');
COMMENT ON FUNCTION rag.search_name IS 'Name of the function that searches by an HNSW index.';

-- Makes the function that searches by an HNSW index on rag.embeddings: the nearest chunks, as lists of their passages, nearest first.
-- The predicate of the index stands in it as literals, so that its plan, which is made once in a session, can use the index. Null: those
-- that compare all vectors, but for hidden documents, or of readable documents.
-- Sorting is disabled where an index gives the order, lest a table that was never analysed looks small enough to be sorted.
DROP FUNCTION IF EXISTS rag.make_search(regclass);
CREATE OR REPLACE FUNCTION rag.make_search(index regclass, few boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $make$
DECLARE
  name text := coalesce(search_name((SELECT relname::text FROM pg_class WHERE oid = index)),
                        CASE WHEN few THEN 'search_readable' ELSE 'search_exact' END);
  predicate text := coalesce((SELECT pg_get_expr(i.indpred, i.indrelid) FROM pg_index i WHERE i.indexrelid = index),
                             'e.model_id + 0 = model');  -- the sum leaves the planner the index on collections only
  chosen text := CASE WHEN few THEN 'e.document_id = ANY (readable)'
                      ELSE '(hidden IS NULL OR e.document_id NOT IN (SELECT unnest(hidden)))' END;
  -- the sum keeps the planner from the HNSW indexes
  distance text := coalesce('(' || pg_get_indexdef(index, 1, false) || ') <=> vector', '(e.embedding <=> vector) + 0.0');
  tie text := CASE WHEN index IS NULL THEN ', e.chunk_id' ELSE '' END;
  settings text := CASE WHEN index IS NULL THEN '' ELSE 'SET enable_sort = off' END;
  statement text;
BEGIN
  statement := format($function$
CREATE OR REPLACE FUNCTION rag.%1$I(
  tenant bigint, collection uuid, model smallint, vector public.halfvec, chunks integer, %6$s uuid[] DEFAULT NULL,
  OUT chunks_found integer, OUT passages uuid[], OUT documents uuid[], OUT chunk_ids uuid[], OUT scores float8[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp %2$s AS $body$
#variable_conflict use_column
BEGIN
  SELECT max(b.found), array_agg(b.passage_id), array_agg(b.document_id), array_agg(b.chunk_id), array_agg(1 - b.distance)
  INTO chunks_found, passages, documents, chunk_ids, scores
  FROM (
    SELECT * FROM (
      SELECT DISTINCT ON (n.passage_id) n.*
      FROM (
        SELECT n.chunk_id, n.document_id, n.distance + 0.0 AS distance,  -- an index yields them nearly, not quite, in order
          -- vectors from before the column are filled by a job
          coalesce(n.passage_id, (
            SELECT c.passage_id FROM chunks c WHERE c.tenant_id = tenant AND c.id = n.chunk_id)) AS passage_id,
          count(*) OVER ()::integer AS found
        FROM (
          SELECT e.chunk_id, e.document_id, e.passage_id, %3$s AS distance
          FROM embeddings e
          WHERE e.tenant_id = tenant AND e.collection_id = collection AND %4$s
            AND %7$s
          ORDER BY %3$s %5$s LIMIT chunks
        ) AS n
      ) AS n
      ORDER BY n.passage_id, n.distance, n.chunk_id
    ) AS n
    ORDER BY n.distance, n.chunk_id
  ) AS b;
  chunks_found := coalesce(chunks_found, 0);
END
$body$$function$, name, settings, distance, predicate, tie, CASE WHEN few THEN 'readable' ELSE 'hidden' END, chosen);
  PERFORM set_config('search_path', 'pg_catalog', true);  -- Citus tells other nodes what stands outside the path by full names
  EXECUTE statement;
  EXECUTE format('COMMENT ON FUNCTION rag.%I IS %L', name, 'The nearest chunks by one index; made by rag.make_search.');
  EXECUTE format('GRANT EXECUTE ON FUNCTION rag.%I TO cairn_app, cairn_definer, cairn_views', name);
END
$make$;
COMMENT ON FUNCTION rag.make_search(regclass, boolean) IS
  'For the owner: makes the function that searches by an HNSW index, or one that compares all vectors, or those of few documents.';

-- The functions that there should be: those of this release, for each index that is there, and no others.
CREATE OR REPLACE FUNCTION rag.make_searches() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  item regprocedure; index regclass;
BEGIN
  FOR item IN
    SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'rag'::regnamespace AND proname ~ '^search_([0-9]+(_c[0-9a-f]+)?|exact|readable)$'
  LOOP
    EXECUTE format('DROP FUNCTION %s', item);
  END LOOP;
  PERFORM make_search(NULL), make_search(NULL, true);
  FOR index IN
    SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'rag.embeddings'::regclass AND i.indisvalid AND c.relname ~ '^embeddings_hnsw_[0-9]+(_c[0-9a-f]+)?$'
  LOOP
    PERFORM make_search(index);
  END LOOP;
  -- Plans are made once in a session, though not by Citus, which plans for a tenant. Else some would be made again for each search,
  -- which looks cheaper with the values known: a twentieth of the whole.
  EXECUTE format('ALTER FUNCTION rag.search_collection SET plan_cache_mode = %s',
    CASE WHEN is_distributed() THEN 'force_custom_plan' ELSE 'force_generic_plan' END);
END
$$;
COMMENT ON FUNCTION rag.make_searches() IS 'For the owner: makes the functions that search anew, one for each HNSW index.';
SELECT rag.make_searches();

-- The statement-by-statement way compares vectors here. Row security would ask of each row whether its document may be read; of which
-- documents they may be is asked once instead, and they are looked up by the index of a collection's vectors, which goes by document.
-- A list of unknown length is taken for a short one, so a generic plan reads no table whole; nor does one of a table that was never analysed.
CREATE OR REPLACE FUNCTION rag.compare_vectors(collections uuid[], filter jsonb, model smallint, vector halfvec, wanted integer)
RETURNS TABLE (chunk_id uuid, passage_id uuid, document_id uuid, score float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  principals text := coalesce(current_setting('app.principals', true), '');
  whole uuid[] := '{}'; chosen uuid[] := '{}'; homes uuid[] := '{}'; home uuid; readable uuid[];
BEGIN
  IF filter IS NOT NULL THEN
    SELECT coalesce(array_agg(d.id), '{}'), coalesce(array_agg(d.collection_id), '{}') INTO chosen, homes
    FROM filter_documents(collections, filter) AS f CROSS JOIN LATERAL (
      SELECT d.id, d.collection_id FROM documents d WHERE d.tenant_id = tenant AND d.id = f.document_id LIMIT 1) AS d;
  ELSIF principals = '*' THEN
    whole := collections;
  ELSE
    FOREACH home IN ARRAY collections LOOP
      SELECT r.readable INTO readable FROM find_readable(tenant, home, principals, 2147483647, 0, 0) AS r;
      IF readable IS NULL THEN whole := whole || home; CONTINUE; END IF;
      chosen := chosen || readable;
      homes := homes || array_fill(home, ARRAY[cardinality(readable)]);
    END LOOP;
  END IF;
  RETURN QUERY
  SELECT b.chunk_id, coalesce(b.passage_id, (SELECT c.passage_id FROM chunks c WHERE c.tenant_id = tenant AND c.id = b.chunk_id)),
    b.document_id, 1 - b.distance
  FROM (
    -- the sums keep the planner from the HNSW indexes
    SELECT e.chunk_id, e.passage_id, e.document_id, (e.embedding <=> vector) + 0.0 AS distance
    FROM (
      SELECT e.* FROM unnest(whole) AS c (id) CROSS JOIN LATERAL (
        SELECT e.chunk_id, e.passage_id, e.document_id, e.embedding FROM embeddings e
        WHERE e.tenant_id = tenant AND e.collection_id = c.id AND e.model_id + 0 = model OFFSET 0) AS e
      UNION ALL
      SELECT e.* FROM unnest(chosen, homes) AS d (id, home) CROSS JOIN LATERAL (
        SELECT e.chunk_id, e.passage_id, e.document_id, e.embedding FROM embeddings e
        WHERE e.tenant_id = tenant AND e.collection_id = d.home AND e.document_id = d.id AND e.model_id + 0 = model OFFSET 0) AS e
    ) AS e
    ORDER BY 4, 1 LIMIT wanted
  ) AS b
  ORDER BY b.distance, b.chunk_id;
END
$$;
COMMENT ON FUNCTION rag.compare_vectors IS
  'The chunks nearest to a vector, of all that the caller may read in collections and a metadata filter (null: none) leaves.';

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
