"""What is kept of a question is for those who could read as much as who asked (rag.asked_as), as long as it is kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.document import Rejected
from cairn.domain.document_list import DocumentFilter
from cairn.domain.event import Answered, Event, SourcesFound, StepEvent, Token
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import InputError, NotFoundError
from cairn.runs.context import Record, Report
from cairn.runs.task import Task, final
from cairn.runs.trace import run_trace
from cairn.service.ask import ask, start
from cairn.service.conversations import check_session_id, list_conversations
from cairn.service.documents import find_document_id, get_collection, index_now, list_documents
from cairn.service.editing import change_document, delete_documents
from cairn.service.limits import limit_tenant
from cairn.service.models import start_reindex
from cairn.service.runs import expire_runs, follow_run, get_run, rate_run, watch_run
from cairn.service.search import get_trace, make_request, run_search
from cairn.store import lexical, memory, qa_sessions, runs, traces
from cairn.wiring import Services
from tests.benchmarks.loading import settled
from tests.db.runs import answered, change
from tests.db.test_access_lists import as_caller, source
from tests.sharing import SHARED
from tests.waiting import hang_guard

pytestmark = SHARED

OPEN = "When does the cafeteria of Harbour House open?"


@pytest_asyncio.fixture(loop_scope="module")
async def letters(services: Services) -> Services:
    """The cafeteria is everybody's; in another collection something is restricted."""
    await index_now(services, "default", [source("open.md", "The cafeteria of Harbour House opens at eight.", None)])
    await index_now(
        services, "staff", [source("pay.md", "The salary of Marie Dubois rises.", ("group:hr", "person:ada"))]
    )
    return services


async def named(services: Services) -> list[str]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return list(await connection.fetchval("SELECT rag.asked_as()"))


async def document_id(services: Services, collection: str, name: str) -> UUID:
    found = await find_document_id(services, collection, name)
    assert found
    return found


async def test_names_count_that_a_list_of_the_tenant_names(letters: Services) -> None:
    callers = {
        "nobody": as_caller(letters),
        "hr": as_caller(letters, "hr", "lunch"),
        "ada": as_caller(letters, "lunch", name="ada"),
        "admin": letters,
    }
    assert {name: await named(caller) for name, caller in callers.items()} == {
        "nobody": [], "hr": ["group:hr"], "ada": ["person:ada"], "admin": ["*"],
    }  # fmt: skip
    many = [source(f"{n}.md", f"Slip number {n}.", (f"group:g{n}",)) for n in range(100)]
    await index_now(letters, "many", many)
    assert await named(callers["nobody"]) == ["person:bob", "token:bob"]  # more lists than are looked at: nobody else
    await delete_documents(letters, "many", DocumentFilter(external_ids=["0.md"]))
    assert await named(callers["nobody"]) == []
    await delete_documents(letters, "many", DocumentFilter(metadata={"kind": "letter"}))
    await change_document(letters, "staff", await document_id(letters, "staff", "pay.md"), access=[])
    assert [await named(caller) for caller in callers.values()] == [[], [], [], []]


async def seen(caller: Services) -> tuple[int, ...]:
    tables = ("sessions", "messages", "runs", "run_legs", "resumable_runs", "run_events", "feedback")
    async with caller.database.transaction(caller.principal, readonly=True) as connection:
        return tuple([await connection.fetchval(f"SELECT count(*) FROM rag.{table}") for table in tables])


@pytest.mark.parametrize("how", ["deleted", "open"])
async def test_others_see_what_was_asked_by_who_could_read_no_more(letters: Services, how: str) -> None:
    """Though it stands on what everybody reads; also when nothing is restricted any more."""
    change(letters, "trace", sample_rate=1.0)
    hr = as_caller(letters, "hr", name="eve")
    task = await start(hr, Question(OPEN, "default", new_id(), session_id="s1"), resumable=True)
    told = (await final(task)).answer
    assert "eight" in told.answer
    await rate_run(hr, told.run_id, 1, "a fine one")
    await final(await start(hr, Question(f"{OPEN} Please", "default", new_id()), resumable=True))  # in no conversation
    await letters.traces.flush()
    colleague, nobody, left = as_caller(letters, "hr"), as_caller(letters), as_caller(letters, name="eve")

    async def check() -> None:
        whole = await seen(letters)
        assert all(whole)
        assert await seen(hr) == await seen(colleague) == whole
        assert await seen(nobody) == (0,) * len(whole)
        assert await seen(left) == whole  # one's own, of which all may be read
        assert [one.session_id for one in await list_conversations(left)] == ["s1"]
        with pytest.raises(NotFoundError):
            await get_run(nobody, told.run_id)

    await check()
    if how == "open":
        await change_document(letters, "staff", await document_id(letters, "staff", "pay.md"), access=[])
    else:
        await delete_documents(letters, "staff", DocumentFilter(metadata={"kind": "letter"}))
    await check()


