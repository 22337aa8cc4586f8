-- Documents as such: which of them mention, come from, are in; and what they name. Every number is counted here, so that
-- an answer that lists the first few still knows how many there are.

-- name: documents
-- Indexed documents of collection $2 (by name) that meet everything, and for each the first passage that holds a term:
--   $3 a metadata filter; $4 terms, as [[a, b], [c]]: (a or b) and c; $5 terms of which none may stand in it;
--   $6 how a term of several words is looked for: 'phrase', one after the other, or 'words', all in one passage;
--   $7 language; $8 part of the media type; $9, $10 first and last year; $11 authors; $12 sources (persons, organisations,
--   places it is from), both as patterns; $13 words for the kind of document; $14 documents (null: all);
--   $15 to $18 metadata keys of topics, years, authors and kinds, in lower case; $19 what stands before an author's name in a
--   text; $20 whether the word for the kind may also stand in the title or the file name.
-- Terms are looked for in any inflection of the language of each passage, its title and headings included; a term is also met by
-- a topic of the document's metadata. A year is that of the metadata, else of the title or the file name, else of the first
-- passage. An author is one of the metadata, else one whom the first 400 characters name
-- as such; a source stands anywhere in them, or in the metadata.
WITH collection AS MATERIALIZED (
  SELECT c.id FROM rag.collections c WHERE c.tenant_id = $1 AND c.name = $2
), documents AS MATERIALIZED (
  SELECT d.id, d.external_id, d.title, d.media_type, d.language, d.updated_at, d.created_at, d.metadata, d.version
  FROM collection c JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  WHERE d.status = 'indexed' AND d.metadata @> $3::jsonb AND ($14::uuid[] IS NULL OR d.id = ANY ($14::uuid[]))
), terms AS MATERIALIZED (
  SELECT g.number, t.term, false AS banned
  FROM jsonb_array_elements($4::jsonb) WITH ORDINALITY AS g (terms, number), jsonb_array_elements_text(g.terms) AS t (term)
  UNION ALL
  SELECT 0, term, true FROM unnest($5::text[]) AS term
), questions AS MATERIALIZED (
  SELECT t.number, t.term, t.banned, s.regconfig,
    CASE $6::text WHEN 'phrase' THEN phraseto_tsquery(s.config, t.term) ELSE plainto_tsquery(s.config, t.term) END AS question
  FROM terms t CROSS JOIN (
    SELECT DISTINCT s.regconfig, rag.config_named(s.regconfig) AS config FROM rag.lexical_stats s JOIN collection c ON s.tenant_id = $1 AND s.collection_id = c.id) AS s
), holding AS MATERIALIZED (
  -- one statement a term and language, so that each can use the index of the words
  SELECT q.number, q.banned, q.term, found.document_id, min(found.ordinal) AS ordinal, count(*) AS passages
  FROM questions q CROSS JOIN LATERAL (
    SELECT p.document_id, p.ordinal FROM rag.passages p, collection c
    WHERE p.tenant_id = $1 AND p.collection_id = c.id AND p.regconfig = q.regconfig AND p.search_vector @@ q.question
    OFFSET 0) AS found
  WHERE numnode(q.question) > 0
  GROUP BY q.number, q.banned, q.term, found.document_id
  UNION ALL
  SELECT t.number, t.banned, t.term, d.id, NULL, 0
  FROM terms t JOIN documents d ON EXISTS (
    SELECT 1 FROM jsonb_each(d.metadata) AS e (key, value)
    WHERE lower(e.key) = ANY ($15::text[]) AND (e.value @> to_jsonb(t.term) OR lower(e.value #>> '{}') = lower(t.term)))
), known AS (
  SELECT d.*, first.content AS opening,
    (SELECT substring(e.value #>> '{}' FROM '(?:^|\D)((?:1[5-9]|20)\d\d)(?:\D|$)')::integer
     FROM jsonb_each(d.metadata) AS e (key, value)
     WHERE lower(e.key) = ANY ($16::text[]) AND e.value #>> '{}' ~ '(?:1[5-9]|20)\d\d' ORDER BY e.key LIMIT 1) AS stated_year,
    (SELECT string_agg(e.value #>> '{}', '; ') FROM jsonb_each(d.metadata) AS e (key, value)
     WHERE lower(e.key) = ANY ($17::text[])) AS stated_author
  FROM documents d LEFT JOIN LATERAL (
    SELECT left(p.content, 400) AS content FROM rag.passages p
    WHERE p.tenant_id = $1 AND p.document_id = d.id AND p.ordinal = 0) AS first
    ON $9::integer IS NOT NULL OR cardinality($11::text[]) > 0 OR cardinality($12::text[]) > 0
), fitting AS MATERIALIZED (
  SELECT d.id, d.external_id, d.title, d.media_type, d.language, d.updated_at, d.created_at, d.stated_year, d.version
  FROM known d
  WHERE ($7::text IS NULL OR d.language = $7::text)
    AND ($8::text IS NULL OR strpos(d.media_type, $8::text) > 0)
    AND ($9::integer IS NULL OR CASE
      WHEN d.stated_year IS NOT NULL THEN d.stated_year BETWEEN $9::integer AND $10::integer
      WHEN concat(d.title, ' ', d.external_id) ~ '(?:1[5-9]|20)\d\d' THEN EXISTS (
        SELECT 1 FROM regexp_matches(concat(d.title, ' ', d.external_id), '(?:^|\D)((?:1[5-9]|20)\d\d)(?=\D|$)', 'g') AS y
        WHERE y[1]::integer BETWEEN $9::integer AND $10::integer)
      ELSE EXISTS (SELECT 1 FROM regexp_matches(d.opening, '(?:^|\D)((?:1[5-9]|20)\d\d)(?=\D|$)', 'g') AS y
        WHERE y[1]::integer BETWEEN $9::integer AND $10::integer) END)
    AND NOT EXISTS (SELECT 1 FROM unnest($11::text[]) AS name WHERE CASE WHEN d.stated_author IS NOT NULL
      THEN d.stated_author !~* name ELSE coalesce(d.opening, '') !~* concat($19::text, name) END)
    AND NOT EXISTS (SELECT 1 FROM unnest($12::text[]) AS name
      WHERE concat_ws(' ', d.stated_author, CASE WHEN d.stated_author IS NULL THEN d.opening END) !~* name
        AND NOT EXISTS (SELECT 1 FROM jsonb_each(d.metadata) AS e (key, value) WHERE e.value #>> '{}' ~* name))
    AND (cardinality($13::text[]) = 0
      OR EXISTS (SELECT 1 FROM jsonb_each(d.metadata) AS e (key, value)
        WHERE lower(e.key) = ANY ($18::text[]) AND lower(e.value #>> '{}') = ANY ($13::text[]))
      OR ($20 AND concat(d.title, ' ', d.external_id) ~* concat('(?:^|[^[:alpha:]])(?:', array_to_string($13::text[], '|'), ')(?:[^[:alpha:]]|$)')))
    AND NOT EXISTS (SELECT 1 FROM terms t WHERE NOT t.banned AND NOT EXISTS (
      SELECT 1 FROM holding h WHERE h.number = t.number AND NOT h.banned AND h.document_id = d.id))
    AND NOT EXISTS (SELECT 1 FROM holding h WHERE h.banned AND h.document_id = d.id)
)
SELECT f.id, f.external_id, f.title, f.media_type, f.language, f.updated_at, f.stated_year,
  (SELECT max(coalesce((p.landmarks -> -1 ->> 1)::integer, p.page)) FROM rag.passages p
   WHERE p.tenant_id = $1 AND p.document_id = f.id AND p.page IS NOT NULL) AS pages,
  proof.passage_id, proof.term
FROM fitting f
LEFT JOIN LATERAL (
  SELECT p.id AS passage_id, h.term FROM holding h
  JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = f.id AND p.ordinal = coalesce(h.ordinal, 0)
  WHERE h.document_id = f.id AND NOT h.banned ORDER BY h.ordinal IS NULL, h.number, h.ordinal LIMIT 1) AS term ON true
LEFT JOIN LATERAL (
  SELECT coalesce(term.passage_id, p.id) AS passage_id, term.term FROM rag.passages p
  WHERE p.tenant_id = $1 AND p.document_id = f.id ORDER BY p.ordinal LIMIT 1) AS proof ON true
ORDER BY f.external_id

-- name: proofs
-- For each of the documents $2 the first passage in whose text, not only above it, the words of term $3 stand: one after the
-- other if anywhere, else all of them.
SELECT DISTINCT ON (p.document_id) p.document_id, p.id AS passage_id
FROM rag.passages p
WHERE p.tenant_id = $1 AND p.document_id = ANY ($2::uuid[]) AND p.search_vector @@ plainto_tsquery(rag.config_named(p.regconfig), $3)
  AND to_tsvector(rag.config_named(p.regconfig), p.content) @@ plainto_tsquery(rag.config_named(p.regconfig), $3)
ORDER BY p.document_id, to_tsvector(rag.config_named(p.regconfig), p.content) @@ phraseto_tsquery(rag.config_named(p.regconfig), $3) DESC, p.ordinal

-- name: kinds_known
-- Whether any indexed document of collection $2 is of a kind that is called by one of the words $3, by its metadata (keys $4) or,
-- where $5, by its title or file name.
SELECT EXISTS (
  SELECT 1 FROM rag.collections c JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND (
    EXISTS (SELECT 1 FROM jsonb_each(d.metadata) AS e (key, value)
      WHERE lower(e.key) = ANY ($4::text[]) AND lower(e.value #>> '{}') = ANY ($3::text[]))
    OR ($5 AND concat(d.title, ' ', d.external_id) ~* concat('(?:^|[^[:alpha:]])(?:', array_to_string($3::text[], '|'), ')(?:[^[:alpha:]]|$)'))))

-- name: unstated
-- How many indexed documents of collection $2 that have the metadata $3, of documents $4 (null: all) and none of documents $5, say
-- nothing of what was asked for: no author in their metadata (keys $6), no year there (keys $7) or in the title or file name, no
-- kind there (keys $8). A list of what others say of themselves may lack these.
SELECT
  count(*) FILTER (WHERE NOT d.keys && $6::text[]) AS authors,
  count(*) FILTER (WHERE NOT d.keys && $7::text[] AND NOT d.named ~ '(?:^|\D)(?:1[5-9]|20)\d\d(?:\D|$)') AS years,
  count(*) FILTER (WHERE NOT d.keys && $8::text[]) AS kind
FROM (
  SELECT ARRAY(SELECT lower(k.key) FROM jsonb_object_keys(d.metadata) AS k (key)) AS keys, concat(d.title, ' ', d.external_id) AS named
  FROM rag.collections c JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed' AND d.metadata @> $3::jsonb
    AND ($4::uuid[] IS NULL OR d.id = ANY ($4::uuid[])) AND NOT d.id = ANY ($5::uuid[])
) AS d

-- name: volume
-- Words of the documents $2, and pages of those that have some.
SELECT count(*) AS documents,
  coalesce(sum(regexp_count(t.text, '\w+')), 0)::bigint AS words,
  coalesce(sum(pages.last), 0)::bigint AS pages, count(pages.last) AS paged
FROM rag.document_texts t
LEFT JOIN LATERAL (
  SELECT max(coalesce((p.landmarks -> -1 ->> 1)::integer, p.page)) AS last FROM rag.passages p
  WHERE p.tenant_id = $1 AND p.document_id = t.document_id AND p.page IS NOT NULL) AS pages ON true
WHERE t.tenant_id = $1 AND t.document_id = ANY ($2::uuid[])

-- name: entities
-- Entities that are taken for the kind $3 most often, and that the documents $2 name: those of most documents first, each with its
-- first place. Of what was merged the entity that stands for it.
SELECT e.name, count(DISTINCT p.document_id) AS documents, count(*) OVER () AS everything,
  (array_agg(m.passage_id ORDER BY d.external_id, p.ordinal, m.char_start))[1] AS passage_id,
  (array_agg(m.char_start ORDER BY d.external_id, p.ordinal, m.char_start))[1] AS char_start,
  (array_agg(m.char_end ORDER BY d.external_id, p.ordinal, m.char_start))[1] AS char_end
FROM rag.documents d
JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = d.id
JOIN rag.mentions m ON m.tenant_id = $1 AND m.passage_id = p.id AND m.occurrences > 0
JOIN rag.entities o ON o.tenant_id = $1 AND o.id = m.entity_id
JOIN rag.entities e ON e.tenant_id = $1 AND e.id = o.canonical_id
WHERE d.tenant_id = $1 AND d.id = ANY ($2::uuid[]) AND e.kind = $3
GROUP BY e.id, e.name ORDER BY 2 DESC, count(DISTINCT p.id) DESC, e.name COLLATE "C" LIMIT $4

-- name: dates
-- What matches the pattern $3 in the documents $2, as it is written, with the documents and the first place.
SELECT f.said, array_agg(DISTINCT f.document_id) AS documents,
  (array_agg(f.passage_id ORDER BY f.external_id, f.ordinal))[1] AS passage_id
FROM (
  SELECT m[1] AS said, p.document_id, p.id AS passage_id, p.ordinal, d.external_id
  FROM rag.documents d JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = d.id
  CROSS JOIN LATERAL regexp_matches(p.content, $3, 'gi') AS m
  WHERE d.tenant_id = $1 AND d.id = ANY ($2::uuid[])
) AS f
GROUP BY f.said
