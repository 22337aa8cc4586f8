-- What a collection holds: its documents as such, their metadata, and the words of its passages.

-- name: documents
SELECT d.id, d.external_id, d.title, d.media_type, d.language, d.updated_at, (
  SELECT max(coalesce((p.landmarks -> -1 ->> 1)::integer, p.page)) FROM rag.passages p
  WHERE p.tenant_id = $1 AND p.document_id = d.id AND p.page IS NOT NULL) AS pages
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND d.metadata @> $3
ORDER BY d.external_id LIMIT $4

-- name: totals
SELECT count(*) FILTER (WHERE d.status = 'indexed') AS documents,
  count(*) FILTER (WHERE d.status <> 'indexed') AS unready,
  coalesce(sum(d.passage_count) FILTER (WHERE d.status = 'indexed'), 0)::bigint AS passages
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.metadata @> $3

-- name: kinds
SELECT d.media_type, coalesce(d.language, '') AS language, count(*) AS documents
FROM rag.documents d JOIN rag.collections c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
WHERE d.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND d.metadata @> $3
GROUP BY 1, 2

-- name: filled
SELECT f.name FROM (
  SELECT c.name, c.document_count - CASE WHEN c.id = ANY ((SELECT rag.withholding_collections())::uuid[])
    THEN (SELECT h.documents FROM rag.count_hidden(c.id) AS h) ELSE 0 END AS documents
  FROM rag.collections c WHERE c.tenant_id = $1 AND c.document_count > 0
) AS f WHERE f.documents > 0 ORDER BY f.documents DESC, f.name LIMIT $2

-- name: metadata_values
-- Distinct values of the metadata keys $3 (lower case) in up to $4 indexed documents of collection $2 (by name).
SELECT e.key, e.value
FROM (
  SELECT d.metadata FROM rag.collections c
  JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed'
  LIMIT $4
) AS document
CROSS JOIN LATERAL jsonb_each(document.metadata) AS e (key, value)
WHERE lower(e.key) = ANY ($3::text[])
GROUP BY e.key, e.value ORDER BY e.key, e.value LIMIT 5000

-- name: documents_named
-- Indexed documents of collection $2 (by name) that go by one of the names $3 (lower case): their id, the last part of it,
-- or their title, with or without what stands after a full stop.
SELECT d.external_id, n.name
FROM rag.collections c
JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
CROSS JOIN LATERAL (
  SELECT name FROM unnest($3::text[]) AS asked (name)
  WHERE name IN (lower(d.external_id), lower(regexp_replace(d.external_id, '^.*/', '')), lower(d.title))
    OR regexp_replace(name, '\.\w{1,5}$', '') = lower(d.title)
) AS n
WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed'
ORDER BY n.name, d.external_id LIMIT 50

-- name: count_documents
-- How many documents of collection $2 (by name) a metadata filter leaves.
SELECT count(*) FROM rag.collections c
CROSS JOIN LATERAL rag.filter_documents(ARRAY[c.id], $3::jsonb) AS d
WHERE c.tenant_id = $1 AND c.name = $2

-- name: frequencies
-- From the statistics of BM25:
-- Passages of collection $2 (by name) that hold each of the words $3, with the passages that there are and the language of
-- most of them. Passages have one language each, so frequencies add up over languages. A word of several lexemes
-- ("pg_stat_io") is as frequent as its rarest one; a stop word, which has none, stands in every passage of its language.
WITH stats AS MATERIALIZED (
  SELECT s.collection_id, s.regconfig, s.passage_count - coalesce(h.passages, 0) AS passage_count, c.lex_seed
  FROM rag.collections c
  JOIN rag.lexical_stats s ON s.tenant_id = $1 AND s.collection_id = c.id
  LEFT JOIN LATERAL rag.count_hidden_languages(
    CASE WHEN c.id = ANY ((SELECT rag.withholding_collections())::uuid[]) THEN c.id END) AS h ON h.language = s.regconfig
  WHERE c.tenant_id = $1 AND c.name = $2
), found AS (
  SELECT w.place, s.regconfig, s.passage_count, l.lexeme IS NULL AS stop_word,
         min(coalesce(t.document_frequency, 0)) AS frequency
  FROM unnest($3::text[]) WITH ORDINALITY AS w (word, place)
  CROSS JOIN stats s
  LEFT JOIN LATERAL unnest(to_tsvector(rag.config_named(s.regconfig), w.word)) AS l ON true
  LEFT JOIN LATERAL (
    -- limited, so that each word is looked up by key: a join would read the vocabulary of the collection
    SELECT CASE WHEN s.collection_id = ANY ((SELECT rag.withholding_collections())::uuid[])
      THEN rag.readable_frequency(s.collection_id, t.key) ELSE t.document_frequency END AS document_frequency
    FROM rag.lexical_terms t
    WHERE t.tenant_id = $1 AND t.collection_id = s.collection_id
      AND t.key = rag.lexeme_key(s.lex_seed, s.regconfig, l.lexeme)
    LIMIT 1
  ) AS t ON true
  GROUP BY w.place, s.regconfig, s.passage_count, stop_word
)
SELECT (SELECT coalesce(sum(passage_count), 0)::bigint FROM stats) AS passages,
       (SELECT regconfig FROM stats WHERE passage_count > 0 ORDER BY passage_count DESC, regconfig LIMIT 1) AS language,
       ARRAY(
         SELECT sum(CASE WHEN stop_word THEN passage_count ELSE frequency END)::bigint FROM found GROUP BY place ORDER BY place
       ) AS frequencies

