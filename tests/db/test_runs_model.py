"""Runs with a chat model that is a real HTTP server: what it is told, what becomes of what it says, and how it may fail."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from scripted_replies import Reply
from scripted_server import ScriptedServer
from talking import Talking

from cairn.domain.event import TERMINAL, Cancelled, Progress, Token
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.runs.task import held
from cairn.service.ask import start
from cairn.service.search import get_trace
from cairn.wiring import Services
from tests.db.runs import LEAVE, LEAVE_QUOTED, answer, answered, change, events_of, fill, read
from tests.db.tenants import on_documents_of, tenant_of
from tests.sharing import SHARED
from tests.waiting import hang_guard

pytestmark = SHARED

TRUE = "Employees have 30 days of leave per year [1]."
FALSE = "Employees have 45 days of leave per year and may sell them to colleagues [1]."
NOT_GROUNDED = "GROUNDED: NO\nSCORE: 0.0\nISSUES:\n- 45 days: the sources say 30"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handbook(chatty_of_module: Services) -> AsyncIterator[Services]:
    """A tenant whose handbook no test changes; other collections are of those that add them."""
    async with tenant_of(chatty_of_module) as opened:
        await fill(opened)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def services(handbook: Services, scripted: ScriptedServer) -> AsyncIterator[Services]:
    async with on_documents_of(handbook) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def own(chatty: Services) -> Services:
    """For a test that changes the handbook."""
    await fill(chatty)
    return chatty


def streamed(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


# --- checking and trying again --------------------------------------------------------------------------------------


async def test_a_supported_answer_is_grounded_at_the_first_attempt(services: Services, talking: Talking) -> None:
    talking.reset(generate=[TRUE])
    events = await events_of(services, LEAVE)
    made = answer(events)
    assert (made.answer, streamed(events)) == (TRUE, TRUE)
    assert (made.grounded, made.route["iterations"], made.route["answerer"]) == (
        True,
        1,
        services.chat_for(services.settings.current).name,
    )  # type: ignore[union-attr]
    assert made.groundedness_score is not None
    assert made.confidence <= made.groundedness_score
    assert made.grounding is not None
    assert len(talking.heard["generate"]) == 1


async def test_the_prompt_has_what_the_graph_says_before_its_sources(own: Services, talking: Talking) -> None:
    """Lines carry the numbers of the sources that prove them; without a contribution of the graph there are no sections."""
    await fill(own, {
        "film.md": "The film Big Eyes was directed by Tim Burton. It was shown in many towns.",
        "director.md": "In 2001 Tim Burton was in Prague, where the wedding with Lena Gieseke took place.",
    })  # fmt: skip
    talking.reset(generate=["Lena Gieseke [1][2]."])
    made = await answered(own, "Who did the director of Big Eyes marry?")
    _, prompt = talking.heard["generate"][0]
    graph, documents = prompt.split("=== DOCUMENT CONTEXT ===")
    assert "=== KNOWLEDGE GRAPH CONTEXT ===" in graph
    numbers = {title: n for n, title in re.findall(r"\[Source (\d+): (\S+)\]", documents)}
    [line, *_] = (line for line in graph.splitlines() if line.startswith("- Tim Burton"))
    assert set(re.findall(r"\[(\d+)\]", line)) == {numbers["film.md"], numbers["director.md"]}
    assert {citation.external_id for citation in made.citations} <= {"film.md", "director.md"}
    talking.reset(generate=[TRUE])
    await answered(own, LEAVE)
    assert "===" not in talking.heard["generate"][-1][1]


async def test_a_contradiction_is_answered_again_with_feedback(
    services: Services, talking: Talking, scripted: ScriptedServer
) -> None:
    talking.reset(generate=[FALSE, TRUE], ground=[NOT_GROUNDED, "GROUNDED: YES\nSCORE: 1.0\nISSUES:\nnone"])
    events = await events_of(services, LEAVE)
    made = answer(events)
    assert streamed(events) == FALSE, "the first attempt is streamed, and only that"
    assert "retry" in [event.step for event in events if isinstance(event, Progress)]
    assert (made.answer, made.grounded, made.route["iterations"]) == (TRUE, True, 2)
    (_, first), (_, second) = talking.heard["generate"]
    assert "unsupported claims" not in first
    assert "A previous answer to this question contained unsupported claims" in second
    assert "45 days" in second
    trace = await get_trace(services, made.run_id)
    assert [attempt["grounded"] for attempt in trace.plan["attempts"]] == [False, True]
    purposes = [call["purpose"] for call in trace.usage["by_purpose"]]
    assert purposes[0] == "generate"
    assert "retry" in purposes
    assert trace.usage["calls"] == len(scripted.requests)
    assert "45 days" not in json.dumps(trace.plan["attempts"]), "a trace keeps no words of an answer that was withheld"


async def test_after_two_retries_the_answer_says_what_is_not_supported(services: Services, talking: Talking) -> None:
    talking.reset(generate=[FALSE], ground=[NOT_GROUNDED])
    made = await answered(services, LEAVE)
    assert len(talking.heard["generate"]) == 3
    assert (made.grounded, made.route["iterations"]) == (False, 3)
    assert made.answer == FALSE
    assert any("Not supported by the sources" in told and "45 days" in told for told in made.insufficiencies)
    assert made.groundedness_score is not None
    assert made.confidence <= made.groundedness_score < 0.5


@pytest.mark.parametrize("where", ["ground", "rag"])
async def test_strict_checking_withholds_it_and_says_what_the_sources_say(
    services: Services, talking: Talking, where: str
) -> None:
    if where == "ground":
        change(services, "ground", strict=True)
    else:
        agentic = services.settings.current.rag.agentic_retrieval.model_copy(
            update={"strict_hallucination_check": True}
        )
        change(services, "rag", agentic_retrieval=agentic)
    talking.reset(generate=[FALSE], ground=[NOT_GROUNDED])
    made = await answered(services, LEAVE)
    assert "45" not in made.answer
    assert made.answer == LEAVE_QUOTED
    assert (made.grounded, made.route["answerer"]) == (None, "extractive")
    assert made.insufficiencies[0].startswith("The generated answer was not supported")


async def test_an_answer_about_something_else_is_no_answer(services: Services, talking: Talking) -> None:
    """Every sentence is in the source that it cites, which is another company's."""
    await fill(services, {
        "ulta.md": "# Ulta Beauty\n\nUlta Beauty sells cosmetics in 1,355 stores and on its web site.",
        "adobe.md": "# Adobe\n\nRevenue was 17,606 million dollars in 2022, and costs were 2,165 million dollars.",
    }, "filings")  # fmt: skip
    question = "What was the revenue of Ulta Beauty in 2022?"
    talking.reset(generate=["Revenue was 17,606 million dollars in 2022 [1]."] * 3)
    made = await answered(services, question, collection="filings")
    assert [cited.external_id for cited in made.citations] == ["adobe.md"]
    assert (made.grounded, made.answered, made.confidence_word) == (True, "unsure", None)
    assert any("Ulta Beauty" in told for told in made.insufficiencies)
    talking.reset(generate=["Revenue was 17,606 million dollars in 2022 [1]."] * 3)
    right = await answered(services, question.replace("Ulta Beauty", "Adobe"), collection="filings")
    assert (right.grounded, right.answered, right.insufficiencies) == (True, "yes", ())


