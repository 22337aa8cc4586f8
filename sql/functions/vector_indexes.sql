-- Which collections have an HNSW index of their own. The indexes stand on one table for all tenants, and each costs every
-- statement on it planning time and a lock, so their number is a matter of all tenants together. Returns ids and counts only.

CREATE OR REPLACE FUNCTION rag.vector_index_plan(above integer, most integer)
RETURNS TABLE (
    tenant_id bigint, collection_id uuid, model_id smallint, dimensions integer, chunk_count integer, wanted boolean, ready boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp
AS $$
  WITH candidate AS (
    -- a model that is ready for its flip gets its index before, not after
    SELECT c.tenant_id, c.id AS collection_id, m.id AS model_id, m.dimensions, c.chunk_count
    FROM collections c JOIN embedding_models m ON m.dimensions <= 4000 AND (m.id = c.model_id OR EXISTS (
      SELECT FROM collection_models w
      WHERE w.tenant_id = c.tenant_id AND w.collection_id = c.id AND w.model_id = m.id AND w.state = 'ready'))
    WHERE c.chunk_count > above * 0.8
  ), chosen AS (
    -- an index that is there has a start, so that two collections of like size do not take turns
    SELECT d.*, coalesce(x.state = 'ready', false) AS ready
    FROM candidate d LEFT JOIN vector_indexes x USING (tenant_id, collection_id, model_id)
    WHERE d.chunk_count > above OR x.state = 'ready'
    ORDER BY d.chunk_count * CASE WHEN x.state = 'ready' THEN 1.25 ELSE 1 END DESC, d.collection_id, d.model_id
    LIMIT most
  )
  SELECT c.tenant_id, c.collection_id, c.model_id, c.dimensions, c.chunk_count, true, c.ready FROM chosen c
  UNION ALL
  SELECT x.tenant_id, x.collection_id, x.model_id, 0, x.chunk_count, false, x.state = 'ready'
  FROM vector_indexes x
  WHERE NOT EXISTS (SELECT FROM chosen c WHERE (c.tenant_id, c.collection_id, c.model_id) = (x.tenant_id, x.collection_id, x.model_id))
  ORDER BY 6, 5 DESC
$$;
COMMENT ON FUNCTION rag.vector_index_plan(integer, integer) IS
    'Collections of all tenants that should have an HNSW index of their own, and those that have one and should not.';
