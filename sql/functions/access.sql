-- Who may read which document (docs/adr/0126-who-may-read-what.md). A document with an access list is restricted: read by callers of whom
-- the list names a principal. The caller's principals stand in app.principals for the transaction, as app.tenant does: an array, or * for
-- who reads everything. Unset is nobody, who reads what everybody in the tenant may.
--
-- Functions that see all rows and tell something of them take hidden_documents out. The application meets the same by row security
-- (sql/row_security.sql), analysts see nothing that is restricted, whatever they set.

CREATE OR REPLACE FUNCTION rag.own_principals() RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN coalesce(current_setting('app.principals', true), '') IN ('', '*') THEN '{}'
            ELSE current_setting('app.principals', true) END::text[];
COMMENT ON FUNCTION rag.own_principals() IS 'Principals of the caller, from app.principals; none where it reads everything.';

-- Jobs tell of a folder for some before the first document of it is there.
CREATE OR REPLACE FUNCTION rag.withholds() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
BEGIN
  IF current_setting('app.principals', true) = '*' THEN RETURN false; END IF;
  RETURN EXISTS (SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.access IS NOT NULL)
    OR EXISTS (SELECT 1 FROM access_rules r WHERE r.tenant_id = tenant AND r.access <> '{}')
    OR EXISTS (SELECT 1 FROM sources s WHERE s.tenant_id = tenant AND s.access <> '{}');
END
$$;
COMMENT ON FUNCTION rag.withholds() IS
  'Whether something of the tenant, documents or what rules are to give a list, may be withheld from the caller: else rows are not looked at one by one.';

-- The index of restricted documents begins with their collections: one step for each that has some, however many these are.
CREATE OR REPLACE FUNCTION rag.withholding_collections() RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
  tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
BEGIN
  IF current_setting('app.principals', true) = '*' THEN RETURN '{}'; END IF;
  RETURN ARRAY(
    WITH RECURSIVE place AS (
      (SELECT d.collection_id AS id FROM documents d
       WHERE d.tenant_id = tenant AND d.access IS NOT NULL ORDER BY d.collection_id LIMIT 1)
      UNION ALL
      SELECT d.* FROM place CROSS JOIN LATERAL (
        SELECT d.collection_id FROM documents d
        WHERE d.tenant_id = tenant AND d.access IS NOT NULL AND d.collection_id > place.id ORDER BY d.collection_id LIMIT 1) AS d
    )
    SELECT p.id FROM place p);
END
$$;
COMMENT ON FUNCTION rag.withholding_collections() IS
  'Collections of which something may be withheld from the caller: rows of others are not looked at one by one.';

-- What is kept of a question tells by many ways what could be read by who asked: numbers, refusals, suggestions, the language of a reply, how
-- long it took. So others see it who have all the names by which who asked could read more than everybody. '{*}': who reads everything; so
-- many lists are looked at, in the order of their index, and where there are more all names count, so that nobody else sees it.
CREATE OR REPLACE FUNCTION rag.asked_as(readers text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  collection uuid := '00000000-0000-0000-0000-000000000000'; digest bytea := '';
  list text[]; named text[] := '{}';
BEGIN
  FOR looked IN 0..100 LOOP
    SELECT d.collection_id, sha256(tsvectorsend(array_to_tsvector(d.access))), d.access INTO collection, digest, list FROM documents d
    WHERE d.tenant_id = tenant AND d.access IS NOT NULL
      AND (d.collection_id, sha256(tsvectorsend(array_to_tsvector(d.access)))) > (collection, digest)
    ORDER BY d.collection_id, sha256(tsvectorsend(array_to_tsvector(d.access))) LIMIT 1;
    IF NOT FOUND THEN RETURN ARRAY(SELECT r FROM unnest(readers) AS r WHERE r = ANY (named)); END IF;
    IF readers = '{*}' THEN RETURN readers; END IF;
    named := named || list;
  END LOOP;
  RETURN readers;
END
$$;
COMMENT ON FUNCTION rag.asked_as(text[]) IS
  'Of the names of a caller those that access lists of the current tenant name; {*} of who reads everything, where there is any list.';

CREATE OR REPLACE FUNCTION rag.asked_as() RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, rag, pg_temp
RETURN rag.asked_as(CASE WHEN current_setting('app.principals', true) = '*' THEN '{*}' ELSE rag.own_principals() END);
COMMENT ON FUNCTION rag.asked_as() IS 'rag.asked_as of who asks.';

-- Lists may go while a question is answered.
CREATE OR REPLACE FUNCTION rag.asked_as(readers text[], held text[]) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, rag, pg_temp
RETURN ARRAY(SELECT unnest(rag.asked_as(readers)) UNION SELECT unnest(held));
COMMENT ON FUNCTION rag.asked_as(text[], text[]) IS 'rag.asked_as, and the names that lists named when the question began to be answered.';

CREATE OR REPLACE FUNCTION rag.restricts() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM documents d WHERE d.access IS NOT NULL)
    OR EXISTS (SELECT 1 FROM access_rules r WHERE r.access <> '{}') OR EXISTS (SELECT 1 FROM sources s WHERE s.access <> '{}');