async def test_switching_the_check_off_checks_nothing(services: Services, talking: Talking) -> None:
    change(services, "ground", enabled=False)
    talking.reset(generate=[FALSE])
    made = await answered(services, LEAVE)
    assert (made.answer, made.grounded, made.groundedness_score) == (FALSE, None, None)
    assert len(talking.heard["generate"]) == 1
    assert not talking.heard["ground"]


async def test_invented_citations_are_removed_and_told(services: Services, talking: Talking) -> None:
    talking.reset(generate=["Employees have 30 days of leave per year [1][9]. [77]"])
    made = await answered(services, LEAVE)
    assert "[9]" not in made.answer
    assert "[77]" not in made.answer
    assert [citation.n for citation in made.citations] == [1]
    assert any("do not exist were removed" in told for told in made.insufficiencies)


async def test_a_refusal_is_not_checked_and_says_what_to_do(services: Services, talking: Talking) -> None:
    talking.reset()
    made = await answered(services, "Who painted the ceiling?")
    assert made.answer.startswith("I don't know based on the provided documents. Try other words")
    assert (made.grounded, made.route["found"], made.route["iterations"]) == (None, False, 1)
    assert not talking.heard["ground"]


# --- how a model may fail -------------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", ["401", "malformed", "empty", "disconnect", "500"])
async def test_a_model_that_fails_before_its_first_token_is_replaced_and_said(
    services: Services, scripted: ScriptedServer, kind: str
) -> None:
    scripted.script(*[kind] * 4)
    made = await answered(services, LEAVE)
    assert (made.route["answerer"], made.answer) == ("extractive", LEAVE_QUOTED)
    assert any(note.startswith("generation failed (provider-") for note in made.degraded)


