-- A search of one collection without filters and operators, by the model that serves it, in one round trip.

-- name: collection
-- Outside a transaction: one statement is one snapshot, and the function sets the tenant for it.
SELECT * FROM rag.search_collection($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)

-- name: whole
SELECT * FROM rag.passages_at($1, $2, $3, $4, $5)
