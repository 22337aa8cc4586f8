-- A vector is in one HNSW index: that of its collection where rag.embeddings.own, else the shared one of its model.
-- rag.vector_indexes says where vectors of a collection belong:
--   no row    all are in the shared index.
--   building  new ones are own, old ones are being moved: searches compare all.
--   ready     all are own: searches use the collection's index.
--   dropping  new ones are not own, old ones are being moved back: searches compare all.
-- The state changes under the lock of the collection's row. Who writes vectors takes it last and then corrects what it wrote
-- by an older state, so no commit after the change has a vector in the wrong place (docs/adr/0077).

CREATE OR REPLACE FUNCTION rag.has_own_index(tenant bigint, collection uuid, model smallint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM rag.vector_indexes x
    WHERE x.tenant_id = tenant AND x.collection_id = collection AND x.model_id = model
      AND x.exclusive AND x.state IN ('building', 'ready'));
END
$$;
COMMENT ON FUNCTION rag.has_own_index IS 'Whether new vectors of a collection belong in an index of its own.';

-- The caller holds the collection's row.
CREATE OR REPLACE FUNCTION rag.place_vectors(collection uuid, chunks uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  UPDATE embeddings e SET own = NOT e.own
  WHERE e.tenant_id = tenant AND e.chunk_id = ANY ($2)
    AND e.own <> (e.model_id = ANY (ARRAY(
      SELECT x.model_id FROM vector_indexes x
      WHERE x.tenant_id = tenant AND x.collection_id = $1 AND x.exclusive AND x.state IN ('building', 'ready'))));
END
$$;
COMMENT ON FUNCTION rag.place_vectors IS 'Corrects vectors that were written while the state of the index changed.';

-- Which collections have an HNSW index of their own. The indexes stand on one table for all tenants, and each costs every
-- statement on it planning time and a lock, so their number is a matter of all tenants together. Returns ids and counts only.
-- Collections that a run is filling wait for its end.
CREATE OR REPLACE FUNCTION rag.plan_vector_indexes(above integer, most integer)
RETURNS TABLE (
    tenant_id bigint, collection_id uuid, model_id smallint, dimensions integer, chunk_count integer, wanted boolean, ready boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH candidate AS (
    -- a model that is ready for its flip gets its index before, not after
    SELECT c.tenant_id, c.id AS collection_id, m.id AS model_id, m.dimensions, c.chunk_count
    FROM collections c JOIN embedding_models m ON m.dimensions <= 4000 AND (m.id = c.model_id OR EXISTS (
      SELECT 1 FROM collection_models w
      WHERE w.tenant_id = c.tenant_id AND w.collection_id = c.id AND w.model_id = m.id AND w.state = 'ready'))
    WHERE c.chunk_count > above * 0.8
  ), chosen AS (
    -- an index that is there has a start, so that two collections of like size do not take turns
    SELECT d.*, coalesce(x.state = 'ready' AND x.exclusive, false) AS ready, coalesce(x.bulk_until > now(), false) AS filling
    FROM candidate d LEFT JOIN vector_indexes x USING (tenant_id, collection_id, model_id)
    WHERE d.chunk_count > above OR x.state = 'ready'
    ORDER BY d.chunk_count * CASE WHEN x.state = 'ready' THEN 1.25 ELSE 1 END DESC, d.collection_id, d.model_id
    LIMIT most
  )
  SELECT c.tenant_id, c.collection_id, c.model_id, c.dimensions, c.chunk_count, true, c.ready FROM chosen c WHERE NOT c.filling
  UNION ALL
  SELECT x.tenant_id, x.collection_id, x.model_id, 0, x.chunk_count, false, x.state = 'ready'
  FROM vector_indexes x
  WHERE NOT EXISTS (SELECT 1 FROM chosen c WHERE (c.tenant_id, c.collection_id, c.model_id) = (x.tenant_id, x.collection_id, x.model_id))
    AND (x.bulk_until > now()) IS NOT TRUE
  ORDER BY 6, 5 DESC;
END
$$;
COMMENT ON FUNCTION rag.plan_vector_indexes(integer, integer) IS
    'Collections of all tenants that should have an HNSW index of their own, and those that have one and should not.';
