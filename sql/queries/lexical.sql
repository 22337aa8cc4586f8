-- BM25: renewing weights, and searching. Postings and statistics of a document are written by rag.publish_documents.

-- name: drifted
-- Languages of a collection whose average length is off by more than the ratio $3.
SELECT s.regconfig AS config, s.passage_count
FROM rag.lexical_stats s
WHERE s.tenant_id = $1 AND s.collection_id = $2
  AND abs(s.total_length::float8 / s.passage_count / s.average_length - 1) > $3

-- name: dominant
-- The language of most passages that the caller may read.
SELECT s.regconfig FROM rag.lexical_stats s
LEFT JOIN LATERAL rag.count_hidden_languages(
  CASE WHEN s.collection_id = ANY ((SELECT rag.withholding_collections())::uuid[]) THEN s.collection_id END
) AS h ON h.language = s.regconfig
WHERE s.tenant_id = $1 AND s.collection_id = $2 AND s.passage_count > coalesce(h.passages, 0)
ORDER BY s.passage_count - coalesce(h.passages, 0) DESC, s.regconfig LIMIT 1

-- name: lock
-- The lock between writers of a collection, without a new epoch.
SELECT id FROM rag.collections WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE

-- name: renew_average
UPDATE rag.lexical_stats SET average_length = greatest(total_length::real / passage_count, 1)
WHERE tenant_id = $1 AND collection_id = $2 AND regconfig = $3

-- name: stale_count
-- Passages of a language that are weighted with another average than the one on record.
SELECT count(*) FROM rag.documents d
JOIN rag.lexical_stats s ON s.tenant_id = $1 AND s.collection_id = $2 AND s.regconfig = $3
JOIN rag.lexical_index l ON l.tenant_id = $1 AND l.document_id = d.id AND l.regconfig = s.regconfig
WHERE d.tenant_id = $1 AND d.collection_id = $2 AND l.average_length <> s.average_length

-- name: reweight_batch
-- The next $6 of them after ($4, $5) in the order of documents; how many, and the last one. Run under the lock.
WITH batch AS MATERIALIZED (
  SELECT l.document_id, l.passage_id FROM rag.lexical_index l
  JOIN rag.lexical_stats s ON s.tenant_id = $1 AND s.collection_id = $2 AND s.regconfig = l.regconfig
  WHERE l.tenant_id = $1 AND l.collection_id = $2 AND l.regconfig = $3
    AND (l.document_id, l.passage_id) > ($4::uuid, $5::uuid) AND l.average_length <> s.average_length
  ORDER BY l.document_id, l.passage_id LIMIT $6
), renewed AS MATERIALIZED (
  SELECT rag.reweight_passages($2, ARRAY(SELECT passage_id FROM batch))
)
SELECT document_id, passage_id, count(*) OVER () AS count FROM batch, renewed
ORDER BY document_id DESC, passage_id DESC LIMIT 1

-- name: search
SELECT found.* FROM unnest($1::uuid[]) AS c (id)
CROSS JOIN LATERAL rag.lexical_search(c.id, $2, $3, $4, $5, $6, $7) AS found
ORDER BY found.score DESC, found.passage_id LIMIT $3
