-- What must hold of every tenant whenever nothing is under way and upkeep has run: each statement returns a row for each
-- violation. Asked as a superuser, beside the recounts of tests/faults/recounts.py.

-- name: passages and chunks follow each other without gaps and repetitions
SELECT 'passage' AS what, document_id, count(*), max(ordinal) FROM rag.passages GROUP BY document_id
HAVING count(*) <> max(ordinal) + 1 OR count(DISTINCT ordinal) <> count(*)
UNION ALL SELECT 'chunk', document_id, count(*), max(ordinal) FROM rag.chunks GROUP BY document_id
HAVING count(*) <> max(ordinal) + 1 OR count(DISTINCT ordinal) <> count(*)

-- name: chunks are of the version of their document
SELECT c.id, c.content FROM rag.chunks c JOIN rag.passages p ON p.id = c.passage_id
LEFT JOIN rag.document_texts t ON t.document_id = c.document_id
LEFT JOIN rag.documents d ON d.id = c.document_id AND d.version = t.version
WHERE d.id IS NULL OR p.document_id <> c.document_id OR c.char_start < p.char_start OR c.char_end > p.char_end
   OR c.content <> substr(t.text, c.char_start + 1, c.char_end - c.char_start)

-- name: every chunk has one vector of the model that serves, and of others all or none
SELECT c.name, m.id AS model, count(*) AS chunks, count(e.chunk_id) AS vectors FROM rag.collections c
JOIN rag.chunks k ON k.tenant_id = c.tenant_id AND k.collection_id = c.id
JOIN rag.embedding_models m ON m.id = c.model_id OR EXISTS (
  SELECT 1 FROM rag.collection_models x WHERE x.collection_id = c.id AND x.model_id = m.id AND x.state IN ('ready', 'retired'))
LEFT JOIN rag.embeddings e ON e.chunk_id = k.id AND e.model_id = m.id
GROUP BY c.id, c.name, m.id HAVING count(e.chunk_id) <> count(*)

-- name: no vector is of a model that the collection does not use
SELECT e.chunk_id, e.model_id FROM rag.embeddings e JOIN rag.collections c ON c.id = e.collection_id
WHERE e.model_id <> c.model_id AND NOT EXISTS (
  SELECT 1 FROM rag.collection_models x WHERE x.collection_id = e.collection_id AND x.model_id = e.model_id)

-- name: one model at most serves a collection
SELECT c.name, c.model_id, array_agg(x.model_id) FROM rag.collections c
JOIN rag.collection_models x ON x.collection_id = c.id AND x.state = 'serving'
GROUP BY c.id, c.name, c.model_id HAVING count(*) > 1 OR min(x.model_id) <> c.model_id

-- name: nothing belongs to a document, collection or run of another tenant, or of none
SELECT 'passage' AS what, p.id::text FROM rag.passages p
LEFT JOIN rag.documents d ON (d.tenant_id, d.id, d.collection_id) = (p.tenant_id, p.document_id, p.collection_id) WHERE d.id IS NULL
UNION ALL SELECT 'chunk', k.id::text FROM rag.chunks k
LEFT JOIN rag.passages p ON (p.tenant_id, p.id, p.collection_id) = (k.tenant_id, k.passage_id, k.collection_id) WHERE p.id IS NULL
UNION ALL SELECT 'vector', e.chunk_id::text FROM rag.embeddings e LEFT JOIN rag.chunks k
ON (k.tenant_id, k.id, k.document_id, k.collection_id) = (e.tenant_id, e.chunk_id, e.document_id, e.collection_id)
WHERE k.id IS NULL OR e.passage_id <> k.passage_id
UNION ALL SELECT 'document', d.id::text FROM rag.documents d
LEFT JOIN rag.collections c ON (c.tenant_id, c.id) = (d.tenant_id, d.collection_id) WHERE c.id IS NULL
UNION ALL SELECT 'mention', m.passage_id::text FROM rag.mentions m
LEFT JOIN rag.passages p ON (p.tenant_id, p.id, p.collection_id) = (m.tenant_id, m.passage_id, m.collection_id)
LEFT JOIN rag.entities e ON (e.tenant_id, e.id, e.collection_id) = (m.tenant_id, m.entity_id, m.collection_id)
WHERE p.id IS NULL OR e.id IS NULL
UNION ALL SELECT 'evidence', v.passage_id::text FROM rag.evidence v
LEFT JOIN rag.passages p ON (p.tenant_id, p.id, p.collection_id) = (v.tenant_id, v.passage_id, v.collection_id)
LEFT JOIN rag.relations r ON (r.tenant_id, r.id, r.collection_id) = (v.tenant_id, v.relation_id, v.collection_id)
WHERE p.id IS NULL OR r.id IS NULL
UNION ALL SELECT 'relation', r.id::text FROM rag.relations r
LEFT JOIN rag.entities s ON (s.tenant_id, s.id, s.collection_id) = (r.tenant_id, r.source_id, r.collection_id)
LEFT JOIN rag.entities g ON (g.tenant_id, g.id, g.collection_id) = (r.tenant_id, r.target_id, r.collection_id)
WHERE s.id IS NULL OR g.id IS NULL
UNION ALL SELECT 'cache', q.key FROM rag.retrieval_cache q, unnest(q.collection_ids) AS one
LEFT JOIN rag.collections c ON c.id = one WHERE c.tenant_id <> q.tenant_id
UNION ALL SELECT 'event', v.run_id::text FROM rag.run_events v
LEFT JOIN rag.resumable_runs r ON (r.tenant_id, r.id) = (v.tenant_id, v.run_id) WHERE r.id IS NULL
UNION ALL SELECT 'upload', u.id::text FROM rag.uploads u
LEFT JOIN rag.jobs j ON (j.tenant_id, j.id) = (u.tenant_id, u.job_id) WHERE j.id IS NULL

