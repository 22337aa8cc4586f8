"""However a model breaks off, and whichever strategy asked it: an answer, in bounded time, that says so."""

from __future__ import annotations

import time
from itertools import product

import pytest
import pytest_asyncio
from scripted_replies import Reply
from scripted_server import ScriptedServer
from talking import Talking

from cairn.domain.event import Progress, Token
from cairn.wiring import Services
from tests.db.runs import LEAVE, LEAVE_QUOTED, answer, answered, change, events_of, fill
from tests.sharing import SHARED
from tests.waiting import hang_guard, patience

pytestmark = SHARED

WHOLE = "Employees have 30 days of leave per year [1]. They ask two weeks before it begins [1]."
BREAKS: dict[str, Reply] = {
    "lost": Reply("cut", text=WHOLE),
    "stall": Reply("stall_late", text=WHOLE),
    "error chunk": Reply("error_chunk", text=WHOLE),
    "bad chunk": Reply("bad_chunk", text=WHOLE),
    "odd chunk": Reply("odd_chunk", text=WHOLE),
    "garbage": Reply("garbage", text=WHOLE),
    "no finish reason": Reply("silent_end", text=WHOLE),
    "filter": Reply(text=WHOLE, finish="content_filter"),
    "empty": Reply("empty"),
    "thoughts": Reply(text="<think>Employees have 30 days", finish="length"),
    "first sentence": Reply(text="Employees have 30 da", finish="length"),
    "heading": Reply(text="## Leave\n\nEmployees have 30 da", finish="length"),
    "loop": Reply(text="leave and " * 3000),
    "one character": Reply("endless", text="a b c"),
    "blanks": Reply(pieces=("\n" * 500,) * 400),
    "junk": Reply(text="\ufffd\u200b\x00" * 500),
    "gigantic": Reply(pieces=tuple(f"w{n}" * 50 for n in range(4000))),
    "gigantic at once": Reply(text=" ".join(map(str, range(200_000)))),
}
STRATEGIES = ("fast", "enhanced", "corrective", "react", "iterative", "planned")
KINDS = ("cut", "stall_late")
ALTERNATELY = [*zip(STRATEGIES, KINDS * 3, strict=True)]


@pytest_asyncio.fixture(loop_scope="module")
async def services(chatty: Services) -> Services:
    await fill(chatty)
    change(chatty, "providers", circuit_failures=1000)
    change(chatty, "rewrite", model=False)
    return chatty


@pytest.mark.siege
async def test_a_generation_that_breaks_off_is_a_quotation(services: Services, scripted: ScriptedServer) -> None:
    change(services, "answer", timeout_seconds=1.0)
    retracted = set()
    for broken, reply in BREAKS.items():
        scripted.script(reply)
        began = time.monotonic()
        async with hang_guard(20):
            events = await events_of(services, LEAVE)
        made = answer(events)
        assert time.monotonic() - began < patience(), broken
        assert (made.answer, made.route["answerer"]) == (LEAVE_QUOTED, "extractive"), broken
        assert any(note.startswith("generation failed (") for note in made.degraded), broken
        told = [n for n, event in enumerate(events) if isinstance(event, Progress) and event.step == "retract"]
        tokens = [n for n, event in enumerate(events) if isinstance(event, Token)]
        if told:
            retracted.add(broken)
            assert max(tokens) < told[0], f"{broken}: the last event has the text"
        else:
            assert "".join(event.text for event in events if isinstance(event, Token)) == LEAVE_QUOTED, broken
    assert retracted == set(BREAKS) - {"empty", "thoughts", "blanks"}


async def test_what_was_cut_off_by_the_limit_keeps_its_whole_sentences(
    services: Services, scripted: ScriptedServer
) -> None:
    scripted.script(Reply(text=WHOLE[:-10], finish="length"))
    made = await answered(services, LEAVE)
    assert made.answer == "Employees have 30 days of leave per year [1]."
    assert "The answer was cut off at the token limit." in made.degraded


@pytest.mark.parametrize("pairs", [ALTERNATELY, pytest.param([*product(STRATEGIES, KINDS)], marks=pytest.mark.siege)])
async def test_every_strategy_answers_when_its_generations_break(
    services: Services, scripted: ScriptedServer, talking: Talking, pairs: list[tuple[str, str]]
) -> None:
    """Whatever is streamed breaks; what is asked for as a whole does not help either. Each strategy meets one of the two breaks,
    in a siege both."""
    change(services, "answer", timeout_seconds=1.0)
    change(services, "agents", seconds=8.0, call_seconds=1.0, reflect_seconds=1.0)
    agentic = services.settings.current.rag.agentic_retrieval.model_copy(update={"enabled": True})
    change(services, "rag", agentic_retrieval=agentic)
    searched = 'ACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}'
    for strategy, kind in pairs:
        talking.reset(think=[searched, "hm"], iterate=[""], action=["hm"])
        scripted.streams = Reply(kind, text=WHOLE)
        async with hang_guard(40):
            made = answer(await events_of(services, LEAVE, strategy=strategy))
        assert made.answer == LEAVE_QUOTED, (strategy, kind)
        assert any("generation failed" in note for note in made.degraded), (strategy, kind)


async def test_a_summary_and_a_relation_break_off_like_any_answer(services: Services, scripted: ScriptedServer) -> None:
    scripted.streams = Reply("cut", text=WHOLE)
    for message in ("summarize leave.md", "How are employees and the personnel office related?"):
        made = await answered(services, message)
        assert made.route["answerer"] == "extractive", message
        assert any("generation failed" in note for note in made.degraded), message
