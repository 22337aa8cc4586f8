-- The retrieval cache as writers of documents meet it. What happens to it otherwise is in sql/queries/cache.sql.

-- Removes what was found in a collection, in the transaction that changes it: the text of a deleted document does not
-- outlive it here. The caller holds the collection's row, so nothing is added meanwhile; locked in order of the key,
-- because writers of two collections may meet in results over both.
CREATE OR REPLACE FUNCTION rag.forget_cached(collection uuid) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  removed integer;
BEGIN
  WITH doomed AS MATERIALIZED (
    SELECT r.key FROM retrieval_cache r
    WHERE r.tenant_id = tenant AND collection = ANY (r.collection_ids) ORDER BY r.key FOR UPDATE
  )
  DELETE FROM retrieval_cache r USING doomed WHERE r.tenant_id = tenant AND r.key = doomed.key;
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END
$$;
COMMENT ON FUNCTION rag.forget_cached(uuid) IS
  'Removes cached results of a collection of the current tenant; returns how many.';

-- One row always: the models that serve the named collections, in order of name (null where none does yet), and the result
-- of the key, if it has not expired and the collections are as they were when it was found. A key is made of the models
-- that serve, so the caller guesses them, and asks again in the rare case that they are others.
--
-- The tenant is set here, for this statement, because a transaction around it would cost two more round trips and make
-- a hit twice as slow. The caller may set it anyway, and row security decides as ever. STABLE: entry, ids, epochs and
-- models are read in one snapshot.
DROP FUNCTION IF EXISTS rag.look_up_cached(bigint, text, text[], double precision);
DROP FUNCTION IF EXISTS rag.serving_models(bigint, text[]);
CREATE OR REPLACE FUNCTION rag.find_cached(
  tenant bigint, wanted text, names text[], ttl_seconds double precision,
  OUT serving smallint[], OUT result jsonb, OUT age double precision
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  ids uuid[]; present bigint[];
BEGIN
  PERFORM enter_tenant(tenant);
  SELECT array_agg(c.id ORDER BY c.id), array_agg(c.epoch ORDER BY c.id), array_agg(coalesce(c.model_id, (
      SELECT e.model_id FROM embeddings e WHERE e.tenant_id = tenant AND e.collection_id = c.id
      ORDER BY e.model_id LIMIT 1)) ORDER BY c.name)
    INTO ids, present, serving
  FROM collections c WHERE c.tenant_id = tenant AND c.name = ANY (names);
  SELECT r.result, extract(epoch FROM clock_timestamp() - r.created_at)::double precision INTO result, age
  FROM retrieval_cache r
  WHERE r.tenant_id = tenant AND r.key = wanted AND r.created_at > clock_timestamp() - make_interval(secs => ttl_seconds)
    AND r.collection_ids = ids AND r.epochs = present;
END
$$;
COMMENT ON FUNCTION rag.find_cached(bigint, text, text[], double precision) IS
  'Models that serve collections of a tenant, and the cached result of a key, if it is as true as when it was found.';

CREATE OR REPLACE FUNCTION rag.cached_is_current(ids uuid[], epochs bigint[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN (ids, epochs) = (
    SELECT array_agg(c.id ORDER BY c.id), array_agg(c.epoch ORDER BY c.id)
    FROM collections c WHERE c.tenant_id = tenant AND c.id = ANY (ids));
END
$$;
COMMENT ON FUNCTION rag.cached_is_current(uuid[], bigint[]) IS
  'Whether collections (ids ascending) still have these epochs.';
