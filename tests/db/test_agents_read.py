"""What agents read besides passages (the graph, the conversation), and when they stop looking; with a chat model that is a real
HTTP server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from agents import final, opening, search
from talking import Talking

from cairn.answer.context import GRAPH_HEADER
from cairn.domain.answer import Answer
from cairn.domain.event import Event, Progress, Token
from cairn.domain.ids import new_id
from cairn.domain.question import Turn
from cairn.service.search import get_trace
from cairn.wiring import Services
from tests.db.runs import LEAVE, answer, change, events_of, fill
from tests.sharing import SHARED

pytestmark = SHARED

BOTH = pytest.mark.parametrize("protocol", ["native", "text"])
TRUE = "Employees have 30 days of leave per year [1]."
FILMS = {
    "film.md": "# Big Eyes\n\nBig Eyes is a film of 2014 directed by Tim Burton. It tells of the painter Margaret Keane.",
    "director.md": "# Tim Burton\n\nTim Burton was born in Burbank. Tim Burton likes drawing.",
    "town.md": "# Burbank\n\nBurbank is a town in California.",
    "bread.md": "# Bread\n\nSourdough rises slowly, and nobody hurries it.",
}
ASK = "Who directed the film Big Eyes, and where was Tim Burton born?"
BORN = "Tim Burton was born in Burbank [1]."


@pytest_asyncio.fixture(loop_scope="module")
async def films(chatty: Services) -> Services:
    change(chatty, "rewrite", model=False)
    await fill(chatty, FILMS)
    return chatty


@pytest_asyncio.fixture(loop_scope="module")
async def handbook(chatty: Services) -> Services:
    await fill(chatty)
    return chatty


async def ask(services: Services, text: str = ASK, **more: Any) -> tuple[Answer, list[Event]]:
    events = await events_of(services, text, **more)
    return answer(events), events


def heard(talking: Talking, purpose: str) -> list[str]:
    return [user for _, user in talking.heard[purpose]]


def step(tool: str, **arguments: Any) -> str:
    return f"THOUGHT: on.\nACTION: {tool}\nARGUMENTS: {json.dumps(arguments)}"


# --- the graph ------------------------------------------------------------------------------------------------------------


async def test_react_reads_the_graph_in_what_it_observes_and_in_its_conclusion(
    films: Services, talking: Talking
) -> None:
    found = step("retrieve_vector", query="Tim Burton Big Eyes")
    talking.reset(think=[found], reflect="Enough.\nACTION: continue", generate=[BORN])
    change(films, "agents", max_steps=2)
    await ask(films, strategy="react")
    observed = heard(talking, "think")[1]
    assert GRAPH_HEADER in observed
    assert '- "Tim Burton' in observed, "as data, in a JSON string"
    (concluded,) = heard(talking, "generate")
    assert "Relations:" in concluded.partition(GRAPH_HEADER)[2]


@BOTH
async def test_planned_reads_the_graph_of_what_it_opened(films: Services, talking: Talking) -> None:
    talking.reset(action=[search("Tim Burton Big Eyes"), opening(1), final("It was Tim Burton [1].")])
    await ask(films, strategy="planned")
    before, after = heard(talking, "action")[1:3]
    assert GRAPH_HEADER not in before
    assert "[1]" in after.partition(GRAPH_HEADER)[2]


async def test_a_forced_synthesis_corrective_and_related_read_the_graph(films: Services, talking: Talking) -> None:
    change(films, "planned", reprompts=0)
    talking.reset(action=[search("Tim Burton Big Eyes"), "hm"], generate=[BORN])
    await ask(films, strategy="planned")
    assert GRAPH_HEADER in heard(talking, "generate")[0]
    rag = films.settings.current.rag
    change(films, "rag", agentic_retrieval=rag.agentic_retrieval.model_copy(update={"enabled": True}))
    talking.reset(generate=[BORN])
    await ask(films, strategy="corrective")
    assert GRAPH_HEADER in heard(talking, "generate")[0]
    talking.reset(generate=[BORN])
    made, _ = await ask(films, "How are Tim Burton and Burbank related?")
    assert made.route["strategy"] == "related"
    section = heard(talking, "generate")[0].partition(GRAPH_HEADER)[2]
    assert "Tim Burton" in section.partition("Relations:")[2].partition("===")[0]


async def test_going_on_reads_the_graph_of_what_it_looks_at_further(films: Services, talking: Talking) -> None:
    talking.reset(generate=[BORN])
    await ask(films, session_id="s", strategy="fast")
    talking.reset(generate=["Tim Burton likes drawing [1]."])
    made, _ = await ask(films, "Tell me more", session_id="s")
    assert made.route["strategy"] == "converse"
    assert GRAPH_HEADER in heard(talking, "generate")[0]


# --- the conversation -----------------------------------------------------------------------------------------------------

TURNS = tuple(
    Turn(new_id(), "user" if n % 2 == 0 else "assistant", f"Message number {n}.", datetime.now(UTC)) for n in range(12)
)
REPLIES: dict[str, tuple[str, dict[str, Any]]] = {
    "fast": ("generate", {"generate": [TRUE]}),
    "iterative": ("iterate", {"iterate": [f"ANSWER:\n{TRUE}\n\nMISSING:\nNONE"]}),
    "planned": ("action", {"action": [search("leave"), opening(1), final(TRUE)]}),
    "react": ("think", {"think": [step("retrieve_vector", query="leave"), step("final_answer", answer=TRUE)]}),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("strategy", REPLIES)
async def test_who_writes_an_answer_sees_as_many_messages_as_the_setting_says(
    handbook: Services, talking: Talking, strategy: str
) -> None:
    purpose, said = REPLIES[strategy]
    change(handbook, "rewrite", model=False)
    for messages in (0, 3, 9):
        change(handbook, "memory", generation=messages)
        talking.reset(**said)
        await ask(handbook, LEAVE, strategy=strategy, history=TURNS)
        shown = [n for n in range(12) if f'Message number {n}."' in heard(talking, purpose)[0]]
        assert shown == list(range(12 - messages, 12))


async def test_rewriting_sees_as_many_as_its_setting_says(handbook: Services, talking: Talking) -> None:
    for messages in (1, 4, 10):
        change(handbook, "memory", rewrite=messages, chain=0)
        talking.reset(generate=[TRUE])
        await ask(handbook, "And leave?", strategy="fast", history=TURNS)
        shown = [n for n in range(12) if f'Message number {n}."' in heard(talking, "rewrite")[0]]
        assert shown == list(range(12 - messages, 12))


async def test_recognising_an_intent_sees_as_many_as_its_setting_says(handbook: Services, talking: Talking) -> None:
    change(handbook, "rag", adaptive_routing_enabled=True)
    change(handbook, "routing", exemplar_threshold=1.0, new_word_threshold=1.0)
    for messages in (0, 2, 8):
        change(handbook, "memory", router=messages)
        talking.reset(generate=[TRUE], other='{"intent": "question"}')
        await ask(handbook, "do you have any pets at home", strategy="fast", history=TURNS)
        shown = [n for n in range(12) if f'Message number {n}."' in heard(talking, "other")[0]]
        assert shown == list(range(12 - messages, 12))


# --- gaps -----------------------------------------------------------------------------------------------------------------


def missing(*gaps: str) -> str:
    return f"ANSWER:\n{TRUE}\n\nMISSING:\n" + "\n".join(f"- {gap}" for gap in gaps)


async def iterate(services: Services) -> tuple[Answer, Sequence[Any]]:
    made, _ = await ask(services, LEAVE, strategy="iterative")
    trace = await get_trace(services, made.run_id)
    return made, trace.plan["agent_steps"]


async def test_a_gap_that_is_repeated_is_unresolved_and_not_looked_for_again(
    handbook: Services, talking: Talking
) -> None:
    change(handbook, "answer", retrieved=1)
    change(handbook, "rag", top_k=1)
    talking.reset(iterate=[missing("when salaries are paid"), missing("the salaries: when are they paid?")])
    made, steps = await iterate(handbook)
    gap = made.route["cgrag"]
    assert (gap["passes_used"], gap["gaps_resolved"], gap["gaps_unresolved"]) == (2, [], ["when salaries are paid"])
    assert "Looked for and not found: when salaries are paid." in made.insufficiencies
    assert [tool["success"] for one in steps for tool in one["tools"]] == [True, False]
    assert steps[-1]["tools"][0]["repeated"]
    searched = [one["query"] for one in (await get_trace(handbook, made.run_id)).plan["searches"]]
    assert searched == [LEAVE, "when salaries are paid"]


async def test_a_symbol_that_is_nowhere_is_unresolved_whatever_a_search_for_it_brings(
    handbook: Services, talking: Talking
) -> None:
    change(handbook, "answer", retrieved=1)
    change(handbook, "rag", top_k=1)
    talking.reset(iterate=[missing("pay_salaries in app/payroll.py", "hotel costs")])
    made, steps = await iterate(handbook)
    gap = made.route["cgrag"]
    assert gap["passes_used"] == 2, "both were looked for, so nothing is left to do"
    assert gap["gaps_unresolved"] == ["pay_salaries in app/payroll.py", "hotel costs"]
    assert [tool["reason"] for tool in steps[0]["tools"]] == ["not found", ""]
    assert "Looked for and not found: pay_salaries in app/payroll.py." in made.insufficiencies


async def test_gaps_are_fetched_side_by_side_and_kept_in_order(handbook: Services, talking: Talking) -> None:
    change(handbook, "answer", retrieved=1)
    change(handbook, "rag", top_k=1)
    gaps = ["hotel costs", "when salaries are paid", "parental leave", "overtime rate"]
    talking.reset(iterate=[missing(*gaps), f"ANSWER:\n{TRUE}\n\nMISSING:\nNONE"])
    made, steps = await iterate(handbook)
    searches = (await get_trace(handbook, made.run_id)).plan["searches"]
    assert [one["query"] for one in searches] == [LEAVE, *gaps]
    assert [tool["arguments"]["query"] for tool in steps[0]["tools"]] == gaps


# --- planned --------------------------------------------------------------------------------------------------------------

DISCLOSE = (
    "How many days of leave are there, and how old is the firm? Explicitly state where documentation is insufficient."
)
LACK = {"section": "Age", "missing": "how old the firm is", "queries_tried": ["age"]}


def kinds(events: list[Event]) -> list[str]:
    return [str(event.detail["type"]) for event in events if isinstance(event, Progress) and "type" in event.detail]


@BOTH
async def test_a_disclosure_is_demanded_once_and_then_made(handbook: Services, talking: Talking) -> None:
    talking.reset(action=[search("leave"), opening(1), final(TRUE, insufficiencies=[LACK])])
    made, events = await ask(handbook, DISCLOSE, strategy="planned")
    assert made.route["constraints"]["requires_insufficiency_disclosure"]
    assert kinds(events).count("reprompt") == 1
    assert made.answer == f"{TRUE}\n\nInsufficient documentation: Age: how old the firm is."
    assert "Age: how old the firm is" in made.insufficiencies
    pieces = [event.text for event in events if isinstance(event, Token)]
    assert "".join(pieces) == made.answer
    assert len(pieces) > 3, "an accepted answer is streamed in pieces"


async def test_a_refusal_that_explains_nothing_is_sent_back_once(handbook: Services, talking: Talking) -> None:
    talking.reset(action=[search("leave"), final("I don't know based on the provided documents.")])
    made, events = await ask(handbook, "How old is the firm?", strategy="planned")
    assert kinds(events).count("reprompt") == 1
    assert made.answered == "no"
    assert made.route["insufficiencies"][0]["queries_tried"] == ("leave",)


PLAN = json.dumps(
    [
        "search_docs: parental leave",
        'search_docs: "hotel costs"',
        "search_docs: salaries",
        "open_citation: the best",
        "Write",
    ]
)


@BOTH
async def test_searches_of_a_plan_are_made_at_once_and_leave_calls_for_openings(
    handbook: Services, talking: Talking
) -> None:
    talking.reset(plan=PLAN, action=[opening(1), final("Parental leave lasts up to 36 months [1].")])
    made, events = await ask(handbook, LEAVE, strategy="planned")
    assert kinds(events) == ["plan", "tool_call", "tool_call", "tool_call", "tool_call", "final"]
    assert len(talking.heard["action"]) == 2, "no reply of the model was spent on a search"
    assert [one["query"] for one in (await get_trace(handbook, made.run_id)).plan["searches"]] == [
        "parental leave", "hotel costs", "salaries",
    ]  # fmt: skip
    assert made.route["tool_calls"] == 4
    change(handbook, "planned", tool_calls=3, most_tool_calls=3)
    talking.reset(plan=PLAN, action=[opening(1), final("Parental leave lasts up to 36 months [1].")])
    made, _ = await ask(handbook, LEAVE, strategy="planned")
    assert (made.route["searches_done"], made.route["citations_opened"]) == (2, 1)


async def test_opening_a_place_again_costs_nothing_even_after_other_calls(handbook: Services, talking: Talking) -> None:
    talking.reset(action=[search("leave"), opening(1), search("hotel costs"), opening(1), final(TRUE)])
    made, _ = await ask(handbook, LEAVE, strategy="planned")
    assert made.route["tool_calls"] == 3


# --- simple questions -----------------------------------------------------------------------------------------------------


async def test_of_a_simple_question_a_model_reads_what_scores_next_to_the_best(
    handbook: Services, talking: Talking
) -> None:
    read = {}
    for share in (0.0, 0.5, 1.0):
        change(handbook, "answer", simple_share=share)
        talking.reset(generate=[TRUE])
        made, _ = await ask(handbook, LEAVE, strategy="fast")
        read[share] = heard(talking, "generate")[0].count("[Source ")
        assert made.route["read"] == read[share]
    assert read == {0.0: 3, 0.5: 2, 1.0: 2}