-- name: what the cache may answer with is there and says the same
SELECT q.key, q.query, one ->> 'passage_id' AS passage, one ->> 'content' AS content FROM rag.retrieval_cache q
CROSS JOIN LATERAL jsonb_array_elements(q.result -> 'passages') AS one
LEFT JOIN rag.passages p ON p.tenant_id = q.tenant_id AND p.id = (one ->> 'passage_id')::uuid
WHERE q.epochs = ARRAY(SELECT c.epoch FROM unnest(q.collection_ids) WITH ORDINALITY AS w (id, n)
                       JOIN rag.collections c ON c.tenant_id = q.tenant_id AND c.id = w.id ORDER BY w.n)
  AND (p.id IS NULL OR p.content <> one ->> 'content')

-- name: no text of what is gone is left in the cache
SELECT q.key, q.query, one ->> 'document_id' AS document FROM rag.retrieval_cache q
CROSS JOIN LATERAL jsonb_array_elements(q.result -> 'passages') AS one
WHERE NOT EXISTS (SELECT 1 FROM rag.passages p WHERE p.tenant_id = q.tenant_id AND p.id = (one ->> 'passage_id')::uuid)

-- name: exactly one terminal event ends each run, and it is the last
SELECT r.id, r.status, r.last_seq, count(v.seq) AS events, count(*) FILTER (WHERE v.terminal) AS ends,
  max(v.seq) FILTER (WHERE v.terminal) AS at
FROM rag.resumable_runs r LEFT JOIN rag.run_events v ON v.tenant_id = r.tenant_id AND v.run_id = r.id
GROUP BY r.tenant_id, r.id, r.status, r.last_seq, r.ended_at
HAVING r.status = 'running' OR r.ended_at IS NULL OR count(*) FILTER (WHERE v.terminal) <> 1
    OR max(v.seq) <> max(v.seq) FILTER (WHERE v.terminal) OR count(v.seq) <> r.last_seq OR max(v.seq) <> r.last_seq

-- name: the end of a run is the one that its row says
SELECT r.id, r.status, v.kind FROM rag.resumable_runs r
JOIN rag.run_events v ON v.tenant_id = r.tenant_id AND v.run_id = r.id AND v.terminal
WHERE v.kind <> CASE r.status WHEN 'ok' THEN 'Answered' WHEN 'cancelled' THEN 'Cancelled' ELSE 'Failed' END

-- name: no trace says that a run of a dead process goes on
SELECT id, started_at FROM rag.runs WHERE outcome = 'running' AND started_at < clock_timestamp() - interval '1 hour'