COMMENT = "wrong: Marie Dubois gets 4,200"


async def judge(who: Services, question: str, comment: str, *, collection: str, resumable: bool = False) -> UUID:
    task = await start(who, Question(question, collection, new_id()), resumable=resumable)
    told = (await final(task)).answer
    await who.traces.flush()
    await rate_run(who, told.run_id, -1, comment)
    return told.run_id


async def comments(who: Services) -> list[str]:
    async with who.database.transaction(who.principal, readonly=True) as connection:
        return [row["comment"] for row in await connection.fetch("SELECT comment FROM rag.feedback ORDER BY comment")]


async def of_analysts(services: Services) -> list[str]:
    owner = await asyncpg.connect(services.owner_dsn)  # granted its own tenants
    try:
        view = "SELECT comment FROM analyst.feedback WHERE tenant = $1 ORDER BY comment"
        return [row["comment"] for row in await owner.fetch(view, services.principal.tenant)]
    finally:
        await owner.close()


async def forget_runs(services: Services, *tables: str) -> None:
    """As when they have gone by their age."""
    async with services.database.transaction(services.principal) as connection:
        for table in tables:
            await connection.execute(f"DELETE FROM rag.{table}")


async def test_feedback_on_a_run_that_is_gone_is_for_who_wrote_it(letters: Services) -> None:
    hr, colleague, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters, "hr"), as_caller(letters)
    await judge(hr, "Does the salary of Marie Dubois rise?", COMMENT, collection="staff", resumable=True)
    await judge(nobody, OPEN, "yes, at eight", collection="default")
    both = [COMMENT, "yes, at eight"]
    seen = {
        "hr": hr,
        "colleague": colleague,
        "nobody": nobody,
        "left": as_caller(letters, name="eve"),
        "admin": letters,
    }

    async def all_seen() -> dict[str, list[str]]:
        return {name: await comments(who) for name, who in seen.items()}

    of_run = {"hr": both, "colleague": both, "nobody": both[1:], "left": both[1:], "admin": both}
    assert await all_seen() == of_run
    assert await of_analysts(letters) == both[1:]
    await forget_runs(letters, "run_legs", "runs")
    assert (await all_seen())["nobody"] == both[1:]
    await forget_runs(letters, "run_events", "resumable_runs")
    gone = {"hr": both[:1], "colleague": both[1:], "nobody": both[1:], "left": both[:1], "admin": both}
    assert await all_seen() == gone, "bob, who wrote one of them, is in hr at times"
    async with letters.database.transaction(letters.principal) as connection:  # from before it was noted who rated
        await connection.execute("UPDATE rag.feedback SET rated_by = NULL")
    assert await all_seen() == {name: both if name == "admin" else [] for name in seen}
    assert await of_analysts(letters) == []


async def test_feedback_on_a_run_that_is_gone_is_everybodys_where_nothing_is_restricted(services: Services) -> None:
    await index_now(services, "default", [source("open.md", "The cafeteria of Harbour House opens at eight.", None)])
    await judge(as_caller(services, "hr", name="eve"), OPEN, "at eight", collection="default", resumable=True)
    await forget_runs(services, "run_legs", "runs", "run_events", "resumable_runs")
    assert await comments(as_caller(services)) == ["at eight"]


