"""Every strategy says in words what it does, and its numbers are true."""

from __future__ import annotations

import re

import pytest
import pytest_asyncio
from agents import final, opening, search
from scripted_server import ScriptedServer
from talking import Talking, grading

from cairn.domain.event import Event, Progress, SourcesFound
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.service.ask import start
from cairn.wiring import Services
from tests.db.runs import LEAVE, answer, change, events_of, fill
from tests.sharing import SHARED

pytestmark = SHARED

TRUE = "Employees have 30 days of leave per year [1]."
FALSE = "Employees have 45 days of leave per year [1]."


@pytest_asyncio.fixture(loop_scope="module")
async def services(chatty: Services) -> Services:
    await fill(chatty)
    agentic = chatty.settings.current.rag.agentic_retrieval.model_copy(update={"enabled": True})
    change(chatty, "rag", agentic_retrieval=agentic)
    return chatty


def words(events: list[Event]) -> dict[str, str]:
    """The last message of each step; every step has one."""
    told = [event for event in events if isinstance(event, Progress)]
    assert all(event.message for event in told), [event.step for event in told if not event.message]
    return {event.step: event.message for event in told}


def number(text: str) -> int:
    found = re.search(r"\d+", text)
    assert found, text
    return int(found[0])


def shown(events: list[Event]) -> int:
    return len([event for event in events if isinstance(event, SourcesFound)][-1].passages)


async def test_fast_tells_what_it_looks_for_reads_and_checks(services: Services, talking: Talking) -> None:
    talking.reset(generate=[FALSE, TRUE], ground=["GROUNDED: NO\nSCORE: 0\nISSUES:\n- 45", "GROUNDED: YES\nSCORE: 1"])
    events = await events_of(services, LEAVE, strategy="fast")
    told = words(events)
    assert told["retrieve"] == f"Searching for '{LEAVE}'"
    assert told["generate"] == f"Reading {shown(events)} passages"
    assert told["hallucination"] == f"Checking the answer against {shown(events)} sources"
    assert told["retry"] == "Asking again because the sources do not support 1 sentence"


ASKED = [
    (LEAVE, "enhanced"), (LEAVE, "corrective"), (LEAVE, "react"), (LEAVE, "iterative"), (LEAVE, "planned"),
    ("summarize leave.md", "auto"), ("how many documents are there?", "auto"), (LEAVE, "auto"), ("tell me more", "auto"),
    ("How are employees and the personnel office related?", "auto"),
]  # fmt: skip
EXPECTED = {
    "corrective": {"grade": "Grading 3 passages", "rerank": "Ordering 1 relevant passage"},
    "react": {"finished": "Finished after 2 steps"},
    "iterative": {"pass": "Answered in pass 2"},
    "planned": {"plan": "Planned 3 steps"},
}


async def test_every_step_has_words(services: Services, talking: Talking) -> None:
    found = 'THOUGHT: I look.\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}'
    ended = f'ACTION: final_answer\nARGUMENTS: {{"answer": "{TRUE}"}}'
    for message, strategy in ASKED:
        talking.reset(
            generate=[TRUE], think=[found, ended], grade=grading(lambda text: "30 days of leave" in text),
            iterate=[f"ANSWER:\n{TRUE}\n\nMISSING:\n- parental leave", f"ANSWER:\n{TRUE}\n\nMISSING:\nNONE"],
            action=[search("leave"), opening(1), final(TRUE)], decompose=['["leave", "days"]'],
        )  # fmt: skip
        told = words(await events_of(services, message, strategy=strategy, session_id="s"))
        assert told.items() >= EXPECTED.get(strategy, {}).items(), (message, strategy)


async def test_without_a_model_it_tells_what_is_read(services: Services, scripted: ScriptedServer) -> None:
    change(services, "rag", reranking_enabled=False)
    scripted.script(*["500"] * 9)
    events = await events_of(services, LEAVE, strategy="fast")
    assert (
        words(events)["fallback"]
        == "The server of the chat model reports an error of its own (500): quoting the sources instead"
    )


@pytest.mark.parametrize(("reply", "strategy"), [("stall", "fast"), ("stall_late", "fast"), ("stall", "react")])
async def test_who_waits_no_longer_has_a_quotation(
    services: Services, scripted: ScriptedServer, reply: str, strategy: str
) -> None:
    change(services, "rag", reranking_enabled=False)
    change(services, "answer", silent_seconds=0.05)
    scripted.script(reply)
    task = await start(services, Question(LEAVE, "handbook", new_id(), strategy=strategy))
    events = []
    async for item in task.events():
        events.append(item.event)
        if isinstance(item.event, Progress) and item.event.step == "silent":
            task.give_up_model()
    found = answer(events)
    assert found.written_by is None
    assert found.citations
    assert found.model_failure is not None
    assert found.model_failure.sentence == "The chat model did not answer in time. This answer is a quotation."
    assert len(scripted.requests) == 1, "nothing more is asked of it"
