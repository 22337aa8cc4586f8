"""What a login that may only read views is not told: of other tenants by plans, of the restricted by errors and the audit log."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest_asyncio

from cairn.domain.graph import EntityKey, entity_id
from cairn.domain.ids import new_id
from cairn.domain.person import counted_by
from cairn.service.conversations import delete_conversation
from cairn.service.documents import find_document_id, index_now
from cairn.service.editing import change_document
from cairn.service.persons import forget_person
from cairn.service.qa import delete_session
from cairn.store import qa_sessions
from cairn.wiring import Services
from tests.db.runs import answered
from tests.db.test_access_lists import as_caller, source
from tests.sharing import SHARED

pytestmark = SHARED

OPEN = "The cafeteria of Harbour House opens at eight."
MERGER = "Marie Dubois met Pierre Lambert in Lyon. Marie Dubois and Pierre Lambert work at Harbour House."
LOGIN = "told_eve"
_numbers = itertools.count(1)


@pytest_asyncio.fixture(loop_scope="module")
async def analyst(services: Services) -> AsyncIterator[Any]:
    """A session of a login that may read the tenant of the test, and no other one."""
    owner = await asyncpg.connect(services.owner_dsn)
    login = f"{LOGIN}_{next(_numbers)}"
    await owner.execute(f"CREATE ROLE {login} LOGIN")
    await owner.execute("SELECT rag.grant_analyst($1, $2)", login, services.principal.tenant)
    session = await asyncpg.connect(services.owner_dsn, user=login)
    yield session
    await session.close()
    await owner.execute(f"DROP OWNED BY {login}; DROP ROLE {login}")
    await owner.close()


# --- ids that are made of texts ---------------------------------------------------------------------------------------------

AVOIDED = (
    (),
    ("seqscan", "bitmapscan", "nestloop", "mergejoin"),
    ("seqscan", "hashjoin", "mergejoin"),
)
"""Kinds of steps that the planner is told to avoid, so that conditions are looked up in one index or another."""


async def plan(session: Any, avoided: tuple[str, ...], condition: str) -> str:
    async with session.transaction():
        for step in avoided:
            await session.execute(f"SET LOCAL enable_{step} = off")
        rows = await session.fetch(
            f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT 1 FROM analyst.{condition}"
        )
    return "\n".join(row[0] for row in rows)


async def test_a_plan_does_not_tell_which_entities_and_collections_other_tenants_have(
    services: Services, other_tenant: Services, analyst: Any
) -> None:
    """The id of an entity follows from its name and its collection: who may ask for it by an index is told whether it is there,
    though of another tenant."""
    await index_now(services, "default", [source("open.md", OPEN, None)])
    await index_now(other_tenant, "mergers", [source("deal.md", MERGER, None)])
    key = counted_by("https://id.example.org", other_tenant.principal.tenant, "ada")
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        tenant = other_tenant.principal.tenant_id
        await owner.execute(
            "INSERT INTO rag.key_usage (tenant_id, key_id, day, calls, tokens, cost) VALUES ($1, $2, current_date, 1, 1, 0)",
            tenant, key,
        )  # fmt: skip
        collection = await owner.fetchval("SELECT id FROM rag.collections WHERE tenant_id = $1", tenant)
        relation = await owner.fetchrow(
            "SELECT id, source_id, target_id FROM rag.relations WHERE tenant_id = $1", tenant
        )
        marie = entity_id(collection, EntityKey("text", "marie dubois"))
        assert await owner.fetchval("SELECT name FROM rag.entities WHERE tenant_id = $1 AND id = $2", tenant, marie)
    finally:
        await owner.close()
    assert await analyst.fetchval("SELECT count(*) FROM analyst.entities") > 0
    hidden: dict[str, UUID] = {
        "collections.collection_id": collection,
        "entities.entity_id": marie,
        "entities.stands_for": marie,
        "mentions.entity_id": marie,
        "relations.relation_id": relation["id"],
        "relations.source_id": relation["source_id"],
        "relations.target_id": relation["target_id"],
        "key_usage.key_id": key,
    }
    nowhere, told = new_id(), set()
    for avoided in AVOIDED:
        for place, value in hidden.items():
            view, column = place.split(".")

            async def around(one: UUID, view: str = view, column: str = column, how: Any = avoided) -> list[str]:
                after = UUID(int=one.int + 1)
                found = [
                    await plan(analyst, how, f"{view} WHERE {column} = '{one}'"),
                    await plan(analyst, how, f"{view} WHERE {column} >= '{one}' AND {column} < '{after}'"),
                ]
                return [text.replace(str(one), "?").replace(str(after), "?") for text in found]

            # what goes on beside changes a count now and then
            for _ in range(3):
                if await around(value) == await around(nowhere):
                    break
            else:
                told.add(place)
    assert sorted(told) == []


# --- candidates that are gone -------------------------------------------------------------------------------------------------


async def test_an_error_does_not_tell_which_candidates_are_gone(services: Services, analyst: Any) -> None:
    """A condition that fails for what it is asked about says that in its error: it must not be asked about what is left out."""
    await index_now(services, "default", [source("open.md", OPEN, None)])
    await index_now(services, "staff", [source("pay.md", "The salary rises.", ("group:hr",))])
    run, gone = new_id(), new_id()
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        tenant = services.principal.tenant_id
        there = await owner.fetchval(
            "SELECT p.id FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id"
            " WHERE p.tenant_id = $1 AND d.access IS NULL", tenant,
        )  # fmt: skip
        now = datetime.now(UTC)
        await owner.execute(
            "INSERT INTO rag.runs (tenant_id, started_at, id, kind, collections, question, outcome, settings_revision, asked_by,"
            " legs_used, degraded, document_ids)"
            " VALUES ($1, $2, $3, 'search', '{default}', 'q', 'ok', '', 'token:bob', '{vector}', '{}', '{}')",
            tenant, now, run,
        )  # fmt: skip
        await owner.execute(
            "INSERT INTO rag.run_legs (tenant_id, started_at, run_id, leg, passage_ids, chunk_ids, scores, shares, fates)"
            " SELECT $1, $2, $3, leg, $4, ARRAY[NULL, NULL]::uuid[], '{.9,.8}', '{.9,.8}', '{kept,kept}'"
            " FROM unnest(ARRAY['vector', 'fused']) AS leg", tenant, now, run, [gone, there],
        )  # fmt: skip
    finally:
        await owner.close()
    fails = f"(CASE WHEN passage_id = '{gone}' THEN (passage_id || ' scored ' || raw_score)::integer END) IS NULL"
    for avoided in AVOIDED:
        async with analyst.transaction():
            for step in avoided:
                await analyst.execute(f"SET LOCAL enable_{step} = off")
            rows = await analyst.fetch(
                f"SELECT leg, rank, passage_id, external_id, fate FROM analyst.retrieval_hits WHERE run_id = '{run}' AND {fails}"
                " ORDER BY leg"
            )
        assert [tuple(row) for row in rows] == [(leg, 2, there, "open.md", "kept") for leg in ("fused", "vector")], (
            avoided
        )


# --- the audit log -------------------------------------------------------------------------------------------------------------


async def deeds(analyst: Any, action: str) -> list[str]:
    rows = await analyst.fetch("SELECT target FROM analyst.audit WHERE action = $1 ORDER BY target", action)
    return [row["target"] for row in rows]


async def recorded(services: Services, action: str) -> list[str]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch("SELECT target FROM rag.audit_events WHERE action = $1 ORDER BY target", action)
    return [row["target"] for row in rows]


async def test_that_a_withheld_conversation_was_deleted_is_for_who_reads_all(services: Services, analyst: Any) -> None:
    """Its id is the client's own, and may say what it was about. Also when nothing is restricted any more."""
    await index_now(services, "default", [source("open.md", OPEN, None)])
    await index_now(services, "bakery", [source("later.md", "Bread is at nine.", None)])
    await index_now(services, "staff", [source("pay.md", "The salary of Marie Dubois rises.", ("group:hr",))])
    hr, nobody = as_caller(services, "hr", name="eve"), as_caller(services)
    cafeteria, pay, bread = "When does the cafeteria open?", "Whose salary rises?", "When is bread?"
    for who, question, collection, session in (
        (nobody, cafeteria, "default", "open"),
        (nobody, bread, "bakery", "on-what-is-restricted-later"),
        (hr, cafeteria, "default", "on-what-is-open-by-hr"),
        (hr, pay, "staff", "on-pay"),
        (hr, pay, "staff", "on-pay-by-the-house"),
    ):
        await answered(who, question, collection=collection, session_id=session)
    later = await find_document_id(services, "bakery", "later.md")
    pay_id = await find_document_id(services, "staff", "pay.md")
    await change_document(services, "bakery", later, access=["group:hr"])
    for who, session in (
        (nobody, "open"),
        (hr, "on-what-is-restricted-later"),
        (hr, "on-what-is-open-by-hr"),
        (hr, "on-pay"),
    ):
        await delete_conversation(who, session)
    for home, document in (("bakery", later), ("staff", pay_id)):
        await change_document(services, home, document, access=[])
    await delete_conversation(services, "on-pay-by-the-house")  # withheld for what it was when it was asked
    assert await deeds(analyst, "conversation.delete") == ["open"]
    assert len(await recorded(services, "conversation.delete")) == 5
    assert await recorded(nobody, "conversation.delete") == ["open"]