@pytest.mark.parametrize("stores", [("runs",), ("resumable_runs",), ("resumable_runs", "runs")], ids=" and ".join)
async def test_feedback_on_what_was_asked_by_who_could_read_more_goes_with_its_run(
    letters: Services, stores: tuple[str, ...]
) -> None:
    """When nothing is restricted any more, too: nothing else says by then who may see it."""
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    for who, question, comment in ((hr, OPEN, COMMENT), (nobody, f"{OPEN} Please", "yes, at eight")):
        await judge(who, question, comment, collection="default", resumable="resumable_runs" in stores)
    if "runs" not in stores:
        await forget_runs(letters, "run_legs", "runs")
    await change_document(letters, "staff", await document_id(letters, "staff", "pay.md"), access=[])
    both, settings = [COMMENT, "yes, at eight"], letters.settings.current
    assert (await comments(letters), await comments(nobody)) == (both, both[1:])
    days = {"runs": settings.trace.retention_days, "resumable_runs": settings.runs.retention_days}
    for table in stores:
        for age, left in ((days[table] - 2, both), (days[table], both[1:] if table == stores[-1] else both)):
            async with letters.database.transaction(letters.principal) as connection:
                await connection.execute(f"UPDATE rag.{table} SET started_at = now() - make_interval(days => $1)", age)
            await expire_runs(letters)
            assert (await comments(letters), await comments(nobody)) == (left, both[1:])


async def test_analysts_see_what_was_asked_by_who_could_read_what_everybody_may(letters: Services) -> None:
    for caller, text in ((as_caller(letters, "hr", name="eve"), OPEN), (as_caller(letters), f"{OPEN} Please")):
        await answered(caller, text, collection="default", session_id=text)
    await letters.traces.flush()
    await delete_documents(letters, "staff", DocumentFilter(metadata={"kind": "letter"}))
    async with letters.database.connection() as connection:
        rows = await connection.fetch("SELECT rag.restricts_questions()")
    assert rows[0][0]
    for table in ("runs", "messages"):
        async with letters.database.transaction(
            replace(letters.principal, caller=as_caller(letters).principal.caller)
        ) as found:
            policy = await found.fetchval(
                "SELECT qual FROM pg_policies WHERE schemaname = 'rag' AND tablename = $1 AND policyname = 'views'",
                table,
            )
        assert "restricts_questions" in policy


# --- a run under way ----------------------------------------------------------------------------------------------------


async def begin(
    asker: Services, between: Callable[[], Awaitable[Any]], *events: StepEvent, resumable: bool
) -> tuple[Task, asyncio.Event]:
    """A run that says the events, waits, and then says more."""
    go, run_id = asyncio.Event(), new_id()

    async def work(report: Report) -> Answer:
        for event in events:
            report(event)
        await go.wait()
        await between()
        report(Token("Zanzibar quartz"))
        await asyncio.Event().wait()
        raise AssertionError

    question = Question("What is there?", "default", run_id)
    task = await asker.runs.start(asker.principal, question, work, lambda end: None, resumable=resumable)
    return task, go


@pytest.mark.parametrize("resumable", [False, True])
async def test_who_follows_a_run_of_others_sees_it_as_long_as_nothing_is_withheld(
    services: Services, *, resumable: bool
) -> None:
    await index_now(services, "default", [source("open.md", "The cafeteria opens at eight.", None)])
    asker, other = as_caller(services, "hr", name="eve"), as_caller(services)

    async def restrict() -> None:
        await index_now(services, "default", [source("pay.md", "Zanzibar quartz is dear.", ("group:hr",))])

    task, go = await begin(asker, restrict, Token("The cafeteria"), resumable=resumable)
    try:
        heard = list[Event]()

        async def hear() -> None:
            async for item in await watch_run(other, task.id):
                heard.append(item.event)
                if "cafeteria" in str(heard):
                    go.set()

        async with hang_guard(60):
            with pytest.raises(NotFoundError):
                await hear()
        assert "quartz" not in str(heard)
        assert "cafeteria" in str(heard)
        with pytest.raises(NotFoundError):
            await watch_run(other, task.id)
    finally:
        await task.stop()


