-- BM25 in plain SQL.
--
-- A passage is a row of hashed lexemes (`keys`, GIN) and their BM25 weights without idf (`weights`, sparsevec); a query is
-- a sparsevec of idf values, and the score is their inner product. k1 = 1.2, b = 0.75; idf = ln(1 + (N - df + .5) / (df + .5));
-- weight = tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl)). N, df and lengths are exact at every commit; avgdl is the
-- average at the time of weighting (rag.lexical_stats.average_length), renewed when it has drifted (settings: lexical).

-- Key of a lexeme: 1 .. 2^29. The collection's seed keeps postings of collections apart; the name of the text search
-- configuration keeps languages apart (its oid would not survive a dump).
CREATE OR REPLACE FUNCTION rag.lexeme_key(seed integer, config text, lexeme text) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 1 + (hashtextextended(config || ':' || lexeme, seed::bigint) & 536870911)::integer;

COMMENT ON FUNCTION rag.lexeme_key IS 'Hashed key of a lexeme within a collection and a text search configuration.';

-- Occurrences of lexemes in a tsvector: dl of BM25. A lexeme without positions counts once.
CREATE OR REPLACE FUNCTION rag.lexical_length(vector tsvector) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT coalesce(sum(coalesce(cardinality(positions), 1)), 0)::integer FROM unnest(vector));

COMMENT ON FUNCTION rag.lexical_length IS 'Lexeme occurrences in a tsvector (document length of BM25).';

-- Posting of one passage: its length, sorted keys, the weight of each key, and the same weights as a sparsevec.
CREATE OR REPLACE FUNCTION rag.lexical_posting(
  vector tsvector, config text, seed integer, average real,
  OUT length integer, OUT keys integer[], OUT key_weights real[], OUT weights sparsevec
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, rag, public, pg_temp
AS $$
  SELECT coalesce(max(dl), 0)::integer,
         coalesce(array_agg(key ORDER BY key), '{}'),
         coalesce(array_agg(weight ORDER BY key), '{}'),
         ('{' || coalesce(string_agg(key || ':' || weight, ',' ORDER BY key), '') || '}/1000000000')::sparsevec
  FROM (
    SELECT key, dl, (tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * dl / greatest(average, 1))))::real AS weight
    FROM (
      SELECT key, sum(tf)::float8 AS tf, sum(sum(tf)) OVER ()::float8 AS dl
      FROM (
        SELECT lexeme_key(seed, config, lexeme) AS key, coalesce(cardinality(positions), 1) AS tf FROM unnest(vector)
      ) AS occurrence
      GROUP BY key
    ) AS term
  ) AS weighted
$$;

COMMENT ON FUNCTION rag.lexical_posting IS 'BM25 posting of a passage: length, keys and weights.';

