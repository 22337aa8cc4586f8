-- BM25 postings and statistics. A writer runs `index` for the new version, then, under the collection's row lock:
-- unindex (old version), apply_terms, drop_terms, apply_totals, drop_totals, align. The temporary tables hold what the
-- document changes, so that the lock is short and statistics change by one net delta: separate increments and decrements
-- of two documents lock the same rows in different orders and deadlock.

-- name: create_stage
CREATE TEMP TABLE IF NOT EXISTS stage_terms (key integer, delta bigint, max_weight real) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS stage_totals (config regconfig, passages bigint, length bigint) ON COMMIT DELETE ROWS

-- name: unindex
WITH gone AS (
  DELETE FROM rag.lexical_index WHERE tenant_id = $1 AND document_id = $2 AND NOT passage_id = ANY ($3::uuid[])
  RETURNING regconfig, length, keys
), totals AS (
  INSERT INTO stage_totals SELECT regconfig, -count(*), -sum(length) FROM gone GROUP BY regconfig
)
INSERT INTO stage_terms SELECT key, -count(*), 0 FROM gone, unnest(keys) AS key GROUP BY key

-- name: index
WITH posting AS MATERIALIZED (
  SELECT p.id, p.regconfig, reference.average, posted.*
  FROM stage_passages new
  JOIN rag.passages p ON p.tenant_id = $1 AND p.id = new.id
  JOIN rag.collections c ON c.tenant_id = p.tenant_id AND c.id = p.collection_id
  LEFT JOIN rag.lexical_stats s
    ON s.tenant_id = p.tenant_id AND s.collection_id = p.collection_id AND s.regconfig = p.regconfig
  CROSS JOIN LATERAL (
    SELECT coalesce(s.average_length, (
      SELECT avg(rag.lexical_length(o.search_vector)) FROM stage_passages n JOIN rag.passages o ON o.id = n.id
      WHERE o.tenant_id = $1 AND o.regconfig = p.regconfig)::real) AS average
  ) AS reference
  CROSS JOIN LATERAL rag.lexical_posting(p.search_vector, p.regconfig::text, c.lex_seed, reference.average) AS posted
), rows AS (
  INSERT INTO rag.lexical_index
    (tenant_id, passage_id, document_id, collection_id, regconfig, length, average_length, keys, weights)
  SELECT $1, id, $2, $3, regconfig, length, average, keys, weights FROM posting
), totals AS (
  INSERT INTO stage_totals SELECT regconfig, count(*), sum(length) FROM posting GROUP BY regconfig
)
INSERT INTO stage_terms
SELECT term.key, count(*), max(term.weight) FROM posting, unnest(keys, key_weights) AS term (key, weight) GROUP BY term.key

-- name: apply_terms
INSERT INTO rag.lexical_terms AS t (tenant_id, collection_id, key, document_frequency, max_weight)
SELECT $1, $2, key, sum(delta), max(max_weight) FROM stage_terms
GROUP BY key HAVING sum(delta) <> 0 OR max(max_weight) > 0 ORDER BY key
ON CONFLICT (tenant_id, collection_id, key) DO UPDATE
SET document_frequency = t.document_frequency + excluded.document_frequency,
    max_weight = greatest(t.max_weight, excluded.max_weight)

-- name: drop_terms
DELETE FROM rag.lexical_terms
WHERE tenant_id = $1 AND collection_id = $2 AND document_frequency <= 0
  AND key IN (SELECT key FROM stage_terms GROUP BY key HAVING sum(delta) < 0)

-- name: apply_totals
INSERT INTO rag.lexical_stats AS s (tenant_id, collection_id, regconfig, passage_count, total_length, average_length)
SELECT $1, $2, config, sum(passages), sum(length), greatest(sum(length)::real / greatest(sum(passages), 1), 1)
FROM stage_totals GROUP BY config ORDER BY config
ON CONFLICT (tenant_id, collection_id, regconfig) DO UPDATE
SET passage_count = s.passage_count + excluded.passage_count, total_length = s.total_length + excluded.total_length

-- name: drop_totals
DELETE FROM rag.lexical_stats WHERE tenant_id = $1 AND collection_id = $2 AND passage_count <= 0

-- name: drifted
-- Languages of a collection whose average length is off by more than the ratio $3, or that hold rows weighted with another.
SELECT s.regconfig::text AS config, s.passage_count
FROM rag.lexical_stats s
WHERE s.tenant_id = $1 AND s.collection_id = $2
  AND abs(s.total_length::float8 / s.passage_count / s.average_length - 1) > $3

-- name: align
-- A document that was weighted while another writer set the reference takes that reference. Run under the lock.
UPDATE rag.lexical_index l
SET weights = posted.weights, average_length = s.average_length
FROM rag.passages p, rag.collections c, rag.lexical_stats s,
     LATERAL rag.lexical_posting(p.search_vector, p.regconfig::text, c.lex_seed, s.average_length) AS posted
WHERE l.tenant_id = $1 AND l.document_id = $2 AND p.tenant_id = $1 AND p.id = l.passage_id
  AND c.tenant_id = $1 AND c.id = l.collection_id
  AND s.tenant_id = $1 AND s.collection_id = l.collection_id AND s.regconfig = l.regconfig
  AND l.average_length <> s.average_length

-- name: renew_average
UPDATE rag.lexical_stats SET average_length = greatest(total_length::real / passage_count, 1)
WHERE tenant_id = $1 AND collection_id = $2 AND regconfig = $3::text::regconfig

-- name: reweight
-- All passages of a language take the renewed average; upper bounds follow. Run under the lock, after renew_average.
WITH posting AS MATERIALIZED (
  SELECT p.id, s.average_length, posted.keys, posted.key_weights, posted.weights
  FROM rag.documents d
  JOIN rag.passages p ON p.tenant_id = $1 AND p.document_id = d.id AND p.regconfig = $3::text::regconfig
  JOIN rag.collections c ON c.tenant_id = $1 AND c.id = d.collection_id
  JOIN rag.lexical_stats s ON s.tenant_id = $1 AND s.collection_id = d.collection_id AND s.regconfig = p.regconfig
  CROSS JOIN LATERAL rag.lexical_posting(p.search_vector, p.regconfig::text, c.lex_seed, s.average_length) AS posted
  WHERE d.tenant_id = $1 AND d.collection_id = $2
), rows AS (
  UPDATE rag.lexical_index l SET weights = posting.weights, average_length = posting.average_length
  FROM posting WHERE l.tenant_id = $1 AND l.passage_id = posting.id
)
UPDATE rag.lexical_terms t SET max_weight = greatest(t.max_weight, bound.weight)
FROM (SELECT term.key, max(term.weight) AS weight
      FROM posting, unnest(keys, key_weights) AS term (key, weight) GROUP BY term.key) AS bound
WHERE t.tenant_id = $1 AND t.collection_id = $2 AND t.key = bound.key AND t.max_weight < bound.weight

-- name: search
SELECT found.* FROM unnest($1::uuid[]) AS c (id)
CROSS JOIN LATERAL rag.lexical_search(c.id, $2, $3, $4, $5, $6) AS found
ORDER BY found.score DESC, found.passage_id LIMIT $3
