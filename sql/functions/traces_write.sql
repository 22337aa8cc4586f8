-- Writes lists of candidates. Each is `size` elements of `passages` and `scores`, from `first` on, and of `chunk_ids`, `shares`
-- and `fates` from places of their own, which are null where it has none. Lists of a run that was traced before, while it was under
-- way, are replaced. A function, so that a cluster of nodes has the domains wherever it has this.
CREATE OR REPLACE FUNCTION rag.insert_legs(
  tenant bigint, started timestamptz[], runs uuid[], legs text[],
  firsts integer[], sizes integer[], chunk_places integer[], share_places integer[], fate_places integer[],
  passages rag.uuid_list, scores rag.float8_list, chunk_ids rag.uuid_list, shares rag.float8_list, fates rag.text_list
) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO run_legs (tenant_id, started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)
  SELECT insert_legs.tenant, l.started_at, l.run_id, l.leg,
    insert_legs.passages[l.first : l.first + l.size - 1],
    coalesce(insert_legs.chunk_ids[l.chunk : l.chunk + l.size - 1], array_fill(NULL::uuid, ARRAY[l.size])),
    insert_legs.scores[l.first : l.first + l.size - 1],
    coalesce(insert_legs.shares[l.share : l.share + l.size - 1], array_fill('NaN'::float8, ARRAY[l.size])),
    coalesce(insert_legs.fates[l.fate : l.fate + l.size - 1], array_fill(''::text, ARRAY[l.size]))
  FROM unnest(started, runs, legs, firsts, sizes, chunk_places, share_places, fate_places)
    AS l (started_at, run_id, leg, first, size, chunk, share, fate)
  ON CONFLICT (tenant_id, run_id, leg, started_at) DO UPDATE SET
    passage_ids = excluded.passage_ids, chunk_ids = excluded.chunk_ids, scores = excluded.scores, shares = excluded.shares,
    fates = excluded.fates
  WHERE run_legs.passage_ids <> excluded.passage_ids OR run_legs.fates <> excluded.fates;
END
$$;
COMMENT ON FUNCTION rag.insert_legs IS 'Writes lists of candidates of traces of the current tenant, several at once.';