-- The best passages of one collection for a query, rank-safe in two passes (MaxScore). The first pass scores the passages
-- that hold the rarest terms (up to `budget` postings) and so knows a k-th score theta; terms whose summed upper bounds stay
-- below theta cannot lift another passage into the top k, so the second pass takes candidates from the other terms only.
-- `exact` is false where `cap` postings did not suffice for that. `coverage` is the share of the query's idf mass that the
-- passage holds; words the collection does not know count as its rarest.
CREATE OR REPLACE FUNCTION rag.lexical_search(
  collection uuid, query text, k integer, budget integer, cap integer, filter jsonb DEFAULT NULL
) RETURNS TABLE (passage_id uuid, document_id uuid, score float8, coverage float8, exact boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  seed integer := (SELECT c.lex_seed FROM collections c WHERE c.tenant_id = tenant AND c.id = collection);
  terms integer[]; frequencies bigint[]; idfs float8[]; bounds float8[]; masses jsonb; question sparsevec;
  total integer; taken integer := 0; needed integer; postings bigint := 0; rest float8 := 0; theta float8;
  complete boolean := true;
BEGIN
  WITH word AS (
    SELECT s.regconfig, s.passage_count AS n, lexeme_key(seed, s.regconfig::text, w.lexeme) AS key,
           sum(greatest(1, coalesce(cardinality(w.positions), 1))) AS occurrences
    FROM lexical_stats s CROSS JOIN LATERAL unnest(to_tsvector(s.regconfig, query)) AS w
    WHERE s.tenant_id = tenant AND s.collection_id = collection
    GROUP BY 1, 2, 3
  ), term AS (
    SELECT w.regconfig, w.key, t.document_frequency AS df, t.max_weight,
           ln(1 + (w.n - coalesce(t.document_frequency, 0) + .5) / (coalesce(t.document_frequency, 0) + .5))
             * w.occurrences AS idf
    FROM word w
    LEFT JOIN lexical_terms t ON t.tenant_id = tenant AND t.collection_id = collection AND t.key = w.key
  ), known AS (
    SELECT key, min(df) AS df, max(max_weight) AS max_weight, sum(idf) AS idf FROM term WHERE df > 0 GROUP BY key
  )
  SELECT array_agg(key ORDER BY df, key), array_agg(df ORDER BY df, key), array_agg(idf ORDER BY df, key),
         array_agg(idf * max_weight ORDER BY df, key),
         ('{' || string_agg(key || ':' || idf::real, ',') || '}/1000000000')::sparsevec,
         (SELECT jsonb_object_agg(regconfig::text, mass) FROM (SELECT regconfig, sum(idf) AS mass FROM term GROUP BY 1) m)
    INTO terms, frequencies, idfs, bounds, question, masses
  FROM known;
  total := coalesce(cardinality(terms), 0);
  IF total = 0 THEN RETURN; END IF;

  LOOP
    taken := taken + 1;
    postings := postings + frequencies[taken];
    EXIT WHEN taken = total OR postings + frequencies[taken + 1] > budget;
  END LOOP;

  IF taken < total THEN
    SELECT -max(d) INTO theta FROM (
      SELECT l.weights <#> question AS d FROM lexical_index l
      WHERE l.tenant_id = tenant AND l.collection_id = collection AND l.keys && terms[1:taken]
        AND (filter IS NULL OR EXISTS (
          SELECT FROM documents d WHERE d.tenant_id = tenant AND d.id = l.document_id AND d.metadata @> filter))
      ORDER BY 1 LIMIT k
    ) AS first_pass HAVING count(*) = k;
    needed := total;
    -- the bound is raised a little: stored weights are single precision
    WHILE needed > taken LOOP
      rest := rest + bounds[needed] * 1.00001;
      EXIT WHEN theta IS NULL OR rest >= theta;
      needed := needed - 1;
    END LOOP;
    WHILE taken < needed LOOP
      IF postings + frequencies[taken + 1] > cap THEN complete := false; EXIT; END IF;
      taken := taken + 1;
      postings := postings + frequencies[taken];
    END LOOP;
  END IF;

  RETURN QUERY
  WITH best AS MATERIALIZED (
    SELECT l.passage_id, l.document_id, l.keys, l.regconfig, l.weights <#> question AS d FROM lexical_index l
    WHERE l.tenant_id = tenant AND l.collection_id = collection AND l.keys && terms[1:taken]
      AND (filter IS NULL OR EXISTS (
        SELECT FROM documents d WHERE d.tenant_id = tenant AND d.id = l.document_id AND d.metadata @> filter))
    ORDER BY d, l.passage_id LIMIT k
  )
  SELECT b.passage_id, b.document_id, -b.d,
         (SELECT coalesce(sum(t.idf), 0) FROM unnest(terms, idfs) AS t(key, idf) WHERE t.key = ANY (b.keys))
           / greatest((masses ->> b.regconfig::text)::float8, 1e-9),
         complete
  FROM best b ORDER BY b.d, b.passage_id;
END
$$;

COMMENT ON FUNCTION rag.lexical_search IS 'BM25 search of one collection of the current tenant; see sql/functions/lexical.sql.';

-- Documents of the current tenant that match a metadata filter, with their number of chunks.
CREATE OR REPLACE FUNCTION rag.filter_documents(collections uuid[], filter jsonb)
RETURNS TABLE (document_id uuid, chunk_count integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
  SELECT d.id, d.chunk_count FROM documents d
  WHERE d.tenant_id = current_tenant() AND d.collection_id = ANY (collections) AND d.metadata @> filter
$$;

COMMENT ON FUNCTION rag.filter_documents IS 'Documents of the current tenant that match a metadata filter.';
