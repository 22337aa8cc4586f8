-- Limits that hold over all processes. Each function serves the current tenant; every instant is the database's own.

-- Up to `block` requests, to be made in this second; in no sixty seconds are more than `most` made by all processes, since what is
-- taken in a second counts in it and in the sixty that follow. `unused`: of those taken in second `taken_in` nobody made, and they
-- count no more. `taken`: what counts now, this block included. `seconds_left`: until `second` is over, and what was not used of
-- the block with it; `full_for`: until the oldest of what counts does so no more.
CREATE OR REPLACE FUNCTION rag.lease_requests(
  key uuid, most integer, block integer, unused integer DEFAULT 0, taken_in bigint DEFAULT 0
) RETURNS TABLE (granted integer, taken integer, second bigint, seconds_left double precision, full_for double precision)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  kept CONSTANT integer := 61;
  known record;
  present double precision;
  gone bigint;
  counted integer[];
  place bigint;
BEGIN
  INSERT INTO key_requests (tenant_id, key_id) VALUES (tenant, key) ON CONFLICT ON CONSTRAINT key_requests_pkey DO NOTHING;
  SELECT r.second, r.permits INTO STRICT known FROM key_requests r
  WHERE r.tenant_id = tenant AND r.key_id = key FOR UPDATE;
  present := extract(epoch FROM clock_timestamp());  -- under the lock: who waited may have waited into the next second
  -- a clock that was set back a little stands still until it has caught up; one that was set back far must not shut a key out
  second := CASE WHEN known.second - floor(present) BETWEEN 1 AND kept THEN known.second ELSE floor(present) END;
  gone := lease_requests.second - known.second;
  counted := CASE WHEN gone BETWEEN 0 AND kept - 1 AND cardinality(known.permits) = kept
                  THEN known.permits[gone + 1 : kept] || array_fill(0, ARRAY[gone::integer])
                  ELSE array_fill(0, ARRAY[kept]) END;
  place := kept - (lease_requests.second - taken_in);
  IF place BETWEEN 1 AND kept THEN counted[place] := greatest(counted[place] - unused, 0); END IF;
  taken := (SELECT sum(n) FROM unnest(counted) AS n);
  granted := greatest(0, least(block, most - lease_requests.taken));
  taken := lease_requests.taken + lease_requests.granted;
  counted[kept] := counted[kept] + lease_requests.granted;
  seconds_left := lease_requests.second + 1 - present;
  full_for := lease_requests.second - present
    + coalesce((SELECT min(o.place) FROM unnest(counted) WITH ORDINALITY AS o (n, place) WHERE o.n > 0), kept);
  IF granted > 0 OR unused > 0 THEN
    UPDATE key_requests r SET second = lease_requests.second, permits = counted
    WHERE r.tenant_id = tenant AND r.key_id = key;
  END IF;
  RETURN NEXT;
END
$$;
COMMENT ON FUNCTION rag.lease_requests IS 'Permits for requests of this second, for a process to give out.';

-- A place among the concurrent runs of a key; false where all are taken. Slots of processes that died are free again once
-- their leases are over.
CREATE OR REPLACE FUNCTION rag.take_run_slot(slot uuid, key uuid, owner uuid, most integer, lease interval) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  present timestamptz;
BEGIN
  INSERT INTO key_requests (tenant_id, key_id) VALUES (tenant, key) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM key_requests r WHERE r.tenant_id = tenant AND r.key_id = key FOR UPDATE;
  present := clock_timestamp();  -- under the lock
  DELETE FROM run_slots s WHERE s.tenant_id = tenant AND s.key_id = key AND s.lease_until < present;
  IF (SELECT count(*) FROM run_slots s WHERE s.tenant_id = tenant AND s.key_id = key) >= most THEN
    RETURN false;
  END IF;
  INSERT INTO run_slots (tenant_id, id, key_id, owner, lease_until)
  VALUES (tenant, slot, key, owner, present + lease);
  RETURN true;
END
$$;
COMMENT ON FUNCTION rag.take_run_slot IS 'Takes a place among the concurrent runs of a key; false where none is free.';

-- All slots of a process at once, of whatever tenants.
CREATE OR REPLACE FUNCTION rag.renew_run_slots(process uuid, lease interval) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  present timestamptz := clock_timestamp();
BEGIN
  -- of keys that nobody uses any more
  DELETE FROM run_slots AS s WHERE s.lease_until < present - interval '1 hour' AND s.owner <> process;
  UPDATE run_slots AS s SET lease_until = present + lease WHERE s.owner = process;
END
$$;
COMMENT ON FUNCTION rag.renew_run_slots IS 'Renews the leases of the run slots that a process has.';

-- What a call of a model may still write today, at most `wanted` tokens, after it has read `reading` tokens; booked at once, so
-- that calls of all processes together stay within the limits, and corrected when the call has ended. `written` is null, and
-- `exceeded` says what is used up, where fewer than `fewest` are left. Costs: of what is read, and of each token that is written.
CREATE OR REPLACE FUNCTION rag.reserve_tokens(
  key uuid, reading bigint, wanted bigint, fewest bigint, reading_cost double precision, token_cost double precision,
  most_tokens bigint, most_cost double precision
) RETURNS TABLE (day date, written bigint, exceeded text)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  used record;
  affordable double precision;