async def test_a_stalled_model_is_given_up_in_time(services: Services, scripted: ScriptedServer) -> None:
    change(services, "answer", timeout_seconds=0.5)
    scripted.script(*["stall"] * 4)
    async with hang_guard(20):
        made = await answered(services, LEAVE)
    assert made.route["answerer"] == "extractive"
    assert any("provider-timeout" in note for note in made.degraded)


async def test_a_retry_that_fails_leaves_the_answer_that_there_is(
    services: Services, scripted: ScriptedServer, talking: Talking
) -> None:
    """The retry meets a server that is broken by then."""
    talking.reset(generate=[FALSE], ground=[NOT_GROUNDED])
    first = True

    def then_broken(messages: list[dict[str, Any]]) -> str:
        nonlocal first
        reply = talking(messages)
        if first:
            first = False
            scripted.script(*["malformed"] * 9)
        return reply

    scripted.answer = then_broken
    made = await answered(services, LEAVE)
    assert made.answer == FALSE
    assert made.route["answerer"] != "extractive"
    assert made.degraded


async def test_cancelling_the_reader_ends_with_cancelled_and_is_traced(
    services: Services, scripted: ScriptedServer
) -> None:
    scripted.script(Reply("stall_late", text="one two three"))
    question, events = Question(LEAVE, "handbook", new_id()), []
    task = await start(services, question)
    async with hang_guard(20):
        async for item in task.events():
            events.append(item.event)
            if isinstance(item.event, Token):
                task.cancel()
    assert events[-1] == Cancelled(question.run_id)
    assert sum(isinstance(event, TERMINAL) for event in events) == 1
    trace = await get_trace(services, question.run_id)
    assert (trace.outcome, trace.strategy) == ("cancelled", "fast")
    assert trace.plan["searches"]


async def test_a_stream_that_is_closed_early_is_traced_as_cancelled(
    services: Services, scripted: ScriptedServer
) -> None:
    scripted.script(Reply("stall_late", text="one two three"))
    question = Question(LEAVE, "handbook", new_id())
    async with hang_guard(20), held(await start(services, question)) as task:
        async for item in task.events():
            if isinstance(item.event, Token):
                break
    assert (await get_trace(services, question.run_id)).outcome == "cancelled"


