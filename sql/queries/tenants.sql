-- Tenants, for who operates the server.

-- name: list
SELECT id, name FROM rag.list_tenants()
