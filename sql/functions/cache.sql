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

-- Stored only if the collections are still in the state that was searched, and held there until commit (FOR SHARE): a writer who
-- comes later finds the entry and removes it. Nothing is kept of collections with restricted documents, nor of who
-- could read more than everybody. SKIP LOCKED: while a writer is
-- at work, nothing is stored. Then what has expired goes, and beyond the capacity the least recently used. Whether it was stored.
CREATE OR REPLACE FUNCTION rag.store_cached(
  tenant bigint, stored text, scope text, query text, query_vector halfvec, guards text[], ids uuid[], seen bigint[], result jsonb,
  capacity integer, ttl_seconds double precision
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  held uuid[]; unchanged bigint[]; surplus text[];
BEGIN
  SELECT array_agg(u.id ORDER BY u.id), array_agg(u.epoch ORDER BY u.id) INTO held, unchanged
  FROM (SELECT c.id, c.epoch FROM collections c WHERE c.tenant_id = tenant AND c.id = ANY (ids) FOR SHARE SKIP LOCKED) AS u;
  IF held IS DISTINCT FROM ids OR unchanged IS DISTINCT FROM seen THEN
    RETURN false;
  END IF;
  -- What is found depends on who asks: it is shared by nobody. Not asked through row security, which hides just what matters here.
  IF holds_restricted(ids) THEN RETURN false; END IF;
  -- That it was searched for is for those who could read as much as who asked.
  IF asked_as() <> '{}' THEN RETURN false; END IF;
  INSERT INTO retrieval_cache AS r (tenant_id, key, scope, query, query_vector, guards, collection_ids, epochs, result, hits)
  VALUES (tenant, stored, scope, query, query_vector, guards, ids, seen, result, 0)
  ON CONFLICT ON CONSTRAINT retrieval_cache_pkey DO UPDATE
  SET query_vector = excluded.query_vector, collection_ids = excluded.collection_ids, epochs = excluded.epochs,
      result = excluded.result, hits = 0, created_at = excluded.created_at, used_at = excluded.used_at;
  surplus := ARRAY(
    SELECT k.key FROM (
      SELECT o.key, o.created_at, row_number() OVER (ORDER BY o.used_at DESC, o.created_at DESC, o.key) AS place
      FROM retrieval_cache o WHERE o.tenant_id = tenant AND o.key <> stored) AS k
    WHERE k.place >= capacity OR k.created_at <= now() - make_interval(secs => ttl_seconds));
  IF cardinality(surplus) > 0 THEN
    DELETE FROM retrieval_cache d
    USING (SELECT v.key FROM retrieval_cache v WHERE v.tenant_id = tenant AND v.key = ANY (surplus) FOR UPDATE SKIP LOCKED) AS free
    WHERE d.tenant_id = tenant AND d.key = free.key;
  END IF;
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.store_cached IS 'Keeps the result of a search as long as its collections are what they were; false where they are not.';

-- Nothing of who could read more than everybody: others would see that it was asked. A use is written when the last one is older than 30 s; beyond the capacity the least recently used go.
CREATE OR REPLACE FUNCTION rag.keep_embedding(tenant bigint, model smallint, hash bytea, vector halfvec, capacity integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  present timestamptz := now();
BEGIN
  IF asked_as() <> '{}' THEN RETURN; END IF;
  UPDATE query_embeddings q SET used_at = present
  WHERE q.tenant_id = tenant AND q.model_id = model AND q.query_hash = hash AND q.used_at < present - interval '30 s';
  IF FOUND THEN RETURN; END IF;
  INSERT INTO query_embeddings (tenant_id, model_id, query_hash, embedding) VALUES (tenant, model, hash, vector)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM query_embeddings d USING (
    SELECT v.model_id, v.query_hash FROM query_embeddings v
    WHERE v.tenant_id = tenant AND (v.model_id, v.query_hash) IN (
      SELECT o.model_id, o.query_hash FROM query_embeddings o
      WHERE o.tenant_id = tenant AND (o.model_id, o.query_hash) <> (model, hash)
      ORDER BY o.used_at DESC, o.query_hash OFFSET greatest(capacity - 1, 0))
    FOR UPDATE SKIP LOCKED) AS free
  WHERE d.tenant_id = tenant AND d.model_id = free.model_id AND d.query_hash = free.query_hash;
END
$$;
COMMENT ON FUNCTION rag.keep_embedding IS 'Keeps the vector of a query, or that it was used again; the least recently used go.';
