-- Writing the knowledge graph, in the transaction of the document.
--
-- Mentions and evidence are the truth: rows of a passage that come and go with it. All else is derived from them by net
-- deltas, under the lock of the collection that all of its writers share: counts of entities, of their names and of
-- relations are exact at every commit, and a row goes when its count reaches 0.
--
-- The weight of a relation is the cosine of the sets of passages of its ends, discounted where little proves it:
-- s / sqrt(n1 * n2) * s / (s + 1), with s the strength of its evidence and n passages that name or imply an end. It needs no total, so a document changes the
-- weights of its own relations only; and the frequencies n count as the power of two below, so the relations of an entity
-- are weighted anew each time that its frequency crosses one: about twice per relation in all, and never out of date.
-- (docs/adr/0025-graph-storage.md)

-- What app/cairn/store/graph.py copies into, and where rag.settle_graph collects what changes. Per session. Made by a function so
-- that code which is older than the graph can go on writing.
CREATE OR REPLACE FUNCTION rag.prepare_graph_stage() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF to_regclass('pg_temp.stage_mentions') IS NOT NULL THEN RETURN; END IF;
  CREATE TEMP TABLE stage_mentions (
    passage_id uuid, entity_id uuid, family text, normal text, name text, kind text, form text, occurrences integer,
    char_start integer, char_end integer, confidence real, by_model boolean
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE stage_evidence (
    passage_id uuid, relation_id uuid, source_id uuid, kind text, target_id uuid, strength integer, char_start integer,
    char_end integer, by_model boolean
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE stage_entities (entity_id uuid, family text, normal text, kind text, name text, delta integer,
    named integer) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE stage_names (entity_id uuid, name text, kind text, form text, delta integer) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE stage_relations (
    relation_id uuid, source_id uuid, kind text, target_id uuid, delta integer, strength bigint
  ) ON COMMIT DELETE ROWS;
END
$$;
COMMENT ON FUNCTION rag.prepare_graph_stage() IS 'Makes the temporary tables of the graph of a document, once per session.';

CREATE OR REPLACE FUNCTION rag.frequency_class(passages integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN floor(ln(greatest(passages, 1)) / ln(2::float8) + 1e-9)::integer;
COMMENT ON FUNCTION rag.frequency_class(integer) IS 'Exponent of the power of two at or below a number of passages.';

CREATE OR REPLACE FUNCTION rag.association(strength bigint, source_passages integer, target_passages integer) RETURNS real
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (least(strength / 1000.0::float8
  / power(2::float8, (rag.frequency_class(source_passages) + rag.frequency_class(target_passages)) / 2.0::float8), 1)
  * strength / (strength + 1000.0::float8))::real;
COMMENT ON FUNCTION rag.association(bigint, integer, integer) IS
  'Weight of a relation, above 0 and below 1: from the strength of its evidence and the passages of its ends.';

-- The entity that stands for another: the last one along its merges in force that exists.
CREATE OR REPLACE FUNCTION rag.canonical_entity(collection uuid, entity uuid) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN (
    WITH RECURSIVE chain AS (
      SELECT entity AS id, 0 AS place
      UNION ALL
      SELECT m.into_id, c.place + 1 FROM chain c
      JOIN entity_merges m ON m.tenant_id = tenant AND m.entity_id = c.id
        AND m.undone_at IS NULL
    )
    SELECT c.id FROM chain c
    JOIN entities e ON e.tenant_id = tenant AND e.id = c.id
    ORDER BY c.place DESC LIMIT 1);
END
$$;
COMMENT ON FUNCTION rag.canonical_entity(uuid, uuid) IS
  'Entity of the current tenant that stands for this one after merges; null when neither exists.';

-- Follows the merges of these entities, and of all that were merged into them. The caller holds the collection's row.
CREATE OR REPLACE FUNCTION rag.redirect_entities(collection uuid, changed uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  moved uuid[];
BEGIN
  WITH RECURSIVE merged AS (
    SELECT unnest(changed) AS id
    UNION
    SELECT m.entity_id FROM merged u
    JOIN entity_merges m ON m.tenant_id = tenant AND m.into_id = u.id
      AND m.undone_at IS NULL
  ), redirected AS (
    UPDATE entities e SET canonical_id = target.id
    FROM (SELECT u.id AS entity_id, canonical_entity(collection, u.id) AS id FROM merged u) AS target
    WHERE e.tenant_id = tenant AND e.id = target.entity_id
      AND e.canonical_id <> target.id
    RETURNING e.id
  )
  SELECT array_agg(id) INTO moved FROM redirected;
  IF moved IS NOT NULL THEN
    PERFORM link_relations(collection, ARRAY(
      -- by way of their evidence: where they stand in the adjacency is about to change
      SELECT DISTINCT r.id FROM mentions m
      JOIN evidence v ON v.tenant_id = tenant AND v.passage_id = m.passage_id
      JOIN relations r ON r.tenant_id = tenant AND r.id = v.relation_id
      WHERE m.tenant_id = tenant AND m.entity_id = ANY (moved)
        AND (r.source_id = ANY (moved) OR r.target_id = ANY (moved))));
  END IF;
END
$$;
COMMENT ON FUNCTION rag.redirect_entities(uuid, uuid[]) IS
  'Brings entities of the current tenant, and those merged into them, to the entity that stands for them.';

-- Makes the adjacency of these relations what their ends and their evidence say. The caller holds the collection's row.
CREATE OR REPLACE FUNCTION rag.link_relations(collection uuid, changed uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  tenant bigint := current_tenant();
  closed uuid[];
BEGIN
  -- ends that were merged into one have nothing between them
  closed := ARRAY(
    SELECT c.id FROM unnest(changed) AS c (id) CROSS JOIN LATERAL (
      SELECT r.source_id, r.target_id FROM relations r
      WHERE r.tenant_id = tenant AND r.id = c.id OFFSET 0) AS r
    WHERE (SELECT s.canonical_id FROM entities s
           WHERE s.tenant_id = tenant AND s.id = r.source_id)
        = (SELECT t.canonical_id FROM entities t
           WHERE t.tenant_id = tenant AND t.id = r.target_id));
  DELETE FROM adjacency WHERE tenant_id = tenant AND relation_id = ANY (closed);

  INSERT INTO adjacency AS a (tenant_id, collection_id, relation_id, outgoing, node_id, neighbour_id, weight)
  SELECT tenant, collection, c.id, d.outgoing,
         CASE WHEN d.outgoing THEN s.canonical_id ELSE t.canonical_id END,
         CASE WHEN d.outgoing THEN t.canonical_id ELSE s.canonical_id END,
         association(r.strength, s.passage_count, t.passage_count)
  FROM unnest(changed) AS c (id)
  CROSS JOIN LATERAL (
    SELECT r.source_id, r.target_id, r.strength FROM relations r
    WHERE r.tenant_id = tenant AND r.id = c.id OFFSET 0) AS r
  CROSS JOIN LATERAL (
    SELECT e.canonical_id, e.passage_count + e.implied_count AS passage_count FROM entities e
    WHERE e.tenant_id = tenant AND e.id = r.source_id OFFSET 0) AS s
  CROSS JOIN LATERAL (
    SELECT e.canonical_id, e.passage_count + e.implied_count AS passage_count FROM entities e
    WHERE e.tenant_id = tenant AND e.id = r.target_id OFFSET 0) AS t
  CROSS JOIN (VALUES (true), (false)) AS d (outgoing)
  WHERE s.canonical_id <> t.canonical_id
  ON CONFLICT (tenant_id, relation_id, outgoing) DO UPDATE
  SET node_id = excluded.node_id, neighbour_id = excluded.neighbour_id, weight = excluded.weight
  WHERE (a.node_id, a.neighbour_id, a.weight) <> (excluded.node_id, excluded.neighbour_id, excluded.weight);
END
$$;
COMMENT ON FUNCTION rag.link_relations(uuid, uuid[]) IS
  'Brings the adjacency of relations of the current tenant up to date.';

-- Inserts the staged mentions and evidence of a new version, beside the old one.
CREATE OR REPLACE FUNCTION rag.insert_graph(collection uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  PERFORM unstage_restricted(collection);
  INSERT INTO mentions (tenant_id, collection_id, passage_id, entity_id, name, kind, occurrences, char_start, char_end,
    confidence, by_model)
  SELECT tenant, collection, passage_id, entity_id, name, kind, occurrences, char_start, char_end, confidence, by_model
  FROM pg_temp.stage_mentions ORDER BY passage_id, entity_id;
  INSERT INTO evidence (tenant_id, collection_id, passage_id, relation_id, strength, char_start, char_end, by_model)
  SELECT tenant, collection, passage_id, relation_id, strength, char_start, char_end, by_model
  FROM pg_temp.stage_evidence ORDER BY passage_id, relation_id;
END
$$;
COMMENT ON FUNCTION rag.insert_graph(uuid) IS 'Inserts the staged mentions and evidence of a document.';

-- Takes the mentions and evidence of passages away, and brings everything derived up to date with that and with what is
-- staged. The caller holds the collection's row.
--
-- A session plans these statements once, perhaps while the tables are empty. So tables are met by key alone, whatever the
-- planner thinks of their size: by ON CONFLICT, by = ANY (array), or in a subquery for each staged row.
CREATE OR REPLACE FUNCTION rag.settle_graph(replaced uuid[], collection uuid, keep uuid[], again boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  old_passages uuid[] := ARRAY(
    SELECT p.id FROM passages p WHERE p.tenant_id = tenant AND p.document_id = ANY (replaced)
      AND p.id NOT IN (SELECT unnest(keep)));
  renamed uuid[]; names text[]; kinds text[]; fewer uuid[]; crossed uuid[]; came_or_went uuid[]; changed uuid[];
BEGIN
  PERFORM unstage_restricted(collection);
  -- Summaries may quote what is gone, also where the graph stays what it is: other words may say the same names and relations,
  -- and a restricted document is in no graph. Few communities have one; asked for first, that passes over the others before row
  -- security looks at their documents, one by one.
  IF cardinality(old_passages) > 0 AND NOT again THEN
    UPDATE communities SET title = '', summary = '', document_ids = '{}', summarised_at = NULL
    WHERE tenant_id = tenant AND collection_id = collection AND summarised_at IS NOT NULL AND document_ids && replaced;
  END IF;
  -- What models said of passages that are gone.
  IF NOT again AND EXISTS (SELECT 1 FROM extractions x WHERE x.tenant_id = tenant AND x.document_id = ANY (replaced)) THEN
    DELETE FROM extractions x WHERE x.tenant_id = tenant AND x.document_id = ANY (replaced)
      AND (x.document_id, x.content_hash) NOT IN (
        SELECT s.document_id, sha256(convert_to(s.content, 'UTF8')) FROM pg_temp.stage_passages s);
  END IF;

  WITH gone AS (
    DELETE FROM mentions WHERE tenant_id = tenant AND passage_id = ANY (old_passages)
    RETURNING entity_id, name, kind, passage_id, occurrences
  ), net AS (
    SELECT entity_id, max(family) AS family, max(normal) AS normal, max(kind) AS kind, max(name) AS name,
      sum(delta) AS delta, sum(named) AS named
    FROM (
      SELECT entity_id, NULL AS family, NULL AS normal, NULL AS kind, NULL AS name, -count(DISTINCT passage_id) AS delta,
        -count(DISTINCT passage_id) FILTER (WHERE occurrences > 0) AS named
      FROM gone GROUP BY entity_id
      UNION ALL
      SELECT entity_id, min(family), min(normal), min(kind), min(name), count(DISTINCT passage_id),
        count(DISTINCT passage_id) FILTER (WHERE occurrences > 0)
      FROM pg_temp.stage_mentions GROUP BY entity_id
    ) AS both_ GROUP BY entity_id
  ), entity AS (
    INSERT INTO pg_temp.stage_entities SELECT entity_id, family, normal, kind, name, delta, named FROM net
    WHERE delta <> 0 OR named <> 0
  )
  INSERT INTO pg_temp.stage_names
  SELECT entity_id, name, kind, max(form), sum(delta) FROM (
    SELECT entity_id, name, kind, NULL AS form, -1 AS delta FROM gone
    UNION ALL
    SELECT entity_id, name, kind, form, 1 FROM pg_temp.stage_mentions
  ) AS both_ GROUP BY entity_id, name, kind HAVING sum(delta) <> 0;

  WITH gone AS (
    DELETE FROM evidence WHERE tenant_id = tenant AND passage_id = ANY (old_passages) RETURNING relation_id, strength
  )
  INSERT INTO pg_temp.stage_relations
  SELECT relation_id, max(source_id::text)::uuid, max(kind), max(target_id::text)::uuid, sum(delta), sum(strength) FROM (
    SELECT relation_id, NULL::uuid AS source_id, NULL AS kind, NULL::uuid AS target_id, -1 AS delta, -strength AS strength
    FROM gone
    UNION ALL
    SELECT relation_id, source_id, kind, target_id, 1, strength FROM pg_temp.stage_evidence
  ) AS both_ GROUP BY relation_id HAVING sum(delta) <> 0 OR sum(strength) <> 0;
  IF again THEN PERFORM insert_graph(collection); END IF;

  SELECT array_agg(DISTINCT entity_id), array_agg(DISTINCT entity_id) FILTER (WHERE delta < 0) INTO renamed, fewer
  FROM pg_temp.stage_names;
  changed := ARRAY(SELECT relation_id FROM pg_temp.stage_relations);
  IF renamed IS NULL AND cardinality(changed) = 0 AND NOT EXISTS (SELECT 1 FROM pg_temp.stage_entities) THEN RETURN; END IF;

  -- Entities.
  SELECT array_agg(s.entity_id) FILTER (WHERE s.before > 0 AND s.before + s.delta > 0
           AND frequency_class(s.before) <> frequency_class(s.before + s.delta)),
         array_agg(s.entity_id) FILTER (WHERE s.before = 0 OR s.before + s.delta <= 0)
  INTO crossed, came_or_went
  FROM (
    SELECT s.entity_id, s.delta, coalesce((
      SELECT e.passage_count + e.implied_count FROM entities e
      WHERE e.tenant_id = tenant AND e.id = s.entity_id), 0) AS before
    FROM pg_temp.stage_entities s OFFSET 0) AS s;
  INSERT INTO entities AS e (tenant_id, collection_id, id, family, normal, kind, name, passage_count, implied_count,
    canonical_id)
  SELECT tenant, collection, entity_id, coalesce(family, ''), coalesce(normal, ''), coalesce(kind, ''), coalesce(name, ''),
    named, delta - named, entity_id
  FROM pg_temp.stage_entities
  ON CONFLICT (tenant_id, id) DO UPDATE
  SET passage_count = e.passage_count + excluded.passage_count, implied_count = e.implied_count + excluded.implied_count;
  DELETE FROM entities
  WHERE tenant_id = tenant AND id = ANY (came_or_went) AND passage_count + implied_count <= 0;

  -- Their names, with the words of new ones. Names of what is gone went along.
  WITH named AS (
    INSERT INTO entity_aliases AS a (tenant_id, collection_id, entity_id, name, kind, form, passage_count)
    SELECT tenant, collection, s.entity_id, s.name, s.kind, coalesce(s.form, ''), s.delta
    FROM pg_temp.stage_names s
    WHERE (SELECT true FROM entities e WHERE e.tenant_id = tenant AND e.id = s.entity_id)
    ON CONFLICT (tenant_id, entity_id, name, kind)
      DO UPDATE SET passage_count = a.passage_count + excluded.passage_count
    RETURNING entity_id, form, xmax = 0 AS fresh
  )
  INSERT INTO entity_words (tenant_id, collection_id, word, entity_id, form)
  SELECT DISTINCT tenant, collection, word, n.entity_id, n.form
  FROM named n, unnest(string_to_array(n.form, ' ')) AS word WHERE n.fresh AND word <> ''
  ON CONFLICT DO NOTHING;
  IF fewer IS NOT NULL THEN
    DELETE FROM entity_aliases
    WHERE tenant_id = tenant AND entity_id = ANY (fewer) AND passage_count <= 0;
    DELETE FROM entity_words w
    WHERE w.tenant_id = tenant AND w.entity_id = ANY (fewer)
      AND (SELECT true FROM entity_aliases a
           WHERE a.tenant_id = tenant AND a.entity_id = w.entity_id AND a.form = w.form
           LIMIT 1) IS NULL;
  END IF;

  -- What they are called most; "Curie" only where no passage says "Marie Curie". Found first: Citus updates by no function of
  -- a row that reads tables.
  SELECT array_agg(n.id), array_agg(n.name), array_agg(n.kind) INTO renamed, names, kinds
  FROM (
    SELECT e.id, e.name AS old_name, e.kind AS old_kind, called_most(e.tenant_id, e.id, e.normal) AS name,
      taken_for_most(e.tenant_id, e.id) AS kind
    FROM entities e WHERE e.tenant_id = tenant AND e.id = ANY (renamed) OFFSET 0) AS n
  WHERE n.name <> n.old_name OR n.kind <> n.old_kind;
  UPDATE entities e SET name = n.name, kind = n.kind FROM unnest(renamed, names, kinds) AS n (id, name, kind)
  WHERE e.tenant_id = tenant AND e.id = ANY (renamed) AND e.id = n.id;

  -- Relations, and how their ends see them. Ends that became a class more or less frequent see all of theirs otherwise.
  INSERT INTO relations AS r (tenant_id, collection_id, id, source_id, kind, target_id, evidence_count, strength)
  SELECT tenant, collection, s.relation_id, coalesce(s.source_id, s.relation_id), coalesce(s.kind, ''),
    coalesce(s.target_id, s.relation_id), s.delta, s.strength
  FROM pg_temp.stage_relations s
  ON CONFLICT (tenant_id, id) DO UPDATE
  SET evidence_count = r.evidence_count + excluded.evidence_count, strength = r.strength + excluded.strength;
  DELETE FROM relations
  WHERE tenant_id = tenant AND evidence_count <= 0
    AND id = ANY (ARRAY(SELECT relation_id FROM pg_temp.stage_relations WHERE delta < 0));
  IF crossed IS NOT NULL THEN
    changed := ARRAY(
      SELECT unnest(changed)
      UNION
      SELECT a.relation_id FROM unnest(crossed) AS c (id) CROSS JOIN LATERAL (
        SELECT a.relation_id FROM adjacency a
        WHERE a.tenant_id = tenant AND a.node_id = (
          SELECT e.canonical_id FROM entities e
          WHERE e.tenant_id = tenant AND e.id = c.id)
        OFFSET 0) AS a);
  END IF;
  PERFORM link_relations(collection, changed);

  IF EXISTS (SELECT 1 FROM entity_merges m
    WHERE m.tenant_id = tenant AND m.undone_at IS NULL
      AND (m.entity_id = ANY (came_or_went) OR m.into_id = ANY (came_or_went))) THEN
    PERFORM redirect_entities(collection, came_or_went);
  END IF;
END
$$;
COMMENT ON FUNCTION rag.settle_graph(uuid[], uuid, uuid[], boolean) IS
  'Removes mentions and evidence of old passages of documents and brings the graph up to date.';

CREATE OR REPLACE FUNCTION rag.called_most(tenant bigint, entity uuid, normal text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT a.name FROM rag.entity_aliases a
    WHERE a.tenant_id = tenant AND a.entity_id = entity
    GROUP BY a.name
    ORDER BY bool_or(a.form = normal) DESC, length(a.name) > 5 AND a.name = upper(a.name), sum(a.passage_count) DESC,
      a.name COLLATE "C" LIMIT 1);
END
$$;
COMMENT ON FUNCTION rag.called_most(bigint, uuid, text) IS
  'Name of an entity in most passages, of those with its own normal form if there are any; in capitals only if it always is.';

CREATE OR REPLACE FUNCTION rag.taken_for_most(tenant bigint, entity uuid) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT a.kind FROM rag.entity_aliases a
    WHERE a.tenant_id = tenant AND a.entity_id = entity
    GROUP BY a.kind ORDER BY sum(a.passage_count) DESC, a.kind COLLATE "C" LIMIT 1);
END
$$;
COMMENT ON FUNCTION rag.taken_for_most(bigint, uuid) IS 'Kind that an entity is taken for in most passages.';
