-- What is kept because of a person (docs/privacy.md): shown to them, and forgotten. A person is known by callers (token:<subject>,
-- key:<id>: who asked, rated, ordered or did something), by names (person:<subject>, key:<id>: in access lists), by keys, and by what
-- their usage is counted on.
--
-- Forgetting has two transactions. The first notes the callers, and waits for whoever is writing for them just then; from its commit on
-- nothing of them is written, for an hour. The second finds all there is.

-- pg_locks shows every login which advisory locks are held, so a key that can be reckoned would tell analysts who is asking. So it is a
-- digest with a secret of the tenant, which is the salt of the row without a digest in forgotten_callers: analysts cannot read it, everybody
-- who serves the tenant reads the same, and nobody is found by it. By SHA-256, which is the same in every major version of PostgreSQL.
CREATE OR REPLACE FUNCTION rag.lock_of(caller text, tenant bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  secret bytea;
BEGIN
  LOOP
    secret := (SELECT f.salt FROM forgotten_callers f WHERE f.tenant_id = tenant AND f.digest = '');
    EXIT WHEN secret IS NOT NULL;
    -- the first of a tenant makes it; who comes in the same moment waits for that, and reads it then
    INSERT INTO forgotten_callers (tenant_id, digest, salt, mark, forgotten_at)
    VALUES (tenant, '', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), '', 'infinity') ON CONFLICT DO NOTHING;
  END LOOP;
  RETURN ('x' || encode(substr(sha256(secret || convert_to(caller, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;
END
$$;
COMMENT ON FUNCTION rag.lock_of(text, bigint) IS 'The advisory lock by which a caller is forgotten while nobody writes for them.';

-- Tenants that are there already, and may be busy, have theirs from the beginning: nobody waits for a writer that happens to be the first.
DO $secrets$
BEGIN
  IF NOT rag.is_distributed() THEN  -- where rows of all tenants cannot be written beside changes of tables
    INSERT INTO rag.forgotten_callers (tenant_id, digest, salt, mark, forgotten_at)
    SELECT t.id, '', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), '', 'infinity' FROM rag.tenants t
    ON CONFLICT DO NOTHING;
  END IF;
END
$secrets$;

-- What stands in the place of a caller that was forgotten within the hour; null: the caller is kept. Until the transaction ends nobody is
-- forgotten who was asked about in it. Asked before anything else is locked.
CREATE OR REPLACE FUNCTION rag.forgotten_as(caller text) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  PERFORM pg_advisory_xact_lock_shared(rag.lock_of(caller, tenant));
  RETURN (
    SELECT f.mark FROM forgotten_callers f
    WHERE f.tenant_id = tenant AND f.forgotten_at > clock_timestamp() - interval '1 hour'
      AND f.digest = sha256(f.salt || convert_to(caller, 'UTF8'))
    LIMIT 1);
END
$$;
COMMENT ON FUNCTION rag.forgotten_as(text) IS
  'What stands in the place of a caller of the current tenant that was forgotten within the hour; null: the caller is kept.';

-- The first of the two transactions, for the house.
CREATE OR REPLACE FUNCTION rag.note_forgotten(callers text[], mark text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  one text;
  salt bytea;
BEGIN
  FOREACH one IN ARRAY ARRAY(SELECT DISTINCT c FROM unnest(callers) AS c ORDER BY c) LOOP
    PERFORM pg_advisory_xact_lock(rag.lock_of(one, tenant));
    salt := uuid_send(gen_random_uuid());
    INSERT INTO forgotten_callers (tenant_id, digest, salt, mark, forgotten_at)
    VALUES (tenant, sha256(salt || convert_to(one, 'UTF8')), salt, mark, clock_timestamp());
  END LOOP;
END
$$;
COMMENT ON FUNCTION rag.note_forgotten(text[], text) IS
  'From the commit on nothing of these callers of the current tenant is written, for an hour; waits for what is being written.';

-- Conversations that one of the callers has asked in, and their runs, and those of their own.
CREATE OR REPLACE FUNCTION rag.asked_of(callers text[], OUT told text[], OUT asked uuid[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  told := ARRAY(SELECT s.id FROM sessions s WHERE s.tenant_id = tenant AND s.asked_by && callers);
  asked := ARRAY(
    SELECT r.id FROM runs r WHERE r.tenant_id = tenant AND (r.asked_by = ANY (callers) OR r.session_id = ANY (told))
    UNION SELECT r.id FROM resumable_runs r WHERE r.tenant_id = tenant AND (r.asked_by = ANY (callers) OR r.session_id = ANY (told))
    UNION SELECT m.run_id FROM messages m WHERE m.tenant_id = tenant AND m.session_id = ANY (told) AND m.run_id IS NOT NULL);
END
$$;
COMMENT ON FUNCTION rag.asked_of(text[]) IS
  'Conversations of the current tenant that one of these callers has asked in, and runs of these and of their own.';

-- What of it is theirs, and what of it they may read themselves, judged as row security judges rows of a caller with these names. Groups are
-- those of keys of theirs that count: in which ones somebody with a token is, only the token says.
CREATE OR REPLACE FUNCTION rag.readable_of(
  callers text[], names text[], keys uuid[],
  OUT told text[], OUT asked uuid[], OUT readers text[], OUT own uuid[], OUT others uuid[], OUT alone text[], OUT open_sessions text[],
  OUT open_runs uuid[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  SELECT a.told, a.asked INTO told, asked FROM asked_of(callers) AS a;
  readers := callers || names || ARRAY(
    SELECT 'group:' || held.name FROM api_keys k CROSS JOIN LATERAL unnest(k.groups) AS held (name)
    WHERE k.tenant_id = tenant AND k.id = ANY (keys) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()));
  own := ARRAY(
    SELECT r.id FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) AND r.asked_by = ANY (callers)
    UNION SELECT r.id FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) AND r.asked_by = ANY (callers));
  others := ARRAY(
    SELECT r.id FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) AND r.asked_by <> ALL (callers)
    UNION SELECT r.id FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) AND r.asked_by <> ALL (callers));
  alone := ARRAY(SELECT s.id FROM sessions s WHERE s.tenant_id = tenant AND s.id = ANY (told) AND s.asked_by <@ callers);
  open_sessions := ARRAY(
    SELECT unnest(told)
    UNION SELECT r.session_id FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (own) AND r.session_id IS NOT NULL
    UNION SELECT r.session_id FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (own) AND r.session_id IS NOT NULL);
  IF is_distributed() THEN  -- which keeps no access lists
    open_runs := own;
    RETURN;
  END IF;
  open_sessions := ARRAY(SELECT s.id FROM unnest(open_sessions) AS s (id) WHERE reads_session(tenant, s.id, readers));
  open_runs := ARRAY(
    SELECT unnest(own)
    EXCEPT SELECT r.id FROM runs r
    WHERE r.tenant_id = tenant AND r.id = ANY (own) AND NOT (
      (r.session_id IS NULL OR r.session_id = ANY (open_sessions))
      AND reads_documents(tenant, r.document_ids, readers) AND reads_legs(tenant, r.started_at, r.id, readers))
    EXCEPT SELECT r.id FROM resumable_runs r
    WHERE r.tenant_id = tenant AND r.id = ANY (own) AND NOT (
      (r.session_id IS NULL OR r.session_id = ANY (open_sessions)) AND reads_documents(tenant, r.document_ids, readers)));
END
$$;
COMMENT ON FUNCTION rag.readable_of IS
  'Of a person: names by which they read, runs that they and others asked, conversations in which nobody else did, and what nothing is withheld of.';

-- A record for each row: what stands in it but the tenant, and no secrets. Of what others asked, and of what stands on documents that are
-- not theirs to read, that it is there, and when; their own words always. Of a message whose run is gone it is not known whose it is: they
-- are told what they may read, and of the rest what was said by who could read no more than they. Jobs of the house bear the
-- name of who gave rise to them: they are told as row security shows them (sql/row_security.sql). What a reply named is not known:
-- it is told to who is kept from nothing.
CREATE OR REPLACE FUNCTION rag.kept_of(callers text[], names text[], keys uuid[], counted uuid[]) RETURNS TABLE (kind text, record jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  withheld CONSTANT jsonb := '{"withheld": true}';
  told text[]; asked uuid[]; readers text[]; own uuid[]; others uuid[]; alone text[]; open_sessions text[]; open_runs uuid[];
  begun_as text;
  listed boolean := false;  -- as rag.withholds()
  hidden boolean := false;  -- a list is without them
BEGIN
  SELECT a.* INTO told, asked, readers, own, others, alone, open_sessions, open_runs FROM readable_of(callers, names, keys) AS a;
  begun_as := md5(asked_as(readers)::text);
  IF NOT is_distributed() THEN  -- which keeps no access lists
    SELECT count(*) > 0, coalesce(bool_or(l.access <> '{}' AND NOT l.access && readers), false) INTO listed, hidden FROM (
      SELECT d.access FROM documents d WHERE d.tenant_id = tenant AND d.access IS NOT NULL
      UNION ALL SELECT r.access FROM access_rules r WHERE r.tenant_id = tenant AND r.access <> '{}'
      UNION ALL SELECT ARRAY(SELECT jsonb_array_elements_text(folder.access))
        FROM sources s CROSS JOIN LATERAL jsonb_each(s.access) AS folder (name, access) WHERE s.tenant_id = tenant) AS l;
  END IF;
  RETURN QUERY SELECT 'conversation', CASE WHEN s.id = ANY (open_sessions) THEN to_jsonb(s) ELSE withheld || jsonb_build_object(
      'id', s.id, 'message_count', s.message_count, 'created_at', s.created_at, 'last_used_at', s.last_used_at) END
      || jsonb_build_object('asked_by', ARRAY(SELECT a FROM unnest(s.asked_by) AS a WHERE a = ANY (callers)))
    FROM sessions s WHERE s.tenant_id = tenant AND s.id = ANY (told) ORDER BY s.id;
  RETURN QUERY SELECT 'message', CASE
      WHEN m.session_id = ANY (open_sessions) AND (m.run_id IS NULL OR m.run_id <> ALL (others)) THEN to_jsonb(m)
      ELSE withheld || jsonb_build_object('id', m.id, 'session_id', m.session_id, 'position', m.position, 'role', m.role,
          'run_id', m.run_id, 'created_at', m.created_at)
        || CASE WHEN m.role = 'user' AND (m.session_id = ANY (alone) OR m.run_id = ANY (own)
              OR m.asked_as <@ readers AND (m.run_id IS NULL OR m.run_id <> ALL (others)))
            THEN jsonb_build_object('content', m.content) ELSE '{}' END END
    FROM messages m WHERE m.tenant_id = tenant AND m.session_id = ANY (told) ORDER BY m.session_id, m.position;
  RETURN QUERY SELECT 'run', CASE WHEN r.id = ANY (open_runs) THEN to_jsonb(r)
      ELSE withheld || jsonb_build_object('id', r.id, 'session_id', r.session_id, 'kind', r.kind, 'started_at', r.started_at)
        || CASE WHEN r.id = ANY (own) THEN jsonb_build_object('question', r.question, 'asked_by', r.asked_by) ELSE '{}' END END
    FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) ORDER BY r.id;
  RETURN QUERY SELECT 'candidates', CASE WHEN l.run_id = ANY (open_runs) THEN to_jsonb(l)
      ELSE withheld || jsonb_build_object('run_id', l.run_id, 'leg', l.leg, 'started_at', l.started_at) END
    FROM run_legs l WHERE l.tenant_id = tenant AND l.run_id = ANY (asked) ORDER BY l.run_id, l.leg;
  RETURN QUERY SELECT 'resumable_run', CASE WHEN r.id = ANY (open_runs) THEN to_jsonb(r)
      ELSE withheld || jsonb_build_object('id', r.id, 'session_id', r.session_id, 'started_at', r.started_at, 'ended_at', r.ended_at) END
    FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) ORDER BY r.id;
  RETURN QUERY SELECT 'event', CASE WHEN e.run_id = ANY (open_runs) THEN to_jsonb(e)
      ELSE withheld || jsonb_build_object('run_id', e.run_id, 'seq', e.seq, 'kind', e.kind, 'terminal', e.terminal) END
    FROM run_events e WHERE e.tenant_id = tenant AND e.run_id = ANY (asked) ORDER BY e.run_id, e.seq;
  RETURN QUERY SELECT 'feedback', CASE
      WHEN f.rated_by = ANY (callers) OR f.rated_by IS NULL AND f.run_id = ANY (open_runs) THEN to_jsonb(f)
      ELSE withheld || jsonb_build_object('run_id', f.run_id, 'created_at', f.created_at, 'updated_at', f.updated_at)
        || CASE WHEN f.run_id = ANY (own) THEN jsonb_build_object('rating', f.rating) ELSE '{}' END END
    FROM feedback f
    WHERE f.tenant_id = tenant AND (f.session_id = ANY (told) OR f.run_id = ANY (asked) OR f.rated_by = ANY (callers)) ORDER BY f.run_id;
  -- its id says by which names it was begun that read more than everybody (sql/queries/qa_sessions.sql)
  RETURN QUERY SELECT 'agent_session', CASE
      WHEN q.asked_by <@ callers AND split_part(q.id, '/', 2) IN ('', begun_as) THEN to_jsonb(q) || jsonb_build_object(
        'not_found', ARRAY(
          SELECT g.gap FROM qa_gaps g WHERE g.tenant_id = tenant AND g.collection_id = q.collection_id AND g.session_id = q.id ORDER BY g.gap))
      ELSE withheld || jsonb_build_object('id', q.id, 'created_at', q.created_at, 'last_accessed_at', q.last_accessed_at) END
    FROM qa_sessions q WHERE q.tenant_id = tenant AND q.asked_by && callers ORDER BY q.id;
  RETURN QUERY SELECT 'reply', CASE
      WHEN NOT hidden
        THEN to_jsonb(i) - 'body' - 'fingerprint' - 'claim' || jsonb_build_object('body', convert_from(i.body, 'UTF8'))
      ELSE withheld || jsonb_build_object('key', i.key, 'created_at', i.created_at) END
    FROM idempotency_keys i WHERE i.tenant_id = tenant AND (
      CASE WHEN starts_with(i.caller, '[') THEN i.caller::jsonb ->> 0 = ANY (callers)
        ELSE EXISTS (SELECT 1 FROM unnest(callers) AS c WHERE i.caller = c OR starts_with(i.caller, c || ' ')) END) ORDER BY i.key;
  RETURN QUERY SELECT 'job', CASE
      WHEN j.payload #>> '{ordered_by,reads_all}' IS DISTINCT FROM 'true' OR NOT j.payload ? 'tells_of_restricted' AND (
          NOT listed OR j.kind NOT IN ('index_uploads', 'fetch_urls', 'sync_source') AND j.payload ? 'collection_id'
            AND reads_collection(tenant, j.payload ->> 'collection_id', readers)) THEN to_jsonb(j)
      ELSE withheld || jsonb_build_object(
          'id', j.id, 'kind', j.kind, 'created_at', j.created_at, 'started_at', j.started_at, 'finished_at', j.finished_at) END
    FROM jobs j
    WHERE j.tenant_id = tenant AND j.payload #>> '{ordered_by,id}' = ANY (callers) ORDER BY j.id;
  RETURN QUERY SELECT 'key', to_jsonb(k) - 'key_hash' FROM api_keys k WHERE k.tenant_id = tenant AND k.id = ANY (keys) ORDER BY k.id;
  RETURN QUERY SELECT 'key_made', jsonb_build_object('id', k.id, 'created_at', k.created_at) FROM api_keys k
    WHERE k.tenant_id = tenant AND k.created_by = ANY (callers) AND k.id <> ALL (keys) ORDER BY k.id;
  RETURN QUERY SELECT 'usage', to_jsonb(u) FROM key_usage u WHERE u.tenant_id = tenant AND u.key_id = ANY (counted) ORDER BY u.day;
  RETURN QUERY SELECT 'access', jsonb_build_object('document_id', d.id) || CASE WHEN d.access IS NULL OR d.access && readers
      THEN jsonb_build_object('external_id', d.external_id, 'title', d.title) ELSE withheld END
    FROM documents d
    WHERE d.tenant_id = tenant AND (d.access && names OR d.formerly IS NOT NULL AND unnamed(d.formerly, names, '') <> d.formerly) ORDER BY d.id;
  RETURN QUERY SELECT 'access_rule', jsonb_build_object('collection_id', r.collection_id, 'folder', r.prefix) FROM access_rules r
    WHERE r.tenant_id = tenant AND r.access && names ORDER BY r.collection_id, r.prefix;
  RETURN QUERY SELECT 'audit', to_jsonb(a) FROM audit_events a
    WHERE a.tenant_id = tenant AND (a.caller = ANY (callers) OR a.target = ANY (keys::text[] || callers || names)) ORDER BY a.occurred_at, a.id;
  RETURN;
END
$$;
COMMENT ON FUNCTION rag.kept_of IS 'What the current tenant keeps because of a person, as JSON, without hashes of keys.';

-- What an export of a person tells somebody else: conversations and runs outside of them that were not asked by this reader alone, and
-- documents that it reads by right, as their access lists do not name it.
CREATE OR REPLACE FUNCTION rag.told_of(callers text[], names text[], keys uuid[], reader text, reader_names text[])
RETURNS TABLE (kind text, id text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  told text[]; others uuid[]; own uuid[]; open_sessions text[]; open_runs uuid[]; stood_on uuid[];
BEGIN
  SELECT a.told, a.others, a.own, a.open_sessions, a.open_runs INTO told, others, own, open_sessions, open_runs
  FROM readable_of(callers, names, keys) AS a;
  RETURN QUERY SELECT 'conversation', s.id FROM sessions s
    WHERE s.tenant_id = tenant AND s.id = ANY (told) AND NOT s.asked_by <@ ARRAY[reader] ORDER BY s.id;
  RETURN QUERY
    SELECT 'run', r.id::text FROM runs r
    WHERE r.tenant_id = tenant AND r.id = ANY (own) AND r.asked_by <> reader AND (r.session_id IS NULL OR r.session_id <> ALL (told))
    UNION SELECT 'run', r.id::text FROM resumable_runs r
    WHERE r.tenant_id = tenant AND r.id = ANY (own) AND r.asked_by <> reader AND (r.session_id IS NULL OR r.session_id <> ALL (told));
  stood_on := ARRAY(
    SELECT unnest(r.document_ids) FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (open_runs)
    UNION SELECT unnest(r.document_ids) FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (open_runs)
    UNION SELECT unnest(m.document_ids) FROM messages m
    WHERE m.tenant_id = tenant AND m.session_id = ANY (told) AND m.session_id = ANY (open_sessions)
      AND (m.run_id IS NULL OR m.run_id <> ALL (others)));
  RETURN QUERY SELECT 'document', d.id::text FROM documents d
    WHERE d.tenant_id = tenant AND d.id = ANY (stood_on) AND d.access IS NOT NULL AND NOT d.access && reader_names ORDER BY d.id;
END
$$;
COMMENT ON FUNCTION rag.told_of IS
  'Conversations, runs and restricted documents of which an export of a person tells a reader that has not asked them, or reads them by right alone.';

-- Documents that name the person are the business of the caller, in the same transaction and before: their access lists change one by one.
-- Rows are locked as all deletions lock them: conversations, runs, messages, each in order of id.
CREATE OR REPLACE FUNCTION rag.forget_person(callers text[], names text[], keys uuid[], counted uuid[], mark text)
RETURNS TABLE (kind text, gone bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  told text[];
  asked uuid[];
  one uuid;
  fresh uuid;
BEGIN
  PERFORM 1 FROM sessions s WHERE s.tenant_id = tenant AND s.asked_by && callers ORDER BY s.id FOR UPDATE;
  SELECT a.told, a.asked INTO told, asked FROM asked_of(callers) AS a;
  PERFORM 1 FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) ORDER BY r.id FOR UPDATE;
  DELETE FROM run_legs l WHERE l.tenant_id = tenant AND l.run_id = ANY (asked);
  DELETE FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'runs'; RETURN NEXT;
  PERFORM 1 FROM messages m WHERE m.tenant_id = tenant AND m.session_id = ANY (told) ORDER BY m.id FOR UPDATE;
  DELETE FROM sessions s WHERE s.tenant_id = tenant AND s.id = ANY (told);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'conversations'; RETURN NEXT;
  DELETE FROM feedback f
  WHERE f.tenant_id = tenant AND (f.session_id = ANY (told) OR f.run_id = ANY (asked) OR f.rated_by = ANY (callers));
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'feedback'; RETURN NEXT;
  PERFORM 1 FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) ORDER BY r.id FOR UPDATE;
  DELETE FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'resumable_runs'; RETURN NEXT;
  DELETE FROM qa_sessions q WHERE q.tenant_id = tenant AND q.asked_by && callers;
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'agent_sessions'; RETURN NEXT;
  DELETE FROM idempotency_keys i
  WHERE i.tenant_id = tenant AND (
    CASE WHEN starts_with(i.caller, '[') THEN i.caller::jsonb ->> 0 = ANY (callers)
      ELSE EXISTS (SELECT 1 FROM unnest(callers) AS c WHERE i.caller = c OR starts_with(i.caller, c || ' ')) END);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'replies'; RETURN NEXT;
  -- who asked for what is cached is not known, and a cache fills again
  WITH doomed AS MATERIALIZED (SELECT c.key FROM retrieval_cache c WHERE c.tenant_id = tenant ORDER BY c.key FOR UPDATE)
  DELETE FROM retrieval_cache c USING doomed WHERE c.tenant_id = tenant AND c.key = doomed.key;
  DELETE FROM query_embeddings e WHERE e.tenant_id = tenant;
  -- what was done stays true, whoever did it
  UPDATE audit_events a SET
    caller = CASE WHEN a.caller = ANY (callers) THEN mark ELSE a.caller END,
    caller_name = CASE WHEN a.caller = ANY (callers) THEN '' ELSE a.caller_name END,
    target = CASE WHEN a.target = ANY (keys::text[] || callers || names || told)
                    OR a.caller = ANY (callers) AND a.action IN ('conversation.delete', 'qa_session.delete') THEN mark ELSE a.target END,
    detail = CASE WHEN a.target = ANY (keys::text[]) THEN unnamed(a.detail - 'name', callers || names, mark)
                  ELSE unnamed(a.detail, callers || names, mark) END
  WHERE a.tenant_id = tenant AND (
    a.caller = ANY (callers) OR a.target = ANY (keys::text[] || callers || names || told)
    OR unnamed(a.detail, callers || names, mark) <> a.detail);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'audit_lines_without_name'; RETURN NEXT;
  UPDATE jobs j SET payload = jsonb_set(unnamed(j.payload, callers || names, mark), '{ordered_by,name}', '""')
  WHERE j.tenant_id = tenant AND j.payload #>> '{ordered_by,id}' = ANY (callers);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'jobs_without_name'; RETURN NEXT;
  UPDATE uploads u SET access = ARRAY(SELECT CASE WHEN r = ANY (names) THEN 'person:' || mark ELSE r END FROM unnest(u.access) AS r)
  WHERE u.tenant_id = tenant AND u.access && names;
  -- what folders give, and their documents have: named by nobody, it lets nobody in
  UPDATE access_rules u SET access = ARRAY(SELECT CASE WHEN r = ANY (names) THEN 'person:' || mark ELSE r END FROM unnest(u.access) AS r)
  WHERE u.tenant_id = tenant AND u.access && names;
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'access_rules'; RETURN NEXT;
  UPDATE documents u SET access = ARRAY(SELECT CASE WHEN r = ANY (names) THEN 'person:' || mark ELSE r END FROM unnest(u.access) AS r)
  WHERE u.tenant_id = tenant AND u.access && names AND u.access_from IS NOT NULL;
  UPDATE documents u SET formerly = unnamed(u.formerly, names, 'person:' || mark)
  WHERE u.tenant_id = tenant AND u.formerly IS NOT NULL AND unnamed(u.formerly, names, 'person:' || mark) <> u.formerly;
  UPDATE sources u SET access = unnamed(u.access, names, 'person:' || mark)
  WHERE u.tenant_id = tenant AND unnamed(u.access, names, 'person:' || mark) <> u.access;
  UPDATE api_keys k SET created_by = mark WHERE k.tenant_id = tenant AND k.created_by = ANY (callers) AND k.id <> ALL (keys);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'keys_made_without_name'; RETURN NEXT;
  DELETE FROM key_requests q WHERE q.tenant_id = tenant AND q.key_id = ANY (counted);
  DELETE FROM run_slots s WHERE s.tenant_id = tenant AND s.key_id = ANY (counted);
  FOREACH one IN ARRAY counted LOOP  -- sums of the tenant stay what they are
    fresh := gen_random_uuid();
    UPDATE key_usage u SET key_id = fresh WHERE u.tenant_id = tenant AND u.key_id = one;
  END LOOP;
  DELETE FROM api_keys k WHERE k.tenant_id = tenant AND k.id = ANY (keys);
  GET DIAGNOSTICS gone = ROW_COUNT; kind := 'keys'; RETURN NEXT;
  PERFORM pg_notify('cairn_keys', k::text) FROM unnest(keys) AS k;
END
$$;
COMMENT ON FUNCTION rag.forget_person IS
  'Removes what the current tenant keeps because of a person, and puts a mark in their place where it has to stay; how much of each kind.';

-- Whole texts only, so that nothing else is changed that has the letters in it.
CREATE OR REPLACE FUNCTION rag.unnamed(value jsonb, names text[], mark text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  told text := value::text;
  name text;
BEGIN
  FOREACH name IN ARRAY names LOOP
    told := replace(told, to_jsonb(name)::text, to_jsonb(mark)::text);
  END LOOP;
  RETURN told::jsonb;
END
$$;
COMMENT ON FUNCTION rag.unnamed(jsonb, text[], text) IS 'The same with a mark in the place of texts that are one of the names.';
