-- What is kept because of a person: sql/functions/persons.sql has the whole of it.

-- name: forgotten_as
SELECT rag.forgotten_as($1)

-- name: keys_called
-- Keys with the name of a person.
SELECT id FROM rag.api_keys WHERE tenant_id = $1 AND name = $2 ORDER BY id

-- name: note
SELECT rag.note_forgotten($1, $2)

-- name: kept
SELECT kind, record FROM rag.kept_of($1, $2, $3, $4)

-- name: told
-- What an export tells $4, whom access lists call $5, that others asked or that they read by right alone.
SELECT kind, id FROM rag.told_of($1, $2, $3, $4, $5)

-- name: listed
-- Documents that name the person, with their lists; `own`: not that of a rule. Locked in the order of rag.write_access, and all before a
-- collection is. Who waited for another list sees that one.
SELECT id, collection_id, access, access_from IS NULL AS own FROM rag.documents
WHERE tenant_id = $1 AND access && $2::text[] ORDER BY collection_id, external_id COLLATE "C" FOR UPDATE

-- name: forget
SELECT kind, gone FROM rag.forget_person($1, $2, $3, $4, $5)
