"""The iterative strategy (A9): passes, stops, and what a session keeps; with a chat model that is a real HTTP server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio
from scripted_server import Reply, ScriptedServer
from talking import Talking

from cairn.domain.answer import Answer
from cairn.domain.event import Event, Progress
from cairn.errors import NotFoundError
from cairn.service.documents import delete_document, list_documents
from cairn.service.qa import delete_session
from cairn.service.search import get_trace
from cairn.settings import Environment
from cairn.wiring import Services
from tests.db.runs import answer, change, events_of, fill
from tests.db.tenants import on_documents_of, tenant_of
from tests.sharing import SHARED

pytestmark = SHARED

AUTH = """from app.store import load_user


def verify_user(token):
    \"\"\"Check who sent a token.\"\"\"
    user = load_user(token.subject)
    return user.active
"""
STORE = """def load_user(name):
    \"\"\"The row of a user.\"\"\"
    return query_users(name)


def query_users(name):
    return []
"""
FILES = {"app/auth.py": AUTH, "app/store.py": STORE, "notes.md": "# Bananas\n\nBananas are yellow and grow on trees."}
ASK = "How does verify_user in app/auth.py find the user?"
FIRST = "ANSWER:\nIt calls load_user [1].\n\nMISSING:\n- load_user in app/store.py"
LAST = "ANSWER:\nIt calls load_user [1].\n\nMISSING:\nNONE"


@pytest_asyncio.fixture(loop_scope="module")
async def owner(environment: Environment) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(str(environment.database_url))
    yield connection
    await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def code(chatty_of_module: Services) -> AsyncIterator[Services]:
    """A tenant whose documents no test changes."""
    async with tenant_of(chatty_of_module) as opened:
        await fill(opened, FILES, "code")
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def services(code: Services, scripted: ScriptedServer, protocol: str) -> AsyncIterator[Services]:
    async with on_documents_of(code, protocol) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def own(chatty: Services) -> Services:
    """For a test that changes documents, or counts all runs."""
    await fill(chatty, FILES, "code")
    return chatty


async def iterative(services: Services, text: str = ASK, **more: Any) -> tuple[Answer, dict[str, Any], list[Event]]:
    events = await events_of(services, text, "code", strategy="iterative", **more)
    made = answer(events)
    return made, made.route["cgrag"], events


async def rows(services: Services, table: str) -> int:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return int(await connection.fetchval(f"SELECT count(*) FROM rag.{table}"))


def contexts(talking: Talking) -> list[str]:
    return [user for _, user in talking.heard["iterate"]]


# --- passes and stops -----------------------------------------------------------------------------------------------------


async def test_no_gaps_ends_it_at_once(services: Services, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    made, cgrag, _ = await iterative(services)
    assert made.route["strategy"] == "iterative"
    assert made.answer.startswith("It calls load_user [1]")
    assert cgrag == {
        "passes_used": 1, "gaps_identified": [], "gaps_resolved": [], "gaps_unresolved": [], "session_id": None,
        "context_from_cache": False,
    }  # fmt: skip


@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_what_is_missing_is_fetched_for_the_next_pass(
    services: Services, talking: Talking, protocol: str
) -> None:
    change(services, "answer", retrieved=1)
    change(services, "rag", top_k=1)
    talking.reset(iterate=["ANSWER:\nUnclear [1].\n\nMISSING:\n- query_users in app/store.py", LAST])
    made, cgrag, events = await iterative(services, "What colour are bananas?")
    first, second = contexts(talking)
    assert "def query_users" not in first
    assert "def query_users" in second
    assert "KNOWLEDGE GRAPH CONTEXT" in second, "with its one hop: who calls it"
    assert (cgrag["passes_used"], cgrag["gaps_resolved"]) == (2, ["query_users in app/store.py"])
    passes = [event for event in events if isinstance(event, Progress) and event.step == "pass"]
    assert [event.detail["pass"] for event in passes] == [1, 2]
    assert passes[0].detail["answer"] == "Unclear [1]."
    assert passes[0].message == "Retrieving additional context…"
    assert made.grounded is not None
    assert made.route["protocol"] == protocol


async def test_analysts_see_passes_and_the_share_of_gaps_that_was_resolved(
    own: Services, talking: Talking, owner: Any
) -> None:
    change(own, "answer", retrieved=1)
    change(own, "rag", top_k=1)
    talking.reset(iterate=["ANSWER:\nUnclear [1].\n\nMISSING:\n- query_users in app/store.py", LAST])
    _, first, _ = await iterative(own, "What colour are bananas?")
    talking.reset(iterate=["ANSWER:\nIt calls load_user [1].\n\nMISSING:\n- frobnicate in app/nowhere.py"])
    _, second, _ = await iterative(own)
    talking.reset(iterate=[LAST])
    made, third, _ = await iterative(own)
    await get_trace(own, made.run_id)
    row = dict(await owner.fetchrow("SELECT * FROM analyst.agent_rates WHERE tenant = $1", own.principal.tenant))
    assert (row["strategy"], row["runs"]) == ("iterative", 3)
    told = (first, second, third)
    gaps, resolved = (sum(len(one[name]) for one in told) for name in ("gaps_identified", "gaps_resolved"))
    assert 0 < resolved <= gaps
    assert row["avg_passes"] == pytest.approx(sum(one["passes_used"] for one in told) / 3)
    assert row["avg_gaps"] == pytest.approx(gaps / 3)
    assert row["gap_resolution_rate"] == pytest.approx(resolved / gaps)
    assert row["avg_steps"] >= 1
    assert 0 <= row["tool_failure_rate"] <= 1
    assert row["avg_model_calls"] >= 1


async def test_a_gap_that_does_not_exist_is_looked_for_once(services: Services, talking: Talking) -> None:
    gap = "ANSWER:\nIt calls load_user [1].\n\nMISSING:\n- frobnicate in app/nowhere.py"
    talking.reset(iterate=[gap])
    _, cgrag, _ = await iterative(services)
    assert (cgrag["passes_used"], cgrag["gaps_unresolved"]) == (2, ["frobnicate in app/nowhere.py"])
    assert "frobnicate" in contexts(talking)[1], "the model is told what was looked for in vain"


@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_three_passes_are_the_most_and_nothing_is_fetched_after_the_last(
    services: Services, talking: Talking
) -> None:
    count = iter(range(100))
    talking.reset(
        iterate=[lambda _: f"ANSWER:\nIt calls load_user [1].\n\nMISSING:\n- yellow banana number {next(count)}"]
    )
    made, cgrag, _ = await iterative(services)
    assert (cgrag["passes_used"], len(cgrag["gaps_identified"])) == (3, 3)
    assert made.answer.startswith("It calls load_user")
    assert len(talking.heard["iterate"]) == 3


async def test_the_settings_say_how_many_passes_and_how_much_for_a_gap(own: Services, talking: Talking) -> None:
    notes = {f"n{number}.md": f"# Bananas\n\nBananas of sort {number} are yellow." for number in range(4)}
    await fill(own, notes, "code")
    change(own, "answer", retrieved=1)
    change(own, "rag", top_k=1)
    for passes, each in ((1, 4), (2, 1), (4, 4)):
        change(own, "iterative", max_passes=passes, targeted_top_k=each)
        said = [f"ANSWER:\nUnclear [1].\n\nMISSING:\n- what colour bananas have, part {n}" for n in range(9)]
        talking.reset(iterate=said)
        _, cgrag, _ = await iterative(own)
        assert (cgrag["passes_used"], len(contexts(talking))) == (passes, passes)
        assert [context.count("are yellow") for context in contexts(talking)[:2]] == [0, each][:passes]


async def test_vague_gaps_are_searched_for(services: Services, talking: Talking) -> None:
    change(services, "answer", retrieved=1)
    change(services, "rag", top_k=1)
    talking.reset(iterate=["ANSWER:\nUnclear [1].\n\nMISSING:\n- what colour bananas have", LAST])
    _, cgrag, _ = await iterative(services)
    assert "Bananas are yellow" in contexts(talking)[1]
    assert cgrag["gaps_resolved"] == ["what colour bananas have"]


# --- models that misbehave --------------------------------------------------------------------------------------------------


@pytest.mark.sweep(4)
@pytest.mark.parametrize("kind", ["500", "empty", "malformed", "disconnect"])
async def test_a_model_that_fails_at_once_is_told_and_replaced(
    services: Services, scripted: ScriptedServer, kind: str
) -> None:
    scripted.script(*[kind] * 40)
    made, cgrag, _ = await iterative(services, "What colour are bananas?")
    assert "yellow" in made.answer
    assert any(note.startswith("pass 1 failed") for note in made.degraded)
    assert cgrag["passes_used"] == 1


async def test_a_later_pass_that_fails_leaves_the_answer_there_is(
    services: Services, talking: Talking, scripted: ScriptedServer
) -> None:
    def break_down(_: str) -> str:
        scripted.script(*["500"] * 40)
        return FIRST.replace("load_user in app/store.py", "bananas and trees")

    talking.reset(iterate=[break_down])
    made, _, _ = await iterative(services)
    assert made.answer.startswith("It calls load_user [1]")
    assert any(note.startswith("pass 2 failed") for note in made.degraded)


@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_an_answer_that_is_cut_off_is_told(
    services: Services, scripted: ScriptedServer, talking: Talking
) -> None:
    scripted.script(Reply(text="ANSWER:\nIt calls load_user [1]. And then it", finish="length"))
    made, _, _ = await iterative(services)
    assert made.answer == "It calls load_user [1]."
    assert any("cut off at the token limit" in note for note in made.degraded)


async def test_citations_of_nothing_are_taken_out(services: Services, talking: Talking) -> None:
    talking.reset(iterate=["ANSWER:\nIt calls load_user [1][99].\n\nMISSING:\nNONE"])
    made, _, _ = await iterative(services)
    assert "[99]" not in made.answer
    assert any("do not exist" in text for text in made.insufficiencies)


# --- sessions -------------------------------------------------------------------------------------------------------------


async def test_a_session_has_what_it_read_at_hand(services: Services, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    _, cgrag, _ = await iterative(services, context_session="s1")
    assert (cgrag["session_id"], cgrag["context_from_cache"]) == ("s1", False)
    assert await rows(services, "qa_nodes") > 0
    change(services, "answer", retrieved=1)
    change(services, "rag", top_k=1)
    _, cgrag, _ = await iterative(services, "What colour are bananas?", context_session="s1")
    assert cgrag["context_from_cache"] is True
    assert "def verify_user" in contexts(talking)[-1]
    _, cgrag, _ = await iterative(services, "What colour are bananas?", context_session="s2")
    assert cgrag["context_from_cache"] is False, "another session starts fresh"
    assert await rows(services, "messages") == 0, "never answers or questions"


async def test_a_session_shows_nothing_that_the_filters_leave_out_and_forgets_nothing_for_them(
    services: Services, talking: Talking
) -> None:
    talking.reset(iterate=[LAST])
    await iterative(services, context_session="s1")
    kept = await rows(services, "qa_nodes")
    talking.reset(iterate=["ANSWER:\nUnclear.\n\nMISSING:\n- load_user in app/store.py", LAST])
    made, _, _ = await iterative(services, context_session="s1", filters={"kind": "manual"})
    assert not made.sources
    assert not any("def verify_user" in context for context in contexts(talking))
    assert await rows(services, "qa_nodes") == kept
    assert await rows(services, "qa_gaps") == 0, "what the filters leave out is not missing without them"


async def test_without_a_session_nothing_is_kept(services: Services, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    await iterative(services)
    assert await rows(services, "qa_sessions") == 0


async def test_idle_sessions_are_forgotten(services: Services, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    change(services, "iterative", idle_minutes=60)
    await iterative(services, context_session="s1")
    change(services, "answer", retrieved=1)
    change(services, "rag", top_k=1)
    for minutes, kept in ((59, True), (61, False)):
        async with services.database.transaction(services.principal) as connection:
            await connection.execute(
                "UPDATE rag.qa_sessions SET last_accessed_at = now() - make_interval(mins => $1)", minutes
            )
        _, cgrag, _ = await iterative(services, "What colour are bananas?", context_session="s1")
        assert cgrag["context_from_cache"] is kept


async def test_fifty_nodes_are_the_most_and_the_oldest_go(services: Services, talking: Talking) -> None:
    change(services, "iterative", session_nodes=2)
    talking.reset(iterate=[LAST])
    for _ in range(2):
        await iterative(services, context_session="s1")
        assert await rows(services, "qa_nodes") == 2


async def test_not_found_dies_with_the_epoch(own: Services, talking: Talking) -> None:
    gap = "ANSWER:\nIt calls load_user [1].\n\nMISSING:\n- frobnicate in app/new.py"
    talking.reset(iterate=[gap])
    await iterative(own, context_session="s1")
    assert await rows(own, "qa_gaps") == 1
    _, cgrag, _ = await iterative(own, context_session="s1")
    assert cgrag["passes_used"] == 1, "all that is missing is known to be missing"
    await fill(own, {"app/new.py": "def frobnicate(x):\n    return x\n"}, "code")
    talking.reset(iterate=[gap, LAST])
    _, cgrag, _ = await iterative(own, context_session="s1")
    assert cgrag["gaps_resolved"] == ["frobnicate in app/new.py"]


async def test_deleting_a_document_leaves_nothing_of_it_in_sessions(own: Services, talking: Talking) -> None:
    gap = "ANSWER:\nIt calls load_user [1].\n\nMISSING:\n- frobnicate, as app/auth.py says"
    talking.reset(iterate=[gap])
    await iterative(own, context_session="s1")
    before = await rows(own, "qa_nodes")
    for document in await list_documents(own, "code"):
        if document.external_id == "app/auth.py":
            await delete_document(own, "code", document.id)
    assert await rows(own, "qa_nodes") < before
    assert await rows(own, "qa_gaps") == 0


async def test_the_user_can_start_fresh(services: Services, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    await iterative(services, context_session="s1")
    await delete_session(services, "s1")
    assert [await rows(services, table) for table in ("qa_sessions", "qa_nodes", "qa_edges", "qa_gaps")] == [0] * 4


async def test_sessions_belong_to_their_tenant(services: Services, talking: Talking, other_tenant: Services) -> None:
    talking.reset(iterate=[LAST])
    await iterative(services, context_session="s1")
    for table in ("qa_sessions", "qa_nodes", "qa_edges", "qa_gaps"):
        assert await rows(other_tenant, table) == 0
    with pytest.raises(NotFoundError):
        await delete_session(other_tenant, "s1")
    assert await rows(services, "qa_sessions") == 1
