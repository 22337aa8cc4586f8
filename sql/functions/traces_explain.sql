-- Why a passage was or was not returned, told from a trace, to whoever row security lets see the run: the server for its caller's
-- tenant, and analysts (as cairn_views) for the tenants granted to session_user.

-- Words of a query, as they were written, that a passage does not hold. Stop words are nobody's loss.
CREATE OR REPLACE FUNCTION rag.missing_words(query text, config text, seed integer, keys integer[]) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
  SELECT array_agg(DISTINCT lower(d.token)) FROM ts_debug(config_named(config), query) AS d
  WHERE d.lexemes <> '{}'
    AND NOT EXISTS (SELECT 1 FROM unnest(d.lexemes) AS x WHERE lexeme_key(seed, config, x) = ANY (keys))
$$;
COMMENT ON FUNCTION rag.missing_words IS 'Words of a query that a passage does not hold, as they were written.';

-- Operators of a query that keep a passage out, in plain words; null where none does.
CREATE OR REPLACE FUNCTION rag.broken_conditions(plan jsonb, passage rag.passages, document rag.documents) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
  SELECT string_agg(said, '; ') FROM (
    SELECT CASE WHEN must THEN format('it lacks %s:"%s"', field, value) ELSE format('it has the excluded %s:"%s"', field, value) END
    FROM (
      SELECT c.field, c.value, true AS must
      FROM jsonb_to_recordset(plan #> '{conditions,must}') AS c (field text, value text)
      UNION ALL
      SELECT c.field, c.value, false
      FROM jsonb_to_recordset(plan #> '{conditions,must_not}') AS c (field text, value text)
    ) AS c
    WHERE must <> CASE field
      WHEN 'title' THEN strpos(lower(document.title), lower(value)) > 0
      WHEN 'path' THEN strpos(lower(document.external_id), lower(value)) > 0
      WHEN 'id' THEN lower(document.external_id) = lower(value)
      WHEN 'lang' THEN CASE WHEN must
        THEN plan #> '{conditions,must}' @> jsonb_build_array(jsonb_build_object('field', 'lang', 'value', passage.regconfig))
        ELSE passage.regconfig = value END
      ELSE CASE WHEN numnode(phraseto_tsquery(config_named(passage.regconfig), value)) = 0 THEN must
        ELSE passage.search_vector @@ phraseto_tsquery(config_named(passage.regconfig), value) END END
    UNION ALL
    SELECT format('the metadata of its document does not contain the filter %s', plan -> 'filters')
    WHERE NOT document.metadata @> coalesce(plan -> 'filters', '{}')
  ) AS reason (said)
$$;
COMMENT ON FUNCTION rag.broken_conditions IS 'Operators and filters of a run that keep a passage out, in plain words.';

-- What the lexical leg would have thought of a passage that is not in its list.
CREATE OR REPLACE FUNCTION rag.lexical_verdict(
  run rag.runs, passage rag.passages, candidates integer, last_score double precision,
  OUT verdict text, OUT rank integer, OUT score double precision
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
DECLARE
  asked text := coalesce(run.plan ->> 'lexical_query', run.question);
  home collections%ROWTYPE; posting lexical_index%ROWTYPE; question sparsevec; missing text[]; changed text := '';
BEGIN
  SELECT c.* INTO home FROM collections c WHERE c.tenant_id = passage.tenant_id AND c.id = passage.collection_id;
  SELECT l.* INTO posting FROM lexical_index l WHERE l.tenant_id = passage.tenant_id AND l.passage_id = passage.id;
  SELECT q.question INTO question FROM lexical_question(passage.tenant_id, passage.collection_id, asked) AS q;
  missing := missing_words(asked, passage.regconfig, home.lex_seed, posting.keys);
  score := -(posting.weights <#> question);
  IF coalesce(score, 0) <= 0 THEN
    score := NULL;
    verdict := format('not matched: the passage (%s) holds none of the words %s', passage.regconfig,
      coalesce(array_to_string(missing, ', '), 'of the query, which are all stop words'));
    RETURN;
  END IF;
  -- by way of the documents: row security bars cairn_views from the index on keys
  SELECT 1 + count(*) INTO rank FROM documents d
  JOIN lexical_index l ON l.tenant_id = d.tenant_id AND l.document_id = d.id
  WHERE d.tenant_id = passage.tenant_id AND d.collection_id = passage.collection_id
    AND (l.weights <#> question, l.passage_id) < (-lexical_verdict.score, passage.id);
  IF (run.epochs ->> home.name)::bigint IS DISTINCT FROM home.epoch THEN
    changed := '; the collection has changed since the run';
  END IF;
  verdict := format('matched, but not among its %s candidates, of which the last scored %s: BM25 today %s, rank %s in %s%s%s',
    candidates, coalesce(round(last_score::numeric, 3)::text, 'nothing'), round(score::numeric, 3), rank, home.name,
    '; it lacks ' || array_to_string(missing, ', '), changed);
END
$$;
COMMENT ON FUNCTION rag.lexical_verdict IS 'What BM25 says of a passage that is not among the candidates of a run.';

-- What became of a candidate after fusion.
CREATE OR REPLACE FUNCTION rag.fate_verdict(fused rag.run_legs, place integer) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
  SELECT CASE fused.fates[place]
    WHEN 'kept' THEN format('kept as number %s of %s', (
        SELECT 1 + count(*) FROM unnest(fused.shares, fused.fates) WITH ORDINALITY AS o (share, fate, rank)
        WHERE o.fate = 'kept' AND (coalesce(nullif(-o.share, 'NaN'), 1e308), o.rank)
          < (coalesce(nullif(-fused.shares[place], 'NaN'), 1e308), place)),
      (SELECT count(*) FROM unnest(fused.fates) AS fate WHERE fate = 'kept'))
    WHEN 'same document' THEN 'dropped by grouping: a better passage of the same document stands for it'
    WHEN 'below top_k after reranking' THEN format('dropped after reranking (score %s): the result holds the best %s',
      round(fused.shares[place]::numeric, 4), (SELECT count(*) FROM unnest(fused.fates) AS fate WHERE fate = 'kept'))
    ELSE format('dropped: rank %s after fusion, and the result holds %s', place,
      (SELECT count(*) FROM unnest(fused.fates) AS fate WHERE fate = 'kept'))
  END
$$;
COMMENT ON FUNCTION rag.fate_verdict IS 'What became of a candidate after fusion, in plain words.';

CREATE OR REPLACE FUNCTION rag.explain_passage(trace uuid, passage uuid)
RETURNS TABLE (stage text, verdict text, rank integer, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rag, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    run runs%ROWTYPE; it passages%ROWTYPE; document documents%ROWTYPE; leg run_legs%ROWTYPE; fused run_legs%ROWTYPE;
    home text; reason text; asked text; place integer; traced boolean; here boolean;
BEGIN
    SELECT r.* INTO run FROM runs AS r WHERE r.id = explain_passage.trace;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run % that % may read', explain_passage.trace, session_user
            USING ERRCODE = 'no_data_found', HINT = 'Ids of runs are in analyst.retrieval_runs; they are kept for trace.retentionDays.';
    END IF;
    SELECT p.* INTO it FROM passages AS p WHERE p.tenant_id = run.tenant_id AND p.id = explain_passage.passage;
    here := FOUND;
    SELECT d.* INTO document FROM documents AS d WHERE d.tenant_id = run.tenant_id AND d.id = it.document_id;
    SELECT c.name INTO home FROM collections AS c WHERE c.tenant_id = run.tenant_id AND c.id = it.collection_id;
    traced := EXISTS (SELECT 1 FROM run_legs AS l WHERE l.tenant_id = run.tenant_id AND l.run_id = run.id AND l.started_at = run.started_at);
    SELECT l.* INTO fused FROM run_legs AS l
    WHERE l.tenant_id = run.tenant_id AND l.run_id = run.id AND l.started_at = run.started_at AND l.leg = 'fused';
    place := array_position(fused.passage_ids, explain_passage.passage);

    stage := 'collection';
    IF NOT here THEN
        verdict := CASE WHEN place IS NULL THEN 'there is no such passage now, and the run did not find it: a wrong id, or deleted or replaced'
            ELSE 'the passage was deleted or replaced since; below is what the run recorded' END;
    ELSIF NOT home = ANY (run.collections) THEN
        verdict := format('it is in %s, which was not searched (%s was)', home, array_to_string(run.collections, ', '));
        RETURN NEXT;
        RETURN;
    ELSIF uuid_extract_timestamp(it.id) > run.started_at THEN
        verdict := format('it is in %s, but was indexed after the run', home);
        RETURN NEXT;
        RETURN;
    ELSE
        verdict := format('it is in %s, which was searched', home);
    END IF;
    RETURN NEXT;

    IF here THEN
        reason := broken_conditions(run.plan, it, document);
        IF reason IS NOT NULL THEN
            stage := 'conditions';
            verdict := 'kept out: ' || reason;
            RETURN NEXT;
        END IF;
    END IF;
    IF NOT traced THEN
        stage := 'trace';
        verdict := CASE WHEN run.outcome <> 'ok' THEN format('the run has no candidates: %s', coalesce(run.error, run.outcome))
            ELSE 'the candidates of this run were not kept (trace.sampleRate)' END;
        RETURN NEXT;
        RETURN;
    END IF;

    FOR asked IN
        SELECT x FROM unnest(array_cat(run.legs_used, ARRAY(SELECT jsonb_object_keys(run.legs_failed)))) AS x ORDER BY x
    LOOP
        stage := asked;
        SELECT l.* INTO leg FROM run_legs AS l
        WHERE l.tenant_id = run.tenant_id AND l.run_id = run.id AND l.started_at = run.started_at AND l.leg = asked;
        rank := array_position(leg.passage_ids, explain_passage.passage);
        score := leg.scores[rank];
        IF rank IS NOT NULL THEN
            verdict := format('found at rank %s of %s', rank, cardinality(leg.passage_ids));
        ELSIF run.legs_failed ? asked THEN
            verdict := format('this search failed: %s', run.legs_failed ->> asked);
        ELSIF NOT here OR reason IS NOT NULL THEN
            verdict := 'not among its candidates';
        ELSIF asked = 'lexical' THEN
            SELECT v.verdict, v.rank, v.score INTO verdict, rank, score
            FROM lexical_verdict(run, it, cardinality(leg.passage_ids), leg.scores[cardinality(leg.scores)]) AS v;
        ELSIF asked = 'graph' THEN
            verdict := format('not among the %s passages that are linked with the best of the other searches or mention what the question names (%s)',
                cardinality(leg.passage_ids), coalesce((SELECT string_agg(k, ', ') FROM jsonb_array_elements_text(run.plan #> '{graph,keys}') AS k), 'nothing'));
        ELSE
            verdict := format('not among its %s candidates, of which the last scored %s', cardinality(leg.passage_ids),
                coalesce(round(leg.scores[cardinality(leg.scores)]::numeric, 3)::text, 'nothing'));
        END IF;
        RETURN NEXT;
    END LOOP;

    stage := 'fusion'; rank := place; score := fused.scores[place];
    verdict := CASE WHEN place IS NULL THEN 'no search brought it' ELSE format('rank %s of %s', place, cardinality(fused.passage_ids)) END;
    RETURN NEXT;
    stage := 'result'; rank := NULL; score := nullif(fused.shares[place], 'NaN');
    verdict := CASE WHEN place IS NULL THEN 'not returned' ELSE fate_verdict(fused, place) END;
    RETURN NEXT;

    -- further searches of the run, for sub-questions and other phrasings, and the list that was made of all
    FOR fused IN
        SELECT l.* FROM run_legs AS l
        WHERE l.tenant_id = run.tenant_id AND l.run_id = run.id AND l.started_at = run.started_at AND l.leg LIKE 'fused#%'
        ORDER BY split_part(l.leg, '#', 2)::integer
    LOOP
        stage := 'search ' || split_part(fused.leg, '#', 2);
        rank := array_position(fused.passage_ids, explain_passage.passage);
        score := fused.scores[rank];
        verdict := format('%s (%s)', CASE WHEN rank IS NULL THEN 'no search brought it' ELSE fate_verdict(fused, rank) END,
            run.plan #>> ARRAY['searches', (split_part(fused.leg, '#', 2)::integer - 1)::text, 'query']);
        RETURN NEXT;
    END LOOP;
    SELECT l.* INTO fused FROM run_legs AS l
    WHERE l.tenant_id = run.tenant_id AND l.run_id = run.id AND l.started_at = run.started_at AND l.leg = 'merged';
    IF FOUND THEN
        stage := 'merged';
        rank := array_position(fused.passage_ids, explain_passage.passage);
        score := fused.scores[rank];
        verdict := CASE WHEN rank IS NULL THEN 'no search returned it'
            ELSE format('rank %s of %s in the list made of all searches: %s', rank, cardinality(fused.passage_ids), coalesce(fused.fates[rank], 'below top_k')) END;
        RETURN NEXT;
    END IF;
END
$$;
COMMENT ON FUNCTION rag.explain_passage(uuid, uuid) IS 'What became of a passage in a run, stage by stage, in plain words.';

CREATE OR REPLACE FUNCTION analyst.explain_passage(trace uuid, passage uuid)
RETURNS TABLE (stage text, verdict text, rank integer, score double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp AS $$
  SELECT e.stage, e.verdict, e.rank, e.score FROM rag.explain_passage(trace, passage) AS e
$$;
COMMENT ON FUNCTION analyst.explain_passage(uuid, uuid) IS
    'Why a run returned a passage or not: one row per stage with a verdict in words, and rank and score where there are any.';
