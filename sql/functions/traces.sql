-- What must not outlive a deletion: text of documents in traced answers and in messages, and text of conversations in
-- traces. Runs are locked first, then messages, each in order of id, so that deletions of all kinds can meet.

-- What of a plan cannot hold words of documents and conversations: measures, and what the plan has words of its own for.
CREATE OR REPLACE FUNCTION rag.wordless_plan(plan jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(key, CASE key WHEN 'complexity' THEN value - 'reasoning' ELSE value END), '{}')
  FROM jsonb_each(plan)
  WHERE jsonb_typeof(value) IN ('number', 'boolean', 'null') OR key IN (
    'strategy', 'asked_strategy', 'intent', 'language', 'query_type', 'complexity', 'weights', 'answerer', 'reranker',
    'rewritten_by', 'attempts')
$$;
COMMENT ON FUNCTION rag.wordless_plan IS 'The plan of a run without what may hold words of documents or conversations.';

-- Blanks what cites or quotes a document, in the transaction that deletes it. Returns how many runs were touched.
-- A follow-up is rewritten with words of earlier answers: where one of a conversation stood on the document, rewritten
-- questions of the conversation lose those words too.
-- A definer function, because row security would keep the planner from the GIN indexes on document_ids.
CREATE OR REPLACE FUNCTION rag.forget_document(document uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE
  tenant bigint := current_tenant();
  touched integer;
  told text[] := ARRAY(SELECT DISTINCT m.session_id FROM messages m
    WHERE m.tenant_id = tenant AND m.document_ids @> ARRAY[document]);
BEGIN
  PERFORM FROM runs r
  WHERE r.tenant_id = tenant AND (r.document_ids @> ARRAY[document] OR r.session_id = ANY (told))
  ORDER BY r.id FOR UPDATE;
  UPDATE runs r SET plan = wordless_plan(r.plan)
  WHERE r.tenant_id = tenant AND (r.document_ids @> ARRAY[document] OR r.session_id = ANY (told))
    AND r.plan ->> 'rewritten_by' IS NOT NULL;
  UPDATE runs r
  SET answer = (r.answer - 'text' - 'insufficiencies') || jsonb_build_object('source_deleted_at', now())
  WHERE r.tenant_id = tenant AND r.document_ids @> ARRAY[document] AND NOT r.answer ? 'source_deleted_at';
  GET DIAGNOSTICS touched = ROW_COUNT;
  PERFORM blank_messages(document);
  RETURN touched;
END
$$;

COMMENT ON FUNCTION rag.forget_document IS
  'Blanks traced answers and messages of the current tenant that cite or quote a deleted document.';

-- Sources keep ids and spans. An answer that cites the document loses its text, as it does in its trace; one that was only
-- shown the document keeps it.
CREATE OR REPLACE FUNCTION rag.blank_messages(document uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE
  its jsonb := jsonb_build_object('document_id', document);
BEGIN
  PERFORM FROM messages WHERE tenant_id = current_tenant() AND document_ids @> ARRAY[document] ORDER BY id FOR UPDATE;
  UPDATE messages SET
    content = CASE WHEN metadata -> 'sources' @> jsonb_build_array(its || '{"cited": true}') THEN '' ELSE content END,
    metadata = metadata || jsonb_build_object(
      'source_deleted_at', coalesce(metadata -> 'source_deleted_at', to_jsonb(now())),
      'sources', (
        SELECT jsonb_agg(
          CASE WHEN source @> its
               THEN source || '{"deleted": true, "preview": "", "title": "", "filename": ""}' ELSE source END ORDER BY n)
        FROM jsonb_array_elements(metadata -> 'sources') WITH ORDINALITY AS s (source, n)))
  WHERE tenant_id = current_tenant() AND document_ids @> ARRAY[document];
END
$$;

COMMENT ON FUNCTION rag.blank_messages IS
  'Blanks quotes, names and, where it is cited, whole answers of a document in messages of the current tenant.';

-- Blanks what the runs of a conversation say. What may hold words of it goes; measures and what the plan has words of its own
-- for stay, so that the run can still be counted.
CREATE OR REPLACE FUNCTION rag.blank_session_runs(session text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  touched integer;
BEGIN
  PERFORM FROM runs r WHERE r.tenant_id = tenant AND r.session_id = session ORDER BY r.id FOR UPDATE;
  UPDATE runs r SET
    question = '',
    error = split_part(r.error, ':', 1),
    degraded = '{}',
    answer = (r.answer - 'text' - 'insufficiencies') || jsonb_build_object('session_deleted_at', now()),
    plan = wordless_plan(r.plan)
  WHERE r.tenant_id = tenant AND r.session_id = session;
  GET DIAGNOSTICS touched = ROW_COUNT;
  RETURN touched;
END
$$;

COMMENT ON FUNCTION rag.blank_session_runs IS
  'Blanks questions, answers and plans in the traces of a conversation of the current tenant; how many runs it touched.';

-- Removes a conversation: its messages, what its runs say, and cached results of what it asked. True if there was one.
-- The caller's rights, so row security decides.
CREATE OR REPLACE FUNCTION rag.forget_session(session text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
  known boolean;
  asked text[];
BEGIN
  PERFORM FROM sessions s WHERE s.tenant_id = tenant AND s.id = session FOR UPDATE;
  known := FOUND;
  asked := ARRAY(
    SELECT m.run_id::text FROM messages m WHERE m.tenant_id = tenant AND m.session_id = session AND m.run_id IS NOT NULL
    UNION SELECT r.id::text FROM runs r WHERE r.tenant_id = tenant AND r.session_id = session);
  PERFORM blank_session_runs(session);
  PERFORM FROM messages m WHERE m.tenant_id = tenant AND m.session_id = session ORDER BY m.id FOR UPDATE;
  DELETE FROM sessions s WHERE s.tenant_id = tenant AND s.id = session;
  WITH doomed AS MATERIALIZED (
    SELECT c.key FROM retrieval_cache c
    WHERE c.tenant_id = tenant AND c.result ->> 'run_id' = ANY (asked) ORDER BY c.key FOR UPDATE
  )
  DELETE FROM retrieval_cache c USING doomed WHERE c.tenant_id = tenant AND c.key = doomed.key;
  RETURN known;
END
$$;

COMMENT ON FUNCTION rag.forget_session IS
  'Removes a conversation of the current tenant with its messages and blanks its text in traces; false when it is unknown.';
