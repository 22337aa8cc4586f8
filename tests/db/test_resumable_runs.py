"""Storing of events: fenced, counted, ended once, kept for so long (part C 14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from cairn.domain.event import Cancelled, Event, Failed, Progress, RunStarted, SourcesFound, Token
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.errors import ProviderTimeoutError
from cairn.runs.context import Report
from cairn.runs.log import join_text, look
from cairn.runs.registry import Runs
from cairn.runs.task import Task, Work
from cairn.settings import RunSettings
from cairn.store import runs
from cairn.store.runs import KINDS, event_from_text, event_to_text
from cairn.store.session import Database

LEASE = timedelta(seconds=30)
OVER = timedelta(seconds=-1)


@pytest.fixture
async def db(database: str) -> AsyncIterator[Database]:
    opened = await Database.open(database)
    yield opened
    await opened.close()


@pytest.fixture
async def tenant(db: Database) -> Principal:
    async with db.connection() as connection:
        return Principal(await connection.fetchval("SELECT rag.ensure_tenant('t')"), "t")


def question() -> Question:
    return Question("What?", "stones", uuid4())


async def opened(db: Database, tenant: Principal, lease: timedelta = LEASE) -> tuple[Any, Any]:
    """Run id and owner."""
    asked, owner = question(), uuid4()
    async with db.transaction(tenant) as connection:
        assert await runs.open_run(connection, tenant, asked, "query", owner, lease)
        assert not await runs.open_run(connection, tenant, asked, "query", uuid4(), lease)
    return asked.run_id, owner


async def append(db: Database, tenant: Principal, run_id: Any, owner: Any, stored: int, *events: Event) -> Any:
    async with db.transaction(tenant) as connection:
        return await runs.append(connection, tenant, run_id, owner, LEASE, stored, events)


async def everything(db: Database, tenant: Principal, run_id: Any) -> list[Event]:
    async with db.transaction(tenant, readonly=True) as connection:
        return [item.event for item in (await runs.events(connection, tenant, run_id, 0))[0]]


# --- text ---------------------------------------------------------------------------------------------------------------


def test_text_of_every_kind_comes_back_as_it_was() -> None:
    samples: list[Event] = [
        RunStarted(uuid4(), "auto"), Progress("retrieve", 40), SourcesFound(()), Token("a\x00b \ud800 \u2028 é"),
        Cancelled(uuid4()),
    ]  # fmt: skip
    assert {type(event).__name__ for event in samples} | {"Answered", "Failed"} <= set(KINDS)
    for event in samples:
        kind, data = event_to_text(event)
        assert event_from_text(kind, data, terminal=False) == event
        assert data.isascii()


def test_errors_keep_code_status_and_extra() -> None:
    error = ProviderTimeoutError("too late", retry_after=3)
    found = event_from_text(*event_to_text(Failed(error)), terminal=True)
    assert isinstance(found, Failed)
    assert type(found.error) is ProviderTimeoutError
    assert (found.error.detail, found.error.extra, found.error.status) == ("too late", {"retry_after": 3}, 504)


def test_blanked_events_are_skipped_but_for_the_end() -> None:
    assert event_from_text("Token", None, terminal=False) is None
    gone = event_from_text("Answered", None, terminal=True)
    assert isinstance(gone, Failed)
    assert gone.error.code == "text-deleted"


def test_pieces_of_text_are_merged_between_other_events() -> None:
    said: list[Event] = [
        Token("a"),
        Token("b"),
        Progress("retry", 95),
        Token("c"),
        Progress("x", 96),
        Progress("y", 97),
    ]
    assert join_text(said) == [Token("ab"), Progress("retry", 95), Token("c"), Progress("x", 96), Progress("y", 97)]
    assert join_text([]) == []


# --- fences -------------------------------------------------------------------------------------------------------------


async def test_events_are_stored_once_and_by_their_owner(db: Database, tenant: Principal) -> None:
    run_id, owner = await opened(db, tenant)
    assert await append(db, tenant, run_id, owner, 0, Token("a"), Token("b")) == "go_on"
    assert await append(db, tenant, run_id, owner, 0, Token("a"), Token("b")) is None  # stored already
    assert await append(db, tenant, run_id, uuid4(), 2, Token("c")) is None  # by somebody else
    assert await append(db, tenant, run_id, owner, 2, Cancelled(run_id)) == "go_on"
    assert await append(db, tenant, run_id, owner, 3, Token("d")) is None  # after the end
    assert await everything(db, tenant, run_id) == [Token("a"), Token("b"), Cancelled(run_id)]


async def test_database_refuses_a_second_end(db: Database, tenant: Principal) -> None:
    run_id, owner = await opened(db, tenant)
    await append(db, tenant, run_id, owner, 0, Cancelled(run_id))
    second = "INSERT INTO rag.run_events VALUES ($1, $2, 2, 'Cancelled', true, '{}')"
    with pytest.raises(asyncpg.UniqueViolationError):
        async with db.transaction(tenant) as connection:
            await connection.execute(second, tenant.tenant_id, run_id)


async def test_lost_runs_are_buried_once_by_whoever_looks(db: Database, tenant: Principal) -> None:
    run_id, owner = await opened(db, tenant, OVER)
    states = await asyncio.gather(*(look(db, tenant, run_id) for _ in range(4)))
    assert {state.status for state in states if state} <= {"error", "running"}
    state = await look(db, tenant, run_id)
    assert state is not None
    assert (state.status, state.last_seq) == ("error", 1)
    assert await append(db, tenant, run_id, owner, 0, Token("late")) is None
    (last,) = await everything(db, tenant, run_id)
    assert isinstance(last, Failed)
    assert last.error.code == "run-lost"


async def test_upkeep_buries_and_expires(db: Database, tenant: Principal) -> None:
    old, owner = await opened(db, tenant)
    await append(db, tenant, old, owner, 0, Token("x"), Cancelled(old))
    young, _ = await opened(db, tenant, OVER)
    async with db.transaction(tenant) as connection:
        await connection.execute(
            "UPDATE rag.resumable_runs SET started_at = now() - interval '9 days' WHERE id = $1", old
        )
        await runs.bury(connection, tenant)
    async with db.connection() as connection:
        assert await runs.expire(connection, 7, 30, 100) == 1
    assert await look(db, tenant, old) is None
    assert await everything(db, tenant, old) == []
    state = await look(db, tenant, young)
    assert state is not None
    assert state.status == "error"


async def test_other_tenants_neither_see_nor_cancel(db: Database, tenant: Principal) -> None:
    run_id, owner = await opened(db, tenant)
    async with db.connection() as connection:
        other = Principal(await connection.fetchval("SELECT rag.ensure_tenant('u')"), "u")
    assert await look(db, other, run_id) is None
    async with db.transaction(other) as connection:
        await runs.request_cancel(connection, tenant, run_id)  # whatever the statement is told, rows decide
    assert await append(db, tenant, run_id, owner, 0) == "go_on"


# --- running ------------------------------------------------------------------------------------------------------------


async def begun(registry: Runs, tenant: Principal, asked: Question, work: Work) -> Task:
    return await registry.start(tenant, asked, work, lambda end: None, resumable=True)


async def said(registry: Runs, tenant: Principal, work: Work) -> list[Event]:
    """All events of a resumable run, as a reader finds them; the first says that it began."""
    first, *rest = [item.event async for item in (await begun(registry, tenant, question(), work)).events()]
    assert isinstance(first, RunStarted)
    return rest


async def test_every_way_to_end_is_one_terminal_event(db: Database, tenant: Principal) -> None:
    registry = Runs(db, RunSettings)

    async def breaks(report: Report) -> Any:
        report(Token("a"))
        raise ZeroDivisionError

    async def fails_at_once(report: Report) -> Any:
        raise ProviderTimeoutError("too late")

    async def speaks_on(report: Report) -> Any:
        asyncio.get_running_loop().call_later(0.2, report, Token("late"))
        raise asyncio.CancelledError

    for work, code in ((breaks, "internal"), (fails_at_once, "provider-timeout")):
        *_, last = await said(registry, tenant, work)
        assert isinstance(last, Failed), work
        assert last.error.code == code
    (only,) = await said(registry, tenant, speaks_on)
    assert isinstance(only, Failed)  # nobody asked for this cancellation


async def test_closing_ends_what_runs_and_takes_nothing_more(db: Database, tenant: Principal) -> None:
    registry = Runs(db, RunSettings)

    async def waits(report: Report) -> Any:
        await asyncio.Event().wait()

    asked = question()
    await begun(registry, tenant, asked, waits)
    await registry.close(0.1)
    first, last = await everything(db, tenant, asked.run_id)
    assert isinstance(first, RunStarted)
    assert isinstance(last, Failed)
    assert last.error.code == "stopping"
    with pytest.raises(Exception, match="stopping"):
        await begun(registry, tenant, question(), waits)


async def test_storing_with_an_unknown_outcome_is_not_repeated(
    db: Database, tenant: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the commit, as seen from here, at the first storing of events."""
    from cairn.errors import DatabaseUnavailableError

    registry, broken = Runs(db, RunSettings), []
    transaction = Database.transaction

    def breaking(self: Database, principal: Principal, **more: Any) -> Any:
        manager = transaction(self, principal, **more)

        class Broken:
            async def __aenter__(self) -> Any:
                return await manager.__aenter__()

            async def __aexit__(self, *error: Any) -> Any:
                result = await manager.__aexit__(*error)
                if not broken and not more.get("readonly"):
                    broken.append(True)
                    raise DatabaseUnavailableError("gone")
                return result

        return Broken()

    async def talks(report: Report) -> Any:
        monkeypatch.setattr(Database, "transaction", breaking)  # the run is open by now
        report(Token("a"))
        report(Progress("complete", 100))
        raise asyncio.CancelledError

    found = await said(registry, tenant, talks)
    assert broken
    assert [type(event) for event in found] == [Token, Progress, Failed]


async def test_what_agents_said_they_did_goes_with_the_documents_it_may_quote(db: Database, tenant: Principal) -> None:
    run_id, owner = await opened(db, tenant)
    gone, said = uuid4(), Progress("pass", 40, "reading", {"answer": "secret words"})
    await append(db, tenant, run_id, owner, 0, said)
    async with db.transaction(tenant) as connection:
        await connection.execute("UPDATE rag.resumable_runs SET document_ids = $1::uuid[]", [gone])
        await connection.execute("SELECT rag.forget_documents($1::uuid[])", [uuid4()])
    assert await everything(db, tenant, run_id) == [said]
    async with db.transaction(tenant) as connection:
        await connection.execute("SELECT rag.forget_documents($1::uuid[])", [gone])
    assert await everything(db, tenant, run_id) == [Progress("pass", 40)]


async def test_words_of_a_document_that_is_gone_are_not_stored(db: Database, tenant: Principal) -> None:
    run_id, owner = await opened(db, tenant)
    await append(db, tenant, run_id, owner, 0, Progress("pass", 60, "more", {"answer": "secret words"}, (uuid4(),)))
    (found,) = await everything(db, tenant, run_id)
    assert isinstance(found, Progress)
    assert (found.message, found.detail) == ("", {})
