-- What the graph leg of a search reads of one collection, in one statement (docs/adr/0024-graph-leg.md); app/cairn/graph/rank.py makes
-- scores of it. Runs with the caller's rights: every table is met by key. Rows, told apart by what is null:
--
--   passage_id null           the words of the question: `held` their places in it, `weights` their idf
--   seed_id = passage_id      a seed: `held` the words that it holds; `topic`: it mentions what the question names
--   seed_id other than that   a link: seed and passage mention `entity_id`, as `passages` of the collection do; `topic`: it is
--                             a title or heading of the passage; `said`: words of the question in the sentences of the seed
--                             that mention it
--   seed_id null              the passage mentions `entity_id`, which the question names: one of `passages`, of which `about`
--                             have it as their title or heading; `topic`: so has this one
--
-- `keys`: normal forms that the question names things by; `named`: entities that it names besides. Entities that were merged are
-- one. What more than `most` passages mention joins nothing; of the links the `links` rarest are read. `filter` and `conditions`
-- bind the passages found as they bind the other legs; seeds came through them already.
--
-- What the question names begins no walk where it fills a document or the collection: more than the share `everywhere` of its at
-- least `many` passages mention it (NULL: every name begins one). Where the question names nothing else that the collection knows,
-- there are no rows but the first.
--
-- A word of the question is known by its place there, which is the same in every language (rag.lexical_question).
DROP FUNCTION IF EXISTS rag.graph_leg(uuid, uuid[], text[], uuid[], text, integer, integer, jsonb, jsonb);
CREATE OR REPLACE FUNCTION rag.graph_leg(
  collection uuid, seeds uuid[], keys text[], named uuid[], query text, most integer, links integer,
  filter jsonb DEFAULT NULL, conditions jsonb DEFAULT NULL, everywhere float8 DEFAULT NULL, many integer DEFAULT NULL
) RETURNS TABLE (
  seed_id uuid, passage_id uuid, document_id uuid, entity_id uuid, passages integer, about integer, topic boolean,
  said integer[], held integer[], weights float8[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  origins uuid[]; scope uuid[]; inclusive boolean := (conditions ->> 'inclusive')::boolean;
  configs text[]; lexemes text[]; codes integer[]; places integer[]; idfs float8[];
BEGIN
  origins := ARRAY(
    SELECT DISTINCT e.canonical_id FROM (
      SELECT a.entity_id FROM unnest(keys) AS k (form) CROSS JOIN LATERAL (
        SELECT a.entity_id FROM entity_aliases a
        WHERE a.tenant_id = tenant AND a.collection_id = collection AND a.form = k.form LIMIT 20) AS a
      UNION SELECT unnest(named)
    ) AS f CROSS JOIN LATERAL (
      SELECT e.canonical_id FROM entities e
      WHERE e.tenant_id = tenant AND e.id = f.entity_id AND e.collection_id = collection OFFSET 0) AS e);
  IF conditions IS NOT NULL THEN
    scope := ARRAY(SELECT s.passage_id FROM scope_passages(ARRAY[collection], conditions, filter) AS s);
  END IF;
  SELECT w.* INTO configs, lexemes, codes, places, idfs FROM question_words(collection, query) AS w;

  passage_id := NULL; held := places; weights := idfs;
  RETURN NEXT;

  IF everywhere IS NOT NULL AND cardinality(origins) > 0 THEN
    origins := ARRAY(
      SELECT o.id FROM unnest(origins) AS o (id)
      WHERE NOT stands_everywhere(collection, o.id, everywhere, many, links));
    IF cardinality(origins) = 0 THEN
      RETURN;
    END IF;
  END IF;

  RETURN QUERY
  -- links
  WITH seed AS MATERIALIZED (
    SELECT s.id, p.content, p.char_start, p.regconfig FROM unnest(seeds) AS s (id) CROSS JOIN LATERAL (
      SELECT p.content, p.char_start, p.regconfig FROM rag.passages p
      WHERE p.tenant_id = tenant AND p.id = s.id AND p.collection_id = collection OFFSET 0) AS p
  ), spoken AS MATERIALIZED (
    -- entities of the seeds, with the beginnings of their mentions
    SELECT s.id AS seed_id, e.canonical_id AS entity_id,
      array_agg(m.char_start) FILTER (WHERE m.occurrences > 0) AS starts
    FROM seed s
    CROSS JOIN LATERAL (
      SELECT m.entity_id, m.char_start, m.occurrences FROM mentions m
      WHERE m.tenant_id = tenant AND m.passage_id = s.id OFFSET 0) AS m
    CROSS JOIN LATERAL (
      SELECT e.canonical_id FROM entities e WHERE e.tenant_id = tenant AND e.id = m.entity_id OFFSET 0) AS e
    GROUP BY s.id, e.canonical_id
  ), bridge AS MATERIALIZED (
    -- each with all that was merged into it
    SELECT b.id AS entity_id, s.members, s.passages
    FROM (SELECT DISTINCT entity_id AS id FROM spoken) AS b CROSS JOIN LATERAL (
      SELECT array_agg(e.id) AS members, sum(e.passage_count)::integer AS passages FROM (
        SELECT e.id, e.passage_count FROM entities e WHERE e.tenant_id = tenant AND e.id = b.id
        UNION ALL
        SELECT e.id, e.passage_count FROM entities e
        WHERE e.tenant_id = tenant AND e.canonical_id = b.id AND e.canonical_id <> e.id) AS e) AS s
    WHERE s.passages BETWEEN 2 AND most
  ), far AS MATERIALIZED (
    SELECT b.entity_id, b.passages, m.passage_id, bool_or(m.kind = 'topic' AND m.occurrences > 0) AS topic
    FROM bridge b CROSS JOIN LATERAL unnest(b.members) AS o (id) CROSS JOIN LATERAL (
      SELECT m.passage_id, m.kind, m.occurrences FROM mentions m
      WHERE m.tenant_id = tenant AND m.entity_id = o.id OFFSET 0) AS m
    GROUP BY b.entity_id, b.passages, m.passage_id
  ), link AS MATERIALIZED (
    SELECT s.seed_id, f.passage_id, f.entity_id, f.passages, f.topic
    FROM spoken s JOIN far f ON f.entity_id = s.entity_id AND f.passage_id <> s.seed_id
    ORDER BY f.passages, s.seed_id, f.passage_id, f.entity_id LIMIT links
  ), origin AS MATERIALIZED (
    SELECT o.id AS entity_id, s.members, s.passages FROM unnest(origins) AS o (id) CROSS JOIN LATERAL (
      SELECT array_agg(e.id) AS members, sum(e.passage_count)::integer AS passages FROM (
        SELECT e.id, e.passage_count FROM entities e WHERE e.tenant_id = tenant AND e.id = o.id
        UNION ALL
        SELECT e.id, e.passage_count FROM entities e
        WHERE e.tenant_id = tenant AND e.canonical_id = o.id AND e.canonical_id <> e.id) AS e) AS s
  ), mentioned AS MATERIALIZED (
    SELECT o.entity_id, o.passages, m.passage_id, m.topic, (count(*) FILTER (WHERE m.topic) OVER here)::integer AS about,
      row_number() OVER (here ORDER BY m.topic DESC, m.occurrences DESC, m.passage_id) AS place
    FROM origin o CROSS JOIN LATERAL (
      SELECT m.passage_id, bool_or(m.kind = 'topic' AND m.occurrences > 0) AS topic, sum(m.occurrences) AS occurrences
      FROM (
        SELECT m.* FROM unnest(o.members) AS x (id) CROSS JOIN LATERAL (
          SELECT m.passage_id, m.kind, m.occurrences FROM mentions m
          WHERE m.tenant_id = tenant AND m.entity_id = x.id OFFSET 0) AS m
        LIMIT links) AS m
      GROUP BY m.passage_id) AS m
    WINDOW here AS (PARTITION BY o.entity_id)
  ), held AS MATERIALIZED (
    SELECT l.passage_id, l.document_id, h.places
    FROM (SELECT passage_id FROM link UNION SELECT passage_id FROM mentioned UNION SELECT id FROM seed) AS c
    CROSS JOIN LATERAL (
      SELECT l.passage_id, l.document_id, l.regconfig, l.keys FROM lexical_index l
      WHERE l.tenant_id = tenant AND l.passage_id = c.passage_id OFFSET 0) AS l
    CROSS JOIN LATERAL (
      SELECT array_agg(DISTINCT w.place) AS places FROM unnest(configs, codes, places) AS w (config, code, place)
      WHERE w.config = l.regconfig AND w.code = ANY (l.keys)) AS h
  ), open AS MATERIALIZED (
    SELECT h.* FROM held h
    WHERE (scope IS NULL OR (h.passage_id IN (SELECT unnest(scope))) = inclusive)
      AND (filter IS NULL OR EXISTS (
        SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.id = h.document_id AND d.metadata @> filter))
  ), cue AS MATERIALIZED (
    -- where seeds mention what links them: the words of no other sentences are asked for, since finding them is dear
    SELECT s.seed_id, s.entity_id, x.start FROM spoken s CROSS JOIN LATERAL unnest(s.starts) AS x (start)
    WHERE (s.seed_id, s.entity_id) IN (SELECT k.seed_id, k.entity_id FROM link k)
  ), part AS MATERIALIZED (
    SELECT p.* FROM (
      SELECT s.id AS seed_id, s.regconfig, t.part, s.char_start + t.stop - length(t.part) AS start,
        s.char_start + t.stop AS stop
      FROM (SELECT * FROM seed WHERE id IN (SELECT c.seed_id FROM cue c) OFFSET 0) AS s CROSS JOIN LATERAL (
        SELECT part, sum(length(part)) OVER (ORDER BY nth)::integer AS stop
        FROM unnest(string_to_array(marked_sentences(s.content), E'\x01')) WITH ORDINALITY AS x (part, nth)) AS t
    ) AS p
    WHERE EXISTS (SELECT 1 FROM cue c WHERE c.seed_id = p.seed_id AND c.start >= p.start AND c.start < p.stop)
  ), sentence AS MATERIALIZED (
    SELECT p.seed_id, p.start, p.stop, w.places
    FROM part p
    CROSS JOIN LATERAL (SELECT tsvector_to_array(to_tsvector(config_named(p.regconfig), p.part)) AS words OFFSET 0) AS v
    CROSS JOIN LATERAL (
      SELECT array_agg(DISTINCT w.place) AS places FROM unnest(configs, lexemes, places) AS w (config, lexeme, place)
      WHERE w.config = p.regconfig AND w.lexeme = ANY (v.words)) AS w
    WHERE w.places IS NOT NULL
  ), says AS MATERIALIZED (
    SELECT c.seed_id, c.entity_id, array_agg(DISTINCT p.place) AS places
    FROM cue c JOIN sentence t ON t.seed_id = c.seed_id AND c.start >= t.start AND c.start < t.stop
    CROSS JOIN LATERAL unnest(t.places) AS p (place)
    GROUP BY c.seed_id, c.entity_id
  )
  SELECT h.passage_id, h.passage_id, h.document_id, NULL::uuid, NULL::integer, NULL::integer,
    EXISTS (SELECT 1 FROM spoken m WHERE m.seed_id = h.passage_id AND m.entity_id = ANY (origins)), NULL::integer[], h.places,
    NULL::float8[]
  FROM held h WHERE h.passage_id = ANY (seeds)
  UNION ALL
  SELECT k.seed_id, k.passage_id, o.document_id, k.entity_id, k.passages, NULL, k.topic, y.places, o.places, NULL
  FROM link k JOIN open o ON o.passage_id = k.passage_id
  LEFT JOIN says y ON y.seed_id = k.seed_id AND y.entity_id = k.entity_id
  UNION ALL
  SELECT NULL, m.passage_id, o.document_id, m.entity_id, m.passages, m.about, m.topic, NULL, o.places, NULL
  FROM mentioned m JOIN open o ON o.passage_id = m.passage_id
  WHERE m.place <= links;
  -- end of links
END
$$;
COMMENT ON FUNCTION rag.graph_leg(uuid, uuid[], text[], uuid[], text, integer, integer, jsonb, jsonb, float8, integer) IS
  'Passages that mention what the question names, or the same as one of the seeds; see sql/functions/graph_leg.sql.';

-- The leg outside a transaction: the tenant is set for this statement, as in rag.search_collection, and no row comes where the
-- collection has another epoch than the text legs saw. Their passages and these rows are of one state then.
DROP FUNCTION IF EXISTS rag.graph_leg_at(bigint, uuid, bigint, uuid[], text[], text, integer, integer);
CREATE OR REPLACE FUNCTION rag.graph_leg_at(
  tenant bigint, collection uuid, epoch bigint, seeds uuid[], keys text[], query text, most integer, links integer,
  everywhere float8, many integer
) RETURNS TABLE (
  seed_id uuid, passage_id uuid, document_id uuid, entity_id uuid, passages integer, about integer, topic boolean,
  said integer[], held integer[], weights float8[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  PERFORM enter_tenant(tenant);
  IF EXISTS (
    SELECT 1 FROM collections c WHERE c.tenant_id = tenant AND c.id = collection AND c.epoch = graph_leg_at.epoch)
  THEN
    RETURN QUERY SELECT * FROM graph_leg(collection, seeds, keys, '{}', query, most, links, NULL, NULL, everywhere, many);
  END IF;
END
$$;
COMMENT ON FUNCTION rag.graph_leg_at(bigint, uuid, bigint, uuid[], text[], text, integer, integer, float8, integer) IS
  'rag.graph_leg for a tenant, as long as the collection has this epoch; see sql/functions/graph_leg.sql.';

-- Whether more than this share of the passages of a document, or of the collection, mention an entity or what was merged into it;
-- documents and collections of fewer than `many` passages tell nothing. At most `links` mentions are read.
CREATE OR REPLACE FUNCTION rag.stands_everywhere(
  collection uuid, entity uuid, share float8, many integer, links integer
) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN (
    WITH member AS MATERIALIZED (
      SELECT e.id, e.passage_count FROM entities e WHERE e.tenant_id = tenant AND e.id = entity
      UNION ALL
      SELECT e.id, e.passage_count FROM entities e
      WHERE e.tenant_id = tenant AND e.canonical_id = entity AND e.canonical_id <> e.id
    ), held AS MATERIALIZED (
      SELECT l.document_id, count(DISTINCT m.passage_id) AS here FROM (
        SELECT m.passage_id FROM member e CROSS JOIN LATERAL (
          SELECT m.passage_id FROM mentions m
          WHERE m.tenant_id = tenant AND m.entity_id = e.id AND m.occurrences > 0 OFFSET 0) AS m
        LIMIT links
      ) AS m CROSS JOIN LATERAL (
        SELECT l.document_id FROM lexical_index l
        WHERE l.tenant_id = tenant AND l.passage_id = m.passage_id OFFSET 0) AS l
      GROUP BY l.document_id
    )
    SELECT EXISTS (
      SELECT 1 FROM collections c CROSS JOIN LATERAL (
        SELECT c.passage_count - h.passages AS passages FROM count_restricted(tenant, c.id) AS h) AS open  -- of which the graph is
      WHERE c.tenant_id = tenant AND c.id = collection AND open.passages >= many
        AND (SELECT sum(e.passage_count) FROM member e) > share * open.passages
    ) OR EXISTS (
      SELECT 1 FROM held h CROSS JOIN LATERAL (
        SELECT d.passage_count FROM documents d
        WHERE d.tenant_id = tenant AND d.id = h.document_id OFFSET 0) AS d
      WHERE d.passage_count >= many AND h.here > share * d.passage_count));
END
$$;
COMMENT ON FUNCTION rag.stands_everywhere IS
  'Whether most passages of a document or of the collection mention an entity; see sql/functions/graph_leg.sql.';

-- The words of a question as the passages of a collection in each of its languages hold them: configuration, lexeme, key, place
-- in the question, and the idf of the word there as rag.lexical_question has it; 1 where something is withheld from the caller, since how
-- rare a word is goes by withheld passages, too. Of the languages of readable passages.
CREATE OR REPLACE FUNCTION rag.question_words(
  collection uuid, query text,
  OUT configs text[], OUT lexemes text[], OUT codes integer[], OUT places integer[], OUT idfs float8[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  withheld boolean := collection = ANY (withholding_collections());
BEGIN
  WITH stats AS MATERIALIZED (
    SELECT s.regconfig, s.passage_count AS n, sum(s.passage_count) OVER () AS everything, c.lex_seed
    FROM lexical_stats s JOIN collections c ON c.tenant_id = s.tenant_id AND c.id = s.collection_id
    LEFT JOIN LATERAL count_hidden_languages(CASE WHEN withheld THEN c.id END) AS h ON h.language = s.regconfig
    WHERE s.tenant_id = tenant AND s.collection_id = collection AND s.passage_count > coalesce(h.passages, 0)
  ), word AS (
    SELECT s.*, w.lexeme, lexeme_key(s.lex_seed, s.regconfig, w.lexeme) AS key, place
    FROM stats s CROSS JOIN LATERAL unnest(to_tsvector(config_named(s.regconfig), query)) AS w
    CROSS JOIN LATERAL unnest(coalesce(w.positions, '{0}')) AS place
  ), known AS (
    SELECT w.*, coalesce(t.document_frequency, 0) AS df FROM word w LEFT JOIN LATERAL (
      SELECT t.document_frequency FROM lexical_terms t
      WHERE t.tenant_id = tenant AND t.collection_id = collection AND t.key = w.key LIMIT 1) AS t ON true
  ), pooled AS (
    SELECT *, least(sum(df) OVER here + everything - sum(n) OVER here, everything) AS everywhere
    FROM known WINDOW here AS (PARTITION BY place)
  )
  SELECT array_agg(regconfig), array_agg(lexeme), array_agg(key), array_agg(place::integer),
         array_agg(CASE WHEN withheld THEN 1 ELSE ln(1 + (everything - everywhere + .5) / (everywhere + .5)) END::float8)
  INTO configs, lexemes, codes, places, idfs
  FROM pooled;
END
$$;
COMMENT ON FUNCTION rag.question_words(uuid, text) IS 'Words of a question in the languages of a collection of the current tenant.';

-- A text with a mark after each sentence, and otherwise as it was. Initials and short abbreviations end none.
CREATE OR REPLACE FUNCTION rag.marked_sentences(content text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN regexp_replace(
  translate(content, E'\x01', ' '), E'((?:[\\w)\\]"”»]{3}[.]|[!?])["”’»)\\]]*\\s+|\n\\s*\n)', E'\\1\x01', 'g');
COMMENT ON FUNCTION rag.marked_sentences(text) IS 'The text with U+0001 after each sentence.';
