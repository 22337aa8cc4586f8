-- The files that documents were made of, and their pages.

-- name: get
SELECT d.version, d.external_id, d.media_type, o.content
FROM rag.originals o JOIN rag.documents d ON d.tenant_id = o.tenant_id AND d.id = o.document_id
WHERE o.tenant_id = $1 AND o.document_id = $2

-- name: keep
INSERT INTO rag.originals (tenant_id, document_id, content) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, document_id) DO NOTHING

-- name: pages
-- Passages know where in them a page begins; a page goes as far as the next one begins, the last as far as the text.
SELECT number, start, lead(start, 1, text_end) OVER (ORDER BY start) AS "end"
FROM (
  SELECT (mark ->> 1)::integer AS number, min((mark ->> 0)::integer) AS start, max(length(t.text)) AS text_end
  FROM rag.passages p
  JOIN rag.document_texts t ON t.tenant_id = p.tenant_id AND t.document_id = p.document_id
  CROSS JOIN jsonb_array_elements(p.landmarks) AS mark
  WHERE p.tenant_id = $1 AND p.document_id = $2 AND mark ->> 1 IS NOT NULL
  GROUP BY 1) AS begun
ORDER BY start
