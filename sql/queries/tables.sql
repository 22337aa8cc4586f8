-- Tables of documents by columns (rag.document_tables, rag.table_columns): written with a document, and computed over;
-- app/cairn/store/tables.py.

-- name: forget
-- The tenant is that of the transaction, as of all that a document is published with. Columns go with their table.
DELETE FROM rag.document_tables WHERE tenant_id = rag.current_tenant() AND document_id = ANY ($1::uuid[])

-- name: write_table
INSERT INTO rag.document_tables (tenant_id, document_id, version, ordinal, char_start, char_end, title, headings, header, starts,
  ends, groups, totals, decimal_mark, complete)
VALUES (rag.current_tenant(), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: write_column
INSERT INTO rag.table_columns (tenant_id, document_id, ordinal, position, filled, numbered, dated, unit, texts, numbers, units,
  dates, keys)
VALUES (rag.current_tenant(), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)

-- name: places
-- Where the tables of a document stand.
SELECT t.char_start, t.char_end FROM rag.document_tables t WHERE t.tenant_id = $1 AND t.document_id = $2 ORDER BY t.ordinal

-- name: beside
-- The tables of documents that reach into spans ($3 to $4) of them, without those of another version than the one that is there.
-- `numeric`: in the first column numbers of different units are names, "G1", "2B". `shared`: the words of its first column that all rows
-- have, where it has at least five. `yearly`: columns of numbers that may be years.
-- `coded`: each cell of the first column has a digit; `serial`: they are whole numbers, and all different; `numbered`: and rise by less
-- than two from row to row; `repeats`: several rows have the same one.
-- `flags`: of columns that say no more than yes or no, how yes is called; "x" may stand for it, and nothing for no.
WITH near AS (
  SELECT DISTINCT ON (t.document_id, t.ordinal) t.*, d.external_id, d.title AS document_title, place.rank
  FROM unnest($2::uuid[], $3::integer[], $4::integer[]) WITH ORDINALITY AS place (document_id, char_start, char_end, rank)
  JOIN rag.document_tables t
    ON t.tenant_id = $1 AND t.document_id = place.document_id AND t.char_start < place.char_end AND place.char_start < t.char_end
  JOIN rag.documents d ON d.tenant_id = $1 AND d.id = t.document_id AND d.version = t.version
  ORDER BY t.document_id, t.ordinal, place.rank
)
SELECT n.document_id, n.ordinal, n.title, n.headings, n.header, cardinality(n.starts) AS rows, n.decimal_mark, n.complete,
  n.external_id, n.document_title, n.rank, kinds.numeric, kinds.dated, kinds.units, kinds.yearly, kinds.flags, alike.words AS shared, coded.is AS coded,
  serial.is AS serial, serial.numbered, again.repeats
FROM near n
CROSS JOIN LATERAL (
  SELECT array_agg(c.numbered > 0 AND 2 * c.numbered > c.filled AND (c.position > 0 OR c.unit IS NOT NULL) ORDER BY c.position) AS numeric,
    array_agg(c.dated > 0 AND c.dated = c.filled ORDER BY c.position) AS dated, array_agg(c.unit ORDER BY c.position) AS units,
    array_agg(c.numbered > 0 AND c.numbered = c.filled AND c.unit = '' AND NOT EXISTS (
      SELECT 1 FROM unnest(c.numbers) AS one (number) WHERE one.number NOT BETWEEN 1500 AND 2100 OR one.number <> trunc(one.number)
    ) ORDER BY c.position) AS yearly,
    array_agg(CASE WHEN c.position > 0 AND NOT EXISTS (
      SELECT 1 FROM unnest(c.keys) AS cell (key) WHERE cell.key <> ALL (
        '{"",yes,no,y,n,true,false,x,ja,nein,wahr,falsch,oui,non,vrai,faux,si,verdadero,falso,vero,✅,✓,✔,☑,🗸,👍,❌,✗,✘,✖,🚫,⛔,👎}'::text[])
    ) THEN (
      SELECT CASE WHEN count(DISTINCT cell.key) = 1 THEN min(cell.key) END
      FROM unnest(c.keys) AS cell (key)
      WHERE cell.key = ANY ('{yes,y,true,x,ja,wahr,oui,vrai,si,verdadero,vero,✅,✓,✔,☑,🗸,👍}'::text[])
    ) END ORDER BY c.position) AS flags
  FROM rag.table_columns c WHERE c.tenant_id = $1 AND c.document_id = n.document_id AND c.ordinal = n.ordinal
) AS kinds
CROSS JOIN LATERAL (
  SELECT coalesce(array_agg(word.one), '{}') AS words
  FROM rag.table_columns c
  CROSS JOIN LATERAL (
    WITH called AS MATERIALIZED (
      SELECT ' ' || cell.key || ' ' AS key FROM unnest(c.keys, n.totals) AS cell (key, total) WHERE NOT cell.total AND cell.key <> ''
    )
    SELECT first.one FROM unnest(string_to_array(c.keys[1], ' ')) AS first (one)
    WHERE length(first.one) > 2 AND NOT EXISTS (SELECT 1 FROM called WHERE position(' ' || first.one || ' ' IN called.key) = 0)
  ) AS word
  WHERE c.tenant_id = $1 AND c.document_id = n.document_id AND c.ordinal = n.ordinal AND c.position = 0 AND cardinality(c.keys) >= 5
) AS alike
CROSS JOIN LATERAL (
  SELECT NOT EXISTS (
    SELECT 1 FROM rag.table_columns c CROSS JOIN LATERAL unnest(c.texts) AS cell (text)
    WHERE c.tenant_id = $1 AND c.document_id = n.document_id AND c.ordinal = n.ordinal AND c.position = 0
      AND cell.text <> '' AND cell.text !~ '\d'
  ) AS is
) AS coded
CROSS JOIN LATERAL (
  SELECT count(*) > 0 AS is, coalesce(bool_or(read.last - read.first < 2 * read.numbers AND read.rising), false) AS numbered
  FROM rag.table_columns c
  CROSS JOIN LATERAL (
    SELECT count(DISTINCT cell.number) AS different, count(cell.number) AS numbers, bool_and(cell.number = trunc(cell.number)) AS whole,
      min(cell.number) AS first, max(cell.number) AS last,
      array_agg(cell.number ORDER BY cell.row) = array_agg(cell.number ORDER BY cell.number) AS rising
    FROM unnest(c.numbers, n.totals) WITH ORDINALITY AS cell (number, total, row) WHERE NOT cell.total
  ) AS read
  WHERE c.tenant_id = $1 AND c.document_id = n.document_id AND c.ordinal = n.ordinal AND c.position = 0
    AND c.unit = '' AND read.whole AND read.different = read.numbers
) AS serial
CROSS JOIN LATERAL (
  SELECT count(*) > count(DISTINCT cell.key) AS repeats
  FROM rag.table_columns c CROSS JOIN LATERAL unnest(c.keys, n.totals) AS cell (key, total)
  WHERE c.tenant_id = $1 AND c.document_id = n.document_id AND c.ordinal = n.ordinal AND c.position = 0
    AND cell.key <> '' AND NOT cell.total
) AS again

-- name: named
-- Which cells of a table are called by one of the names $4: of each column how many, the first row, and whether all sum up others.
-- In the first column words that all rows have ($5) need not be said, where more than a number is left, and at the end of any the form
-- of a firm ($6); persons (columns $7) are called by one of their names.
WITH called AS (
  SELECT c.position, cell.key, cell.key AS name, cell.group, cell.text, cell.total, cell.row
  FROM rag.table_columns c
  JOIN rag.document_tables t ON t.tenant_id = $1 AND t.document_id = c.document_id AND t.ordinal = c.ordinal
  CROSS JOIN LATERAL unnest(c.keys, c.texts, t.groups, t.totals) WITH ORDINALITY AS cell (key, text, "group", total, row)
  WHERE c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3 AND cell.key = ANY ($4::text[])
  UNION ALL
  SELECT 0, cell.key, shorter.name, cell.group, cell.text, cell.total, cell.row
  FROM rag.table_columns c
  JOIN rag.document_tables t ON t.tenant_id = $1 AND t.document_id = c.document_id AND t.ordinal = c.ordinal
  CROSS JOIN LATERAL unnest(c.keys, c.texts, t.groups, t.totals) WITH ORDINALITY AS cell (key, text, "group", total, row)
  CROSS JOIN LATERAL (
    SELECT string_agg(word.one, ' ' ORDER BY word.place) AS name
    FROM unnest(string_to_array(cell.key, ' ')) WITH ORDINALITY AS word (one, place) WHERE word.one <> ALL ($5::text[])
  ) AS shorter
  WHERE $5::text[] <> '{}' AND c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3 AND c.position = 0
    AND shorter.name <> cell.key AND shorter.name ~ '[^\d ]' AND shorter.name = ANY ($4::text[])
  UNION ALL
  SELECT c.position, cell.key, part.name, cell.group, cell.text, cell.total, cell.row
  FROM rag.table_columns c
  JOIN rag.document_tables t ON t.tenant_id = $1 AND t.document_id = c.document_id AND t.ordinal = c.ordinal
  CROSS JOIN LATERAL unnest(c.keys, c.texts, t.groups, t.totals) WITH ORDINALITY AS cell (key, text, "group", total, row)
  CROSS JOIN LATERAL unnest(string_to_array(cell.key, ' ')) WITH ORDINALITY AS word (one, place)
  CROSS JOIN LATERAL (SELECT CASE WHEN c.position = ANY ($7::integer[]) AND cell.text !~ '[\d,;/]' THEN word.one
    WHEN word.one = ANY ($6::text[]) AND right(cell.key, length(word.one) + 1) = ' ' || word.one
    THEN left(cell.key, -length(word.one) - 1) END AS name) AS part
  WHERE c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3 AND c.numbered = 0
    AND length(part.name) > 2 AND part.name <> cell.key AND part.name = ANY ($4::text[])
)
SELECT position, key, name, "group", min(text) AS text, count(*)::integer AS cells, min(row)::integer AS row, bool_and(total) AS total
FROM called GROUP BY position, key, name, "group" ORDER BY position, key, row

-- name: mentions
-- Cells of columns $4 that say, among other words, one of the names $5 of each: rows that sum up others apart.
SELECT DISTINCT wanted.position, wanted.name, cell.key, cell.text
FROM unnest($4::integer[], $5::text[]) AS wanted (position, name)
JOIN rag.table_columns c ON c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3 AND c.position = wanted.position
JOIN rag.document_tables t ON t.tenant_id = $1 AND t.document_id = c.document_id AND t.ordinal = c.ordinal
CROSS JOIN LATERAL unnest(c.keys, c.texts, t.totals) AS cell (key, text, total)
WHERE wanted.name <> '' AND NOT cell.total AND cell.key <> wanted.name AND position(' ' || wanted.name || ' ' IN ' ' || cell.key || ' ') > 0
ORDER BY wanted.position, cell.key

-- name: cells
-- All cells of a table by columns; which rows sum up others, and where they stand.
SELECT c.texts, c.keys, c.dates, t.totals, t.starts, t.ends
FROM rag.document_tables t
JOIN rag.table_columns c ON c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3
WHERE t.tenant_id = $1 AND t.document_id = $2 AND t.ordinal = $3
ORDER BY c.position

-- name: of_rows
-- Over column $4 (null: rows are counted) of the rows of a table that have, in each of at most three columns $5, one of the keys $6
-- of column $7 each, and whose numbers in at most two columns $20 lie between $21 and $22 (null: open): what can be computed of the
-- numbers of those where column $16 compares ($9, with the number $10 or with column $11 of the row), and the cells, at most $12, in
-- the order $13: highest, lowest, or null, that of the table. $8: the column that is asked for; $14: the key in it whose share is,
-- of which the rows come first. `all_rows`: of the whole table, whatever its cells say.
-- Rows that sum up others count where $15 says so. $17: a column that is taken from the measure, $18: as a percentage of it. $19: the
-- column that says what a row is counted in. $23: rows with the same value of what is asked for are one, with their sum, with $24
-- their average, or their number; a group of none is not there. Days are numbers, as rag.table_columns has none of both. All columns are unnested side
-- by side: linear in the rows, whatever the planner thinks of their number.
WITH cells AS (
  SELECT cell.*, coalesce(cell.measured, cell.measured_day - DATE '0001-01-01' + 1) AS whole,
    coalesce(cell.compared_number, cell.compared_day - DATE '0001-01-01' + 1) AS compared, coalesce(cell.other_number, $10::numeric) AS bound,
    coalesce(cell.within_number, cell.within_day - DATE '0001-01-01' + 1) AS within_one,
    coalesce(cell.further_number, cell.further_day - DATE '0001-01-01' + 1) AS within_two
  FROM rag.document_tables t
  JOIN rag.table_columns l ON l.tenant_id = $1 AND l.document_id = $2 AND l.ordinal = $3 AND l.position = 0
  LEFT JOIN rag.table_columns m ON m.tenant_id = $1 AND m.document_id = $2 AND m.ordinal = $3 AND m.position = $4::integer
  LEFT JOIN rag.table_columns a ON a.tenant_id = $1 AND a.document_id = $2 AND a.ordinal = $3 AND a.position = $8::integer
  LEFT JOIN rag.table_columns o ON o.tenant_id = $1 AND o.document_id = $2 AND o.ordinal = $3 AND o.position = $11::integer
  LEFT JOIN rag.table_columns c ON c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3 AND c.position = $16::integer
  LEFT JOIN rag.table_columns s ON s.tenant_id = $1 AND s.document_id = $2 AND s.ordinal = $3 AND s.position = $17::integer
  LEFT JOIN rag.table_columns u ON u.tenant_id = $1 AND u.document_id = $2 AND u.ordinal = $3 AND u.position = $19::integer
  LEFT JOIN rag.table_columns w ON w.tenant_id = $1 AND w.document_id = $2 AND w.ordinal = $3 AND w.position = ($20::integer[])[1]
  LEFT JOIN rag.table_columns v ON v.tenant_id = $1 AND v.document_id = $2 AND v.ordinal = $3 AND v.position = ($20::integer[])[2]
  LEFT JOIN rag.table_columns f ON f.tenant_id = $1 AND f.document_id = $2 AND f.ordinal = $3 AND f.position = ($5::integer[])[1]
  LEFT JOIN rag.table_columns g ON g.tenant_id = $1 AND g.document_id = $2 AND g.ordinal = $3 AND g.position = ($5::integer[])[2]
  LEFT JOIN rag.table_columns h ON h.tenant_id = $1 AND h.document_id = $2 AND h.ordinal = $3 AND h.position = ($5::integer[])[3]
  CROSS JOIN LATERAL unnest(t.starts, t.ends, t.totals, l.texts, m.texts, m.numbers, m.dates, m.units, a.texts, a.keys, o.texts, o.numbers,
    o.units, c.texts, c.numbers, c.dates, c.units, s.texts, s.numbers, s.units, u.texts, w.texts, w.numbers, w.dates, v.texts, v.numbers,
    v.dates, f.keys, g.keys, h.keys)
    WITH ORDINALITY AS cell (char_start, char_end, total, label, text, measured, measured_day, unit, asked, asked_key, other_text,
    other_number, other_unit, compared_text, compared_number, compared_day, compared_unit, minus_text, minus_number, minus_unit,
    counted_in, within_text, within_number, within_day, further_text, further_number, further_day, one, two, three, row)
  WHERE t.tenant_id = $1 AND t.document_id = $2 AND t.ordinal = $3
    AND (f.position IS NULL
      OR cell.one = ANY (ARRAY(SELECT w.key FROM unnest($6::text[], $7::integer[]) AS w (key, place) WHERE w.place = ($5::integer[])[1])))
    AND (g.position IS NULL
      OR cell.two = ANY (ARRAY(SELECT w.key FROM unnest($6::text[], $7::integer[]) AS w (key, place) WHERE w.place = ($5::integer[])[2])))
    AND (h.position IS NULL
      OR cell.three = ANY (ARRAY(SELECT w.key FROM unnest($6::text[], $7::integer[]) AS w (key, place) WHERE w.place = ($5::integer[])[3])))
), inside AS (
  SELECT cells.*, CASE WHEN $17::integer IS NULL THEN whole WHEN NOT $18::boolean THEN whole - minus_number
      WHEN minus_number > 0 THEN 100 * (whole - minus_number) / minus_number END AS number
  FROM cells
), lines AS (
  SELECT * FROM inside
  WHERE (cardinality($20::integer[]) < 1 OR (within_one IS NOT NULL AND within_one >= coalesce(($21::numeric[])[1], within_one)
      AND within_one <= coalesce(($22::numeric[])[1], within_one)))
    AND (cardinality($20::integer[]) < 2 OR (within_two IS NOT NULL AND within_two >= coalesce(($21::numeric[])[2], within_two)
      AND within_two <= coalesce(($22::numeric[])[2], within_two)))
), scope AS MATERIALIZED (
  SELECT * FROM lines WHERE NOT total OR $15::boolean
), kept AS MATERIALIZED (
  SELECT * FROM scope WHERE $9::text IS NULL OR (compared IS NOT NULL AND CASE $9
    WHEN 'more' THEN compared > bound WHEN 'less' THEN compared < bound
    WHEN 'at_least' THEN compared >= bound WHEN 'equal' THEN compared = bound ELSE compared <= bound END)
), pieces AS (
  SELECT row, char_start, char_end, label, text, number, unit, asked, asked_key, other_text, compared_text, minus_text, 1 AS size
  FROM kept WHERE NOT $23::boolean
  UNION ALL
  SELECT min(row), (array_agg(char_start ORDER BY row))[1], (array_agg(char_end ORDER BY row))[1], min(asked), NULL,
    CASE WHEN $4::integer IS NULL THEN count(*) WHEN $24::boolean THEN avg(number) ELSE sum(number) END, min(unit), min(asked), asked_key, NULL, NULL, NULL,
    CASE WHEN $4::integer IS NULL THEN count(*) ELSE count(number) END
  FROM kept WHERE $23::boolean AND asked_key <> '' GROUP BY asked_key
), shown AS (
  SELECT row_number() OVER (ORDER BY $14::text IS NOT NULL AND asked_key IS DISTINCT FROM $14,
      CASE $13::text WHEN 'highest' THEN -number WHEN 'lowest' THEN number END NULLS LAST, row) AS place, *
  FROM pieces WHERE number IS NOT NULL OR $4::integer IS NULL
), summed AS (
  SELECT (SELECT count(*) FROM rag.document_tables t CROSS JOIN LATERAL unnest(t.totals) AS one (total)
      WHERE t.tenant_id = $1 AND t.document_id = $2 AND t.ordinal = $3 AND (NOT one.total OR $15::boolean))::integer AS all_rows,
    (SELECT count(*) FROM lines)::integer AS lines, (SELECT count(*) FROM scope)::integer AS rows,
    (SELECT count(*) FROM scope WHERE (whole IS NULL AND text ~ '\w' AND text !~* '^\W*(n\W?[amd]|nil|null|none|nan|s/d)\W*$')
      OR (compared IS NULL AND compared_text ~ '\w' AND compared_text !~* '^\W*(n\W?[amd]|nil|null|none|nan|s/d)\W*$'))::integer
      + (SELECT count(*) FROM inside WHERE NOT total AND ((within_one IS NULL AND within_text ~ '\w')
      OR (within_two IS NULL AND further_text ~ '\w')))::integer AS unread,
    (SELECT count(*) FROM scope WHERE $11::integer IS NOT NULL AND (other_number IS NULL) <> (compared IS NULL))::integer AS unbound,
    (SELECT count(*) FROM lines WHERE total AND NOT $15::boolean AND number < (SELECT max(number) FROM scope))::integer AS doubtful,
    (SELECT count(number) FROM scope)::integer AS numbers, (SELECT count(number) FROM kept)::integer AS kept_numbers,
    (SELECT count(DISTINCT counted_in) FROM scope)::integer AS counted,
    (SELECT CASE WHEN NOT bool_or(d.total) THEN sum(d.number) END FROM rag.document_tables t
      JOIN rag.table_columns m ON m.tenant_id = $1 AND m.document_id = $2 AND m.ordinal = $3 AND m.position = $4::integer
      CROSS JOIN LATERAL unnest(t.totals, m.numbers) WITH ORDINALITY AS d (total, number, row)
      WHERE t.tenant_id = $1 AND t.document_id = $2 AND t.ordinal = $3 AND $15::boolean
        AND d.row >= (SELECT min(row) FROM scope) AND d.row < (SELECT max(row) FROM scope)) AS addends,
    (SELECT array_agg(DISTINCT u) FROM (SELECT unit AS u FROM scope WHERE number IS NOT NULL
      UNION SELECT minus_unit FROM scope WHERE minus_number IS NOT NULL) AS units) AS units,
    (SELECT array_agg(DISTINCT u) FROM (SELECT compared_unit AS u FROM scope WHERE compared_number IS NOT NULL
      UNION SELECT other_unit FROM scope WHERE other_number IS NOT NULL) AS units) AS compared_units,
    (SELECT count(*) FROM pieces WHERE $23::boolean)::integer AS groups,
    (SELECT count(*) FROM kept)::integer AS kept, (SELECT sum(number) FROM kept) AS sum, (SELECT avg(number) FROM kept) AS average,
    (SELECT CASE WHEN $4::integer IS NULL THEN count(*) ELSE sum(number) END FROM kept WHERE asked_key = $14) AS part, (SELECT count(DISTINCT asked) FROM scope)::integer AS asked,
    (SELECT array_agg(number ORDER BY array_position($6::text[], asked_key)) FROM pieces) AS ordered,
    (SELECT max(scale(measured)) FROM scope) AS decimals,
    (SELECT bool_or(text ~ '\d[.,'' ]\d{3}') FROM scope WHERE abs(measured) >= 1000) AS grouped,
    (SELECT jsonb_agg(to_jsonb(s) ORDER BY s.place) FROM (SELECT * FROM shown ORDER BY place LIMIT $12) AS s) AS cells
)
SELECT s.*, s.ordered[2] - s.ordered[1] AS difference, 100 * (s.ordered[2] - s.ordered[1]) / nullif(s.ordered[1], 0) AS growth,
  100 * s.part / nullif(CASE WHEN $4::integer IS NULL THEN s.kept ELSE s.sum END, 0) AS share
FROM summed s

-- name: of_columns
-- Over columns $5 of row $4 of a table, in their order: the same; $6 and $7: how numbers compare, and with which.
WITH scope AS (
  SELECT w.place, c.position, c.texts[$4] AS text, c.numbers[$4] AS number, c.units[$4] AS unit
  FROM unnest($5::integer[]) WITH ORDINALITY AS w (position, place)
  JOIN rag.table_columns c ON c.tenant_id = $1 AND c.document_id = $2 AND c.ordinal = $3 AND c.position = w.position
), kept AS (
  SELECT * FROM scope WHERE $6::text IS NULL OR (number IS NOT NULL AND CASE $6
    WHEN 'more' THEN number > $7::numeric WHEN 'less' THEN number < $7::numeric
    WHEN 'at_least' THEN number >= $7::numeric WHEN 'equal' THEN number = $7::numeric ELSE number <= $7::numeric END)
), shown AS (
  SELECT row_number() OVER (ORDER BY CASE $8::text WHEN 'highest' THEN -number WHEN 'lowest' THEN number END NULLS LAST, place) AS place,
    position, text, number, unit
  FROM kept
), summed AS (
  SELECT (SELECT count(*) FROM scope)::integer AS rows, (SELECT count(number) FROM scope)::integer AS numbers,
    (SELECT array_agg(DISTINCT unit) FROM scope WHERE number IS NOT NULL) AS units, (SELECT count(*) FROM kept)::integer AS kept,
    (SELECT sum(number) FROM kept) AS sum, (SELECT avg(number) FROM kept) AS average,
    (SELECT array_agg(number ORDER BY place) FROM scope) AS ordered,
    (SELECT max(scale(number)) FROM scope) AS decimals, (SELECT bool_or(text ~ '\d[.,'' ]\d{3}') FROM scope WHERE abs(number) >= 1000) AS grouped,
    (SELECT jsonb_agg(to_jsonb(s) ORDER BY s.place) FROM shown AS s) AS cells
)
SELECT s.*, s.ordered[2] - s.ordered[1] AS difference, 100 * (s.ordered[2] - s.ordered[1]) / nullif(s.ordered[1], 0) AS growth,
  t.starts[$4] AS char_start, t.ends[$4] AS char_end
FROM summed s
JOIN rag.document_tables t ON t.tenant_id = $1 AND t.document_id = $2 AND t.ordinal = $3

-- name: holding
-- Of places in a document the passages in which they stand, the first of each place.
SELECT DISTINCT ON (place.row) p.id FROM unnest($3::integer[]) WITH ORDINALITY AS place (char_start, row)
JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = $2 AND p.char_start <= place.char_start AND place.char_start < p.char_end
ORDER BY place.row, p.ordinal