END
$$;
COMMENT ON FUNCTION rag.restricts() IS 'Whether any document of any tenant is restricted, or to be.';

-- What was asked while something was restricted stays with those who could read as much, also when nothing is any more.
CREATE OR REPLACE FUNCTION rag.withholds_questions() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
BEGIN
  IF current_setting('app.principals', true) = '*' THEN RETURN false; END IF;
  RETURN withholds()
    OR EXISTS (SELECT 1 FROM messages m WHERE m.tenant_id = tenant AND m.asked_as <> '{}')
    OR EXISTS (SELECT 1 FROM resumable_runs r WHERE r.tenant_id = tenant AND r.asked_as <> '{}')
    OR EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = tenant AND r.asked_as <> '{}');
END
$$;
COMMENT ON FUNCTION rag.withholds_questions() IS
  'Whether something of the tenant, or what was asked of it, may be withheld from the caller: else questions are not looked at one by one.';

CREATE OR REPLACE FUNCTION rag.restricts_questions() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN restricts()
    OR EXISTS (SELECT 1 FROM messages m WHERE m.asked_as <> '{}')
    OR EXISTS (SELECT 1 FROM resumable_runs r WHERE r.asked_as <> '{}')
    OR EXISTS (SELECT 1 FROM runs r WHERE r.asked_as <> '{}');
END
$$;
COMMENT ON FUNCTION rag.restricts_questions() IS 'The same of all tenants, for analysts.';

CREATE OR REPLACE FUNCTION rag.hidden_documents(tenant bigint, collections uuid[], principals text) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  readers text[];
BEGIN
  IF principals = '*' THEN RETURN NULL; END IF;
  IF cardinality(collections) = 1 THEN
    RETURN (SELECT r.hidden FROM find_readable(tenant, collections[1], principals, -1, 0, 0) AS r);
  END IF;
  readers := coalesce(nullif(principals, ''), '{}')::text[];
  RETURN (
    SELECT array_agg(d.id) FROM documents d
    WHERE d.tenant_id = tenant AND d.collection_id = ANY (collections) AND d.access IS NOT NULL AND NOT d.access && readers);
END
$$;
COMMENT ON FUNCTION rag.hidden_documents IS
  'Documents of collections that whoever has these principals may not read; null where there are none.';

