-- The neighbourhood of some entities, strongest first: one recursive query over the adjacency, bounded in every direction.
-- Row security lets it read the adjacency from its index alone, so it runs with the rights of the caller.
--
-- Each hop takes of every node of the beam its `per_node_cap` strongest relations (a hub costs no more than anybody: they
-- stand first in the covering index), keeps for each neighbour the best way to it, and of these the `beam` best. The score
-- is the product of the weights along the path, times the weight of its seed. `row_budget` bounds the index entries read:
-- where it would be exceeded the cap shrinks to its share. After `time_budget_ms` no further node is expanded. `truncated`
-- says that one of the two budgets left something out.
--
-- The `top` best entities are returned, with what stands on the way to them. A beam of `top` loses none of them: weights
-- are below 1, so whatever lies behind an entity that fell out of the beam scores less than all that stayed in it.
--
-- An entity may come back at a later hop with a better score. Rows are unique in (entity_id, hop), and the predecessor of a
-- row is the row (predecessor_id, hop - 1): so a path can be rebuilt exactly (app/cairn/graph/walk.py). Scores shrink along
-- a path, so the path to the best row of an entity has no cycle, though no array of visited nodes is carried.
CREATE OR REPLACE FUNCTION rag.graph_walk(
  collection uuid, seeds uuid[], seed_weights float8[], hops integer, per_node_cap integer, beam integer,
  row_budget integer, time_budget_ms integer, top integer
) RETURNS TABLE (
  entity_id uuid, score float8, hop integer, predecessor_id uuid, relation_id uuid, outgoing boolean, passage_id uuid,
  truncated boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp
-- One plan for all walks: the caps bound them, not the estimates, which are of no use in a recursion.
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  deadline timestamptz := clock_timestamp() + make_interval(secs => time_budget_ms / 1000.0);
  depth integer := least(greatest(hops, 1), 3);
  origins uuid[];
BEGIN
  -- an entity stands where it was merged into
  origins := ARRAY(
    SELECT DISTINCT e.canonical_id FROM entities e
    WHERE e.tenant_id = tenant AND e.id = ANY (seeds));
  RETURN QUERY
  -- walk
  WITH RECURSIVE walk AS (
    SELECT e.canonical_id AS node, max(s.weight) AS score, 0 AS hop, NULL::uuid AS predecessor, NULL::uuid AS relation,
      NULL::boolean AS outgoing, count(*) OVER () AS width, row_budget::bigint AS budget
    FROM unnest(seeds, seed_weights) AS s (id, weight) CROSS JOIN LATERAL (
      SELECT e.canonical_id, e.collection_id FROM entities e
      WHERE e.tenant_id = tenant AND e.id = s.id OFFSET 0) AS e
    WHERE e.collection_id = collection
    GROUP BY e.canonical_id
    UNION ALL
    SELECT node, score, hop, predecessor, relation, outgoing, count(*) OVER (), budget
    FROM (
      SELECT node, score, hop, predecessor, relation, outgoing, budget,
        row_number() OVER (ORDER BY score DESC, node) AS place
      FROM (
        SELECT a.neighbour_id AS node, w.score * a.weight AS score, w.hop + 1 AS hop, w.node AS predecessor,
          a.relation_id AS relation, a.outgoing, w.budget - count(*) OVER () AS budget,
          row_number() OVER (PARTITION BY a.neighbour_id ORDER BY w.score * a.weight DESC, a.relation_id) AS nth
        FROM walk w CROSS JOIN LATERAL (
          SELECT a.neighbour_id, a.weight, a.relation_id, a.outgoing FROM adjacency a
          WHERE a.tenant_id = tenant AND a.node_id = w.node
          ORDER BY a.weight DESC, a.neighbour_id
          LIMIT CASE WHEN clock_timestamp() < deadline THEN least(per_node_cap, w.budget / w.width) ELSE 0 END
        ) AS a
        WHERE w.hop < depth AND a.neighbour_id <> ALL (origins) AND a.neighbour_id IS DISTINCT FROM w.predecessor
      ) AS ways WHERE nth = 1
    ) AS ranked WHERE place <= beam
  ), best AS (
    SELECT node, hop FROM (
      SELECT DISTINCT ON (node) node, hop, score FROM walk ORDER BY node, score DESC, hop) AS first
    ORDER BY score DESC, node LIMIT top
  ), shown AS (
    -- with what stands on the way to them
    SELECT w.* FROM walk w JOIN best b ON b.node = w.node AND b.hop = w.hop
    UNION
    SELECT w.* FROM shown s JOIN walk w ON w.node = s.predecessor AND w.hop = s.hop - 1
  )
  SELECT w.node, w.score, w.hop, w.predecessor, w.relation, w.outgoing, v.passage_id, cut.short
  FROM shown w LEFT JOIN LATERAL (
    SELECT v.passage_id FROM evidence v
    WHERE v.tenant_id = tenant AND v.relation_id = w.relation
    ORDER BY v.strength DESC, v.passage_id LIMIT 1
  ) AS v ON true
  CROSS JOIN (
    SELECT clock_timestamp() >= deadline OR bool_or(w.hop < depth AND w.budget / w.width < per_node_cap) AS short FROM walk w
  ) AS cut;
  -- end of walk
END
$$;
COMMENT ON FUNCTION rag.graph_walk(uuid, uuid[], double precision[], integer, integer, integer, integer, integer, integer) IS
  'Best entities within 1 to 3 hops of the seeds, with the way to each and the passage that proves its last step; see sql/functions/graph_walk.sql.';
