"""A graph of any size with a power law of degrees, written straight into the tables: entities, relations, one proof each."""

from __future__ import annotations

from uuid import UUID

import asyncpg
import numpy as np

SKEW = 2.3
"""Ends of relations are drawn as N * u ** SKEW: with 100,000 entities and 500,000 relations the hub has some 6,700, the
median entity 7."""
PASSAGES = 2_000

PREPARE = """
SELECT rag.ensure_tenant('graph');
INSERT INTO rag.collections (tenant_id, id, name, lex_seed) SELECT id, md5('graph')::uuid, 'graph', 1 FROM rag.tenants;
INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type)
SELECT id, md5('doc')::uuid, md5('graph')::uuid, 'doc', 'doc', 1, 'indexed', '', 'text/plain' FROM rag.tenants;
INSERT INTO rag.passages (tenant_id, id, document_id, collection_id, ordinal, char_start, char_end, headings, token_count,
  content, search_terms, regconfig)
SELECT t.id, md5('p' || n)::uuid, md5('doc')::uuid, md5('graph')::uuid, n, 0, 1, '{}', 1, 'x', '', 'simple'
FROM rag.tenants t, generate_series(0, %(passages)s - 1) n;
INSERT INTO rag.lexical_stats SELECT id, md5('graph')::uuid, 'simple', %(passages)s, %(passages)s, 1 FROM rag.tenants;
INSERT INTO rag.lexical_index SELECT p.tenant_id, p.id, p.document_id, p.collection_id, 'simple', x.length, 1, x.keys, x.weights
FROM rag.passages p, rag.lexical_posting(p.search_vector, 'simple', 1, 1) AS x;
CREATE TEMP TABLE pair (number integer, source integer, target integer, strength integer);
"""
FILL = """
SET session_replication_role = replica;  -- no foreign keys while loading
INSERT INTO rag.entities (tenant_id, collection_id, id, family, normal, kind, name, passage_count, canonical_id)
SELECT t.id, md5('graph')::uuid, md5('e' || n)::uuid, 'name', 'entity ' || n, 'term', 'Entity ' || n, 1, md5('e' || n)::uuid
FROM rag.tenants t, generate_series(0, %(entities)s - 1) n;
UPDATE rag.entities e SET passage_count = d.degree FROM (
  SELECT md5('e' || node)::uuid AS id, count(*) AS degree
  FROM (SELECT source AS node FROM pair UNION ALL SELECT target FROM pair) AS ends GROUP BY node) AS d WHERE d.id = e.id;
INSERT INTO rag.relations SELECT t.id, md5('graph')::uuid, md5('r' || number)::uuid, md5('e' || source)::uuid, 'co_occurs',
  md5('e' || target)::uuid, 1, strength FROM pair, rag.tenants t;
INSERT INTO rag.evidence SELECT t.id, md5('graph')::uuid, md5('p' || number % 2000)::uuid, md5('r' || number)::uuid,
  strength, 0, 1 FROM pair, rag.tenants t;
INSERT INTO rag.mentions SELECT DISTINCT t.id, md5('graph')::uuid, md5('p' || number % 2000)::uuid, md5('e' || node)::uuid,
  'Entity ' || node, 'term', 1, 0, 1, 1.0
FROM (SELECT number, source AS node FROM pair UNION ALL SELECT number, target FROM pair) AS ends, rag.tenants t;
INSERT INTO rag.adjacency (tenant_id, collection_id, relation_id, outgoing, node_id, neighbour_id, weight)
SELECT r.tenant_id, r.collection_id, r.id, o, CASE WHEN o THEN r.source_id ELSE r.target_id END,
  CASE WHEN o THEN r.target_id ELSE r.source_id END, rag.association(r.strength, s.passage_count, t.passage_count)
FROM rag.relations r JOIN rag.entities s ON s.id = r.source_id JOIN rag.entities t ON t.id = r.target_id,
  (VALUES (true), (false)) d (o);
INSERT INTO rag.entity_aliases SELECT tenant_id, collection_id, id, name, kind, normal, passage_count FROM rag.entities;
INSERT INTO rag.entity_words SELECT tenant_id, collection_id, word, id, normal
FROM rag.entities, unnest(string_to_array(normal, ' ')) AS word;
"""
VACUUM = ", ".join(
    f"rag.{t}"
    for t in (
        "entities",
        "relations",
        "evidence",
        "adjacency",
        "mentions",
        "entity_aliases",
        "entity_words",
        "lexical_index",
        "passages",
    )
)


async def load_graph(
    dsn: str, entities: int, relations: int, seed: int = 3, *, analyzed: bool = True
) -> tuple[int, UUID]:
    """Tenant and collection of a new graph in a migrated database, with or without the planner's statistics."""
    random = np.random.default_rng(seed)
    ends = (entities * random.random((relations * 2, 2)) ** SKEW).astype(int)
    pairs = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    random.shuffle(pairs)
    pairs = pairs[:relations]
    strengths = random.choice([500, 1000, 2000, 5000], len(pairs), p=[0.2, 0.6, 0.15, 0.05])
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(PREPARE.replace("%(passages)s", str(PASSAGES)))
        rows = [(n, int(a), int(b), int(s)) for n, ((a, b), s) in enumerate(zip(pairs, strengths, strict=True))]
        await connection.copy_records_to_table("pair", records=rows)
        await connection.execute(FILL.replace("%(entities)s", str(entities)))
        if analyzed:
            await connection.execute(f"VACUUM ANALYZE {VACUUM}")
        row = await connection.fetchrow("SELECT tenant_id, id FROM rag.collections WHERE name = 'graph'")
    finally:
        await connection.close()
    return row["tenant_id"], row["id"]
