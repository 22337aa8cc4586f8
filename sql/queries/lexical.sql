-- BM25: renewing weights, and searching. Postings and statistics of a document are written by rag.publish_document.

-- name: drifted
-- Languages of a collection whose average length is off by more than the ratio $3, or that hold rows weighted with another.
SELECT s.regconfig::text AS config, s.passage_count
FROM rag.lexical_stats s
WHERE s.tenant_id = $1 AND s.collection_id = $2
  AND abs(s.total_length::float8 / s.passage_count / s.average_length - 1) > $3

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
CROSS JOIN LATERAL rag.lexical_search(c.id, $2, $3, $4, $5, $6, $7) AS found
ORDER BY found.score DESC, found.passage_id LIMIT $3