-- What of a collection of so many passages and chunks the caller may read, and what not: all null where that is everything. Up to `most`
-- readable chunks the documents are named that it may read, else those that it may not. Passages and chunks become those that it may read.
--
-- Documents with one list are looked at as one, by the digest of the list that stands in the index: a few lists of thousands of documents
-- cost a few rows, and who is named by each of them is told so without a look at their documents. bound: lists that are so told apart.
-- The order by digest with enable_sort, and lists that are looked up one by one, keep the planner to that index, where a table was never
-- analysed too. Documents of a list come without an order, for which the digest of each would be computed again.
CREATE OR REPLACE FUNCTION rag.find_readable(
  tenant bigint, collection uuid, principals text, most integer, INOUT passages integer, INOUT chunks integer,
  OUT readable uuid[], OUT hidden uuid[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
#variable_conflict use_variable
DECLARE
  readers text[]; lists integer; named bytea[]; others bytea[]; one record; found_passages integer := 0; found_chunks integer := 0;
BEGIN
  IF principals = '*' THEN passages := NULL; chunks := NULL; RETURN; END IF;
  readers := coalesce(nullif(principals, ''), '{}')::text[];
  WITH RECURSIVE list AS (
    (SELECT sha256(tsvectorsend(array_to_tsvector(d.access))) AS digest, d.access FROM documents d
     WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL ORDER BY 1 LIMIT 1)
    UNION ALL
    SELECT d.* FROM list CROSS JOIN LATERAL (
      SELECT sha256(tsvectorsend(array_to_tsvector(d.access))) AS digest, d.access FROM documents d
      WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL
        AND sha256(tsvectorsend(array_to_tsvector(d.access))) > list.digest ORDER BY 1 LIMIT 1) AS d
  )
  SELECT count(*), array_agg(l.digest) FILTER (WHERE l.access && readers), array_agg(l.digest) FILTER (WHERE NOT l.access && readers)
  INTO lists, named, others FROM (SELECT * FROM list LIMIT 101) AS l;
  IF others IS NULL AND lists <= 100 THEN passages := NULL; chunks := NULL; RETURN; END IF;

  IF most >= 0 THEN
    readable := '{}';
    FOR one IN
      SELECT d.id, d.passage_count, d.chunk_count FROM documents d
      WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NULL
      UNION ALL
      SELECT d.* FROM unnest(named) AS l (digest) CROSS JOIN LATERAL (
        SELECT d.id, d.passage_count, d.chunk_count FROM documents d
        WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL
          AND sha256(tsvectorsend(array_to_tsvector(d.access))) = l.digest OFFSET 0) AS d
      WHERE lists <= 100
      UNION ALL
      SELECT d.id, d.passage_count, d.chunk_count FROM documents d
      WHERE lists > 100 AND d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL AND d.access && readers
    LOOP
      readable := readable || one.id;
      found_passages := found_passages + one.passage_count;
      found_chunks := found_chunks + one.chunk_count;
      EXIT WHEN found_chunks > most;
    END LOOP;
    IF found_chunks <= most THEN passages := found_passages; chunks := found_chunks; RETURN; END IF;
    readable := NULL;
  END IF;

  IF lists <= 100 THEN
    SELECT array_agg(d.id), passages - sum(d.passage_count), chunks - sum(d.chunk_count) INTO hidden, passages, chunks
    FROM unnest(others) AS l (digest) CROSS JOIN LATERAL (
      SELECT d.id, d.passage_count, d.chunk_count FROM documents d
      WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL
        AND sha256(tsvectorsend(array_to_tsvector(d.access))) = l.digest OFFSET 0) AS d;
  ELSE
    SELECT array_agg(d.id), passages - sum(d.passage_count), chunks - sum(d.chunk_count) INTO hidden, passages, chunks FROM documents d
    WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL AND NOT d.access && readers;
  END IF;
END
$$;
COMMENT ON FUNCTION rag.find_readable IS 'What of a collection the caller may read, or not; see sql/functions/access.sql.';

CREATE OR REPLACE FUNCTION rag.count_hidden(collection uuid, OUT documents integer, OUT passages integer, OUT chunks integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
  readers text[] := own_principals();
BEGIN
  documents := 0; passages := 0; chunks := 0;
  IF current_setting('app.principals', true) = '*' THEN RETURN; END IF;
  SELECT count(*) FILTER (WHERE d.status = 'indexed'), coalesce(sum(d.passage_count), 0), coalesce(sum(d.chunk_count), 0)
  INTO documents, passages, chunks
  FROM rag.documents d
  WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL AND NOT d.access && readers;
END
$$;
COMMENT ON FUNCTION rag.count_hidden(uuid) IS 'What of the counts of a collection the caller may not read.';

-- STRICT: of no collection nothing is looked at.
CREATE OR REPLACE FUNCTION rag.count_hidden_languages(collection uuid) RETURNS TABLE (language text, passages bigint)
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  hidden uuid[] := hidden_documents(tenant, ARRAY[collection], current_setting('app.principals', true));
BEGIN
  RETURN QUERY SELECT l.regconfig::text, count(*) FROM lexical_index l
  WHERE l.tenant_id = tenant AND l.document_id = ANY (hidden) GROUP BY l.regconfig;
END
$$;
COMMENT ON FUNCTION rag.count_hidden_languages(uuid) IS 'Passages of a collection that the caller may not read, by their language.';

-- For analysts, who see nothing of restricted documents.
CREATE OR REPLACE FUNCTION rag.count_restricted(
  tenant bigint, collection uuid, OUT documents integer, OUT passages integer, OUT chunks integer, OUT bytes bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  SELECT count(*) FILTER (WHERE d.status = 'indexed'), coalesce(sum(d.passage_count), 0), coalesce(sum(d.chunk_count), 0),
    coalesce(sum(d.byte_size) FILTER (WHERE d.status = 'indexed'), 0)
  INTO documents, passages, chunks, bytes
  FROM rag.documents d WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL;
END
$$;
COMMENT ON FUNCTION rag.count_restricted(bigint, uuid) IS 'What of the counts of a collection is of restricted documents.';

CREATE OR REPLACE FUNCTION rag.readable_frequency(collection uuid, word integer) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  hidden uuid[] := hidden_documents(tenant, ARRAY[collection], current_setting('app.principals', true));
BEGIN
  IF hidden IS NULL THEN
    RETURN (SELECT t.document_frequency FROM lexical_terms t
            WHERE t.tenant_id = tenant AND t.collection_id = collection AND t.key = word);
  END IF;
  RETURN (SELECT count(*) FROM lexical_index l
          WHERE l.tenant_id = tenant AND l.collection_id = collection AND l.keys && ARRAY[word]
            AND l.document_id NOT IN (SELECT unnest(hidden)));
END
$$;
COMMENT ON FUNCTION rag.readable_frequency(uuid, integer) IS 'Passages with a word among those that the caller may read.';

-- What row security asks of rows that many documents stand behind. `readers`: principals; whoever reads everything is not asked about.
CREATE OR REPLACE FUNCTION rag.reads_documents(tenant bigint, ids uuid[], readers text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  RETURN NOT EXISTS (
    SELECT 1 FROM documents d
    WHERE d.tenant_id = tenant AND d.id = ANY (ids) AND d.access IS NOT NULL AND NOT d.access && readers);
END
$$;
COMMENT ON FUNCTION rag.reads_documents IS 'Whether none of these documents is withheld from whoever has these principals.';

CREATE OR REPLACE FUNCTION rag.reads_collection(tenant bigint, collection text, readers text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN NOT EXISTS (
    SELECT 1 FROM documents d
    WHERE d.tenant_id = tenant AND d.collection_id = collection::uuid AND d.access IS NOT NULL AND NOT d.access && readers);
END
$$;
COMMENT ON FUNCTION rag.reads_collection IS 'Whether nothing of a collection is withheld from whoever has these principals; of none, nothing is.';

CREATE OR REPLACE FUNCTION rag.reads_session(tenant bigint, session text, readers text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  RETURN session IS NULL OR NOT EXISTS (
    SELECT 1 FROM messages m
    WHERE m.tenant_id = tenant AND m.session_id = session AND (
      NOT reads_documents(tenant, m.document_ids, readers) OR NOT m.asked_as <@ readers AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant_id = tenant AND s.id = session AND s.asked_by <@ readers)));
END
$$;
COMMENT ON FUNCTION rag.reads_session IS
  'Whether nothing that a conversation stands on is withheld from whoever has these principals, and who asked in it could read no more, or is nobody else.';

CREATE OR REPLACE FUNCTION rag.reads_legs(tenant bigint, started timestamptz, run uuid, readers text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  RETURN NOT EXISTS (
    SELECT 1 FROM run_legs l CROSS JOIN LATERAL unnest(l.passage_ids) AS found (id)
    CROSS JOIN LATERAL (
      SELECT p.document_id FROM passages p WHERE p.tenant_id = tenant AND p.id = found.id OFFSET 0) AS p
    CROSS JOIN LATERAL (
      SELECT d.access FROM documents d WHERE d.tenant_id = tenant AND d.id = p.document_id OFFSET 0) AS d
    WHERE l.tenant_id = tenant AND l.started_at = started AND l.run_id = run AND d.access IS NOT NULL AND NOT d.access && readers);
END
$$;
COMMENT ON FUNCTION rag.reads_legs IS 'Whether nothing that a run found is withheld from whoever has these principals.';

CREATE OR REPLACE FUNCTION rag.reads_run(tenant bigint, run uuid, readers text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
BEGIN
  RETURN (
    SELECT bool_and(coalesce(kept.shown, false)) FROM (
      SELECT (r.asked_by = ANY (readers) OR r.outcome = 'ok' AND r.asked_as <@ readers)
        AND reads_documents(tenant, r.document_ids, readers) AND reads_session(tenant, r.session_id, readers)
        AND reads_legs(tenant, r.started_at, r.id, readers) AS shown
      FROM runs r WHERE r.tenant_id = tenant AND r.id = run
      UNION ALL
      SELECT (r.asked_by = ANY (readers) OR r.status = 'ok' AND r.asked_as <@ readers)
        AND reads_documents(tenant, r.document_ids, readers) AND reads_session(tenant, r.session_id, readers)
      FROM resumable_runs r WHERE r.tenant_id = tenant AND r.id = run) AS kept);
END
$$;
COMMENT ON FUNCTION rag.reads_run IS
  'Whether nothing that a run stands on is withheld from whoever has these principals; null where the run is not kept any more.';

-- Restricted documents are in no graph: what it knows, everybody in the tenant may know. Takes what was staged of them away.
CREATE OR REPLACE FUNCTION rag.unstage_restricted(collection uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  doomed uuid[];
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.access IS NOT NULL
  ) THEN RETURN; END IF;
  doomed := ARRAY(
    SELECT s.passage_id FROM (SELECT passage_id FROM pg_temp.stage_mentions UNION SELECT passage_id FROM pg_temp.stage_evidence) AS s
    CROSS JOIN LATERAL (
      SELECT p.document_id FROM passages p WHERE p.tenant_id = tenant AND p.id = s.passage_id OFFSET 0) AS p
    CROSS JOIN LATERAL (
      SELECT d.access FROM documents d WHERE d.tenant_id = tenant AND d.id = p.document_id OFFSET 0) AS d
    WHERE d.access IS NOT NULL);
  DELETE FROM pg_temp.stage_mentions WHERE passage_id = ANY (doomed);
  DELETE FROM pg_temp.stage_evidence WHERE passage_id = ANY (doomed);
END
$$;
COMMENT ON FUNCTION rag.unstage_restricted(uuid) IS 'Takes mentions and evidence of restricted documents out of what is staged.';

-- Names of folders that a disk, an archive, a site or a reader may take for one: composed and decomposed accents, wide letters, capitals,
-- "\", what says nothing ("//", "./"), blanks and dots at the end of a part.
CREATE OR REPLACE FUNCTION rag.folder_name(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(lower(upper(btrim(regexp_replace(
  regexp_replace(replace(normalize($1, NFKC), '\', '/'), '[[:space:].]+(/|$)', '\1', 'g'), '/+', '/', 'g'), '/'))), 'ß', 'ss');
COMMENT ON FUNCTION rag.folder_name IS 'A path as names of folders are compared: letters alike, without what says nothing.';

-- A page is asked for in more ways than one: by other protocols, with questions and parameters, with escaped slashes. A rule for what has
-- a question or a parameter in its own name is for that alone.
CREATE OR REPLACE FUNCTION rag.page_name(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag.folder_name(regexp_replace(regexp_replace(regexp_replace(split_part($1, '?', 1), ';[^/]*', '', 'g'), '%(2f|5c)', '/', 'gi'),
  '^https?://([^/:]+)(:443|:80)?(/|$)', '\1\3', 'i'));
COMMENT ON FUNCTION rag.page_name IS 'A path or an address as names of folders are compared, without what a page may be asked besides.';

CREATE OR REPLACE FUNCTION rag.lies_in(external_id text, prefix text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $2 = '' OR $1 = $2 OR (rag.folder_name($2) <> '' AND (starts_with(rag.folder_name($1) || '/', rag.folder_name($2) || '/')
  OR ($2 !~ '[?;]' AND starts_with(rag.page_name($1) || '/', rag.page_name($2) || '/'))));
COMMENT ON FUNCTION rag.lies_in IS
  'Whether a document is in a folder, or is called so, whatever way it is written and however a page is asked for; in the empty one are all.';

-- Whoever adds documents asks before it adds them, and holds the collection from then on: a rule that is made meanwhile waits for it, and
-- looks again (rag.await_writers), so that no document escapes it.
CREATE OR REPLACE FUNCTION rag.rules_of(collection uuid, external_ids text[])
RETURNS TABLE (external_id text, prefix text, access text[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_column
DECLARE
  tenant bigint := current_tenant();
BEGIN
  IF is_distributed() THEN RETURN; END IF;
  PERFORM 1 FROM collections c WHERE c.tenant_id = tenant AND c.id = collection FOR KEY SHARE;
  RETURN QUERY
    WITH rules AS MATERIALIZED (  -- names are folded once, and not for each pair
      SELECT a.prefix, a.access, a.prefix || '/' AS start, folded.name AS folder, folded.name || '/' AS folder_start,
        CASE WHEN a.prefix ~ '[?;]' THEN NULL WHEN a.prefix ~ '[%:]' THEN page_name(a.prefix) ELSE folded.name END || '/' AS page_start
      FROM access_rules a CROSS JOIN LATERAL (SELECT folder_name(a.prefix) AS name OFFSET 0) AS folded
      WHERE a.tenant_id = tenant AND a.collection_id = collection
    ), named AS MATERIALIZED (
      SELECT given.id AS external_id, folder_name(given.id) || '/' AS path, page_name(given.id) || '/' AS page
      FROM unnest(external_ids) AS given (id) WHERE EXISTS (SELECT 1 FROM rules)
    )
    SELECT DISTINCT ON (n.external_id) n.external_id, r.prefix, r.access
    FROM rules r JOIN named n
      ON r.prefix = '' OR n.external_id = r.prefix
      OR (r.folder <> '' AND (starts_with(n.page, r.page_start) OR starts_with(n.path, r.folder_start)))
    WHERE r.access <> '{}' OR r.prefix = '' OR n.external_id = r.prefix OR starts_with(n.external_id, r.start)
    ORDER BY n.external_id, n.external_id = r.prefix DESC, length(r.folder) DESC, starts_with(n.external_id, r.start) DESC,
      r.prefix COLLATE "C";
END
$$;
COMMENT ON FUNCTION rag.rules_of IS
  'Of external ids that a rule gives an access list: the rule for the very name, else the one with the longest prefix; one that opens a folder only where it is written alike.';

-- A page is called by the address that it was at, after redirects: by the one that was asked for where the document, or a rule, has readers
-- there, and it would be open at the other.
CREATE OR REPLACE FUNCTION rag.keeps_address(collection uuid, asked text, reached text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  restricted text[] := ARRAY(SELECT r.external_id FROM rules_of(collection, ARRAY[asked, reached]) AS r WHERE r.access <> '{}');
BEGIN
  IF reached = ANY (restricted) THEN RETURN false; END IF;
  IF EXISTS (
    SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.external_id = reached
  ) THEN RETURN false; END IF;
  RETURN asked = ANY (restricted) OR EXISTS (
    SELECT 1 FROM documents d
    WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.external_id = asked AND d.access IS NOT NULL);
END
$$;
COMMENT ON FUNCTION rag.keeps_address IS
  'Whether a page that was asked for by one address and came from another keeps the first one, where it is not for everybody.';

-- What a document held with an access list of its own is known when it holds something else, so that the list goes along when the content
-- comes under another name. The last 16, of which a replacement counts twice: before it is read, and when it is published.
CREATE OR REPLACE FUNCTION rag.remember_readers(formerly jsonb, content bytea, readers text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN formerly -> 0 = held.entry THEN formerly
    ELSE jsonb_path_query_array(held.entry || coalesce(formerly, '[]'), '$[0 to 15]') END
  FROM (SELECT jsonb_build_object('content', encode(content, 'hex'), 'readers', readers) AS entry) AS held
$$;
COMMENT ON FUNCTION rag.remember_readers IS 'What a document held before, with one more content and its readers.';

CREATE OR REPLACE FUNCTION rag.await_writers(collection uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  PERFORM 1 FROM collections c WHERE c.tenant_id = tenant AND c.id = collection FOR UPDATE;
END
$$;
COMMENT ON FUNCTION rag.await_writers IS 'Waits until nobody adds documents who has asked for rules before. The caller locks nothing else.';

DROP FUNCTION IF EXISTS rag.keep_counted(uuid, jsonb);
DROP FUNCTION IF EXISTS rag.restricts_any(text[]);

-- Gives documents an access list: `readers`, or where these are nobody what the rules of the collection say of each. `ruled`: only those
-- that have none of their own. Returns those whose list is another one now; `opened`: everybody in the tenant may read it, who might not.
-- What becomes restricted leaves the graph; what opens is to be read anew by the caller, which brings it back. The caller locks nothing
-- before it.
CREATE OR REPLACE FUNCTION rag.write_access(collection uuid, ids uuid[], readers text[], ruled boolean)
RETURNS TABLE (document uuid, opened boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
  own text[] := nullif(ARRAY(SELECT DISTINCT r FROM unnest(readers) AS r ORDER BY r), '{}');
  item record;
  changed uuid[] := '{}'; shut uuid[] := '{}'; open uuid[] := '{}';
BEGIN
  IF is_distributed() THEN
    RAISE EXCEPTION 'a distributed database keeps no access lists' USING ERRCODE = 'feature_not_supported';
  END IF;
  PERFORM 1 FROM documents d WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.id = ANY (ids)
  ORDER BY d.external_id COLLATE "C" FOR UPDATE;
  FOR item IN
    WITH known AS MATERIALIZED (
      SELECT d.id, d.external_id, d.access, d.access_from FROM documents d
      WHERE d.tenant_id = tenant AND d.collection_id = collection AND d.id = ANY (ids)
        AND (NOT ruled OR d.access IS NULL OR d.access_from IS NOT NULL)
    ), wanted AS (
      SELECT k.id, k.access AS old, k.access_from AS old_from, coalesce(own, nullif(r.access, '{}')) AS access,
        CASE WHEN own IS NULL THEN r.prefix END AS prefix
      FROM known k LEFT JOIN rules_of(collection, CASE WHEN own IS NULL THEN ARRAY(SELECT k.external_id FROM known k) ELSE '{}' END) AS r
        ON r.external_id = k.external_id
    )
    SELECT w.access, w.prefix, array_agg(w.id) AS ids, coalesce(array_agg(w.id) FILTER (WHERE w.old IS NULL), '{}') AS were_open,
      coalesce(array_agg(w.id) FILTER (WHERE w.old IS NOT NULL), '{}') AS were_shut
    FROM wanted w WHERE (w.old, w.old_from) IS DISTINCT FROM (w.access, w.prefix)
    GROUP BY w.access, w.prefix
  LOOP
    changed := changed || item.ids;
    IF item.access IS NULL THEN
      open := open || item.were_shut;
    ELSE
      shut := shut || item.were_open;
      PERFORM note_changes(item.were_open, true);
    END IF;
    UPDATE documents d
    SET access = item.access, access_from = item.prefix, updated_at = now(),
      derived_revision = CASE WHEN d.access IS NOT NULL AND item.access IS NULL THEN 0 ELSE d.derived_revision END
    WHERE d.tenant_id = tenant AND d.id = ANY (item.ids);
  END LOOP;
  IF changed = '{}' THEN RETURN; END IF;
  PERFORM pg_notify('cairn_keys', 'access');  -- what a replica has not replayed yet is asked of the primary from now on
  -- from here on the lock of the collection is held, until the commit
  UPDATE collections c SET epoch = c.epoch + 1 WHERE c.tenant_id = tenant AND c.id = collection;
  IF shut <> '{}' THEN
    PERFORM prepare_stage();
    PERFORM settle_graph(shut, collection, '{}');
    DELETE FROM community_sentences s
    WHERE s.tenant_id = tenant AND s.collection_id = collection
      AND s.passage_id IN (SELECT p.id FROM passages p WHERE p.tenant_id = tenant AND p.document_id = ANY (shut));
    DELETE FROM qa_gaps g WHERE g.tenant_id = tenant AND g.collection_id = collection;
    UPDATE communities c SET entity_count = n.entities FROM (
      SELECT m.community_id AS id, count(e.id) AS entities FROM community_members m
      LEFT JOIN entities e ON e.tenant_id = tenant AND e.id = m.entity_id
      WHERE m.tenant_id = tenant AND m.collection_id = collection GROUP BY m.community_id) AS n
    WHERE c.tenant_id = tenant AND c.collection_id = collection AND c.id = n.id AND c.entity_count <> n.entities;
  END IF;
  UPDATE jobs j SET result = j.result || '{"left_documents": []}'  -- names, which who ordered it may not read any more
  WHERE j.tenant_id = tenant AND j.payload ->> 'collection_id' = collection::text AND j.result ? 'left_documents';
  PERFORM note_changes(open, false);
  PERFORM forget_cached(collection);
  RETURN QUERY SELECT c.id, c.id = ANY (open) FROM unnest(changed) AS c (id);
END
$$;
COMMENT ON FUNCTION rag.write_access IS 'Says who may read documents of the current tenant; those whose list is another one now.';

-- Says who may read a document; `readers` nobody: as the rules of its collection say, without any everybody in the tenant. Whether that
-- is another list than it had, null where there is no such document.
CREATE OR REPLACE FUNCTION rag.set_document_access(document uuid, collection uuid, readers text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.id = document AND d.collection_id = collection
  ) THEN RETURN NULL; END IF;
  RETURN EXISTS (SELECT 1 FROM write_access(collection, ARRAY[document], readers, false));
END
$$;
COMMENT ON FUNCTION rag.set_document_access(uuid, uuid, text[]) IS
  'Says who may read a document of the current tenant; whether that changed, null where there is none.';

-- `readers` null: there is no rule. Else it is kept, also for nobody, which is an exception to the rule of a folder above.
CREATE OR REPLACE FUNCTION rag.set_access_rule(collection uuid, prefix text, readers text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  IF readers IS NULL OR (prefix = '' AND readers = '{}') THEN
    DELETE FROM access_rules r WHERE r.tenant_id = tenant AND r.collection_id = collection AND r.prefix = set_access_rule.prefix;
  ELSE
    INSERT INTO access_rules AS r (tenant_id, collection_id, prefix, access) VALUES (tenant, collection, prefix, readers)
    ON CONFLICT ON CONSTRAINT access_rules_pkey DO UPDATE SET access = excluded.access;
  END IF;
END
$$;
COMMENT ON FUNCTION rag.set_access_rule IS 'Says who may read the documents of a folder that have no access list of their own.';

CREATE OR REPLACE FUNCTION rag.is_ruled(collection uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN EXISTS (SELECT 1 FROM access_rules r WHERE r.tenant_id = tenant AND r.collection_id = collection AND r.access <> '{}')
    OR EXISTS (SELECT 1 FROM sources s WHERE s.tenant_id = tenant AND s.collection_id = collection);
END
$$;
COMMENT ON FUNCTION rag.is_ruled(uuid) IS 'Whether somebody has said who may read a folder of a collection, or follows a source into it, whoever asks.';

CREATE OR REPLACE FUNCTION rag.follow_access_rules(collection uuid, prefix text) RETURNS TABLE (document uuid, opened boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN QUERY SELECT w.document, w.opened FROM write_access(collection, ARRAY(
    SELECT d.id FROM documents d
    WHERE d.tenant_id = tenant AND d.collection_id = collection AND lies_in(d.external_id, prefix)
      AND (d.access IS NULL OR d.access_from IS NOT NULL)), '{}', true) AS w;
END
$$;
COMMENT ON FUNCTION rag.follow_access_rules IS
  'Gives the documents of a folder that have no access list of their own that of the rules; those whose list is another one now.';

CREATE OR REPLACE FUNCTION rag.holds_restricted(collections uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, pg_temp SET enable_seqscan = off AS $$
DECLARE
  tenant bigint := current_tenant();
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM documents d WHERE d.tenant_id = tenant AND d.collection_id = ANY (collections) AND d.access IS NOT NULL);
END
$$;
COMMENT ON FUNCTION rag.holds_restricted(uuid[]) IS 'Whether a document of these collections is restricted, whoever asks.';