-- name: messages of a conversation are counted and without gaps
SELECT s.id, s.message_count, count(m.id), max(m.position) FROM rag.sessions s
LEFT JOIN rag.messages m ON m.tenant_id = s.tenant_id AND m.session_id = s.id
GROUP BY s.tenant_id, s.id, s.message_count
HAVING count(m.id) <> s.message_count OR coalesce(max(m.position), 0) <> s.message_count

-- name: a run says one question and one answer in its conversation at most
SELECT session_id, run_id, role, count(*) FROM rag.messages WHERE run_id IS NOT NULL
GROUP BY tenant_id, session_id, run_id, role HAVING count(*) > 1

-- name: every answer in a conversation stands behind its question
SELECT a.session_id, a.run_id FROM rag.messages a WHERE a.role = 'assistant' AND a.run_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM rag.messages q WHERE (q.tenant_id, q.session_id, q.run_id, q.role, q.position)
                  = (a.tenant_id, a.session_id, a.run_id, 'user', a.position - 1))

-- name: names of entities and their words are those of mentions
SELECT coalesce(counted.entity_id, a.entity_id) AS entity, coalesce(counted.name, a.name) AS name, counted.n, a.passage_count
FROM (SELECT tenant_id, entity_id, name, kind, count(DISTINCT passage_id) AS n FROM rag.mentions GROUP BY 1, 2, 3, 4) AS counted
FULL JOIN rag.entity_aliases a USING (tenant_id, entity_id, name, kind)
WHERE counted.n IS DISTINCT FROM a.passage_count
UNION ALL SELECT w.entity_id, w.form, NULL, NULL FROM rag.entity_words w
WHERE NOT EXISTS (SELECT 1 FROM rag.entity_aliases a WHERE (a.tenant_id, a.entity_id, a.form) = (w.tenant_id, w.entity_id, w.form))

-- name: entities that stand for others are there
SELECT e.id, e.canonical_id FROM rag.entities e
WHERE NOT EXISTS (SELECT 1 FROM rag.entities o WHERE (o.tenant_id, o.id) = (e.tenant_id, e.canonical_id))

-- name: bytes of collections are those of their documents
SELECT c.name, c.byte_count FROM rag.collections c WHERE c.byte_count IS DISTINCT FROM
  (SELECT coalesce(sum(d.byte_size), 0) FROM rag.documents d WHERE d.collection_id = c.id AND d.status = 'indexed')

-- name: tables of a document are of its version
SELECT t.document_id FROM rag.document_tables t JOIN rag.documents d ON (d.tenant_id, d.id) = (t.tenant_id, t.document_id)
WHERE t.version <> d.version OR d.status <> 'indexed'

-- name: each version is noted once as a change
SELECT document_id, version, kind, count(*) FROM rag.document_changes WHERE kind <> 'deleted'
GROUP BY tenant_id, document_id, version, kind HAVING count(*) > 1
UNION ALL SELECT document_id, max(version), 'deleted', count(*) FROM rag.document_changes WHERE kind = 'deleted'
GROUP BY tenant_id, document_id HAVING count(*) > 1
UNION ALL SELECT d.id, d.version, 'lacks', 0 FROM rag.documents d WHERE d.status = 'indexed' AND NOT EXISTS (
  SELECT 1 FROM rag.document_changes c WHERE c.tenant_id = d.tenant_id AND c.document_id = d.id AND c.kind <> 'deleted')

-- name: a deletion is in the audit log once, and nothing that was not deleted
SELECT target, count(*) FROM rag.audit_events WHERE action = 'document.delete' GROUP BY tenant_id, target HAVING count(*) > 1
UNION ALL SELECT target, 0 FROM rag.audit_events a WHERE action = 'document.delete'
  AND EXISTS (SELECT 1 FROM rag.documents d WHERE d.tenant_id = a.tenant_id AND d.id::text = a.target)

-- name: jobs that ended are nobody's, and no work is ordered twice
SELECT id::text, kind, status FROM rag.jobs
WHERE status NOT IN ('queued', 'running') AND (lease_until IS NOT NULL OR finished_at IS NULL)
   OR status IN ('queued', 'running')

-- name: nothing that was embedded ahead is left of a document that is there
SELECT a.document_id FROM rag.embedded_ahead a JOIN rag.documents d ON (d.tenant_id, d.id) = (a.tenant_id, a.document_id)
WHERE d.status = 'indexed'

-- name: no session holds an advisory lock
SELECT l.pid, l.mode FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory'