async def test_a_run_is_for_who_could_read_as_much_when_it_began(letters: Services) -> None:
    """Though no list names anybody any more when it ends."""
    hr, other = as_caller(letters, "hr", name="eve"), as_caller(letters)
    whole = await start(hr, Question(OPEN, "default", new_id()))
    assert whole.asked_as == ("group:hr",)
    await final(whole)
    caller = replace(hr.principal.caller, asked_as=whole.asked_as)
    asker = replace(hr, principal=replace(hr.principal, caller=caller))
    task, _ = await begin(asker, asyncio.Event().wait, resumable=False)
    stored, owner, events = Question(OPEN, "default", new_id()), new_id(), [Answered(await ask(other, question()))]
    async with asker.database.transaction(asker.principal) as connection:
        assert await runs.open_run(connection, asker.principal, stored, "query", owner, timedelta(minutes=1))
    await delete_documents(letters, "staff", DocumentFilter(external_ids=["pay.md"]))
    assert await named(hr) == []
    for way in (watch_run, get_run):
        with pytest.raises(NotFoundError):
            await way(other, task.id)
    await task.stop()
    trace = run_trace(
        Record(question()), events[0], principal=asker.principal, started_at=datetime.now(UTC), settings_revision=""
    )
    async with asker.database.transaction(asker.principal.house) as connection:
        said = memory.NewMessage("user", "Is it so?", new_id())
        await memory.add(connection, asker.principal, "s9", None, [said])
        assert await runs.append(connection, asker.principal, stored.run_id, owner, timedelta(minutes=1), 0, events)
        await traces.insert(connection, [trace])
        for table, key in (("messages", said.run_id), ("runs", trace.id), ("resumable_runs", stored.run_id)):
            column = "run_id" if table == "messages" else "id"
            held = await connection.fetchval(f"SELECT asked_as FROM rag.{table} WHERE {column} = $1", key)
            assert "group:hr" in held, table


def question() -> Question:
    return Question(OPEN, "default", new_id())


async def look_until_gone(caller: Services, run_id: UUID) -> None:
    while await get_run(caller, run_id):
        await asyncio.sleep(0)


async def test_a_run_whose_asker_loses_a_right_ends_and_is_kept(letters: Services) -> None:
    """It is withheld from then on, from who asked too; nobody gets an internal error."""
    asker = as_caller(letters, "hr", name="eve")
    request = make_request(letters.settings.current, "salary of Marie Dubois", ["staff"], top_k=1, rerank=False)
    found = (await run_search(asker, request)).passages
    assert len(found) == 1

    async def restrict() -> None:
        await change_document(letters, "staff", found[0].document_id, access=["group:board"])

    task, go = await begin(asker, restrict, SourcesFound(tuple(found)), resumable=True)
    async for _ in (await follow_run(asker, task.id, 0))[1]:
        break
    go.set()
    async with hang_guard(60):
        with pytest.raises(NotFoundError):
            await look_until_gone(asker, task.id)
        with pytest.raises(NotFoundError):
            await follow_run(asker, task.id, 0)
        await task.stop()
        while (ended := await get_run(letters, task.id)).status == "running":
            await asyncio.sleep(0)
    assert ended.status == "cancelled"
    assert [item.event async for item in (await follow_run(letters, task.id, 0))[1]]
    with pytest.raises(NotFoundError):
        await get_run(asker, task.id)


# --- other things that are kept, or told --------------------------------------------------------------------------------


async def test_what_a_session_has_at_hand_is_of_those_who_could_read_as_much(letters: Services) -> None:
    """Under one name, and when nothing is restricted any more."""
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    colleague = as_caller(letters, "hr", "lunch", name="ann")

    async def opened(caller: Services) -> qa_sessions.StoredSession:
        async with caller.database.transaction(caller.principal) as connection:
            made = await qa_sessions.open_(connection, caller.principal, "default", "team", idle_minutes=60, nodes=9)
        assert made
        return made

    async def keep(caller: Services, *not_found: str) -> None:
        key = (await opened(caller)).key
        async with caller.database.transaction(caller.principal) as connection:
            passages = [row["id"] for row in await connection.fetch("SELECT id FROM rag.passages LIMIT 1")]
            more = {"relations": (), "not_found": not_found, "nodes": 9}
            await qa_sessions.keep(connection, caller.principal, key, passages=passages, **more)

    await keep(hr, "dismissal of mallory")
    for caller, gaps in ((hr, {"dismissal of mallory"}), (colleague, {"dismissal of mallory"}), (nobody, set())):
        held = await opened(caller)
        assert (held.not_found, bool(held.passages)) == (gaps, bool(gaps))
    await keep(nobody, "dismissal of mallory")  # its own, though it is called the same
    await keep(nobody, "a garden")
    assert (await opened(hr)).not_found == {"dismissal of mallory"}
    async with nobody.database.transaction(nobody.principal) as connection:
        assert await qa_sessions.delete(connection, nobody.principal, "team")
    assert (await opened(hr)).passages, "nobody forgets it for others"
    with pytest.raises(InputError):  # nor names it
        check_session_id((await opened(hr)).key.session_id)
    await delete_documents(letters, "staff", DocumentFilter(metadata={"kind": "letter"}))
    assert (await opened(nobody)).passages == ()


