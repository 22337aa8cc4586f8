"""An answer that stands on an earlier version of a document says so wherever it is read again."""

from __future__ import annotations

from typing import Any

from cairn.domain.event import Answered
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.service.ask import start
from cairn.service.conversations import get_history
from cairn.service.documents import index_now
from cairn.service.runs import get_run
from cairn.service.search import get_trace
from cairn.wiring import Services
from tests.db.runs import HANDBOOK, LEAVE, fill
from tests.documents import text_source


async def ask(services: Services, *, resumable: bool) -> Answered:
    question = Question(LEAVE, "handbook", new_id(), session_id="s1")
    end = [item.event async for item in (await start(services, question, resumable=resumable)).events()][-1]
    assert isinstance(end, Answered)
    return end


async def marks(services: Services, owner: Any, end: Answered) -> list[bool]:
    """In the history, the trace, the run, and the two views of analysts."""
    run = end.answer.run_id
    (said,) = [one for one in await get_history(services, "s1") if one.turn.id == end.message_id]
    trace = (await get_trace(services, run)).answer
    assert any(one.get("changed") for one in trace["citations"]) == trace.get("source_changed", False)
    views = [
        await owner.fetchval("SELECT source_changed FROM analyst.messages WHERE message_id = $1", end.message_id),
        await owner.fetchval("SELECT source_changed FROM analyst.retrieval_runs WHERE run_id = $1", run),
    ]
    return [
        said.source_changed,
        trace.get("source_changed", False),
        (await get_run(services, run)).source_changed,
        *views,
    ]


async def test_in_history_traces_and_runs(services: Services, owner: Any) -> None:
    await fill(services)
    plain, resumable = await ask(services, resumable=False), await ask(services, resumable=True)
    assert [one.external_id for one in plain.answer.citations] == ["leave.md"]
    await index_now(services, "handbook", [text_source("pay.md", "Salaries are paid on the 1st of each month.")])
    for end in (plain, resumable):
        assert await marks(services, owner, end) == [False] * 5
    await index_now(services, "handbook", [text_source("leave.md", HANDBOOK["leave.md"].replace("30 days", "28 days"))])
    for end in (plain, resumable):
        assert await marks(services, owner, end) == [True] * 5
    again = await ask(services, resumable=False)
    assert await marks(services, owner, again) == [False] * 5


async def test_gaps_of_a_session_go_with_the_version_they_speak_of(services: Services, owner: Any) -> None:
    await fill(services)
    await owner.execute(
        "INSERT INTO rag.qa_sessions (tenant_id, collection_id, id) SELECT tenant_id, id, 's' FROM rag.collections"
    )
    await owner.execute(
        "INSERT INTO rag.qa_gaps (tenant_id, collection_id, session_id, gap, epoch) "
        "SELECT tenant_id, id, 's', 'the bonus of the director', epoch FROM rag.collections"
    )
    await index_now(services, "handbook", [text_source("pay.md", "The director has a bonus.")])
    assert await owner.fetchval("SELECT count(*) FROM rag.qa_gaps") == 0
