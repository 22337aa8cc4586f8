-- Every candidate of every leg, and what became of it. The arrays of a run are unnested here; each candidate of a leg is
-- looked up in the arrays of "fused", which know its fate. A run may search several times: legs of its n-th search are stored
-- as vector#n, lexical#n, graph#n and fused#n.
CREATE OR REPLACE VIEW analyst.retrieval_hits AS
SELECT t.name || '' AS tenant,
       l.run_id,
       l.started_at,
       split_part(l.leg, '#', 1) AS leg,
       hit.rank::integer AS rank,
       hit.score AS raw_score,
       CASE WHEN l.leg = 'merged' OR l.leg LIKE 'fused%' THEN hit.score ELSE nullif(hit.share, 'NaN') END AS fusion_share,
       nullif(f.shares[place.in_fused], 'NaN') AS rerank_score,
       coalesce(f.fates[place.in_fused], CASE WHEN place.in_fused IS NOT NULL THEN 'below top_k' END) || '' AS fate,
       place.in_fused AS fused_rank,
       hit.passage_id,
       hit.chunk_id,
       p.document_id,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       p.page,
       CASE WHEN l.leg <> 'merged' THEN coalesce(nullif(split_part(l.leg, '#', 2), ''), '1')::integer END AS search
FROM rag.run_legs AS l
JOIN rag.tenants AS t ON t.id = l.tenant_id
LEFT JOIN rag.run_legs AS f
    ON f.tenant_id = l.tenant_id AND f.run_id = l.run_id AND f.started_at = l.started_at
    AND f.leg = CASE WHEN l.leg = 'merged' THEN l.leg ELSE 'fused' || substr(l.leg, length(split_part(l.leg, '#', 1)) + 1) END
-- Whether others may know of what is gone is not known, where something is restricted: it is left out, and behind a fence
-- (OFFSET 0), since a condition of somebody may fail for what it is asked about and tell it in the error.
CROSS JOIN LATERAL (
    SELECT found.*
    FROM unnest(l.passage_ids, l.chunk_ids, l.scores, l.shares)
        WITH ORDINALITY AS found (passage_id, chunk_id, score, share, rank)
    WHERE NOT (SELECT rag.restricts())
       OR EXISTS (SELECT FROM rag.passages AS p WHERE p.tenant_id = l.tenant_id AND p.id = found.passage_id)
    OFFSET 0
) AS hit
CROSS JOIN LATERAL (SELECT array_position(f.passage_ids, hit.passage_id) AS in_fused) AS place
LEFT JOIN rag.passages AS p ON p.tenant_id = l.tenant_id AND p.id = hit.passage_id
LEFT JOIN rag.documents AS d ON d.tenant_id = p.tenant_id AND d.id = p.document_id;

COMMENT ON VIEW analyst.retrieval_hits IS
    'Candidates of every run, one row per run, leg and candidate: how each leg ranked it and why it was kept or dropped.';
COMMENT ON COLUMN analyst.retrieval_hits.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.retrieval_hits.run_id IS 'The run (analyst.retrieval_runs).';
COMMENT ON COLUMN analyst.retrieval_hits.started_at IS 'When the run began. A condition on this column makes queries fast.';
COMMENT ON COLUMN analyst.retrieval_hits.leg IS 'vector (by meaning), lexical (by words), graph (linked with the best of these, or about what the question names), or fused: the list that fusion made of the legs. merged: the list that was made of several searches of a run.';
COMMENT ON COLUMN analyst.retrieval_hits.rank IS 'Place in the list of this leg, counted from 1.';
COMMENT ON COLUMN analyst.retrieval_hits.raw_score IS 'The leg''s own score: cosine similarity (-1 to 1) for vector, BM25 (0 and up) for lexical, worth of the best link (0 to 1) for graph, the fused score for fused. Compare it within one leg only.';
COMMENT ON COLUMN analyst.retrieval_hits.fusion_share IS 'What the leg added to the fused score of the passage (how, says retrieve.fusion in the settings); for fused the whole score. A leg whose list was cut off may have added what its last entry got, which stands in no row.';
COMMENT ON COLUMN analyst.retrieval_hits.rerank_score IS 'Score given by the reranker; null where it did not see the passage.';
COMMENT ON COLUMN analyst.retrieval_hits.fate IS 'kept (it is in the result), or why not: below top_k, below top_k after reranking, same document. Equal in all legs of a search; for merged, of the run, where it may also be: not relevant (grading).';
COMMENT ON COLUMN analyst.retrieval_hits.fused_rank IS 'Place in the fused list, before reranking, counted from 1.';
COMMENT ON COLUMN analyst.retrieval_hits.passage_id IS 'The passage (analyst.passages); it may be gone by now, where nothing of any tenant is restricted: else such are left out.';
COMMENT ON COLUMN analyst.retrieval_hits.chunk_id IS 'The chunk of the passage that the vector leg found (analyst.chunks); null in the other legs.';
COMMENT ON COLUMN analyst.retrieval_hits.document_id IS 'The document; null when the passage is gone.';
COMMENT ON COLUMN analyst.retrieval_hits.external_id IS 'The caller''s identity of the document; null when the passage is gone.';
COMMENT ON COLUMN analyst.retrieval_hits.title IS 'Title of the document; null when the passage is gone.';
COMMENT ON COLUMN analyst.retrieval_hits.page IS 'Page of the passage, counted from 1; null for documents without pages.';
COMMENT ON COLUMN analyst.retrieval_hits.search IS 'Which search of the run, from 1: a question with sub-questions takes several (plan -> searches tells them apart). Null for merged.';
