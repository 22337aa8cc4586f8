-- Rules that give the documents of a folder, or of a collection, their access list (sql/functions/access.sql).

-- name: list
-- Those that the caller may know of: all for who reads everything, else those that name it.
SELECT prefix, access FROM rag.access_rules WHERE tenant_id = $1 AND collection_id = $2 ORDER BY prefix COLLATE "C"

-- name: folded
SELECT asked.name, rag.folder_name(asked.name) AS folded FROM unnest($1::text[]) AS asked (name)

-- name: alike
-- Of folders the rules that are for them, in whatever way these are written: in just this way first.
SELECT DISTINCT ON (asked.folder) asked.folder, r.access FROM unnest($3::text[]) AS asked (folder)
JOIN rag.access_rules r ON r.tenant_id = $1 AND r.collection_id = $2 AND rag.folder_name(r.prefix) = rag.folder_name(asked.folder)
ORDER BY asked.folder, r.prefix = asked.folder DESC, r.prefix COLLATE "C"

-- name: of_name
SELECT access FROM rag.access_rules WHERE tenant_id = $1 AND collection_id = $2 AND prefix = $3

-- name: count
SELECT count(*) FROM rag.access_rules WHERE tenant_id = $1 AND collection_id = $2

-- name: count_documents
SELECT count(*) FROM rag.documents WHERE tenant_id = $1 AND collection_id = $2 AND rag.lies_in(external_id, $3)

-- name: set
SELECT rag.set_access_rule($1, $2, $3)

-- name: follow
SELECT count(*) AS changed, count(*) FILTER (WHERE opened) AS opened FROM rag.follow_access_rules($1, $2)

-- name: await_writers
SELECT rag.await_writers($1)