async def test_a_resumable_run_in_a_withheld_conversation_is_of_none(letters: Services) -> None:
    """As one that is not resumable: it answers, and nothing of it is saved in the conversation."""
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    await final(await start(hr, Question(OPEN, "default", new_id(), session_id="s1"), resumable=True))
    task = await start(nobody, Question(OPEN, "default", new_id(), session_id="s1"), resumable=True)
    told = (await final(task)).answer
    assert "eight" in told.answer
    assert (await get_run(nobody, told.run_id)).status == "succeeded"
    assert [one.id for one in await list_conversations(nobody)] == []
    before = await seen(hr)
    assert before[1] == 2, "what was asked and answered first"


async def test_a_withheld_conversation_is_forgotten_by_nobody_else(letters: Services) -> None:
    """Also when no document is restricted any more."""
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    await final(await start(hr, Question(OPEN, "default", new_id(), session_id="s1"), resumable=True))
    await letters.traces.flush()
    await delete_documents(letters, "staff", DocumentFilter(metadata={"kind": "letter"}))

    async def events() -> str:
        async with letters.database.transaction(letters.principal, readonly=True) as connection:
            return str(
                await connection.fetchval("SELECT string_agg(r::text, '' ORDER BY r::text) FROM rag.run_events r")
            )

    before = await events()
    assert "eight" in before
    async with nobody.database.transaction(nobody.principal) as connection:
        assert not await memory.forget(connection, "s1")
    assert await events() == before


ENGINES = (
    "engine", "engine qblarx", "magruk engine", "der engine", "engine and garden", "Helga Zorblatt engine", "engine -pump",
)  # fmt: skip


@pytest.mark.parametrize("more", [1, 12])
async def test_numbers_of_a_search_do_not_go_by_restricted_passages(letters: Services, more: int) -> None:
    """How surely each leg has found something, and whether it has found all: the same, whatever is hidden, and how much of it."""
    change(letters, "lexical", candidate_cap=1000, candidate_budget=100)
    texts = [f"Helga Zorblatt runs the engine number {n} of the garden." for n in range(4)] + ["The pump is new."]
    await index_now(letters, "default", [source(f"{n}.md", text, None) for n, text in enumerate(texts)])
    await index_now(letters, "default", [source("secret.md", "Nothing else.", ("group:hr",))])
    nobody, hr = as_caller(letters), as_caller(letters, "hr", name="eve")

    async def numbers(caller: Services) -> list[Any]:
        told = []
        for query in ENGINES:
            for how in ({}, {"filters": {"kind": "letter"}}, {"legs": ["lexical"]}, {"legs": ["graph"]}):
                request = make_request(caller.settings.current, query, ["default"], top_k=3, rerank=False, **how)
                found = await run_search(caller, request)
                told.append((query, how, dict(found.confidence), found.exact))
        return told

    before, of_hr = await numbers(nobody), await numbers(hr)
    hidden = [
        *(f"Der Motor (engine) Nummer {n} von Magruk ist noch nicht geprüft worden." for n in range(more)),
        *(f"Magruk engine {n} is of the garden of Helga." for n in range(more)),
    ]
    await index_now(letters, "default", [source(f"h{n}.md", text, ("group:hr",)) for n, text in enumerate(hidden)])
    assert await numbers(nobody) == before
    assert await numbers(hr) != of_hr


async def test_a_text_of_no_certain_language_has_that_of_most_readable_passages(letters: Services) -> None:
    german = [f"Der Brief Nummer {n} ist an die Buchhaltung gerichtet und wird geprüft." for n in range(6)]
    await index_now(letters, "default", [source(f"h{n}.md", text, ("group:hr",)) for n, text in enumerate(german)])
    collection = (await get_collection(letters, "default")).id
    told = []
    for caller in (letters, as_caller(letters, "hr"), as_caller(letters)):
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            told.append(await lexical.find_dominant(connection, caller.principal, collection))
    assert told == ["german", "german", "english"]