-- name: mentioned
-- Which of the patterns $3 (over lower case without accents, as app/cairn/answer/missing.py makes them) stand in a passage, title,
-- identity or metadata of an indexed document of collection $2 (by name). Each ends at its first text. Accents come off where there
-- are any: that costs ten times as much as to look for a pattern. Where there are none, the literal $4 that the pattern needs
-- (empty: none) is looked for first, which takes a third.
SELECT w.pattern
FROM unnest($3::text[], $4::text[]) AS w (pattern, literal)
WHERE EXISTS (
  SELECT 1 FROM (
    SELECT concat_ws(' ', d.title, d.external_id, d.metadata::text)
    FROM rag.collections c
    JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
    WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed'
    UNION ALL
    SELECT p.content FROM rag.passages p
    WHERE p.tenant_id = $1 AND p.collection_id = (SELECT c.id FROM rag.collections c WHERE c.tenant_id = $1 AND c.name = $2)
    OFFSET 0  -- so that what a document is called is put together once
  ) AS said (text)
  WHERE CASE
    WHEN octet_length(said.text) > char_length(said.text) AND said.text ~ '[À-ɏ\u0300-\u036fḀ-ỿ]'
      THEN regexp_replace(normalize(replace(lower(said.text), '’', ''''), NFD), '[\u0300-\u036f]', '', 'g') ~ w.pattern
    WHEN strpos(lower(said.text COLLATE "C"), w.literal) = 0 THEN false
    ELSE replace(lower(said.text), '’', '''') ~ w.pattern
  END
)

-- name: spelled_nearly
-- The word of collection $2 (by name) that matches pattern $3 whole, in lower case; of several the one in most passages.
SELECT lower(m.word[1]) AS word
FROM rag.collections c
JOIN rag.passages p ON p.tenant_id = $1 AND p.collection_id = c.id
CROSS JOIN LATERAL regexp_matches(lower(p.content), concat('\m(', $3::text, ')\M')) AS m (word)
WHERE c.tenant_id = $1 AND c.name = $2
GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1

-- name: having
-- Documents of collection $2 (by name) under a title or heading, or with an entity, of these names ($3), as far as no more than $4
-- have it.
SELECT DISTINCT unnest(told.documents) AS id
FROM (
  SELECT array_agg(d.id) AS documents
  FROM rag.collections c
  JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id AND d.title = ANY ($3::text[])
  WHERE c.tenant_id = $1 AND c.name = $2
  GROUP BY d.title
  UNION ALL
  SELECT array_agg(DISTINCT p.document_id) AS documents
  FROM rag.collections c
  JOIN rag.passages p ON p.tenant_id = $1 AND p.collection_id = c.id
  CROSS JOIN LATERAL unnest(p.headings) AS h (heading)
  WHERE c.tenant_id = $1 AND c.name = $2 AND p.headings && $3::text[] AND h.heading = ANY ($3::text[])
  GROUP BY h.heading
  UNION ALL
  SELECT array_agg(DISTINCT p.document_id)
  FROM rag.collections c
  JOIN rag.entities e ON e.tenant_id = $1 AND e.collection_id = c.id AND e.name = ANY ($3::text[])
  JOIN rag.mentions m ON m.tenant_id = $1 AND m.entity_id = e.id
  JOIN rag.passages p ON p.tenant_id = $1 AND p.id = m.passage_id
  WHERE c.tenant_id = $1 AND c.name = $2
  GROUP BY e.id
) AS told
WHERE cardinality(told.documents) <= $4

-- name: topics
-- What a collection is about, for somebody whose question it does not answer: titles of its first $3 documents that no other one
-- has, those with the most text first, then headings over their passages. What stands in a fifth of three documents or more
-- ("Context", "OPTIONS") is their form, no topic; nor is what has the number of a postal address.
WITH chosen AS MATERIALIZED (
  SELECT d.id, d.title, d.passage_count FROM rag.collections c
  JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' ORDER BY d.external_id LIMIT $3
), titles AS (
  SELECT min(title) AS topic, max(passage_count) AS passages FROM chosen
  WHERE length(title) BETWEEN 3 AND 60 AND title ~ '[[:alpha:]]{3}' AND title !~ '[[:digit:]]{5}|\.[a-z]{2,5}$'
  GROUP BY lower(title) HAVING count(*) = 1 ORDER BY max(passage_count) DESC, min(title) COLLATE "C" LIMIT $4
), headings AS (
  SELECT min(h.heading) AS topic, count(*) AS passages
  FROM chosen
  JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = chosen.id
  CROSS JOIN LATERAL unnest(p.headings) AS h (heading)
  WHERE length(h.heading) BETWEEN 4 AND 60 AND h.heading ~ '[[:alpha:]]{3}' AND h.heading !~ '[[:digit:]]{5}|\.[a-z]{2,5}$'
    AND lower(h.heading) <> lower(chosen.title)
  GROUP BY lower(h.heading)
  HAVING count(DISTINCT p.document_id) < greatest(3, (SELECT count(*) FROM chosen) / 5.0)
  ORDER BY count(*) DESC, count(DISTINCT p.document_id) DESC, min(h.heading) COLLATE "C" LIMIT $4
)
SELECT topic, title FROM (
  SELECT topic, true AS title, passages FROM titles UNION ALL SELECT topic, false, passages FROM headings
) AS found
ORDER BY title DESC, passages DESC, topic COLLATE "C"
