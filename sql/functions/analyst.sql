-- Search for psql. Both functions run as cairn_views, so row security decides what they see: the tenants granted to
-- session_user in rag.analyst_grant. Nothing that a session can SET takes part; app.tenant is not read.

-- BM25 as rag.lexical_search computes it, but every passage of the collection that holds a word of the query is scored:
-- row security bars cairn_views from the GIN index on keys (docs/analysts.md), and an analyst can wait some milliseconds.
CREATE OR REPLACE FUNCTION analyst.search_lexical(collection text, query text, k integer DEFAULT 10)
RETURNS TABLE (
    tenant text, rank integer, score double precision, title text, external_id text, page integer, headings text[],
    content text, passage_id uuid, document_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT 1 FROM collections AS c WHERE c.name = search_lexical.collection) THEN
        RAISE EXCEPTION 'there is no collection % that % may read', search_lexical.collection, session_user
            USING ERRCODE = 'no_data_found', HINT = 'SELECT DISTINCT tenant, collection FROM analyst.documents;';
    END IF;
    RETURN QUERY
    WITH question AS MATERIALIZED (
        SELECT c.tenant_id, c.id AS collection_id, q.terms AS keys, q.question AS idfs
        FROM collections AS c CROSS JOIN LATERAL lexical_question(c.tenant_id, c.id, search_lexical.query) AS q
        WHERE c.name = search_lexical.collection AND q.terms IS NOT NULL
    ), best AS (
        -- by way of the documents: their index and that of the postings are open under row security
        SELECT l.tenant_id, l.passage_id, -(l.weights <#> q.idfs) AS score
        FROM question AS q
        JOIN documents AS d ON d.tenant_id = q.tenant_id AND d.collection_id = q.collection_id
        JOIN lexical_index AS l ON l.tenant_id = d.tenant_id AND l.document_id = d.id
        WHERE l.keys && q.keys
        ORDER BY score DESC, l.passage_id LIMIT search_lexical.k
    )
    SELECT t.name, (row_number() OVER (ORDER BY b.score DESC, b.passage_id))::integer, b.score, d.title, d.external_id,
           p.page, p.headings, p.content, p.id, d.id
    FROM best AS b
    JOIN passages AS p ON p.tenant_id = b.tenant_id AND p.id = b.passage_id
    JOIN documents AS d ON d.tenant_id = p.tenant_id AND d.id = p.document_id
    JOIN tenants AS t ON t.id = b.tenant_id
    ORDER BY b.score DESC, b.passage_id;
END
$$;
COMMENT ON FUNCTION analyst.search_lexical(text, text, integer) IS
    'The k passages of a collection that match the words of the query best (BM25), best first. Collections of that name in several tenants are searched together.';

-- Exact: the sum keeps the planner from an HNSW index, which would return fewer rows than there are.
CREATE OR REPLACE FUNCTION analyst.similar_chunks(chunk_id uuid, k integer DEFAULT 10)
RETURNS TABLE (
    tenant text, rank integer, similarity double precision, title text, external_id text, page integer, headings text[],
    content text, similar_chunk_id uuid, passage_id uuid, document_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    origin embeddings%ROWTYPE;
BEGIN
    SELECT e.* INTO origin FROM embeddings AS e WHERE e.chunk_id = $1 ORDER BY e.model_id DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no chunk % that % may read', $1, session_user
            USING ERRCODE = 'no_data_found', HINT = 'Chunk ids are in analyst.chunks and analyst.retrieval_hits.';
    END IF;
    RETURN QUERY
    WITH best AS (
        SELECT e.chunk_id, (e.embedding <=> origin.embedding) + 0.0 AS distance
        FROM embeddings AS e
        WHERE e.tenant_id = origin.tenant_id AND e.collection_id = origin.collection_id
          AND e.model_id = origin.model_id AND e.chunk_id <> origin.chunk_id
        ORDER BY 2, 1 LIMIT $2
    )
    SELECT t.name, (row_number() OVER (ORDER BY b.distance, b.chunk_id))::integer, 1 - b.distance, d.title,
           d.external_id, c.page, c.headings, c.content, c.id, c.passage_id, d.id
    FROM best AS b
    JOIN chunks AS c ON c.tenant_id = origin.tenant_id AND c.id = b.chunk_id
    JOIN documents AS d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
    JOIN tenants AS t ON t.id = c.tenant_id
    ORDER BY b.distance, b.chunk_id;
END
$$;
COMMENT ON FUNCTION analyst.similar_chunks(uuid, integer) IS
    'The k chunks of the same collection that mean most nearly the same as this one, by cosine similarity, best first.';