async def test_that_there_is_no_room_does_not_tell_how_much_there_is(letters: Services) -> None:
    await limit_tenant(letters, letters.principal.tenant, {"documents": 2})
    for caller, words in (
        (letters, "has 2 and"),
        (as_caller(letters, scopes=("read", "write")), "is near to that and"),
    ):
        [refused] = await index_now(caller, "default", [source("new.md", "A note.", None)])
        assert isinstance(refused, Rejected)
        assert f"the tenant may keep 2 documents, {words} would get 1 more" in refused.error


async def test_a_name_fills_a_collection_by_what_the_graph_knows(letters: Services) -> None:
    """Restricted passages are in no graph, so they make no name rarer."""
    texts = [f"Helga Zorblatt runs the warehouse number {n}." for n in range(4)] + [
        f"Shelf {n} is new." for n in range(8)
    ]
    await index_now(letters, "graph", [source(f"{n}.md", text, None) for n, text in enumerate(texts)])

    async def fills() -> bool:
        async with letters.database.transaction(letters.principal, readonly=True) as connection:
            return bool(
                await connection.fetchval(
                    "SELECT rag.stands_everywhere(c.id, e.canonical_id, .3, 10, 100) FROM rag.collections c"
                    " JOIN rag.entities e ON e.tenant_id = c.tenant_id AND e.collection_id = c.id"
                    " WHERE c.name = 'graph' AND e.name = 'Helga Zorblatt'"
                )
            )

    assert await fills()
    await index_now(letters, "graph", [source(f"s{n}.md", f"Slip {n}.", ("group:hr",)) for n in range(9)])
    assert await fills()


async def test_what_jobs_counted_goes_with_the_restricted_documents_that_they_counted(letters: Services) -> None:
    nobody = as_caller(letters)
    job = await start_reindex(letters, "staff", force=True)
    async with letters.database.transaction(letters.principal) as connection:
        await connection.execute(
            "UPDATE rag.jobs SET status = 'succeeded', progress = '{\"total\": 7}',"
            ' result = \'{"redone": 7, "left_documents": [{"external_id": "pay.md"}]}\' WHERE id = $1',
            job.id,
        )

    async def kept(caller: Services) -> list[tuple[Any, Any]]:
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            rows = await connection.fetch("SELECT result, progress FROM rag.jobs WHERE id = $1", job.id)
        return [tuple(row) for row in rows]

    assert await kept(nobody) == []
    await change_document(letters, "staff", (await list_documents(letters, "staff"))[0].id, access=["group:board"])
    assert (await kept(letters))[0][0] == {"redone": 7, "left_documents": []}
    await delete_documents(letters, "staff", DocumentFilter(metadata={"kind": "letter"}))
    assert await kept(nobody) == await kept(letters) == []


# --- analysts -----------------------------------------------------------------------------------------------------------

PLANS = (
    "",
    "enable_nestloop, enable_indexscan, enable_indexonlyscan, enable_bitmapscan",
    "enable_seqscan, enable_hashjoin, enable_mergejoin",
)
"""Kinds of steps that the planner is told to avoid, which whoever has SQL can."""


async def test_a_plan_does_not_tell_analysts_what_restricted_documents_say(letters: Services) -> None:
    """EXPLAIN counts rows that a condition lets through before row security takes them away. Whether a text is that of a hidden
    row must not change a plan or a count of it."""
    hr = as_caller(letters, "hr", name="eve")
    table = "| Name | Salary |\n|---|---|\n| Magruk Holz | 4,711 |\n| Berta Kain | 5,822 |"
    await index_now(
        letters, "staff", [source("quartz-table.md", table, ("group:hr",)), source("seen.md", "Seen.", None)]
    )
    asked = "What is the salary of Magruk Holz?"
    told = await answered(hr, asked, collection="staff", session_id="s1")
    await letters.traces.flush()
    hidden = ["quartz-table.md", f"# quartz-table.md\n\n{table}", asked, told.answer]
    owner = await asyncpg.connect(letters.owner_dsn)

    async def plan(view: str, column: str, value: str) -> str:
        literal = "'" + value.replace("'", "''") + "'"
        rows = await owner.fetch(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF)"
            f" SELECT 1 FROM analyst.{view} WHERE {column} = {literal}"
        )
        return "\n".join(row[0] for row in rows).replace(literal, "?")

    try:
        columns = await owner.fetch(
            "SELECT table_name AS view, column_name AS name FROM information_schema.columns"
            " WHERE table_schema = 'analyst' AND data_type = 'text' ORDER BY 1, 2"
        )
        stands = "SELECT array_agg(title) || array_agg(content) FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id"
        assert set(hidden[:2]) <= set(await owner.fetchval(f"{stands} WHERE d.access IS NOT NULL"))
        assert len(columns) > 60
        differ = set()
        for avoided in PLANS:
            async with owner.transaction():
                for step in filter(None, avoided.split(", ")):
                    await owner.execute(f"SET LOCAL {step} = off")
                for view, name in columns:
                    for value in hidden:
                        # what goes on beside changes a count now and then
                        for _ in range(5):
                            if await plan(view, name, "nowhere") == await plan(view, name, value):
                                break
                        else:
                            differ.add(f"{view}.{name}")
        assert sorted(differ) == []
    finally:
        await owner.close()


