-- What a collection knows of the words of a message, from the statistics of BM25.

-- name: frequencies
-- Passages of collection $2 (by name) that hold each of the words $3, with the passages that there are and the language of
-- most of them. Passages have one language each, so frequencies add up over languages. A word of several lexemes
-- ("pg_stat_io") is as frequent as its rarest one; a stop word, which has none, stands in every passage of its language.
WITH stats AS MATERIALIZED (
  SELECT s.collection_id, s.regconfig, s.passage_count, c.lex_seed
  FROM rag.collections c
  JOIN rag.lexical_stats s ON s.tenant_id = $1 AND s.collection_id = c.id
  WHERE c.tenant_id = $1 AND c.name = $2
), found AS (
  SELECT w.place, s.regconfig, s.passage_count, l.lexeme IS NULL AS stop_word,
         min(coalesce(t.document_frequency, 0)) AS frequency
  FROM unnest($3::text[]) WITH ORDINALITY AS w (word, place)
  CROSS JOIN stats s
  LEFT JOIN LATERAL unnest(to_tsvector(s.regconfig, w.word)) AS l ON true
  LEFT JOIN LATERAL (
    -- limited, so that each word is looked up by key: a join would read the vocabulary of the collection
    SELECT t.document_frequency FROM rag.lexical_terms t
    WHERE t.tenant_id = $1 AND t.collection_id = s.collection_id
      AND t.key = rag.lexeme_key(s.lex_seed, s.regconfig::text, l.lexeme)
    LIMIT 1
  ) AS t ON true
  GROUP BY w.place, s.regconfig, s.passage_count, stop_word
)
SELECT (SELECT coalesce(sum(passage_count), 0)::bigint FROM stats) AS passages,
       (SELECT regconfig::text FROM stats ORDER BY passage_count DESC, regconfig::text LIMIT 1) AS language,
       ARRAY(
         SELECT sum(CASE WHEN stop_word THEN passage_count ELSE frequency END)::bigint FROM found GROUP BY place ORDER BY place
       ) AS frequencies
