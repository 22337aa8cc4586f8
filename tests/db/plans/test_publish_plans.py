"""What publishing and removing documents does to their passages, by plans that do not depend on how many there are."""

from __future__ import annotations

import re
from typing import Any

import asyncpg
import pytest

from cairn.db.roles import APP_ROLE
from cairn.wiring import Services
from tests.documents import index_texts

PUBLISHING = ("publish_documents", "republish_document", "remove_document")
TOLD = "SET debug_print_plan = on; SET debug_pretty_print = off; SET client_min_messages = log"
"""The trees of all plans, also of statements within functions; auto_explain does not come with every server."""
LOOKED_UP = re.compile(r"(?s)\{SUBPLAN :subLinkType 2 .{0,2000}?:useHashTable (true|false)")
"""`IN (SELECT ...)`, and whether by a hash table."""


async def plans_of_removing(owner: Any, tenant: int, document: Any, collection: Any) -> list[str]:
    """Plans of all statements that `rag.remove_document` makes, as the role that serves."""
    said: list[str] = []
    owner.add_log_listener(lambda _, message: said.append(message.detail or ""))
    await owner.execute(TOLD)
    async with owner.transaction():
        await owner.execute(f"SET LOCAL ROLE {APP_ROLE}")
        await owner.execute("SELECT set_config('app.tenant', $1::bigint::text, true)", tenant)
        await owner.execute("SELECT set_config('app.principals', '*', true)")
        await owner.execute("SELECT rag.prepare_stage()")
        assert await owner.fetchval("SELECT rag.remove_document($1, $2)", document, collection)
    return said


async def test_passages_that_stay_are_looked_up_by_hash(services: Services) -> None:
    """An array that is a parameter is compared one by one: 12,000 passages with 12,000."""
    await index_texts(services, {"plan": "The pump of hall 2 is serviced in May by Ms Wood of Acme Corp."})
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        row = await owner.fetchrow("SELECT tenant_id, id, collection_id FROM rag.documents")
        said = await plans_of_removing(owner, *row)
    finally:
        await owner.close()
    kept = [by_hash for plan in said for by_hash in LOOKED_UP.findall(plan)]
    assert kept == ["true"] * 3, "postings, passages, and passages whose mentions go"


@pytest.mark.parametrize("name", PUBLISHING)
async def test_it_is_planned_once(services: Services, name: str) -> None:
    """Custom plans of its fifty statements took the first documents of a connection three times as long."""
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        config = await owner.fetchval("SELECT proconfig FROM pg_proc WHERE proname = $1", name)
    finally:
        await owner.close()
    assert "plan_cache_mode=force_generic_plan" in config
