"""The audit log: added to and read, never changed; old events go, recent ones cannot be made to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cairn.domain.audit import AuditEvent
from cairn.domain.ids import new_id
from cairn.domain.principal import Caller, Principal
from cairn.domain.question import Question
from cairn.errors import NotFoundError
from cairn.service import graph as graph_service
from cairn.service.ask import ask
from cairn.service.audit import follow_settings
from cairn.service.conversations import delete_history
from cairn.service.documents import delete_collection, delete_document, index_now, list_documents
from cairn.service.operation import do_upkeep
from cairn.service.search import clear_cache
from cairn.settings import Environment, SettingsStore
from cairn.settings.sections import AuditSettings
from cairn.store import audit
from cairn.wiring import Services, open_services
from tests.documents import text_source
from tests.sharing import ALONE, SHARED
from tests.waiting import until

pytestmark = SHARED
KEY = Caller("key:0190", "ingestion")


@pytest.fixture
def other(other_tenant: Services) -> Principal:
    return other_tenant.principal


async def _events(services: Services, principal: Principal | None = None, **narrow: Any) -> list[AuditEvent]:
    who = principal or services.principal
    async with services.database.transaction(who, readonly=True) as connection:
        return await audit.list_events(connection, who, **narrow)


async def test_a_deed_is_read_back_by_its_tenant_alone(services: Services, other: Principal) -> None:
    before = datetime.now(UTC)
    caller = replace(services.principal, caller=KEY)
    async with services.database.transaction(caller) as connection:
        await audit.record(connection, caller, "collection.delete", "handbook\x00", {"documents": 3})
        await audit.record(connection, caller, "key.create", "x" * 3000, {"note": "y" * 30_000})

    found = await _events(services, caller="key:0190")
    assert {(event.action, event.caller_name) for event in found} == {
        ("collection.delete", "ingestion"),
        ("key.create", "ingestion"),
    }
    deleted = next(event for event in found if event.action == "collection.delete")
    assert (deleted.target, deleted.detail) == ("handbook", {"documents": 3})
    assert abs(deleted.occurred_at - before) < timedelta(minutes=5)
    assert [event.action for event in await _events(services, action="key")] == ["key.create"]
    assert {event.action for event in await _events(services, other)} == {"tenant.create", "analyst.grant"}


async def test_pages_follow_each_other(services: Services) -> None:
    for number in range(5):  # a transaction each: the time is that of its beginning
        async with services.database.transaction(services.principal) as connection:
            await audit.record(connection, services.principal, "cache.clear", str(number))
    seen: list[str] = []
    page = await _events(services, action="cache", limit=2)
    while page:
        seen += [event.target for event in page]
        page = await _events(services, action="cache", limit=2, before=(page[-1].occurred_at, page[-1].id))
    assert seen == ["4", "3", "2", "1", "0"]


async def test_a_deed_that_is_rolled_back_is_not_recorded(services: Services) -> None:
    async def fail() -> None:
        async with services.database.transaction(services.principal) as connection:
            await audit.record(connection, services.principal, "cache.clear", "all")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await _events(services, action="cache") == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rag.audit_events SET target = 'nothing'",
        "DELETE FROM rag.audit_events",
        "TRUNCATE rag.audit_events",
        "INSERT INTO rag.audit_events (tenant_id, id, caller, action, target, occurred_at) "
        "VALUES ({tenant}, gen_random_uuid(), 'x', 'a.b', 'x', 'epoch')",
        "INSERT INTO rag.audit_events (tenant_id, id, caller, action, target) "
        "VALUES ({tenant} + 1, gen_random_uuid(), 'x', 'a.b', 'x')",
        "MERGE INTO rag.audit_events AS a USING (VALUES (1)) AS one ON true WHEN MATCHED THEN DELETE",
        "INSERT INTO rag.audit_events (tenant_id, id, caller, action, target) SELECT tenant_id, id, 'x', 'a.b', 'x' "
        "FROM rag.audit_events LIMIT 1 ON CONFLICT (tenant_id, id) DO UPDATE SET target = 'x'",
        "ALTER TABLE rag.audit_events DISABLE ROW LEVEL SECURITY",
        "DROP TABLE rag.audit_events",
        "SELECT rag.expire_audit(29)",
        "SELECT rag.expire_audit(-1)",
        "SELECT rag.expire_audit(NULL)",
    ],
)
async def test_the_serving_role_can_add_and_nothing_else(services: Services, statement: str) -> None:
    """Also by the function that deletes what is old: not with a bound that would reach what was just done."""
    async with services.database.transaction(services.principal) as connection:
        await audit.record(connection, services.principal, "cache.clear", "all")
    before = await _events(services)
    with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError)):
        async with services.database.transaction(services.principal) as connection:
            await connection.execute(statement.format(tenant=services.principal.tenant_id))
    assert await _events(services) == before


async def test_old_events_go_with_the_daily_upkeep(services: Services, owner: Any, other: Principal) -> None:
    """Of all tenants, by the setting."""

    async def backdate(tenant: int, action: str, days: int) -> None:
        await owner.execute(
            "INSERT INTO rag.audit_events (tenant_id, id, caller, action, target, occurred_at) "
            "VALUES ($1, $2, 'x', $3, 'x', now() - make_interval(days => $4))",
            tenant, new_id(), action, days,
        )  # fmt: skip

    for principal in (services.principal, other):
        await backdate(principal.tenant_id, "old.deed", 41)
        await backdate(principal.tenant_id, "recent.deed", 39)
    settings = services.settings.current
    services.settings.current = settings.model_copy(update={"audit": AuditSettings(retention_days=40)})
    await do_upkeep(services)
    for principal in (services.principal, other):
        actions = {event.action for event in await _events(services, principal)}
        assert "recent.deed" in actions
        assert "old.deed" not in actions


@ALONE
async def test_the_shortest_retention_is_that_of_the_database(services: Services) -> None:
    """The setting allows nothing that rag.expire_audit refuses."""
    async with services.database.connection() as connection:
        assert await audit.expire(connection, AuditSettings(retention_days=30).retention_days) == 0


async def test_deeds_are_recorded_with_their_caller(services: Services) -> None:
    """Each once, under the one who did it; what fails is not recorded."""
    by_key = replace(services, principal=replace(services.principal, caller=KEY))
    texts = {"a": "Ada Lovelace met Charles Babbage in London.", "b": "The Countess of Lovelace lived in London."}
    assert await index_now(services, "c", [text_source(name, text) for name, text in texts.items()])
    merge = await graph_service.merge_entities(by_key, "c", "Charles Babbage", "London", "for the test")
    await graph_service.undo_merge(by_key, merge.id)
    assert [part async for part in graph_service.export_graph(by_key, "c")]
    await ask(services, Question("What is London?", "c", new_id(), session_id="s1"))
    assert await delete_history(by_key, "s1")
    assert not await delete_history(by_key, "s1")
    await clear_cache(by_key)
    document = (await list_documents(services, "c"))[0]
    await delete_document(by_key, "c", document.id)
    with pytest.raises(NotFoundError):
        await delete_document(by_key, "c", document.id)
    await delete_collection(by_key, "c")

    found = await _events(services, caller="key:0190")
    assert [(event.action, event.target) for event in reversed(found)] == [
        ("entity.merge", str(merge.id)),
        ("entity.unmerge", str(merge.id)),
        ("graph.export", "c"),
        ("conversation.delete", "s1"),
        ("cache.clear", "all"),
        ("document.delete", str(document.id)),
        ("collection.delete", "c"),
    ]
    assert found[0].detail == {"documents": 1, "chunks": 1}
    assert "Lovelace" not in str(found), "what is deleted leaves no name behind"


async def test_changes_of_the_settings_file_are_recorded(environment: Environment, tmp_path: Path) -> None:
    """Names of what changed, without values; and what was refused, once."""
    file = tmp_path / "settings.json"
    file.write_text("{}")
    async with open_services(environment, SettingsStore(file)) as services:
        following = asyncio.create_task(follow_settings(services))

        async def deeds() -> list[str]:
            return [event.action for event in await _events(services, action="settings")]

        async def write(text: str, expected: list[str]) -> None:
            async def recorded() -> bool:
                file.write_text(text)  # each time: the watcher may not have begun
                return await deeds() == expected

            await until(recorded)

        await write('{"retrieve": {"rrfK": 61}, "web": {"searxngUrl": "http://word.example"}}', ["settings.reload"])
        await write('{"retrieve": {"rrfK": "many"}}', ["settings.refuse", "settings.reload"])
        following.cancel()
        refused, reloaded = await _events(services, action="settings")
    assert reloaded.detail["keys"] == ["retrieve.rrfK", "web.searxngUrl"]
    assert "word" not in str(reloaded)
    assert "retrieve.rrfK" in refused.detail["problem"]
    assert refused.target == str(file)


async def test_grants_to_analysts_are_recorded_by_the_database(services: Services, owner: Any) -> None:
    await owner.execute("CREATE ROLE audited LOGIN")
    try:
        for _ in range(2):
            await owner.execute("SELECT rag.grant_analyst('audited', $1)", services.principal.tenant)
        for _ in range(2):
            await owner.execute("SELECT rag.revoke_analyst('audited', $1)", services.principal.tenant)
        found = [event for event in await _events(services, action="analyst") if event.target == "audited"]
        assert [(event.action, event.caller) for event in found] == [
            ("analyst.revoke", "database:cairn"),
            ("analyst.grant", "database:cairn"),
        ]
        shown = await owner.fetch("SELECT action FROM analyst.audit WHERE target = 'audited' ORDER BY occurred_at")
        assert [row["action"] for row in shown] == ["analyst.grant", "analyst.revoke"]
    finally:
        await owner.execute("DROP OWNED BY audited; DROP ROLE audited")
