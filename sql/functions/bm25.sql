-- BM25 in plain SQL.
--
-- A passage is a row of hashed lexemes (`keys`, GIN) and their BM25 weights without idf (`weights`, sparsevec); a query is
-- a sparsevec of idf values, and the score is their inner product. k1 = 1.2, b = 0.75; idf = ln(1 + (N - df + .5) / (df + .5));
-- weight = tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl)). N, df and lengths are exact at every commit; avgdl is the
-- average at the time of weighting (rag.lexical_stats.average_length), renewed when it has drifted (settings: lexical).

-- Key of a lexeme: 1 .. 2^29. The collection's seed keeps postings of collections apart; the name of the text search
-- configuration keeps languages apart. By SHA-256, which is the same in every major version of PostgreSQL, as hashtext need not be; not
-- declared immutable because convert_to is not, and so that it is inlined.
CREATE OR REPLACE FUNCTION rag.lexeme_key(seed integer, config text, lexeme text) RETURNS integer
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN 1 + ('x' || encode(substr(sha256(convert_to(seed::text || ':' || config || ':' || lexeme, 'UTF8')), 1, 4), 'hex'))::bit(29)::integer;

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

-- What a setting for collections of up to 50,000 means for a larger one: more with the root of the size, 4.5 times as much for a million
-- (docs/adr/0085-effort-by-size.md).
CREATE OR REPLACE FUNCTION rag.grown_effort(setting integer, size integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN least(2147483647, ceil(setting * greatest(1, sqrt(size / 50000.0))))::integer;
COMMENT ON FUNCTION rag.grown_effort IS 'What a setting for collections of up to 50,000 means for one of this size.';

-- A query as BM25 sees it: the keys of its words, rarest first, with their frequencies, idfs and the most that each can add
-- to a score; its idf mass per language; and keys with idfs as a vector. Words are told apart by their position, which is
-- the same in every configuration: all parse alike and count stop words. Words count .8 in passages of another language than
-- the query's, which its stop words tell (docs/adr/0017-language-of-the-query.md).
CREATE OR REPLACE FUNCTION rag.lexical_question(
  tenant bigint, collection uuid, query text,
  OUT terms integer[], OUT frequencies bigint[], OUT idfs float8[], OUT bounds float8[], OUT masses jsonb,
  OUT question sparsevec
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  languages integer; language text; passages integer; seed integer;
BEGIN
  SELECT count(*), min(s.regconfig), min(s.passage_count), min(c.lex_seed) INTO languages, language, passages, seed
  FROM lexical_stats s JOIN collections c ON c.tenant_id = s.tenant_id AND c.id = s.collection_id
  WHERE s.tenant_id = tenant AND s.collection_id = collection;
  IF languages = 1 THEN  -- the same, of which nothing is left to weigh between languages
    SELECT array_agg(key) FILTER (WHERE df > 0), array_agg(df) FILTER (WHERE df > 0), array_agg(idf) FILTER (WHERE df > 0),
           array_agg(idf * max_weight) FILTER (WHERE df > 0), jsonb_build_object(language, sum(idf)),
           ('{' || string_agg(key || ':' || idf::real, ',') FILTER (WHERE df > 0) || '}/1000000000')::sparsevec
    INTO terms, frequencies, idfs, bounds, masses, question
    FROM (
      SELECT key, df, max_weight, sum(times) * ln(1 + (passages - df + .5::float8) / (df + .5::float8)) AS idf
      FROM (
        SELECT w.key, w.times, coalesce(t.document_frequency, 0)::bigint AS df, t.max_weight
        FROM (
          SELECT lexeme_key(seed, language, u.lexeme) AS key, coalesce(cardinality(u.positions), 1) AS times
          FROM unnest(to_tsvector(config_named(language), query)) AS u
        ) AS w
        LEFT JOIN LATERAL (  -- LIMIT: looked up one by one, also where a table was never analysed
          SELECT k.document_frequency, k.max_weight FROM lexical_terms k
          WHERE k.tenant_id = tenant AND k.collection_id = collection AND k.key = w.key LIMIT 1
        ) AS t ON true
      ) AS known
      GROUP BY key, df, max_weight ORDER BY df, key
    ) AS term;
    RETURN;
  END IF;
  WITH stats AS MATERIALIZED (
    SELECT s.regconfig, s.passage_count AS n, sum(s.passage_count) OVER () AS everything, c.lex_seed
    FROM lexical_stats s JOIN collections c ON c.tenant_id = s.tenant_id AND c.id = s.collection_id
    WHERE s.tenant_id = tenant AND s.collection_id = collection
  ), word AS (
    SELECT s.regconfig, s.n, s.everything, lexeme_key(s.lex_seed, s.regconfig, w.lexeme) AS key, place
    FROM stats s CROSS JOIN LATERAL unnest(to_tsvector(config_named(s.regconfig), query)) AS w
    CROSS JOIN LATERAL unnest(coalesce(w.positions, '{0}')) AS place
  ), spoken AS (
    -- the language of the query: the one of the collection's that leaves fewest of its words, where one alone does
    SELECT regconfig FROM (
      SELECT s.regconfig, count(w.key) AS words, lead(count(w.key)) OVER here AS next, row_number() OVER here AS nth
      FROM stats s LEFT JOIN word w USING (regconfig) GROUP BY s.regconfig WINDOW here AS (ORDER BY count(w.key))
    ) AS leaving WHERE nth = 1 AND words < next
  ), known AS (
    SELECT w.*, coalesce(t.document_frequency, 0) AS df, t.max_weight
    FROM word w
    LEFT JOIN LATERAL (  -- LIMIT: looked up one by one, also where a table was never analysed
      SELECT k.document_frequency, k.max_weight FROM lexical_terms k
      WHERE k.tenant_id = tenant AND k.collection_id = collection AND k.key = w.key LIMIT 1
    ) AS t ON true
  ), pooled AS (
    -- where the word is no lexeme it is a stop word, and stands in about every passage
    SELECT *, least(sum(df) OVER here + everything - sum(n) OVER here, everything) AS everywhere
    FROM known WINDOW here AS (PARTITION BY place)
  ), term AS (
    SELECT p.regconfig, p.key, p.df, p.max_weight,
           (CASE WHEN p.regconfig NOT IN (s.regconfig, 'simple') THEN .8 ELSE 1 END
             * sum(ln(1 + (everything - everywhere + .5) / (everywhere + .5))))::float8 AS idf
    FROM pooled p LEFT JOIN spoken s ON true GROUP BY p.regconfig, s.regconfig, p.key, p.df, p.max_weight
  ), found AS (
    SELECT key, min(df) AS df, max(max_weight) AS max_weight, sum(idf) AS idf FROM term WHERE df > 0 GROUP BY key
  )
  SELECT array_agg(key ORDER BY df, key), array_agg(df::bigint ORDER BY df, key), array_agg(idf ORDER BY df, key),
         array_agg(idf * max_weight ORDER BY df, key),
         (SELECT jsonb_object_agg(regconfig, mass)
          FROM (SELECT regconfig, sum(idf) AS mass FROM term GROUP BY regconfig) AS m),
         ('{' || string_agg(key || ':' || idf::real, ',') || '}/1000000000')::sparsevec
  INTO terms, frequencies, idfs, bounds, masses, question
  FROM found;
END
$$;

COMMENT ON FUNCTION rag.lexical_question IS 'A query of a collection as BM25 sees it: keys, frequencies, idfs, upper bounds.';

-- Passages that the operators of a query speak of (app/cairn/retrieve/operators.py): those that may be found where
-- conditions.inclusive is true, else those that may not. Words are looked for through the generated tsvector, in the
-- language of each passage; a condition of nothing but stop words says nothing. `filter` is on the documents' metadata.
-- Planned anew each time: with the values known, conditions that are not there cost nothing and GIN can be used.
CREATE OR REPLACE FUNCTION rag.scope_passages(collections uuid[], conditions jsonb, filter jsonb DEFAULT NULL)
RETURNS TABLE (passage_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  tenant bigint := current_tenant();
  inclusive boolean := (conditions ->> 'inclusive')::boolean;
  documents uuid[]; config text; wanted tsquery; unwanted tsquery; question tsquery;
  hidden uuid[] := hidden_documents(tenant, collections, current_setting('app.principals', true));
BEGIN
  IF filter IS NOT NULL OR jsonb_path_exists(conditions, '$.*[*].field ? (@ == "title" || @ == "id" || @ == "path")') THEN
    documents := ARRAY(
      SELECT d.id FROM documents d
      WHERE d.tenant_id = tenant AND d.collection_id = ANY (collections) AND (filter IS NULL OR d.metadata @> filter)
        AND NOT EXISTS (
          SELECT 1 FROM (
            SELECT c.field, lower(c.value) AS value, true AS must
            FROM jsonb_to_recordset(conditions -> 'must') AS c (field text, value text)
            UNION ALL
            SELECT c.field, lower(c.value), false
            FROM jsonb_to_recordset(conditions -> 'must_not') AS c (field text, value text)
          ) AS c
          WHERE must <> CASE c.field
            WHEN 'title' THEN strpos(lower(d.title), c.value) > 0
            WHEN 'path' THEN strpos(lower(d.external_id), c.value) > 0
            WHEN 'id' THEN lower(d.external_id) = c.value
            ELSE must END));
  END IF;
  FOR config IN
    SELECT DISTINCT s.regconfig FROM lexical_stats s
    WHERE s.tenant_id = tenant AND s.collection_id = ANY (collections)
      AND NOT conditions -> 'must_not' @> jsonb_build_array(jsonb_build_object('field', 'lang', 'value', s.regconfig))
      AND (NOT conditions -> 'must' @> '[{"field": "lang"}]'
        OR conditions -> 'must' @> jsonb_build_array(jsonb_build_object('field', 'lang', 'value', s.regconfig)))
  LOOP
    wanted := rag.joined_phrases(config_named(config), conditions -> 'must', true);
    unwanted := rag.joined_phrases(config_named(config), conditions -> 'must_not', false);
    question := CASE WHEN inclusive THEN wanted && !!unwanted ELSE unwanted END;
    CONTINUE WHEN NOT inclusive AND numnode(question) = 0;
    RETURN QUERY
    SELECT p.id FROM passages p
    WHERE p.tenant_id = tenant AND p.collection_id = ANY (collections) AND p.regconfig = config
      AND (numnode(question) = 0 OR p.search_vector @@ question)
      AND (documents IS NULL OR p.document_id = ANY (documents))
      AND (hidden IS NULL OR p.document_id NOT IN (SELECT unnest(hidden)));
  END LOOP;
END
$$;

COMMENT ON FUNCTION rag.scope_passages IS
  'Passages of the current tenant that operators of a query include or exclude; see sql/functions/bm25.sql.';

-- The words and phrases of some conditions as one query: all of them, or any.
CREATE OR REPLACE FUNCTION rag.joined_phrases(config regconfig, conditions jsonb, every boolean) RETURNS tsquery
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  joined tsquery := ''; value text;
BEGIN
  FOR value IN
    SELECT c.value FROM jsonb_to_recordset(conditions) AS c (field text, value text) WHERE c.field = 'text'
  LOOP
    joined := CASE WHEN every THEN joined && phraseto_tsquery(config, value) ELSE joined || phraseto_tsquery(config, value) END;
  END LOOP;
  RETURN joined;
END
$$;

COMMENT ON FUNCTION rag.joined_phrases IS 'Words and phrases of conditions as one tsquery: all of them, or any.';

-- Of the passages of some documents, so many, the best `k` that hold a term: those that stand in both indexes, that of words and that of
-- documents; where the words are common ones, all are scored. measured: a posting takes .18 us, a passage 1.6 to read and score, and .4 to
-- be found by its document only (docs/adr/0126). Planned once, for any documents, and as if a row that is read were dear, so that both indexes are asked, however
-- large the table is, and analysed or not.
CREATE OR REPLACE FUNCTION rag.lexical_among(
  tenant bigint, documents uuid[], passages integer, terms integer[], frequencies bigint[], question sparsevec, k integer,
  OUT best uuid[], OUT owners uuid[], OUT distances float8[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp
SET plan_cache_mode = force_generic_plan SET cpu_tuple_cost = 1000 AS $$
#variable_conflict use_column
BEGIN
  IF (SELECT sum(f) FROM unnest(frequencies) AS f) <= 3 * passages THEN
    SELECT array_agg(b.passage_id ORDER BY b.d, b.passage_id), array_agg(b.document_id ORDER BY b.d, b.passage_id),
           array_agg(b.d ORDER BY b.d, b.passage_id)
      INTO best, owners, distances
    FROM (
      SELECT l.passage_id, l.document_id, l.weights <#> question AS d FROM lexical_index l
      WHERE l.tenant_id = tenant AND l.document_id = ANY (documents) AND l.keys && terms
      ORDER BY 3, 1 LIMIT k
    ) AS b;
  ELSE
    SELECT array_agg(b.passage_id ORDER BY b.d, b.passage_id), array_agg(b.document_id ORDER BY b.d, b.passage_id),
           array_agg(b.d ORDER BY b.d, b.passage_id)
      INTO best, owners, distances
    FROM (
      SELECT * FROM (  -- OFFSET: scored once
        SELECT l.passage_id, l.document_id, l.weights <#> question AS d FROM lexical_index l
        WHERE l.tenant_id = tenant AND l.document_id = ANY (documents) OFFSET 0) AS l
      WHERE l.d < 0 ORDER BY 3, 1 LIMIT k
    ) AS b;
  END IF;
END
$$;
COMMENT ON FUNCTION rag.lexical_among IS 'The best passages of some documents by BM25; see sql/functions/bm25.sql.';

-- Which of some words the passages of some documents hold; planned as lexical_among is.
CREATE OR REPLACE FUNCTION rag.words_among(tenant bigint, documents uuid[], words integer[]) RETURNS integer[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp
SET plan_cache_mode = force_generic_plan SET cpu_tuple_cost = 1000 AS $$
BEGIN
  RETURN ARRAY(
    SELECT unnest(l.keys) FROM lexical_index l WHERE l.tenant_id = tenant AND l.document_id = ANY (documents) AND l.keys && words
    INTERSECT SELECT unnest(words));
END
$$;
COMMENT ON FUNCTION rag.words_among IS 'Which of some words the passages of some documents hold; see sql/functions/bm25.sql.';

-- The best passages of one collection for a query, rank-safe in two passes (MaxScore). The first pass scores the passages
-- that hold the rarest terms (up to `budget` postings) and so knows a k-th score theta; terms whose summed upper bounds stay
-- below theta cannot lift another passage into the top k, so the second pass scores what the terms up to there find, if
-- there are any left, and the best of both passes are the best of all: no passage is scored again for a term it shares.
-- The same bounds tell which of the further terms a passage cannot do without.
-- `exact` is false where `cap` postings (more of large collections, and for long lists) did not suffice for that. `coverage`, of the
-- best passage only, is the share of the query's idf mass that it holds; words the collection does not know count as its rarest. Where
-- something is withheld from the caller it is the share of the query's words.
--
-- Several languages in one collection: each passage has the lexemes of its own, but a word of the query has one idf. Its
-- frequency is that of its lexemes in all languages; where it is a stop word it counts as standing in every passage. With
-- an idf per language three French passages among thousands could never win, and a misdetected one would win by "the"
-- (docs/adr/0014-lexical-operators.md).
--
-- `conditions`: operators of the query. Few passages left to choose from are all scored; the list is then exact. `hidden`: documents
-- whose passages are no candidates; `readable`: the only ones whose passages are, `passages` in all (rag.find_readable names either).
DROP FUNCTION IF EXISTS rag.lexical_best(bigint, uuid, text, integer, integer, integer, jsonb, jsonb);
DROP FUNCTION IF EXISTS rag.lexical_best(bigint, uuid, text, integer, integer, integer, jsonb, jsonb, uuid[]);
CREATE OR REPLACE FUNCTION rag.lexical_best(
  tenant bigint, collection uuid, query text, k integer, budget integer, cap integer, filter jsonb, conditions jsonb, hidden uuid[],
  readable uuid[], passages integer, OUT best uuid[], OUT owners uuid[], OUT scores float8[], OUT coverage float8, OUT exact boolean
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  terms integer[]; frequencies bigint[]; idfs float8[]; bounds float8[]; masses jsonb; question sparsevec;
  total integer; first integer := 0; taken integer; needed integer; postings bigint := 0; rest float8 := 0; theta float8;
  scope uuid[]; inclusive boolean; chosen boolean := false; needs integer[]; distances float8[];
  listed uuid[] := coalesce(readable, hidden); own boolean := readable IS NOT NULL;
BEGIN
  exact := true;
  SELECT q.terms, q.frequencies, q.idfs, q.bounds, q.masses, q.question, greatest(4 * k, grown_effort(cap, c.passage_count))
    INTO terms, frequencies, idfs, bounds, masses, question, cap
  FROM collections c CROSS JOIN lexical_question(tenant, collection, query) AS q
  WHERE c.tenant_id = tenant AND c.id = collection;
  total := coalesce(cardinality(terms), 0);
  IF total = 0 THEN RETURN; END IF;
  IF conditions IS NOT NULL THEN
    scope := ARRAY(SELECT s.passage_id FROM scope_passages(ARRAY[collection], conditions, filter) AS s);
    inclusive := (conditions ->> 'inclusive')::boolean;
    chosen := inclusive AND cardinality(scope) <= cap;
    filter := NULL;  -- is part of the scope
  END IF;

  IF own AND scope IS NULL AND filter IS NULL AND passages <= cap THEN  -- no more than are looked at anyhow
    SELECT a.best, a.owners, a.distances INTO best, owners, distances
    FROM lexical_among(tenant, readable, passages, terms, frequencies, question, k) AS a;
  ELSIF chosen THEN
    SELECT array_agg(b.passage_id ORDER BY b.d, b.passage_id), array_agg(b.document_id ORDER BY b.d, b.passage_id),
           array_agg(b.d ORDER BY b.d, b.passage_id)
      INTO best, owners, distances
    FROM (
      SELECT l.passage_id, l.document_id, l.weights <#> question AS d FROM lexical_index l
      WHERE l.tenant_id = tenant AND l.passage_id = ANY (scope) AND l.weights <#> question < 0
        AND (listed IS NULL OR (l.document_id IN (SELECT unnest(listed))) = own)
      ORDER BY 3, 1 LIMIT k
    ) AS b;
  ELSE
    IF listed IS NOT NULL THEN  -- words of withheld passages alone find nothing, and their postings are not told
      SELECT array_agg(t.key ORDER BY t.n), array_agg(t.df ORDER BY t.n), array_agg(t.idf ORDER BY t.n), array_agg(t.bound ORDER BY t.n)
        INTO terms, frequencies, idfs, bounds
      FROM unnest(terms, frequencies, idfs, bounds) WITH ORDINALITY AS t (key, df, idf, bound, n)
      WHERE CASE WHEN own THEN t.key IN (SELECT unnest(words_among(tenant, readable, terms))) ELSE EXISTS (
        SELECT 1 FROM lexical_index l
        WHERE l.tenant_id = tenant AND l.collection_id = collection AND l.keys && ARRAY[t.key]
          AND l.document_id NOT IN (SELECT unnest(hidden))) END;
      total := coalesce(cardinality(terms), 0);
      IF total = 0 THEN RETURN; END IF;
    END IF;
    LOOP
      first := first + 1;
      postings := postings + frequencies[first];
      EXIT WHEN first = total OR postings + frequencies[first + 1] > budget;
    END LOOP;
    SELECT array_agg(b.passage_id ORDER BY b.d, b.passage_id), array_agg(b.document_id ORDER BY b.d, b.passage_id),
           array_agg(b.d ORDER BY b.d, b.passage_id)
      INTO best, owners, distances
    FROM (
      SELECT l.passage_id, l.document_id, l.weights <#> question AS d FROM lexical_index l
      WHERE l.tenant_id = tenant AND l.collection_id = collection AND l.keys && terms[1:first]
        AND (scope IS NULL OR (l.passage_id IN (SELECT unnest(scope))) = inclusive)
        AND (listed IS NULL OR (l.document_id IN (SELECT unnest(listed))) = own)
        AND (filter IS NULL OR EXISTS (
          SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.id = l.document_id AND d.metadata @> filter))
      ORDER BY 3, 1 LIMIT k
    ) AS b;
    theta := -distances[k];  -- null where there are fewer
    needed := total;
    -- the bound is raised a little: stored weights are single precision
    WHILE needed > first LOOP
      rest := rest + bounds[needed] * 1.00001;
      EXIT WHEN theta IS NULL OR rest >= theta;
      needed := needed - 1;
    END LOOP;
    taken := first;
    WHILE taken < needed LOOP
      IF postings + frequencies[taken + 1] > cap THEN exact := false; EXIT; END IF;
      taken := taken + 1;
      postings := postings + frequencies[taken];
    END LOOP;
    IF taken > first THEN
      -- what is new has none of the rarest terms; of the others it needs each without which the rest stays below theta
      needs := ARRAY(
        SELECT o.term FROM unnest(terms[first + 1:], bounds[first + 1:]) AS o (term, bound)
        WHERE (SELECT sum(b) FROM unnest(bounds[first + 1:]) AS b) * 1.00001 - o.bound < theta);
      SELECT array_agg(b.passage_id ORDER BY b.d, b.passage_id), array_agg(b.document_id ORDER BY b.d, b.passage_id),
             array_agg(b.d ORDER BY b.d, b.passage_id)
        INTO best, owners, distances
      FROM (
        SELECT f.* FROM unnest(best, owners, distances) AS f (passage_id, document_id, d)
        UNION
        (SELECT l.passage_id, l.document_id, l.weights <#> question FROM lexical_index l
         WHERE l.tenant_id = tenant AND l.collection_id = collection AND l.keys && terms[first + 1:taken]
           AND l.keys @> needs
           AND (scope IS NULL OR (l.passage_id IN (SELECT unnest(scope))) = inclusive)
           AND (listed IS NULL OR (l.document_id IN (SELECT unnest(listed))) = own)
           AND (filter IS NULL OR EXISTS (
             SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.id = l.document_id AND d.metadata @> filter))
         ORDER BY 3, 1 LIMIT k)
        ORDER BY 3, 1 LIMIT k
      ) AS b;
    END IF;
  END IF;

  scores := ARRAY(SELECT -d FROM unnest(distances) AS d);
  IF listed IS NULL THEN
    SELECT (SELECT coalesce(sum(t.idf), 0) FROM unnest(terms, idfs) AS t (key, idf) WHERE t.key = ANY (l.keys))
      / greatest((masses ->> l.regconfig)::float8, 1e-9) INTO coverage
    FROM lexical_index l WHERE l.tenant_id = tenant AND l.passage_id = best[1];
  ELSE  -- each word counts the same: how rare it is goes by withheld passages, too
    SELECT (SELECT avg((lexeme_key(c.lex_seed, l.regconfig, w.lexeme) = ANY (l.keys))::integer)
            FROM unnest(to_tsvector(config_named(l.regconfig), query)) AS w) INTO coverage
    FROM lexical_index l CROSS JOIN LATERAL (
      SELECT c.lex_seed FROM collections c WHERE c.tenant_id = tenant AND c.id = collection) AS c
    WHERE l.tenant_id = tenant AND l.passage_id = best[1];
  END IF;
END
$$;
COMMENT ON FUNCTION rag.lexical_best IS 'BM25 search of one collection, as lists; see sql/functions/bm25.sql.';

-- The same as rows, best first, for the tenant that asks.
DROP FUNCTION IF EXISTS rag.lexical_search(uuid, text, integer, integer, integer, jsonb);
CREATE OR REPLACE FUNCTION rag.lexical_search(
  collection uuid, query text, k integer, budget integer, cap integer, filter jsonb DEFAULT NULL,
  conditions jsonb DEFAULT NULL
) RETURNS TABLE (passage_id uuid, document_id uuid, score float8, coverage float8, exact boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant(); hidden uuid[]; readable uuid[]; passages integer;
BEGIN
  SELECT r.hidden, r.readable, r.passages INTO hidden, readable, passages
  FROM collections c CROSS JOIN LATERAL find_readable(
    tenant, collection, current_setting('app.principals', true),
    most_compared(c.chunk_count, k), c.passage_count, c.chunk_count) AS r
  WHERE c.tenant_id = tenant AND c.id = collection;
  RETURN QUERY
  SELECT p.id, p.owner, p.score, CASE WHEN p.place = 1 THEN f.coverage END, f.exact
  FROM lexical_best(tenant, collection, query, k, budget, cap, filter, conditions, hidden, readable, passages) AS f
  CROSS JOIN LATERAL unnest(f.best, f.owners, f.scores) WITH ORDINALITY AS p (id, owner, score, place)
  ORDER BY p.place;
END
$$;
COMMENT ON FUNCTION rag.lexical_search IS 'BM25 search of one collection of the current tenant; see sql/functions/bm25.sql.';

-- Documents of the current tenant that match a metadata filter, with their number of chunks. Of those it is asked whether the caller may
-- read them: a filter mostly leaves fewer than are withheld. Planned for the filter at hand, as count_filtered is.
CREATE OR REPLACE FUNCTION rag.filter_documents(collections uuid[], filter jsonb)
RETURNS TABLE (document_id uuid, chunk_count integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  readers text[] := own_principals(); everything boolean := coalesce(current_setting('app.principals', true) = '*', false);
BEGIN
  RETURN QUERY
  SELECT d.id, d.chunk_count FROM documents d
  WHERE d.tenant_id = tenant AND d.collection_id = ANY (collections) AND d.metadata @> filter
    AND (everything OR d.access IS NULL OR d.access && readers);
END
$$;

COMMENT ON FUNCTION rag.filter_documents IS 'Documents of the current tenant that match a metadata filter.';

-- A filter that matches a large part of a collection need not be counted to the end to know that it does; each document
-- costs reading it. Planned for the filter at hand: by its GIN index, or by the collection where that is small; never by
-- reading all documents in the hope that enough of this collection come soon.
CREATE OR REPLACE FUNCTION rag.count_filtered(collection uuid, filter jsonb, enough integer) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
DECLARE
  tenant bigint := current_tenant();
  total integer := 0; chunks integer;
  readers text[] := own_principals(); everything boolean := coalesce(current_setting('app.principals', true) = '*', false);
BEGIN
  FOR chunks IN
    SELECT d.chunk_count FROM documents d
    WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.metadata @> filter
      AND (everything OR d.access IS NULL OR d.access && readers)
  LOOP
    total := total + chunks;
    EXIT WHEN total > enough;
  END LOOP;
  RETURN total;
END
$$;

COMMENT ON FUNCTION rag.count_filtered IS
  'Chunks of a collection of the current tenant that a metadata filter leaves; where they are more than enough, some number above it.';
