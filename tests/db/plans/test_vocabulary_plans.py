"""The lookup of a message's words reads rows by key: a few per word and language, however large the collection."""

from __future__ import annotations

from typing import Any

from cairn.db.queries import load_queries
from tests.db.plans.test_hot_queries import connection, corpus, filled, indexes, plan, scans, tenant

__all__ = ["connection", "corpus", "filled"]

WORDS = ["w1", "w2", "w300", "w7000", "the", "what", "nowhere", "pg_stat_io"]


async def test_vocabulary_reads_terms_by_key(connection: Any) -> None:
    statement = load_queries("holdings")["frequencies"]
    nodes = await plan(connection, statement, tenant(), "c1", WORDS)
    assert "lexical_terms_pkey" in indexes(nodes)
    assert not scans(nodes) & {"lexical_terms", "passages", "lexical_index"}
    assert max(node["Actual Rows"] for node in nodes) <= 4 * len(WORDS)


async def test_vocabulary_equals_the_passages_that_hold_the_word(connection: Any) -> None:
    row = await connection.fetchrow(load_queries("holdings")["frequencies"], tenant(), "c1", ["w300", "the", "nowhere"])
    expected = await connection.fetchval(
        "SELECT count(*) FROM rag.passages p JOIN rag.collections c ON c.id = p.collection_id "
        "WHERE c.name = 'c1' AND p.search_vector @@ 'w300'::tsquery"
    )
    assert list(row["frequencies"]) == [expected, row["passages"], 0]
    assert row["language"] == "english"