BY_CHANCE = {
    "change_id", "check_id", "chunk_id", "community_id", "document_id", "id", "message_id", "parent_id", "passage_id", "run_id",
}  # fmt: skip
"""Columns of views with ids that are made by chance, which indexes of tables serve. One of another name is taken for made of
texts (cairn.domain.graph.entity_id), so that whoever guesses these could ask whether somebody has them."""


async def test_no_text_of_a_view_is_compared_before_row_security(letters: Services) -> None:
    """A column of a table may be looked up in an index first, of all tenants; what is made of it is compared in the end. So it is
    with ids that are made of texts."""
    owner = await asyncpg.connect(letters.owner_dsn)
    try:
        columns = await owner.fetch(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'analyst' AND data_type IN ('text', 'character varying', 'name') ORDER BY 1, 2"
        )
        assert {("entities", "normal"), ("documents", "tenant"), ("audit", "action")} <= {tuple(row) for row in columns}
        early = set()
        for view, column in columns:
            rows = await owner.fetch(f"EXPLAIN (COSTS OFF) SELECT 1 FROM analyst.{view} WHERE {column} = 'nowhere'")
            plan = "\n".join(row[0] for row in rows)
            assert "'nowhere'" in plan
            if re.search(r"[\w\"\]](?: COLLATE \"\w+\"\))? = 'nowhere'", plan):
                early.add(f"{view}.{column}")
        lists = await owner.fetch(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'analyst' AND udt_name IN ('_text', '_varchar', '_name') ORDER BY 1, 2"
        )
        assert ("passages", "headings") in {tuple(row) for row in lists}
        for view, column in lists:
            rows = await owner.fetch(
                f"EXPLAIN (COSTS OFF) SELECT 1 FROM analyst.{view} WHERE 'nowhere' <= ANY ({column})"
            )
            plan = "\n".join(row[0] for row in rows)
            assert "'nowhere'" in plan
            if re.search(r"'nowhere'::text <= ANY \((?:\w+\.)?\w+\)", plan):
                early.add(f"{view}.{column}")
        ids = await owner.fetch(
            "SELECT table_name, column_name, udt_name = '_uuid' FROM information_schema.columns"
            " WHERE table_schema = 'analyst' AND udt_name IN ('uuid', '_uuid') ORDER BY 1, 2"
        )
        assert {("entities", "stands_for", False), ("messages", "document_ids", True)} <= {tuple(row) for row in ids}
        nowhere, plain = f"'{new_id()}'::uuid", set()
        for view, column, is_list in ids:
            asked = f"{nowhere} <= ANY ({column})" if is_list else f"{column} = {nowhere}"
            rows = await owner.fetch(f"EXPLAIN (COSTS OFF) SELECT 1 FROM analyst.{view} WHERE {asked}")
            plan = "\n".join(row[0] for row in rows)
            assert nowhere in plan
            name = r"(?:\w+\.)?\w+"
            if re.search(rf"{nowhere} <= ANY \({name}\)|(?<![\w:.\]]){name} = {nowhere}", plan):
                (plain if column in BY_CHANCE and not is_list else early).add(f"{view}.{column}")
        assert {"documents.document_id", "mentions.passage_id", "retrieval_runs.run_id"} <= plain, (
            "or nothing is told apart"
        )
        assert early == set()
    finally:
        await owner.close()


