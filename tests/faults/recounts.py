"""What must hold in the database whenever nothing is being written: statements that return a row for each fault."""

from __future__ import annotations

from typing import Any, Final

HALF: Final = """
SELECT d.external_id, d.status FROM rag.documents d
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.passages p WHERE p.document_id = d.id) p ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.chunks c WHERE c.document_id = d.id) c ON true
LEFT JOIN LATERAL (SELECT count(DISTINCT e.chunk_id) AS n FROM rag.embeddings e WHERE e.document_id = d.id) e ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.lexical_index l WHERE l.document_id = d.id) l ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM rag.document_texts t
                   WHERE t.document_id = d.id AND t.version = d.version) t ON true
WHERE (d.status = 'indexed' AND (p.n <> d.passage_count OR c.n <> d.chunk_count OR e.n <> c.n OR l.n <> p.n OR t.n <> 1))
   OR (d.status <> 'indexed' AND p.n + c.n + e.n + l.n + t.n > 0)
"""
DRIFT: Final = """
SELECT collection_id, key, counted.df, t.document_frequency FROM (
  SELECT collection_id, key, count(*) AS df FROM rag.lexical_index, unnest(keys) AS key GROUP BY 1, 2
) AS counted FULL JOIN rag.lexical_terms t USING (collection_id, key)
WHERE counted.df IS DISTINCT FROM t.document_frequency
"""
LENGTHS: Final = """
SELECT collection_id, regconfig, counted.n, s.passage_count, counted.total, s.total_length FROM (
  SELECT collection_id, regconfig, count(*) AS n, sum(rag.lexical_length(search_vector)) AS total
  FROM rag.passages GROUP BY 1, 2
) AS counted FULL JOIN rag.lexical_stats s USING (collection_id, regconfig)
WHERE counted.n IS DISTINCT FROM s.passage_count OR counted.total IS DISTINCT FROM s.total_length
"""
POSTINGS: Final = """
SELECT l.passage_id FROM rag.lexical_index l
JOIN rag.passages p ON p.id = l.passage_id JOIN rag.collections c ON c.id = l.collection_id
CROSS JOIN LATERAL rag.lexical_posting(p.search_vector, p.regconfig, c.lex_seed, l.average_length) AS x
WHERE (l.regconfig, l.length, l.keys) IS DISTINCT FROM (p.regconfig, x.length, x.keys) OR l.weights <> x.weights
"""
COUNTS: Final = """
SELECT c.name FROM rag.collections c WHERE
  (SELECT count(*) FROM rag.documents d WHERE d.collection_id = c.id AND d.status = 'indexed') <> c.document_count
  OR (SELECT count(*) FROM rag.passages p WHERE p.collection_id = c.id) <> c.passage_count
  OR (SELECT count(*) FROM rag.chunks k WHERE k.collection_id = c.id) <> c.chunk_count
"""
CUTS: Final = """
SELECT d.external_id, p.ordinal FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id
JOIN rag.document_texts t ON t.document_id = d.id AND t.version = d.version
WHERE p.content <> substr(t.text, p.char_start + 1, p.char_end - p.char_start)
"""
ENTITIES: Final = """
SELECT * FROM (
  SELECT m.entity_id AS id, count(DISTINCT m.passage_id) FILTER (WHERE m.occurrences > 0) AS named,
    count(DISTINCT m.passage_id) - count(DISTINCT m.passage_id) FILTER (WHERE m.occurrences > 0) AS implied
  FROM rag.mentions m GROUP BY 1
) AS counted FULL JOIN rag.entities e USING (id)
WHERE counted.named IS DISTINCT FROM e.passage_count OR counted.implied IS DISTINCT FROM e.implied_count
"""
RELATIONS: Final = """
SELECT * FROM (
  SELECT v.relation_id AS id, count(*) AS n, sum(v.strength) AS strength FROM rag.evidence v GROUP BY 1
) AS counted FULL JOIN rag.relations r USING (id)
WHERE counted.n IS DISTINCT FROM r.evidence_count OR abs(counted.strength - r.strength) > 0.001
"""
ADJACENCY: Final = """
SELECT r.id FROM rag.relations r
WHERE (SELECT count(*) FROM rag.adjacency a WHERE a.relation_id = r.id) <> 2
UNION ALL SELECT a.relation_id FROM rag.adjacency a WHERE NOT EXISTS (SELECT FROM rag.relations r WHERE r.id = a.relation_id)
"""
MEMBERS: Final = """
SELECT m.entity_id FROM rag.community_members m WHERE NOT EXISTS (SELECT FROM rag.communities c WHERE c.id = m.community_id)
"""
UPLOADS: Final = """
SELECT u.id FROM rag.uploads u LEFT JOIN rag.jobs j ON j.id = u.job_id
WHERE j.id IS NULL OR j.status IN ('succeeded', 'cancelled')
"""
RECOUNTS: Final = {
    "documents that are there by half": HALF,
    "document frequencies": DRIFT,
    "postings": POSTINGS,
    "numbers and lengths of passages by language": LENGTHS,
    "counts of collections": COUNTS,
    "passages that are no part of their text": CUTS,
    "counts of entities": ENTITIES,
    "counts of relations": RELATIONS,
    "both directions of each relation": ADJACENCY,
    "members of communities": MEMBERS,
    "files that nobody waits for": UPLOADS,
}


async def faults(connection: Any) -> dict[str, list[Any]]:
    """By what is wrong, the first rows that show it; as a superuser, who sees every tenant."""
    found = {name: await connection.fetch(f"{sql.rstrip()} LIMIT 5") for name, sql in RECOUNTS.items()}
    return {name: rows for name, rows in found.items() if rows}