BEGIN
  day := (now() AT TIME ZONE 'UTC')::date;
  INSERT INTO key_usage (tenant_id, key_id, day) VALUES (tenant, key, reserve_tokens.day)
  ON CONFLICT ON CONSTRAINT key_usage_pkey DO NOTHING;
  SELECT u.tokens, u.cost INTO STRICT used FROM key_usage u
  WHERE u.tenant_id = tenant AND u.key_id = key AND u.day = reserve_tokens.day FOR UPDATE;
  affordable := CASE WHEN token_cost > 0 THEN floor((most_cost - used.cost - reading_cost) / token_cost)
                     WHEN used.cost + reading_cost > most_cost THEN 0 END;
  IF most_tokens - used.tokens - reading < fewest THEN
    exceeded := 'tokens';
  ELSIF affordable < fewest THEN
    exceeded := 'cost';
  ELSE
    written := least(wanted, most_tokens - used.tokens - reading, affordable);
    UPDATE key_usage u
    SET tokens = u.tokens + reading + reserve_tokens.written,
        cost = u.cost + coalesce(reading_cost + reserve_tokens.written * token_cost, 0)
    WHERE u.tenant_id = tenant AND u.key_id = key AND u.day = reserve_tokens.day;
  END IF;
  RETURN NEXT;
END
$$;
COMMENT ON FUNCTION rag.reserve_tokens IS 'Books the tokens that a call of a model may use today, within the limits of its key.';

-- Documents, bytes and chunks that the tenant may keep; null where there is no limit.
CREATE OR REPLACE FUNCTION rag.tenant_room(defaults bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  own record;
BEGIN
  SELECT l.documents, l.bytes, l.chunks INTO own FROM tenant_limits l WHERE l.tenant_id = tenant;
  RETURN ARRAY[coalesce(own.documents, defaults[1]), coalesce(own.bytes, defaults[2]), coalesce(own.chunks, defaults[3])];
END
$$;
COMMENT ON FUNCTION rag.tenant_room IS 'How many documents, bytes and chunks the current tenant may keep.';

-- The lock under which what a tenant keeps is counted, until the commit. It is the last of all locks, so that nobody who has it
-- waits for another one.
CREATE OR REPLACE FUNCTION rag.lock_tenant_room() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  INSERT INTO tenant_limits (tenant_id) VALUES (tenant) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM tenant_limits l WHERE l.tenant_id = tenant FOR UPDATE;
END
$$;
COMMENT ON FUNCTION rag.lock_tenant_room IS 'Lets no other transaction count what the current tenant keeps before this one ends.';

-- Whether the tenant has room for what the transaction is about to publish, or has published: then it is counted already, and
-- under the lock. Raises CR002 where it has not. `grows`: by how many documents, bytes and chunks; what does not grow is let
-- through also where there is too much already. A tenant without limits takes no lock.
CREATE OR REPLACE FUNCTION rag.check_room(grows bigint[], published boolean, defaults bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  most bigint[] := tenant_room(defaults);
  before bigint[];
BEGIN
  IF num_nonnulls(most[1], most[2], most[3]) = 0 THEN RETURN; END IF;
  IF published THEN PERFORM lock_tenant_room(); END IF;
  SELECT ARRAY[coalesce(sum(c.document_count), 0), coalesce(sum(c.byte_count), 0), coalesce(sum(c.chunk_count), 0)]
  INTO before FROM collections c WHERE c.tenant_id = tenant;
  FOR part IN 1 .. 3 LOOP
    IF published THEN before[part] := before[part] - grows[part]; END IF;
    IF grows[part] > 0 AND before[part] + grows[part] > most[part] THEN
      -- how much there is tells how much is withheld
      RAISE EXCEPTION 'the tenant may keep % %,% and would get % more', most[part], (ARRAY['documents', 'bytes', 'chunks'])[part],
        CASE WHEN withholds() THEN ' is near to that' ELSE format(' has %s', before[part]) END, grows[part] USING ERRCODE = 'CR002';
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION rag.check_room IS 'Raises CR002 where documents would take the tenant beyond what it may keep.';

-- The same for files that wait for indexing, those included that the transaction has added: there are never more of them than
-- the tenant may keep.
CREATE OR REPLACE FUNCTION rag.check_waiting(defaults bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  most bigint[] := tenant_room(defaults);
  waiting record;
BEGIN
  IF num_nonnulls(most[1], most[2]) = 0 THEN RETURN; END IF;
  PERFORM lock_tenant_room();
  SELECT count(*) AS files, coalesce(sum(octet_length(u.content)), 0) AS bytes INTO waiting
  FROM uploads u WHERE u.tenant_id = tenant;
  IF waiting.files > most[1] OR waiting.bytes > most[2] THEN
    RAISE EXCEPTION 'the tenant may keep % documents and % bytes, and with these files % would wait for indexing',
      coalesce(most[1]::text, 'any number of'), coalesce(most[2]::text, 'any number of'),
      CASE WHEN withholds() THEN 'more' ELSE format('%s of %s bytes', waiting.files, waiting.bytes) END USING ERRCODE = 'CR002';
  END IF;
END
$$;
COMMENT ON FUNCTION rag.check_waiting IS 'Raises CR002 where more files wait for indexing than the tenant may keep.';

-- Ids alone: what a tenant is called, and keeps, is read in a transaction of its own.
CREATE OR REPLACE FUNCTION rag.list_tenants() RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT t.id FROM tenants AS t ORDER BY t.name;
END
$$;
COMMENT ON FUNCTION rag.list_tenants IS 'Ids of all tenants in order of their names, for who operates the server.';

CREATE OR REPLACE FUNCTION rag.find_tenant(wanted text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  RETURN (SELECT t.id FROM tenants AS t WHERE t.name = wanted);
END
$$;
COMMENT ON FUNCTION rag.find_tenant IS 'Id of the tenant of a name, for who operates the server; null where there is none.';
