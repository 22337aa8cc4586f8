"""Which way a message goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.code import SymbolQuery
from cairn.domain.plan import (
    Classification,
    ComplexityScore,
    FusionWeights,
    IntentMatch,
    ListRequest,
    PromptConstraints,
    QueryPlan,
)
from cairn.domain.question import Exchange, SourceRef, Turn
from cairn.query.complexity import SEVERAL_STEPS
from cairn.query.understand import last_exchange
from cairn.runs.choose import TABLE, Route, Situation, by_complexity, choose

PLAN = QueryPlan(
    message="How many days of leave are there?", text="How many days of leave are there?", language="en",
    intent=IntentMatch("question", 0.9, 1, "like a question"),
    classification=Classification("FACTUAL", 0.8, "how many"),
    complexity=ComplexityScore(0.1, "SIMPLE", {}, "Simple at 0.100"),
    weights=FusionWeights(1.0, 0.0, "TEXT_ONLY"),
)  # fmt: skip
SOURCE = SourceRef(1, UUID(int=1), UUID(int=2), None, "leave.md", "Leave", None, 0, 10, 1, 0.5, "Thirty days")


def turn(role: Any, content: str, *sources: SourceRef) -> Turn:
    return Turn(UUID(int=9), role, content, datetime(2026, 11, 22, tzinfo=UTC), sources)


TALK = (turn("user", "How many days of leave?"), turn("assistant", "Thirty days [1].", SOURCE))


def route(plan: QueryPlan, strategy: str = "auto", **more: Any) -> Route:
    return choose(Situation(plan, strategy, **more))


def meaning(intent: Any) -> QueryPlan:
    return replace(PLAN, intent=IntentMatch(intent, 0.9, 0, "a rule"))


def scored(score: float, level: Any, override: str | None = None) -> ComplexityScore:
    return ComplexityScore(score, level, {}, f"it is {level}", override)


CALLERS = SymbolQuery("send", relation="calls")
EVERYTHING = Situation(
    replace(
        meaning("greeting"),
        code=(CALLERS,),
        continued=Exchange("How many days of leave?", TALK[1]),
        listing=ListRequest(),
        summary="subject",
        ends=(("Ada", "Ben"),),
        constraints=PromptConstraints(min_searches=2),
        inner="the company that makes the Clio",
        symbols=(SymbolQuery("send"),),
        has_terms=False,
    ),
    chat=True,
    agentic=True,
    code=True,
    symbols=True,
)
"""A message that is all at once. What follows takes off, one by one, what lets the first row apply."""
PEELED: list[tuple[str, str, dict[str, Any]]] = [
    ("code", "code", {"code": ()}),
    ("small_talk", "reply", {"intent": meaning("clarify_needed").intent}),
    ("unclear", "clarify", {"intent": meaning("followup").intent}),
    ("continued", "converse", {"continued": None}),
    ("listing", "aggregate", {"listing": None}),
    ("summary", "summarize", {"summary": None}),
    ("relation", "related", {"ends": ()}),
    ("told_how", "planned", {"constraints": PromptConstraints()}),
    ("several_hops", "corrective", {"inner": None}),
    ("symbols", "iterative", {"symbols": ()}),
    ("simple", "fast", {"complexity": scored(0.35, "MODERATE", SEVERAL_STEPS)}),
    ("moderate", "enhanced", {"complexity": scored(0.65, "AMBIGUOUS")}),
    ("vague", "clarify", {"has_terms": True}),
    ("complex", "react", {}),
]


def test_the_first_row_that_applies_counts() -> None:
    situation, seen = EVERYTHING, []
    for row, strategy, off in PEELED:
        found = choose(situation)
        assert (found.row, found.strategy, found.degraded) == (row, strategy, ())
        seen.append(found.row)
        situation = replace(situation, plan=replace(situation.plan, **off))
    without = Situation(replace(PLAN, complexity=scored(0.35, "MODERATE", SEVERAL_STEPS)))
    assert (choose(without).row, choose(without).strategy) == ("several_steps", "fast"), "without a model"
    assert {row.name for row in TABLE} == {*seen, "several_steps"}
    assert len({row.name for row in TABLE}) == len(TABLE)


def test_no_row_reads_text() -> None:
    """What the message says was read by `understand`, once."""
    situation = EVERYTHING
    for _, _, off in PEELED:
        unread = replace(situation, plan=replace(situation.plan, message="", text=""))
        assert choose(unread) == choose(situation)
        situation = replace(situation, plan=replace(situation.plan, **off))


@pytest.mark.parametrize("intent", ["greeting", "gratitude", "garbage", "off_topic"])
def test_small_talk_is_replied_to_without_retrieval(intent: str) -> None:
    found = route(meaning(intent))
    assert (found.strategy, found.degraded) == ("reply", ())
    assert found.reason == f"{intent}: a rule"


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (meaning("clarify_needed"), "it cannot be told what is asked: a rule"),
        (replace(meaning("deepen"), continued=Exchange("", TALK[1])), "deepen of the last answer: a rule"),
        (replace(PLAN, inner="the {maker}"), "multi-hop: it goes through another question: 'the {maker}'"),
        (replace(PLAN, subquestions=("What is A?", "What is B?")), "multi-hop: 2 sub-questions"),
        (PLAN, "simple: Simple at 0.100"),
    ],
)
def test_the_reason_names_what_the_row_applies_for(plan: QueryPlan, reason: str) -> None:
    assert route(plan, agentic=True).reason == reason


@pytest.mark.parametrize(
    ("level", "score", "strategy", "notes"),
    [("SIMPLE", 0.34, "fast", 0), ("MODERATE", 0.35, "enhanced", 0), ("COMPLEX", 0.55, "enhanced", 0)],
)
def test_complexity_chooses(level: Any, score: float, strategy: str, notes: int) -> None:
    plan = replace(PLAN, complexity=scored(score, level))
    for found in (route(plan), by_complexity(Situation(plan))):
        assert (found.strategy, len(found.degraded)) == (strategy, notes)
        assert f"it is {level}" in found.reason


def test_an_ambiguous_message_is_asked_back_only_when_it_names_nothing() -> None:
    """With something to look for, the documents may settle it."""
    ambiguous = replace(PLAN, complexity=scored(0.65, "AMBIGUOUS"))
    assert route(replace(ambiguous, has_terms=False)).strategy == "clarify"
    assert route(replace(ambiguous, has_terms=False, entities=("X",))).strategy == "enhanced"
    assert route(ambiguous).strategy == "enhanced"


def test_a_strategy_that_the_caller_names_always_retrieves() -> None:
    for plan in (meaning("greeting"), EVERYTHING.plan):
        assert route(plan, "fast").strategy == "fast"
        assert route(plan, "enhanced").strategy == "enhanced"
    ours, others = route(PLAN, "fast"), route(PLAN, "mine")
    assert (ours.reason, ours.row) == ("named by the caller", "")
    assert (others.strategy, others.reason) == ("mine", "named by the caller, from another package")


@pytest.mark.parametrize(
    "plan", [replace(PLAN, inner="the company"), replace(PLAN, subquestions=("What is A?", "What is B?"))]
)
def test_multi_hop_questions_go_to_corrective_where_it_is_switched_on(plan: QueryPlan) -> None:
    assert route(plan, agentic=True).strategy == "corrective"
    assert route(plan).strategy == "fast"
    assert route(PLAN, agentic=True).strategy == "fast", "a single fact takes one pass"


def test_naming_corrective_runs_it_only_where_it_is_switched_on() -> None:
    assert route(meaning("greeting"), "corrective", agentic=True).strategy == "corrective"
    off = route(PLAN, "corrective")
    assert off.strategy == "fast"
    assert off.degraded == ("strategy 'corrective' is switched off (rag.agenticRetrieval.enabled): ran fast",)


@pytest.mark.parametrize("strategy", ["react", "planned", "iterative"])
def test_agents_run_where_there_is_a_model(strategy: str) -> None:
    assert route(PLAN, strategy, chat=True).strategy == strategy
    without = route(PLAN, strategy)
    assert without.strategy == "enhanced"
    assert without.degraded == (
        f"{strategy} needs a chat model, and none is configured: the question was searched for and answered by itself",
    )


def test_symbols_of_code_go_to_the_graph_or_are_read_around() -> None:
    asks, names = replace(PLAN, code=(CALLERS,), symbols=(CALLERS,)), replace(PLAN, symbols=(CALLERS,))
    assert route(asks, code=True, symbols=True).strategy == "code"
    assert route(asks, symbols=True, chat=True).strategy == "iterative", "the code was asked in vain"
    assert route(names, code=True, symbols=True, chat=True).strategy == "iterative"
    assert route(names, code=True, symbols=True).strategy == "fast", "without a model"
    assert route(names, code=True, chat=True).strategy == "fast", "the collection has no such symbol"
    assert route(PLAN, code=True, symbols=True, chat=True).strategy == "fast"


def test_prompts_that_say_how_to_answer_are_planned() -> None:
    ordered = replace(PLAN, constraints=PromptConstraints(min_searches=2))
    assert route(ordered, chat=True).strategy == "planned"
    assert route(ordered).strategy == "enhanced"
    assert route(replace(PLAN, constraints=PromptConstraints(requires_exact_quote=True)), chat=True).strategy == "fast"


def test_an_agent_answers_what_is_complex_if_there_is_a_model_for_it() -> None:
    hard = replace(PLAN, complexity=scored(0.55, "COMPLEX"), subquestions=("a?", "b?"))
    assert route(hard, chat=True).strategy == "react"
    assert route(PLAN, "react", chat=True).strategy == "react"
    assert route(hard).strategy == route(hard, "react").strategy == "enhanced"
    assert route(hard).degraded == (), "nobody asked for an agent"
    assert route(hard, "react").degraded == (
        "react needs a chat model, and none is configured: "
        "each of 2 parts of the question was searched for and answered by itself",
    )
    ordered = route(replace(PLAN, constraints=PromptConstraints(min_searches=2)))
    assert ordered.degraded == (
        "the steps that the question asks for need a chat model, and none is configured: "
        "the question was searched for and answered by itself",
    )


def test_the_exchange_is_among_the_last_four_messages_and_goes_back_to_a_real_question() -> None:
    more = (*TALK, turn("user", "tell me more"), turn("assistant", "It expires in March [1].", SOURCE))
    found = last_exchange(more, 4)
    assert found is not None
    assert (found.answer.content, found.question) == ("It expires in March [1].", "How many days of leave?")
    where = (*TALK, turn("user", "where does it say that?"), turn("assistant", "In section 2 [1].", SOURCE))
    asked = last_exchange(where, 4)
    assert asked is not None
    assert asked.question == "How many days of leave?"
    chat = (turn("user", "thanks"), turn("assistant", "You're welcome!"))
    within = last_exchange((*TALK, *chat), 4)
    assert within is not None
    assert within.answer.content == "Thirty days [1]."
    assert last_exchange((*TALK, *chat, *chat), 4) is None
    assert last_exchange(chat, 4) is None
    assert last_exchange((*TALK, *chat), context=2) is None
    assert last_exchange(TALK, context=0) is None


@pytest.mark.parametrize("narrowed", [{"filters": {"year": 2021}}, {"documents": ("ada.md",)}])
def test_the_graph_is_one_of_all_documents(narrowed: dict[str, Any]) -> None:
    related = replace(PLAN, ends=(("Ada", "Ben"),))
    assert route(related).strategy == "related"
    assert route(related, filtered=True).strategy == "fast"
    assert route(replace(related, **narrowed)).strategy == "fast"
