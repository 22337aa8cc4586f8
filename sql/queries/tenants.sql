-- Tenants, for who operates the server.

-- name: list
SELECT id FROM rag.list_tenants() AS id

-- name: find
SELECT rag.find_tenant($1)

-- name: describe
SELECT name, created_at FROM rag.tenants WHERE id = $1
