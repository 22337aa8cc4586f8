"""What is deleted takes exactly its part along: every table of the schema, found in the catalog, is as in a database that
never had it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cairn.db.embedded import EmbeddedServer
from cairn.domain.document import Source
from cairn.domain.passage import SearchRequest
from cairn.service import graph as graph_service
from cairn.service.documents import delete_collection, delete_document, get_collection, index_now, list_documents
from cairn.service.search import run_search
from cairn.settings import Environment, SettingsStore
from cairn.wiring import Services, open_services

KEPT = {
    "ada.md": "# Ada Lovelace\n\nAda Lovelace was born in London. Ada Lovelace knew Charles Babbage (CB) well.",
    "engine.md": "# Engine\n\nThe Analytical Engine was designed by Charles Babbage. It never ran in London.",
}
DOOMED = (
    "# Babbage in town\n\nCharles Babbage lived in Marylebone, a district of London. Charles Babbage met ADA LOVELACE in the "
    "Wigmore Hall. CB was also called Old Babbage by Mary Somerville. The Royal Society was founded by Robert Moray."
)
VOLATILE = {"epoch", "attempt", "lex_seed", "salt", "average_length", "weights", "max_weight"}
"""Columns that count writes, are drawn at random, or hold the mean length of passages when the row was written (a job renews
them when it has moved). Nor is compared what dates a write (`..._at`)."""
COLLECTION = UUID(int=0x5EED)


@pytest.fixture
async def untouched(
    server: EmbeddedServer, psql: Callable[..., str], template: str, environment: Environment, tmp_path: Path
) -> AsyncIterator[Services]:
    """Another database, which never sees what is deleted."""
    psql(f"CREATE DATABASE never_had_it TEMPLATE {template} STRATEGY file_copy")
    try:
        elsewhere = replace(environment, database_url=server.dsn("never_had_it"))
        async with open_services(elsewhere, SettingsStore()) as opened:
            yield opened
    finally:
        psql("DROP DATABASE never_had_it WITH (FORCE)")


async def index(services: Services, texts: dict[str, str], collection: str = "people") -> None:
    """One by one, so that vectors are made in the same batches everywhere."""
    for name, text in texts.items():
        outcomes = await index_now(services, collection, [Source(name, name, text.encode())])
        assert all(hasattr(outcome, "document_id") for outcome in outcomes), outcomes


async def same_collection(services: Services) -> None:
    """Ids of entities hash that of the collection; keys of words its seed."""
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, 'people', 1)",
            services.principal.tenant_id, COLLECTION,
        )  # fmt: skip


async def everything(services: Services) -> dict[str, list[str]]:
    """All rows of the tenant, by table: ids drawn at random told by what they stand for, without what dates a write."""
    found: dict[str, list[str]] = {}
    async with services.database.transaction(services.principal, readonly=True) as connection:
        labels = dict(
            await connection.fetch("""
            SELECT id::text, 'document ' || external_id FROM rag.documents
            UNION ALL SELECT p.id::text, concat('passage ', d.external_id, p.ordinal)
            FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id
            UNION ALL SELECT k.id::text, concat('chunk ', d.external_id, p.ordinal, ' ', k.ordinal)
            FROM rag.chunks k JOIN rag.passages p ON p.id = k.passage_id JOIN rag.documents d ON d.id = p.document_id
            UNION ALL SELECT id::text, concat('community ', level, ' ', fingerprint) FROM rag.communities""")
        )
        tables = await connection.fetch(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' "
            "WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
            "AND has_table_privilege(c.oid, 'SELECT')"
        )  # fmt: skip
        for (table,) in tables:
            if table in ("audit_events", "document_changes"):
                continue  # keep what was done
            rows = await connection.fetch(f"SELECT to_jsonb(t) AS row FROM rag.{table} t")
            found[table] = sorted(_told(row["row"], labels) for row in rows)
    return found


def _told(row: dict[str, Any], labels: dict[str, str]) -> str:
    kept = {name: value for name, value in row.items() if name not in VOLATILE and not name.endswith("_at")}
    return json.dumps({name: labels.get(str(value), value) for name, value in kept.items()}, sort_keys=True)


async def test_a_deleted_document_leaves_what_was_there_without_it_in_every_table(
    services: Services, untouched: Services
) -> None:
    """Indexed, replaced by a new version, deleted at last."""
    for database in (services, untouched):
        await same_collection(database)
    await index(services, {"doomed.md": "# First version\n\nGustave Eiffel met Ada Lovelace in Paris."})
    await index(services, KEPT)
    await index(services, {"doomed.md": DOOMED})
    await index(untouched, KEPT)
    assert (await everything(services))["entities"] != (await everything(untouched))["entities"]
    document = next(d for d in await list_documents(services, "people") if d.external_id == "doomed.md")
    await delete_document(services, "people", document.id)
    left, expected = await everything(services), await everything(untouched)
    assert set(left) >= {"entities", "entity_aliases", "entity_words", "mentions", "relations", "evidence", "adjacency"}
    assert left["evidence"], "what others prove stays"
    for table in left:
        assert left[table] == expected[table], table


async def test_a_merge_with_what_is_deleted_quotes_nothing_and_holds_again_when_it_returns(services: Services) -> None:
    await index(services, {**KEPT, "doomed.md": DOOMED})
    made = await graph_service.merge_entities(services, "people", "Ada Lovelace", "Mary Somerville", "a test")
    assert made.from_name == "Mary Somerville"
    document = next(d for d in await list_documents(services, "people") if d.external_id == "doomed.md")
    await delete_document(services, "people", document.id)
    assert "Somerville" not in json.dumps(await everything(services))
    (logged,) = await graph_service.list_merges(services, "people")
    assert (logged.id, logged.from_name, logged.into_name) == (made.id, None, "Ada Lovelace")
    await index(services, {"doomed.md": DOOMED})
    detail = await graph_service.get_entity(services, "Mary Somerville", "people")
    assert detail.standing.entity.name == "Ada Lovelace"
    assert [merge.id for merge in detail.merged] == [made.id]


async def test_a_deleted_collection_leaves_no_row_of_its_own_in_any_table(services: Services) -> None:
    await index(services, KEPT, "kept")
    before = await everything(services)
    await index(services, {**KEPT, "doomed.md": DOOMED}, "gone")
    await graph_service.merge_entities(services, "gone", "London", "Marylebone", "a test")
    await run_search(services, SearchRequest("Who lived in Marylebone?", ("gone",), cache=True))
    gone = await get_collection(services, "gone")
    await delete_collection(services, "gone")
    after = await everything(services)
    assert {table for table, rows in after.items() if str(gone.id) in json.dumps(rows)} <= {"runs", "run_legs"}
    for table in ("entities", "entity_aliases", "entity_words", "mentions", "relations", "evidence", "adjacency",
                  "entity_merges", "communities", "extractions", "documents", "passages", "chunks"):  # fmt: skip
        assert after[table] == before[table], table
