"""Which way a message goes, and why. Pure.

    greeting, gratitude, garbage, off_topic   a fixed reply, nothing is retrieved            reply
    clarify_needed, ambiguous without words   a question back                                clarify
    followup, simplify, deepen                from the last answer and its sources           converse
    about the collection                      by SQL                                         aggregate
    a relation, a declaration of code         by its symbols                                 code
    summaries                                 everything, in order                           summarize
    how two things are related                the way between them in the graph              related
    says how it is to be answered             by a plan, with a gate for the answer          planned
    names symbols of code                     answers, and fetches what it misses            iterative
    multi-hop, with agenticRetrieval.enabled  graded, rewritten, checked                     corrective
    the rest, by complexity                   < .35 fast, < .55 enhanced, agent from there   fast, enhanced, react

Agents (planned, iterative, react) need a chat model; without one each part of the question is searched and answered.

A strategy that the caller names always retrieves: it is the way out for a message that is taken for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from cairn.domain.plan import Intent, QueryPlan
from cairn.domain.question import Question, Turn
from cairn.language.tokens import terms
from cairn.query.complexity import SEVERAL_STEPS
from cairn.query.constraints import constraints_of
from cairn.query.intent import hard_rules
from cairn.query.multi_hop import multi_hop
from cairn.query.related import ends_of
from cairn.query.summarize import asks_summary

Way = Literal[
    "reply", "clarify", "converse", "aggregate", "code", "summarize", "related", "fast", "enhanced", "react", "planned",
    "iterative", "corrective",
]  # fmt: skip
"""agents/strategies.py has the function of each; enhanced is fast with more to read."""

REPLIED: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic"})
CONTINUED: Final[frozenset[Intent]] = frozenset({"followup", "simplify", "deepen"})


@dataclass(frozen=True, slots=True)
class Route:
    """`degraded` tells the caller where this is less than what was asked for."""

    strategy: Way | str
    reason: str
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer that stands on sources, and the question that it goes back to; "" where that was too long ago."""

    question: str
    answer: Turn


@dataclass(frozen=True, slots=True)
class Means:
    """What a question can be answered with. `context`: last messages among which is the answer that is gone on from.
    `symbols`: the question names symbols of code that the collection holds; `code`: the symbols answer it.
    `chat`: there is a chat model. `agentic`: rag.agenticRetrieval.enabled, without which the corrective strategy does not
    run."""

    context: int = 4
    symbols: bool = False
    code: bool = False
    chat: bool = False
    agentic: bool = False


def choose(question: Question, plan: QueryPlan, means: Means = Means()) -> Route:
    """See the module."""
    if question.strategy != "auto":
        return _named(question, plan, means)
    if means.code:
        return Route("code", "it asks for a relation or a declaration of code, which its symbols tell")
    intent = plan.intent.intent
    if intent in REPLIED:
        return Route("reply", f"{intent}: {plan.intent.reason}")
    if intent == "clarify_needed":
        return Route("clarify", f"it cannot be told what is asked: {plan.intent.reason}")
    if intent in CONTINUED and last_exchange(question.history, means.context):
        return Route("converse", f"{intent} of the last answer: {plan.intent.reason}")
    if plan.listing:
        return Route("aggregate", "it asks about the documents as such, which SQL answers completely")
    if plan.summarize or asks_summary(plan.text, plan.language):
        return Route("summarize", "it asks for a summary, which reads everything in order")
    if _asks_way(question, plan):
        return Route("related", f"it asks how two things are related: {plan.classification.reason}")
    if constraints_of(question.text).explicit:
        return _agent("planned", "it says how it is to be answered, which a plan keeps to", plan, means)
    if means.agentic and (why := multi_hop(plan)):
        return Route("corrective", f"multi-hop: {why}")
    if means.symbols and means.chat:
        return Route("iterative", "it names symbols of code, and their answer refers to other places")
    return by_complexity(plan, means)


def _asks_way(question: Question, plan: QueryPlan) -> bool:
    """Not where only some documents may answer: the graph is one of all of them."""
    narrowed = question.filters or plan.filters or plan.documents
    return plan.classification.type == "RELATIONAL" and not narrowed and bool(ends_of(plan.text, plan.language))


def _named(question: Question, plan: QueryPlan, means: Means) -> Route:
    why = "named by the caller"
    match question.strategy:
        case "react" | "planned" | "iterative" as agent:
            return _agent(agent, why, plan, means)
        case "fast" | "enhanced" as way:
            return Route(way, why)
        case "corrective" if means.agentic:
            return Route("corrective", why)
        case other if other != "corrective":
            return Route(other, f"{why}, from another package")
    note = f"strategy {question.strategy!r} is switched off (rag.agenticRetrieval.enabled): ran fast"
    return Route("fast", f"the caller named {question.strategy!r}", (note,))


def by_complexity(plan: QueryPlan, means: Means) -> Route:
    """For questions that are answered from what a search finds."""
    complexity = plan.complexity
    why = f"{complexity.level.lower()}: {complexity.reasoning}"
    if complexity.level == "SIMPLE":
        return Route("fast", why)
    if (
        complexity.override == SEVERAL_STEPS and not means.chat
    ):  # reading more quotes no more (docs/adr/0054-routing.md)
        return Route("fast", why)
    if complexity.level == "MODERATE":
        return Route("enhanced", why)
    if complexity.level == "AMBIGUOUS" and not plan.entities and not terms(plan.text):
        return Route("clarify", why)
    return _agent("react", why, plan, means)


def _agent(way: Way, why: str, plan: QueryPlan, means: Means) -> Route:
    """Without a chat model each part of the question is searched and answered for itself."""
    if means.chat:
        return Route(way, why)
    searched = f"{len(plan.subquestions)} sub-questions" if plan.subquestions else "the whole question"
    return Route("enhanced", why, (f"{way} needs a chat model, and none is configured: ran enhanced on {searched}",))


def last_exchange(history: tuple[Turn, ...], context: int = 4) -> Exchange | None:
    """The last answer with sources among the last `context` messages, and what it answered; None where there is none.

    "Tell me more" answers nothing by itself: what was asked before it counts.
    """
    for at in range(len(history) - 1, max(len(history) - context, 0) - 1, -1):
        turn = history[at]
        if turn.role == "assistant" and turn.sources:
            asked = (before.content for before in reversed(history[:at]) if before.role == "user")
            return Exchange(next((text for text in asked if _asks(text)), ""), turn)
    return None


def _asks(message: str) -> bool:
    """Whether a message says what it is about."""
    match = hard_rules(message, has_history=True)
    return match is None or match.intent in ("question", "command")
