"""Every request to a chat model is counted: what the server has received, the usage of the answer and of its trace, and the
budget are one number, whatever the strategy, the protocol and the failures; and the limit of calls is never exceeded."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from playing import Playing
from quick import QUICK
from scripted_replies import Json, Reply
from scripted_server import ScriptedServer

from cairn.domain.event import Answered
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.providers.openai_chat import OpenAIChat
from cairn.service.ask import start
from cairn.service.search import get_trace, make_request, run_search
from cairn.wiring import Services
from tests.db.runs import LEAVE, answered, change, fill
from tests.db.tenants import asking_anew, tenant_of
from tests.sharing import SHARED
from tests.waiting import until

pytestmark = SHARED

SEEDS: Final = range(int(os.environ.get("CAIRN_CONVERSATIONS", "1")))
ASKED: Final = (
    ("auto", LEAVE), ("fast", LEAVE), ("enhanced", "Compare parental leave with the leave per year."), ("react", LEAVE),
    ("planned", LEAVE), ("iterative", LEAVE), ("corrective", LEAVE), ("auto", "Summarize the whole handbook."),
    ("auto", "explain simpler"),
)  # fmt: skip
FAILURES: Final = (
    "429", "500", "502", "400", "disconnect", "malformed", "wrong_shape", "html_200", "empty", "length", "no_finish", "cut",
    "bad_chunk", "error_first", "error_chunk", "silent_end",
)  # fmt: skip
SCORES: Final = "\n".join(f"{n}: {10 - n}" for n in range(1, 4))


class Model(Playing):
    """Plays by seed; asked to rerank, it scores."""

    def __call__(self, messages: list[Json]) -> str:
        return SCORES if is_reranking(messages) else super().__call__(messages)


def is_reranking(messages: list[Json]) -> bool:
    return str(messages[0]["content"]).startswith("You judge how well passages answer")


def rerankings(scripted: ScriptedServer) -> int:
    return sum(is_reranking(request.body["messages"]) for request in scripted.requests)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def scripted(scripted_of_module: ScriptedServer, model: Model) -> ScriptedServer:
    scripted_of_module.begin(model)
    return scripted_of_module


@pytest_asyncio.fixture(loop_scope="module")
async def services(chatty_of_module: Services, scripted: ScriptedServer) -> AsyncIterator[Services]:
    """With a chat model that writes and, for every answer, reranks."""
    async with asking_anew(chatty_of_module) as anew, tenant_of(anew) as opened:
        chat = opened.chat_for(opened.settings.current)
        assert isinstance(chat, OpenAIChat)
        chat._retry = QUICK
        change(opened, "rag", reranking_enabled=True, reranker_provider="llm")
        change(opened, "providers", circuit_failures=10_000)
        change(opened, "cache", enabled=False)
        await fill(opened)
        yield opened


async def counts(services: Services, question: Question) -> dict[str, Any]:
    """Requests by each account of a run."""
    ended = None
    async for item in (await start(services, question)).events():
        ended = item.event
    assert isinstance(ended, Answered), ended
    trace = await get_trace(services, question.run_id)
    made = ended.answer
    return {
        "usage": made.usage.get("calls", 0),
        "trace": trace.usage.get("calls", 0),
        "purposes": sum(one["calls"] for one in trace.usage.get("by_purpose", ())),
        "budget": made.route["budget"]["model_calls"] if "budget" in made.route else 0,
    }


@pytest.mark.sweep(3)
@pytest.mark.parametrize("protocol", ["native", "text", "auto"])
async def test_what_the_server_received_is_what_is_counted(
    services: Services, scripted: ScriptedServer, model: Model, protocol: str
) -> None:
    received = 0
    for seed in SEEDS:
        for strategy, text in ASKED:
            draw = random.Random(f"{seed} {strategy} {text} {protocol}")
            most = draw.choice([1, 2, 3, 5, 8, 14])
            change(services, "agents", protocol=protocol, model_calls=most)
            scripted.tools, scripted.formats = draw.choice(
                [("native", {"json_schema"}), ("refuse", set[str]()), ("words", {"json_object"})]
            )
            model.begin(f"{seed}")
            scripted.requests.clear()
            scripted._script.clear()
            scripted.script(*(Reply(draw.choice(FAILURES)) if draw.random() < 0.3 else Reply() for _ in range(most)))
            counted = await counts(services, Question(text, "handbook", new_id(), strategy, session_id="s"))
            assert set(counted.values()) == {len(scripted.requests)}, (seed, strategy, text, most, counted)
            assert len(scripted.requests) <= most, (seed, strategy, text)
            received += len(scripted.requests)
    assert received > 10


@pytest.mark.parametrize("failing", [2, 3])
async def test_a_repeat_is_a_call_and_is_not_made_when_none_is_left(
    services: Services, scripted: ScriptedServer, failing: int
) -> None:
    change(services, "rag", reranking_enabled=False)
    change(services, "ground", enabled=False)
    change(services, "agents", model_calls=3)
    scripted.script(*["429"] * failing, Reply(text="Employees have 30 days of leave per year [1]."))
    made = await answered(services, LEAVE, strategy="fast")
    assert len(scripted.requests) == made.usage["calls"] == 3
    assert made.route["answerer"] == ("extractive" if failing == 3 else "gpt-4o-mini")
    assert made.usage["output_tokens"] == (0 if failing == 3 else 3), "what the server refused cost no tokens"
    assert "30 days" in made.answer


async def test_without_budget_the_fused_order_stands_and_the_answer_is_written(
    services: Services, scripted: ScriptedServer, model: Model
) -> None:
    change(services, "agents", model_calls=1)
    model.draw.seed("written")
    scripted.script(Reply(text="Employees have 30 days of leave per year [1]."))
    made = await answered(services, LEAVE, strategy="fast")
    assert (len(scripted.requests), rerankings(scripted)) == (1, 0)
    assert made.route["answerer"] == "gpt-4o-mini"
    assert any("reranker llm:gpt-4o-mini failed: the budget of this run is used up" in note for note in made.degraded)
    assert made.route["budget_exceeded"] == "its calls of models (1)"


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("strategy", "provider"), [("react", "llm"), ("react", "auto"), ("planned", "llm"), ("iterative", "llm")]
)
async def test_what_agents_search_for_is_reranked_by_a_model_only_where_that_is_asked_for(
    services: Services, scripted: ScriptedServer, model: Model, strategy: str, provider: str
) -> None:
    change(services, "rag", reranking_enabled=True, reranker_provider=provider)
    for asked in (False, True):
        change(services, "agents", rerank_by_model=asked)
        model.begin("3")
        scripted.requests.clear()
        scripted.script(Reply(text='THOUGHT: on.\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}'))
        await answered(services, LEAVE, strategy=strategy)
        if not asked:
            assert rerankings(scripted) == 0
        elif strategy != "planned":
            assert rerankings(scripted) > 0


async def test_a_search_tells_what_its_reranking_cost(services: Services, scripted: ScriptedServer) -> None:
    request = make_request(services.settings.current, "days of leave", ("handbook",), rerank=True)
    scripted.script("500")
    found = await run_search(services, request)
    assert found.reranker == "llm:gpt-4o-mini"
    assert (found.usage["calls"], len(scripted.requests)) == (2, 2)
    assert (found.usage["input_tokens"], found.usage["estimated"]) == (7, False)
    trace = await get_trace(services, found.trace_id)
    assert [(one["purpose"], one["calls"]) for one in trace.usage["by_purpose"]] == [("rerank", 2)]
    plain = make_request(services.settings.current, "days of leave", ("handbook",), rerank=False)
    assert (await run_search(services, plain)).usage == {}


async def test_a_cancelled_run_keeps_account_of_the_call_that_was_under_way(
    services: Services, scripted: ScriptedServer
) -> None:
    change(services, "rag", reranking_enabled=False)
    scripted.script(Reply("stall"))
    question = Question(LEAVE, "handbook", new_id(), "fast")
    task = await start(services, question)
    await until(lambda: scripted.requests)
    task.cancel()
    async for _ in task.events():
        pass
    trace = await get_trace(services, question.run_id)
    assert (trace.outcome, trace.usage["calls"]) == ("cancelled", 1)
    assert trace.usage["estimated"]
    assert trace.usage["input_tokens"] > 100, "the prompt was read, by estimate"
