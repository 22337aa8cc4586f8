-- What must not outlive a deletion: text of documents in traced answers and in messages, and text of conversations in
-- traces. Runs are locked first, then messages, each in order of id, so that deletions of all kinds can meet.

-- What of a plan cannot hold words of documents and conversations: measures, and what the plan has words of its own for.
CREATE OR REPLACE FUNCTION rag.wordless_plan(plan jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(key, CASE key WHEN 'complexity' THEN value - 'reasoning' ELSE value END), '{}')
  FROM jsonb_each(plan)
  WHERE jsonb_typeof(value) IN ('number', 'boolean', 'null') OR key IN (
    'strategy', 'asked_strategy', 'intent', 'language', 'query_type', 'complexity', 'weights', 'answerer', 'reranker',
    'rewritten_by', 'attempts', 'agentic')
$$;
COMMENT ON FUNCTION rag.wordless_plan IS 'The plan of a run without what may hold words of documents or conversations.';

-- Runs that found passages of restricted documents stand on these from then on: the passages go, and with them what says so.
CREATE OR REPLACE FUNCTION rag.keep_withheld(documents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  secret uuid[]; parts uuid[];
BEGIN
  secret := ARRAY(SELECT d.id FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (keep_withheld.documents) AND d.access IS NOT NULL);
  IF secret = '{}' THEN RETURN; END IF;
  parts := ARRAY(SELECT p.id FROM passages p WHERE p.tenant_id = tenant AND p.document_id = ANY (secret));
  WITH found AS MATERIALIZED (
    SELECT l.started_at, l.run_id, array_agg(DISTINCT p.document_id) AS documents
    FROM run_legs l CROSS JOIN LATERAL unnest(l.passage_ids) AS f (id) JOIN passages p ON p.tenant_id = tenant AND p.id = f.id
    WHERE l.tenant_id = tenant AND l.passage_ids && parts AND p.document_id = ANY (secret) GROUP BY 1, 2
  ), held AS MATERIALIZED (
    SELECT r.id, r.started_at, f.documents FROM runs r JOIN found f ON f.started_at = r.started_at AND f.run_id = r.id
    WHERE r.tenant_id = tenant ORDER BY r.id FOR UPDATE OF r
  )
  UPDATE runs r SET document_ids = ARRAY(SELECT unnest(r.document_ids) UNION SELECT unnest(h.documents))
  FROM held h WHERE r.tenant_id = tenant AND r.started_at = h.started_at AND r.id = h.id;
END
$$;
COMMENT ON FUNCTION rag.keep_withheld IS
  'Notes which restricted documents of the current tenant runs have found, before passages of these go.';

-- What was asked of a restricted document names what nobody else may know of, and when the document is gone nothing withholds it:
-- conversations and runs that stand on it go with it.
CREATE OR REPLACE FUNCTION rag.forget_withheld(documents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  secret uuid[]; homes uuid[]; called text[]; told text[]; asked uuid[];
BEGIN
  secret := ARRAY(SELECT d.id FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (forget_withheld.documents) AND d.access IS NOT NULL);
  IF secret = '{}' THEN RETURN; END IF;
  PERFORM keep_withheld(secret);
  -- what jobs counted of the collection counted them, and uploads that brought them name and count them
  DELETE FROM jobs j
  WHERE j.tenant_id = tenant AND j.status IN ('succeeded', 'cancelled')
    AND j.payload ->> 'collection_id' IN (SELECT d.collection_id::text FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (secret))
    AND (j.kind NOT IN ('index_uploads', 'fetch_urls')
      OR EXISTS (
        SELECT 1 FROM jsonb_path_query(j.result, '$.uploaded[*].id') AS named WHERE named #>> '{}' = ANY (secret::text[]))
      OR EXISTS (
        SELECT 1 FROM jsonb_path_query(j.result, '$.failed[*].external_id') AS named
        JOIN rag.documents d ON left(d.external_id, 200) = named #>> '{}' WHERE d.tenant_id = tenant AND d.id = ANY (secret)));
  UPDATE jobs j SET payload = j.payload || '{"tells_of_restricted": true}'  -- what goes on, or may be tried again: for who ordered it
  WHERE j.tenant_id = tenant AND j.status NOT IN ('succeeded', 'cancelled')
    AND j.payload ->> 'collection_id' IN (SELECT d.collection_id::text FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (secret));
  homes := ARRAY(SELECT DISTINCT d.collection_id FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (secret));
  called := ARRAY(SELECT c.name FROM collections c WHERE c.tenant_id = tenant AND c.id = ANY (homes));
  UPDATE eval_runs e SET parameters = e.parameters || '{"tells_of_restricted": true}'  -- whether it answered is for who reads everything
  WHERE e.tenant_id = tenant AND (e.collection_id = ANY (homes)
    OR e.collection_id = '00000000-0000-0000-0000-000000000000' AND e.epochs ?| called);  -- of several: cairn.service.replay
  told := ARRAY(SELECT DISTINCT m.session_id FROM messages m WHERE m.tenant_id = tenant AND m.document_ids && secret);
  asked := ARRAY(
    SELECT r.id FROM runs r WHERE r.tenant_id = tenant AND (r.document_ids && secret OR r.session_id = ANY (told))
    UNION SELECT r.id FROM resumable_runs r
    WHERE r.tenant_id = tenant AND r.status <> 'running' AND (r.document_ids && secret OR r.session_id = ANY (told)));
  PERFORM 1 FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked) ORDER BY r.id FOR UPDATE;
  DELETE FROM run_legs l WHERE l.tenant_id = tenant AND l.run_id = ANY (asked);
  DELETE FROM runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked);
  PERFORM 1 FROM messages m WHERE m.tenant_id = tenant AND m.session_id = ANY (told) ORDER BY m.id FOR UPDATE;
  DELETE FROM sessions s WHERE s.tenant_id = tenant AND s.id = ANY (told);
  DELETE FROM feedback f WHERE f.tenant_id = tenant AND (f.session_id = ANY (told) OR f.run_id = ANY (asked));
  PERFORM blank_run_events('{}', told);
  DELETE FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = ANY (asked);
END
$$;
COMMENT ON FUNCTION rag.forget_withheld IS
  'Removes conversations and runs of the current tenant that stand on restricted documents, which are about to be deleted.';

-- Blanks what cites or quotes documents, in the transaction that deletes them. Returns how many runs were touched.
-- A follow-up is rewritten with words of earlier answers: where one of a conversation stood on a document, rewritten
-- questions of the conversation lose those words too.
-- A definer function, because row security would keep the planner from the GIN indexes on document_ids.
CREATE OR REPLACE FUNCTION rag.forget_documents(documents uuid[]) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE
  tenant bigint := current_tenant();
  touched integer;
  told text[];
BEGIN
  PERFORM forget_withheld(documents);
  told := ARRAY(SELECT DISTINCT m.session_id FROM messages m WHERE m.tenant_id = tenant AND m.document_ids && documents);
  PERFORM 1 FROM runs r
  WHERE r.tenant_id = tenant AND (r.document_ids && documents OR r.session_id = ANY (told)) ORDER BY r.id FOR UPDATE;
  UPDATE runs r SET plan = wordless_plan(r.plan)
  WHERE r.tenant_id = tenant AND (r.document_ids && documents
    OR r.session_id = ANY (told) AND (r.plan ->> 'rewritten_by' IS NOT NULL OR r.plan ? 'agent_steps'));
  UPDATE runs r
  SET answer = (r.answer - 'text' - 'insufficiencies' - 'digests') || jsonb_build_object('source_deleted_at', now())
  WHERE r.tenant_id = tenant AND r.document_ids && documents AND NOT r.answer ? 'source_deleted_at';
  GET DIAGNOSTICS touched = ROW_COUNT;
  PERFORM blank_messages(documents);
  DELETE FROM qa_gaps g WHERE g.tenant_id = tenant AND g.collection_id IN ( -- a model's words, maybe out of a document
    SELECT d.collection_id FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (forget_documents.documents));
  UPDATE feedback f SET comment = NULL
  WHERE f.tenant_id = tenant AND f.comment IS NOT NULL AND f.run_id IN (
    SELECT r.id FROM runs r WHERE r.tenant_id = tenant AND r.document_ids && documents
    UNION ALL SELECT r.id FROM resumable_runs r WHERE r.tenant_id = tenant AND r.document_ids && documents);
  PERFORM blank_run_events(documents, told);
  PERFORM blank_jobs(documents);
  RETURN touched;
END
$$;
COMMENT ON FUNCTION rag.forget_documents IS
  'Blanks traced answers, messages, comments and stored events of the current tenant that cite or quote deleted documents; how many runs it touched.';

CREATE OR REPLACE FUNCTION rag.forget_document(document uuid) RETURNS integer
LANGUAGE sql VOLATILE SET search_path = pg_catalog, rag, public, pg_temp AS 'SELECT forget_documents(ARRAY[document])';
COMMENT ON FUNCTION rag.forget_document IS 'rag.forget_documents for one.';

-- Names of documents in what uploads came to, and files of them that wait for a job or were kept to try again.
CREATE OR REPLACE FUNCTION rag.blank_jobs(documents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE
  tenant bigint := current_tenant();
  names text[] := ARRAY(
    SELECT left(d.external_id, 200) FROM rag.documents d WHERE d.tenant_id = tenant AND d.id = ANY (blank_jobs.documents));
  doomed uuid[]; results jsonb[];
BEGIN
  DELETE FROM uploads u USING rag.documents d
  WHERE d.tenant_id = tenant AND d.id = ANY (blank_jobs.documents)
    AND u.tenant_id = tenant AND u.collection_id = d.collection_id AND u.external_id = d.external_id;
  SELECT array_agg(told.id), array_agg(told.result || jsonb_build_object(
    'uploaded', coalesce(told.uploaded, '[]'), 'failed', coalesce(told.failed, '[]')))
  INTO doomed, results
  FROM (
    SELECT j.id, j.result,
      (SELECT jsonb_agg(CASE WHEN item ->> 'id' = ANY (blank_jobs.documents::text[]) THEN item || '{"external_id": "", "deleted": true}'
                             ELSE item END ORDER BY n)
       FROM jsonb_array_elements(j.result -> 'uploaded') WITH ORDINALITY AS u (item, n)) AS uploaded,
      (SELECT jsonb_agg(CASE WHEN item ->> 'external_id' = ANY (names) THEN item || '{"external_id": "", "error": "", "deleted": true}'
                             ELSE item END ORDER BY n)
       FROM jsonb_array_elements(j.result -> 'failed') WITH ORDINALITY AS f (item, n)) AS failed
    FROM jobs j WHERE j.tenant_id = tenant AND j.result ? 'uploaded' AND j.result ? 'failed'
      AND (EXISTS (SELECT 1 FROM jsonb_array_elements(j.result -> 'uploaded') AS item
                   WHERE item ->> 'id' = ANY (blank_jobs.documents::text[]))
        OR EXISTS (SELECT 1 FROM jsonb_array_elements(j.result -> 'failed') AS item WHERE item ->> 'external_id' = ANY (names)))
    ORDER BY j.id FOR UPDATE
  ) AS told;
  UPDATE jobs j SET result = n.result FROM unnest(doomed, results) AS n (id, result)
  WHERE j.tenant_id = tenant AND j.id = ANY (doomed) AND j.id = n.id;
  UPDATE jobs j SET progress = j.progress || '{"message": ""}'
  WHERE j.tenant_id = tenant AND j.progress ->> 'message' = ANY (names);
END
$$;
COMMENT ON FUNCTION rag.blank_jobs IS
  'Blanks names of documents of the current tenant in results and progress of jobs, and removes their waiting files.';

-- Sources keep ids and spans. An answer that cites a document loses its text, as it does in its trace; one that was only shown
-- the document keeps it. `among`: only these messages, which the caller has just inserted.
CREATE OR REPLACE FUNCTION rag.blank_messages(documents uuid[], among uuid[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE
  tenant bigint := current_tenant();
  contents text[]; metadatas jsonb[];
  doomed uuid[] := ARRAY(
    SELECT m.id FROM messages m
    WHERE m.tenant_id = tenant AND m.document_ids && documents AND (among IS NULL OR m.id = ANY (among))
    ORDER BY m.id FOR UPDATE);
BEGIN
  -- made first: Citus updates by no stable function of a row, which jsonb_build_object is
  SELECT array_agg(o.id), array_agg(CASE WHEN blanked.cited THEN '' ELSE o.content END), array_agg(
    (o.metadata - ARRAY['remarks', 'details', 'steps']) || jsonb_build_object(
      'source_deleted_at', coalesce(o.metadata -> 'source_deleted_at', to_jsonb(now())), 'sources', blanked.sources))
  INTO doomed, contents, metadatas
  FROM messages o
  CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(gone AND (source -> 'cited')::boolean), false)
             OR coalesce(o.metadata -> 'drew_on' ?| documents::text[], false) AS cited,
           coalesce(jsonb_agg(CASE WHEN gone THEN source || '{"deleted": true, "preview": "", "title": "", "filename": ""}'
                                   ELSE source END ORDER BY n), '[]') AS sources
    FROM jsonb_array_elements(o.metadata -> 'sources') WITH ORDINALITY AS s (source, n)
    CROSS JOIN LATERAL (SELECT (source ->> 'document_id')::uuid = ANY (documents) AS gone) AS g
  ) AS blanked
  WHERE o.tenant_id = tenant AND o.id = ANY (doomed);
  UPDATE messages m SET content = n.content, metadata = n.metadata
  FROM unnest(doomed, contents, metadatas) AS n (id, content, metadata)
  WHERE m.tenant_id = tenant AND m.id = ANY (doomed) AND m.id = n.id;
END
$$;
COMMENT ON FUNCTION rag.blank_messages IS
  'Blanks quotes, names and, where they are cited, whole answers of documents in messages of the current tenant.';

-- Blanks what the runs of a conversation say: what may hold words goes, measures stay, so that the run can still be counted.
-- `among`: only these runs, which the caller has just inserted.
CREATE OR REPLACE FUNCTION rag.blank_session_runs(session text, among uuid[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  PERFORM 1 FROM runs r
  WHERE r.tenant_id = tenant AND r.session_id = session AND (among IS NULL OR r.id = ANY (among)) ORDER BY r.id FOR UPDATE;
  UPDATE runs r SET
    question = '',
    error = split_part(r.error, ':', 1),
    degraded = '{}',
    answer = (r.answer - 'text' - 'insufficiencies' - 'digests') || jsonb_build_object('session_deleted_at', now()),
    plan = wordless_plan(r.plan)
  WHERE r.tenant_id = tenant AND r.session_id = session AND (among IS NULL OR r.id = ANY (among));
END
$$;
COMMENT ON FUNCTION rag.blank_session_runs IS
  'Blanks questions, answers and plans in the traces of a conversation of the current tenant.';

-- Removes a conversation: its messages and feedback, what its runs say, and cached results of what it asked. True if there was one.
-- The caller's rights, so row security decides.
CREATE OR REPLACE FUNCTION rag.forget_session(session text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  known boolean;
  asked text[];
BEGIN
  IF withholds_questions() AND NOT reads_session(tenant, session, own_principals()) THEN RETURN false; END IF;
  PERFORM 1 FROM sessions s WHERE s.tenant_id = tenant AND s.id = session FOR UPDATE;
  known := FOUND;
  asked := ARRAY(
    SELECT m.run_id::text FROM messages m WHERE m.tenant_id = tenant AND m.session_id = session AND m.run_id IS NOT NULL
    UNION SELECT r.id::text FROM runs r WHERE r.tenant_id = tenant AND r.session_id = session);
  PERFORM blank_session_runs(session);
  PERFORM 1 FROM messages m WHERE m.tenant_id = tenant AND m.session_id = session ORDER BY m.id FOR UPDATE;
  DELETE FROM sessions s WHERE s.tenant_id = tenant AND s.id = session;
  DELETE FROM feedback f WHERE f.tenant_id = tenant AND (f.session_id = session OR f.run_id::text = ANY (asked));
  PERFORM blank_run_events('{}', ARRAY[session]);
  WITH doomed AS MATERIALIZED (
    SELECT c.key FROM retrieval_cache c
    WHERE c.tenant_id = tenant AND c.result ->> 'run_id' = ANY (asked) ORDER BY c.key FOR UPDATE
  )
  DELETE FROM retrieval_cache c USING doomed WHERE c.tenant_id = tenant AND c.key = doomed.key;
  RETURN known;
END
$$;

COMMENT ON FUNCTION rag.forget_session IS
  'Removes a conversation of the current tenant with messages and feedback, blanks its text in traces and stored events; false when it is unknown.';
