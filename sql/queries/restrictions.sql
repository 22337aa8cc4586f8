-- Which documents have what a message asks to be restricted to.

-- name: values
-- Distinct values of the metadata keys $3 (lower case) in up to $4 indexed documents of collection $2 (by name).
SELECT e.key, e.value
FROM (
  SELECT d.metadata FROM rag.collections c
  JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
  WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed'
  LIMIT $4
) AS document
CROSS JOIN LATERAL jsonb_each(document.metadata) AS e (key, value)
WHERE lower(e.key) = ANY ($3::text[])
GROUP BY e.key, e.value ORDER BY e.key, e.value LIMIT 5000

-- name: named
-- Indexed documents of collection $2 (by name) that go by one of the names $3 (lower case): their id, the last part of it,
-- or their title, with or without what stands after a full stop.
SELECT d.external_id, n.name
FROM rag.collections c
JOIN rag.documents d ON d.tenant_id = $1 AND d.collection_id = c.id
CROSS JOIN LATERAL (
  SELECT name FROM unnest($3::text[]) AS asked (name)
  WHERE name IN (lower(d.external_id), lower(regexp_replace(d.external_id, '^.*/', '')), lower(d.title))
    OR regexp_replace(name, '\.\w{1,5}$', '') = lower(d.title)
) AS n
WHERE c.tenant_id = $1 AND c.name = $2 AND d.status = 'indexed'
ORDER BY n.name, d.external_id LIMIT 50

-- name: count
-- How many documents of collection $2 (by name) a metadata filter leaves.
SELECT count(*) FROM rag.collections c
CROSS JOIN LATERAL rag.filter_documents(ARRAY[c.id], $3::jsonb) AS d
WHERE c.tenant_id = $1 AND c.name = $2