# --- conversation and summaries ---------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("message", "told"),
    [("explain simpler", "fifth-grade"), ("go deeper", "technical depth"), ("tell me more", "beyond that answer")],
)
async def test_context_handlers_tell_the_model_what_is_wanted(
    services: Services, talking: Talking, message: str, told: str
) -> None:
    talking.reset(generate=[TRUE, "You get 30 days of leave each year [1]."])
    first = await answered(services, LEAVE, session_id="s")
    made = await answered(services, message, session_id="s")
    _, user = talking.heard["generate"][-1]
    assert told in user
    assert "Employees have 30 days of leave per year" in user.split("(End of the sources.)")[1]
    assert user.endswith(f"Question: {LEAVE}")
    assert made.route["strategy"] == "converse"
    originals = [passage.passage_id for passage in first.sources]
    assert set(originals) <= {passage.passage_id for passage in made.sources}


HILLS = {
    "hills.md": "\n\n".join(f"## Hill {n}\n\n" + f"The cairn on hill {n} is {n} metres high. " * 30 for n in range(12))
}


async def test_a_long_text_is_summarised_from_notes_of_its_parts(services: Services, talking: Talking) -> None:
    change(services, "answer", max_context_tokens=900)
    await fill(services, HILLS, collection="hills")
    talking.reset(notes=["Cairns of several metres stand there [1]."], generate=["Cairns stand on hills [1]."])
    events = await events_of(services, "Summarize everything", "hills")
    made = answer(events)
    notes = talking.heard["notes"]
    assert len(notes) == made.route["parts"] > 2
    numbers = [number for _, user in notes for number in _numbers(user)]
    assert sorted(numbers) == list(range(1, len(made.sources) + 1)), "every passage once, numbered through"
    _, user = talking.heard["generate"][0]
    assert user.count("Part ") == len(notes)
    assert [event.percent for event in events if isinstance(event, Progress) and event.step == "summarize"]
    assert made.citations[0].passage_id == made.sources[0].passage_id
    assert made.coverage.complete
    assert made.usage["calls"] >= len(notes) + 1


async def test_a_part_that_cannot_be_read_is_told(
    services: Services, talking: Talking, scripted: ScriptedServer
) -> None:
    change(services, "answer", max_context_tokens=900)
    await fill(services, HILLS, collection="hills")
    talking.reset(notes=["Cairns of several metres stand there [1]."], generate=["Cairns stand on hills [1]."])
    scripted.script("malformed", "malformed", "malformed")
    made = await answered(services, "Summarize everything", collection="hills")
    assert made.route["answerer"] != "extractive"
    assert any(note.startswith("no notes of") for note in made.degraded)
    assert not made.coverage.complete
    assert 0 < made.coverage.read < made.coverage.of


async def test_a_summary_whose_model_is_away_is_extracted(services: Services, scripted: ScriptedServer) -> None:
    scripted.script(*["401"] * 20)
    made = await answered(services, "Summarize everything")
    assert made.route["answerer"] == "extractive"
    assert len({citation.external_id for citation in made.citations}) == 3
    assert any("generation failed" in note for note in made.degraded)


def _numbers(user: str) -> list[int]:
    import re

    return [int(number) for number in re.findall(r"^\[Source (\d+):", user, re.MULTILINE)]


# --- what a model adds to a search ------------------------------------------------------------------------------------


async def test_parts_and_phrasings_of_an_enhanced_question_are_searched(services: Services, talking: Talking) -> None:
    part, phrasing = "leave days of employees", "annual leave of employees per year"
    talking.reset(
        decompose=[json.dumps([part, "days of leave per year"])], expand=[json.dumps([phrasing])], generate=[TRUE]
    )
    events = await read(services, Question(LEAVE, "handbook", new_id(), strategy="enhanced"))
    made = answer(events)
    assert made.route["subquestions"] == [part, "days of leave per year"]
    assert made.route["expansions"] == [phrasing]
    assert made.degraded == ()
    assert "expand" in [event.step for event in events if isinstance(event, Progress)]
    trace = await get_trace(services, made.run_id)
    assert [item["purpose"] for item in trace.plan["searches"]] == [
        "question",
        "subquestion",
        "subquestion",
        "expansion",
    ]
    assert {"decompose", "expand", "generate"} <= {call["purpose"] for call in trace.usage["by_purpose"]}


