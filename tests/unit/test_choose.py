"""Which way a message goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.plan import Classification, ComplexityScore, FusionWeights, IntentMatch, ListRequest, QueryPlan
from cairn.domain.question import Question, SourceRef, Turn
from cairn.runs.choose import Means, choose, last_exchange

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


def asked(strategy: Any = "auto", history: tuple[Turn, ...] = ()) -> Question:
    return Question("x", "handbook", UUID(int=7), strategy=strategy, history=history)


def meaning(intent: Any) -> QueryPlan:
    return replace(PLAN, intent=IntentMatch(intent, 0.9, 0, "a rule"))


@pytest.mark.parametrize("intent", ["greeting", "gratitude", "garbage", "off_topic"])
def test_small_talk_is_replied_to_without_retrieval(intent: str) -> None:
    route = choose(asked(), meaning(intent))
    assert (route.strategy, route.degraded) == ("reply", ())
    assert route.reason == f"{intent}: a rule"


def test_what_cannot_be_understood_is_asked_back() -> None:
    assert choose(asked(), meaning("clarify_needed")).strategy == "clarify"


@pytest.mark.parametrize("intent", ["followup", "simplify", "deepen"])
def test_context_intents_go_on_from_the_last_answer_or_retrieve(intent: str) -> None:
    assert choose(asked(history=TALK), meaning(intent)).strategy == "converse"
    assert choose(asked(), meaning(intent)).strategy == "fast"


@pytest.mark.parametrize(
    ("level", "score", "strategy", "notes"),
    [("SIMPLE", 0.34, "fast", 0), ("MODERATE", 0.35, "enhanced", 0), ("COMPLEX", 0.55, "enhanced", 1)],
)
def test_complexity_chooses(level: Any, score: float, strategy: str, notes: int) -> None:
    route = choose(asked(), replace(PLAN, complexity=ComplexityScore(score, level, {}, f"it is {level}")))
    assert (route.strategy, len(route.degraded)) == (strategy, notes)
    assert f"it is {level}" in route.reason


def test_an_ambiguous_message_is_asked_back_only_when_it_names_nothing() -> None:
    """With something to look for, the documents may settle it."""
    ambiguous = replace(PLAN, complexity=ComplexityScore(0.65, "AMBIGUOUS", {}, "ambiguous"))
    assert choose(asked(), replace(ambiguous, text="it?")).strategy == "clarify"
    assert choose(asked(), ambiguous).strategy == "enhanced"


def test_questions_about_the_documents_go_to_sql_whatever_their_complexity() -> None:
    meta = ComplexityScore(0.75, "COMPLEX", {}, "meta", "database_meta")
    assert choose(asked(), replace(PLAN, listing=ListRequest(), complexity=meta)).strategy == "aggregate"


@pytest.mark.parametrize("text", ["Summarize the refund policy", "Fasse den Bericht zusammen", "Résume le contrat"])
def test_summaries_read_in_order(text: str) -> None:
    assert choose(asked(), replace(PLAN, text=text)).strategy == "summarize"
    assert choose(asked(), replace(PLAN, summarize=True)).strategy == "summarize"


def test_a_strategy_that_the_caller_names_always_retrieves() -> None:
    for plan in (meaning("greeting"), replace(PLAN, listing=ListRequest()), replace(PLAN, summarize=True)):
        assert choose(asked("fast"), plan).strategy == "fast"
        assert choose(asked("enhanced"), plan).strategy == "enhanced"


HOPS = replace(PLAN, text="Who founded the company that makes the Clio?")


@pytest.mark.parametrize("plan", [HOPS, replace(PLAN, subquestions=("What is A?", "What is B?"))])
def test_multi_hop_questions_go_to_corrective_where_it_is_switched_on(plan: QueryPlan) -> None:
    assert choose(asked(), plan, Means(agentic=True)).strategy == "corrective"
    assert choose(asked(), plan).strategy == "fast"
    assert choose(asked(), PLAN, Means(agentic=True)).strategy == "fast", "a single fact takes one pass"
    assert choose(asked(), replace(plan, listing=ListRequest()), Means(agentic=True)).strategy == "aggregate"


def test_naming_corrective_runs_it_only_where_it_is_switched_on() -> None:
    assert choose(asked("corrective"), meaning("greeting"), Means(agentic=True)).strategy == "corrective"
    off = choose(asked("corrective"), HOPS)
    assert off.strategy == "fast"
    assert off.degraded == ("strategy 'corrective' is switched off (rag.agenticRetrieval.enabled): ran fast",)


@pytest.mark.parametrize("strategy", ["react", "planned", "iterative"])
def test_agents_run_where_there_is_a_model(strategy: str) -> None:
    assert choose(asked(strategy), PLAN, Means(chat=True)).strategy == strategy
    without = choose(asked(strategy), PLAN)
    assert without.strategy == "enhanced"
    assert without.degraded == (
        f"{strategy} needs a chat model, and none is configured: ran enhanced on the whole question",
    )


def test_symbols_of_code_go_to_the_graph_or_are_read_around() -> None:
    assert choose(asked(), PLAN, Means(code=True)).strategy == "code"
    assert choose(asked(), PLAN, Means(symbols=True, chat=True)).strategy == "iterative"
    assert choose(asked(), PLAN, Means(symbols=True)).strategy == "fast"
    assert choose(asked(), PLAN, Means(chat=True)).strategy == "fast"


def test_prompts_that_say_how_to_answer_are_planned() -> None:
    ordered = replace(asked(), text="Do two separate searches, then say how many days of leave there are.")
    assert choose(ordered, PLAN, Means(chat=True)).strategy == "planned"
    assert choose(ordered, PLAN).strategy == "enhanced"


def test_an_agent_answers_what_is_complex_if_there_is_a_model_for_it() -> None:
    hard = replace(PLAN, complexity=ComplexityScore(0.55, "COMPLEX", {}, "hard"), subquestions=("a?", "b?"))
    assert choose(asked(), hard, Means(chat=True)).strategy == "react"
    assert choose(asked("react"), PLAN, Means(chat=True)).strategy == "react"
    for route in (choose(asked(), hard), choose(asked("react"), hard)):
        assert route.strategy == "enhanced"
        assert route.degraded == ("react needs a chat model, and none is configured: ran enhanced on 2 sub-questions",)


def test_the_exchange_is_among_the_last_four_messages_and_goes_back_to_a_real_question() -> None:
    more = (*TALK, turn("user", "tell me more"), turn("assistant", "It expires in March [1].", SOURCE))
    found = last_exchange(more)
    assert found is not None
    assert (found.answer.content, found.question) == ("It expires in March [1].", "How many days of leave?")
    chat = (turn("user", "thanks"), turn("assistant", "You're welcome!"))
    within = last_exchange((*TALK, *chat))
    assert within is not None
    assert within.answer.content == "Thirty days [1]."
    assert last_exchange((*TALK, *chat, *chat)) is None
    assert last_exchange(chat) is None
    assert last_exchange((*TALK, *chat), context=2) is None
    assert last_exchange(TALK, context=0) is None


RELATED = replace(
    PLAN, text="How are Ada and Ben related?", classification=Classification("RELATIONAL", 0.8, "en: related")
)


def test_questions_how_two_things_are_related_go_to_the_graph() -> None:
    assert choose(asked(), RELATED).strategy == "related"
    assert choose(asked("fast"), RELATED).strategy == "fast"
    assert choose(asked(), replace(RELATED, text="What is Ada related to?")).strategy == "fast"
    assert choose(asked(), replace(RELATED, classification=Classification("COMPARATIVE", 0.8, "x"))).strategy == "fast"


@pytest.mark.parametrize("narrowed", [{"filters": {"year": 2021}}, {"documents": ("ada.md",)}])
def test_the_graph_is_one_of_all_documents(narrowed: dict[str, Any]) -> None:
    assert choose(asked(), replace(RELATED, **narrowed)).strategy == "fast"
