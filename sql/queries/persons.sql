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

-- name: listed
-- Documents whose own access lists name the person, with these lists.
SELECT id, collection_id, access FROM rag.documents WHERE tenant_id = $1 AND access && $2::text[] AND access_from IS NULL ORDER BY collection_id, id

-- name: forget
SELECT kind, gone FROM rag.forget_person($1, $2, $3, $4, $5)