async def test_parts_that_rules_have_found_are_kept(services: Services, talking: Talking) -> None:
    question = "When are salaries paid and how much may a hotel cost per night?"
    made = await answered(services, question, strategy="enhanced")
    assert len(made.route["subquestions"]) == 2
    assert not talking.heard["decompose"]
    assert len(talking.heard["expand"]) == 1


async def test_an_unusable_widening_is_told_and_done_without(services: Services, talking: Talking) -> None:
    talking.reset(decompose=["I would not split this."], expand=['["Eagle termination 2019"]'], generate=[TRUE])
    made = await answered(services, LEAVE, strategy="enhanced")
    assert made.answer == TRUE
    assert (made.route["subquestions"], made.route["expansions"]) == ([], [])
    told = " ".join(made.degraded)
    assert "decompose by the model failed" in told
    assert "expand by the model failed" in told


async def test_a_simple_question_costs_no_widening(services: Services, talking: Talking) -> None:
    talking.reset(generate=[TRUE])
    made = await answered(services, LEAVE, strategy="fast")
    assert made.route["strategy"] == "fast"
    assert not talking.heard["decompose"]
    assert not talking.heard["expand"]


# --- how two things are related -------------------------------------------------------------------------------------


PEOPLE = {
    "ada.md": "# Ada Lovelace\n\nAda Lovelace was born in London. Ada Lovelace liked long walks.",
    "hall.md": "# Wigmore Hall\n\nThe Wigmore Hall is located in London. It gives concerts.",
}
RELATED = "How are Ada Lovelace and Wigmore Hall related?"


async def test_a_way_in_the_graph_is_what_the_model_reads_in_order(services: Services, talking: Talking) -> None:
    await fill(services, PEOPLE, "people")
    said = "Ada Lovelace was born in London [1], where the Wigmore Hall is located [2]."
    talking.reset(generate=[said])
    made = answer(await events_of(services, RELATED, "people"))
    assert (made.route["strategy"], made.answer) == ("related", said)
    assert [passage.external_id for passage in made.sources] == ["ada.md", "hall.md"]
    assert [cited.quote for cited in made.citations] == [
        "Ada Lovelace was born in London.", "The Wigmore Hall is located in London.",
    ]  # fmt: skip
    ((_, told),) = talking.heard["generate"]
    assert told.index("Ada Lovelace was born") < told.index("The Wigmore Hall is located")


async def test_where_the_model_fails_the_way_is_quoted(services: Services, scripted: ScriptedServer) -> None:
    await fill(services, PEOPLE, "people")
    scripted.script(*["401"] * 20)
    made = answer(await events_of(services, RELATED, "people"))
    assert made.answer == "Ada Lovelace was born in London. [1] The Wigmore Hall is located in London. [2]"
    assert made.route["answerer"] == "extractive"
    assert any("the evidence was quoted instead" in note for note in made.degraded)


# --- the model that recognises intents ------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["small-router", ""])
async def test_intents_are_left_to_a_model_of_their_own(
    services: Services, scripted: ScriptedServer, named: str
) -> None:
    """A message that neither rules nor exemplars decide goes to rag.adaptiveRoutingModel, which empty is that of answers."""
    change(services, "rag", adaptive_routing_enabled=True, adaptive_routing_model=named)
    change(services, "routing", exemplar_threshold=1.0, new_word_threshold=1.0)
    made = await answered(services, "do you have any pets at home")
    intents = [
        one.body["model"] for one in scripted.requests if "You sort the messages" in one.body["messages"][0]["content"]
    ]
    answerer = services.chat_for(services.settings.current)
    assert answerer is not None
    assert intents == [named or answerer.name]
    trace = await get_trace(services, made.run_id)
    assert "intent" in {call["purpose"] for call in trace.usage["by_purpose"]}
