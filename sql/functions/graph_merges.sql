-- Entities that are the same thing under other names, as a person or a similarity found. Mentions keep the entity that they
-- were found as; a merge is a redirect that the adjacency follows, so undoing it restores what was.

CREATE OR REPLACE FUNCTION rag.merge_entities(collection uuid, merge uuid, entity uuid, into_entity uuid, reason text)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  merged uuid; target uuid;
BEGIN
  UPDATE collections c SET epoch = c.epoch + 1 WHERE c.tenant_id = tenant AND c.id = collection;
  merged := canonical_entity(collection, entity);
  target := canonical_entity(collection, into_entity);
  IF merged IS NULL OR target IS NULL OR merged = target THEN RETURN false; END IF;
  -- it may still be merged into what is gone
  UPDATE entity_merges m SET undone_at = now()
  WHERE m.tenant_id = tenant AND m.entity_id = merged AND m.undone_at IS NULL;
  INSERT INTO entity_merges (tenant_id, collection_id, id, entity_id, into_id, reason)
  VALUES (tenant, collection, merge, merged, target, reason);
  PERFORM redirect_entities(collection, ARRAY[merged]);
  PERFORM forget_cached(collection);
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.merge_entities(uuid, uuid, uuid, uuid, text) IS
  'Merges an entity of the current tenant, with all merged into it, into another; false when either is missing or they are one already.';

CREATE OR REPLACE FUNCTION rag.unmerge_entities(collection uuid, merge uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  merged uuid;
BEGIN
  UPDATE collections c SET epoch = c.epoch + 1 WHERE c.tenant_id = tenant AND c.id = collection;
  UPDATE entity_merges m SET undone_at = now()
  WHERE m.tenant_id = tenant AND m.collection_id = collection AND m.id = merge AND m.undone_at IS NULL
  RETURNING m.entity_id INTO merged;
  IF merged IS NULL THEN RETURN false; END IF;
  PERFORM redirect_entities(collection, ARRAY[merged]);
  PERFORM forget_cached(collection);
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.unmerge_entities(uuid, uuid) IS
  'Undoes a merge of the current tenant; false when it is not in force. Earlier and later merges stay.';