async def test_that_a_session_of_who_reads_more_was_deleted_is_for_who_reads_all(
    services: Services, analyst: Any
) -> None:
    await index_now(services, "default", [source("open.md", OPEN, None)])
    await index_now(services, "staff", [source("pay.md", "The salary rises.", ("group:hr",))])
    for who, session in ((as_caller(services, "hr", name="eve"), "on-pay"), (as_caller(services), "open")):
        async with who.database.transaction(who.principal) as connection:
            assert await qa_sessions.open_(connection, who.principal, "default", session, idle_minutes=60, nodes=9)
        await delete_session(who, session)
    assert await deeds(analyst, "qa_session.delete") == ["open"]
    assert await recorded(services, "qa_session.delete") == ["on-pay", "open"]


async def test_how_many_lists_named_who_is_forgotten_is_for_who_reads_all(services: Services, analyst: Any) -> None:
    await index_now(services, "staff", [source("pay.md", "The salary rises.", ("group:hr", "person:ada"))])
    root = as_caller(services, name="root", scopes=("read", "admin"))
    ada, bob = await forget_person(root, "ada"), await forget_person(root, "bob")
    assert (ada.counts["access_lists"], bob.counts["access_lists"], bob.counts["access_rules"]) == (1, 0, 0)
    assert "tells_of_restricted" not in ada.counts
    assert await deeds(analyst, "person.forget") == [bob.mark]
    assert await recorded(services, "person.forget") == sorted([ada.mark, bob.mark])
