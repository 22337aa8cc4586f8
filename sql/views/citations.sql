-- What answers stand on: one row per citation. Kept for trace.retentionDays days.
CREATE OR REPLACE VIEW analyst.citations AS
SELECT t.name || '' AS tenant,
       r.id AS run_id,
       r.started_at,
       (cited.it ->> 'n')::integer AS n,
       c.name || '' AS collection,
       d.external_id || '' AS external_id,
       d.title || '' AS title,
       (cited.it ->> 'page')::integer AS page,
       CASE WHEN x.version = (cited.it ->> 'version')::integer
            THEN substr(x.text, (cited.it ->> 'start')::integer + 1, (cited.it ->> 'end')::integer - (cited.it ->> 'start')::integer)
       END || '' AS quote,
       (cited.it ->> 'start')::integer AS char_start,
       (cited.it ->> 'end')::integer AS char_end,
       (cited.it ->> 'version')::integer AS version,
       d.version > (cited.it ->> 'version')::integer AS source_changed,
       CASE WHEN cited.it ? 'url' THEN NULL ELSE d.id IS NULL END AS source_deleted,
       cited.it ->> 'url' AS url,
       (cited.it ->> 'document_id')::uuid AS document_id,
       (cited.it ->> 'passage_id')::uuid AS passage_id,
       coalesce((cited.it ->> 'instead')::boolean, false) AS instead
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
CROSS JOIN LATERAL jsonb_array_elements(r.answer -> 'citations') AS cited (it)
LEFT JOIN rag.documents AS d ON d.tenant_id = r.tenant_id AND d.id = (cited.it ->> 'document_id')::uuid
LEFT JOIN rag.collections AS c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
LEFT JOIN rag.document_texts AS x ON x.tenant_id = d.tenant_id AND x.document_id = d.id;

COMMENT ON VIEW analyst.citations IS 'Citations of answers, one row each, with the words that are quoted; the answer is in analyst.retrieval_runs.';
COMMENT ON COLUMN analyst.citations.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.citations.run_id IS 'The run that answered (analyst.retrieval_runs).';
COMMENT ON COLUMN analyst.citations.started_at IS 'When the run began. Partitions are days (UTC): a condition on this column makes queries fast.';
COMMENT ON COLUMN analyst.citations.n IS 'Number of the citation, [n] in the answer.';
COMMENT ON COLUMN analyst.citations.collection IS 'Name of the collection of the document; null when it was deleted since, and for a web page.';
COMMENT ON COLUMN analyst.citations.external_id IS 'The caller''s identity of the document; null when it was deleted since, and for a web page.';
COMMENT ON COLUMN analyst.citations.title IS 'Title of the document; null when it was deleted since, and for a web page.';
COMMENT ON COLUMN analyst.citations.page IS 'Page of the first quoted character; null where there are no pages.';
COMMENT ON COLUMN analyst.citations.quote IS 'The words that are quoted; null when the document has other content by now, or is gone.';
COMMENT ON COLUMN analyst.citations.char_start IS 'First character of the quote in the document''s text, counted from 0 in Unicode code points.';
COMMENT ON COLUMN analyst.citations.char_end IS 'One past its last character.';
COMMENT ON COLUMN analyst.citations.version IS 'Version of the document that was quoted.';
COMMENT ON COLUMN analyst.citations.source_changed IS 'Whether the document has other content by now; null when it is gone.';
COMMENT ON COLUMN analyst.citations.source_deleted IS 'Whether the document was deleted since; null for a web page.';
COMMENT ON COLUMN analyst.citations.url IS 'Address of a web page that is quoted; null for a document.';
COMMENT ON COLUMN analyst.citations.document_id IS 'The document (analyst.documents).';
COMMENT ON COLUMN analyst.citations.passage_id IS 'The passage that the quote stands in (analyst.passages); it has another id once the document is indexed anew.';
COMMENT ON COLUMN analyst.citations.instead IS 'Whether the answer does not rest on it: it is what else may answer, or in a refusal what comes nearest.';