async def test_printed_plans_do_not_have_what_is_withheld(letters: Services) -> None:
    """Anybody can have plans printed (debug_print_plan), and what a function is asked about may stand in one as a constant."""
    hr = as_caller(letters, "hr", name="eve")
    await answered(hr, "What is the salary of Marie Dubois?", collection="staff", session_id="pay-of-marie-dubois")
    await letters.traces.flush()
    owner = await asyncpg.connect(letters.owner_dsn)
    printed: list[str] = []
    owner.add_log_listener(lambda _, message: printed.append(f"{message.message} {message.detail}"))
    try:
        for name, value in (
            ("plan_cache_mode", "force_custom_plan"),
            ("client_min_messages", "log"),
            ("debug_print_plan", "on"),
        ):
            await owner.execute(f"SET {name} = {value}")
        for view in ("conversations", "messages", "retrieval_runs", "feedback", "documents", "collections"):
            await owner.fetch(f"SELECT count(*) FROM analyst.{view}")
        constants = [
            bytes(int(one) & 255 for one in found.split())
            for found in re.findall(r"\[ ([-\d\s]+)\]", " ".join(printed))
        ]
        assert len(constants) > 10
        assert not [one for one in constants if b"pay-of-marie" in one]
    finally:
        await owner.close()


# --- which way the vectors went -------------------------------------------------------------------------------------------


async def told_of_vectors(bob: Services, collections: list[str], **asked: Any) -> dict[str, Any]:
    """What a search by vectors and its trace tell."""
    request = make_request(bob.settings.current, "open note", collections, mode="vector", rerank=False, **asked)
    found = await run_search(bob, request)
    trace = await get_trace(bob, found.trace_id)
    return {
        "exact": found.exact,
        "parts": trace.plan["vector"]["parts"],
        "lists": {leg.leg: [round(score, 5) for score in leg.scores] for leg in trace.legs},
        "scores": [round(one.score, 5) for one in found.passages],
    }


async def index_beside_hidden(services: Services, name: str, hidden: int) -> None:
    """A hundred notes for everybody, and so many slips for some."""
    notes = [source(f"o{at}.md", f"Open note number {at}.", None) for at in range(100)]
    slips = [source(f"h{at}.md", f"Hidden slip number {at}.", ("group:hr",)) for at in range(hidden)]
    await index_now(services, name, notes + slips)


async def test_neither_exact_nor_the_regime_tell_how_many_chunks_are_hidden(services: Services) -> None:
    """Whether all that is readable is compared, or an index asked, goes by how many chunks there are (rag.most_compared): for one
    passage by the index with 1 hidden chunk, by comparing with 80. Neither ways, nor lists, nor scores say which."""
    change(services, "vector", exact_below=4, candidates=1, dedicated_above=10**6)
    await index_now(services, "aside", [source(f"a{at}.md", f"Aside number {at}.", None) for at in range(60)])
    told = []
    for hidden in (1, 80):
        name = f"with-{hidden}"
        await index_beside_hidden(services, name, hidden)
        asked = product(([name], [name, "aside"]), (1, 2, 4, 8))
        told.append([await told_of_vectors(as_caller(services), names, top_k=top_k) for names, top_k in asked])
    assert told[0] == told[1]
    assert {(one["exact"], part["regime"]) for one in told[0] for part in one["parts"]} == {(False, "readable")}


async def test_nor_does_what_a_filter_leaves_or_an_index_of_its_own(services: Services) -> None:
    """With 80 hidden chunks the collection has one; under a filter neither it nor the other has as many as are compared."""
    change(services, "vector", exact_below=120, candidates=1, dedicated_above=150)
    await index_now(services, "beside", [source(f"a{at}.md", f"Aside number {at}.", None) for at in range(60)])
    told = []
    for hidden in (1, 80):
        name = f"own-{hidden}"
        await index_beside_hidden(services, name, hidden)
        await settled(services)
        bob, names = as_caller(services), [name, "beside"]
        asked = product((None, {"kind": "letter"}), (1, 4))
        told.append([await told_of_vectors(bob, names, filters=filters, top_k=top_k) for filters, top_k in asked])
    assert told[0] == told[1]
