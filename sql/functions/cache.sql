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

-- The tenant is set here, for this statement, because a transaction around it would cost three more round trips and make
-- a hit twice as slow. The caller may set it anyway, and row security decides as ever. Entry, ids and epochs are read in
-- one snapshot.
CREATE OR REPLACE FUNCTION rag.look_up_cached(tenant bigint, wanted text, names text[], ttl_seconds double precision)
RETURNS TABLE (result jsonb, age double precision)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
BEGIN
  PERFORM set_config('app.tenant', tenant::text, true);
  RETURN QUERY
  SELECT r.result, extract(epoch FROM clock_timestamp() - r.created_at)::double precision
  FROM retrieval_cache r
  WHERE r.tenant_id = tenant AND r.key = wanted AND r.created_at > clock_timestamp() - make_interval(secs => ttl_seconds)
    AND (r.collection_ids, r.epochs) = (
      SELECT array_agg(c.id ORDER BY c.id), array_agg(c.epoch ORDER BY c.id)
      FROM collections c WHERE c.tenant_id = tenant AND c.name = ANY (names));
END
$$;
COMMENT ON FUNCTION rag.look_up_cached(bigint, text, text[], double precision) IS
  'The cached result of a key, if it has not expired and the named collections are as they were when it was found.';

-- Sets the tenant as rag.look_up_cached does, for a key is made of what this returns.
CREATE OR REPLACE FUNCTION rag.serving_models(tenant bigint, names text[]) RETURNS smallint[]
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
BEGIN
  PERFORM set_config('app.tenant', tenant::text, true);
  RETURN ARRAY(
    SELECT coalesce(c.model_id, (
      SELECT e.model_id FROM embeddings e WHERE e.tenant_id = tenant AND e.collection_id = c.id LIMIT 1))
    FROM collections c WHERE c.tenant_id = tenant AND c.name = ANY (names) ORDER BY c.name);
END
$$;
COMMENT ON FUNCTION rag.serving_models(bigint, text[]) IS
  'Ids of the embedding models that serve the named collections, in order of name; null where none does yet.';

CREATE OR REPLACE FUNCTION rag.cached_is_current(ids uuid[], epochs bigint[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
  SELECT (ids, epochs) = (
    SELECT array_agg(c.id ORDER BY c.id), array_agg(c.epoch ORDER BY c.id) FROM collections c WHERE c.id = ANY (ids))
$$;
COMMENT ON FUNCTION rag.cached_is_current(uuid[], bigint[]) IS
  'Whether collections (ids ascending) still have these epochs.';
