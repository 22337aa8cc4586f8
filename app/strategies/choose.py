"""Which way a message goes, and why. Pure.

    greeting, gratitude, garbage, off_topic   a fixed reply, nothing is retrieved            reply
    clarify_needed, ambiguous without words   a question back                                clarify
    followup, simplify, deepen                from the last answer and its sources           converse
    about the collection                      by SQL                                         aggregate
    summaries                                 everything, in order                           summarize
    multi-hop, with agenticRetrieval.enabled           graded, rewritten, checked                      corrective
    the rest, by complexity                   < .35 fast, < .55 enhanced, agent from there   fast, enhanced

A strategy that the caller names always retrieves: it is the way out for a message that is taken for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from app.answer.terms import words
from app.domain.conversation import Turn
from app.domain.plan import Intent, QueryPlan
from app.domain.question import Question
from app.query.hops import multi_hop
from app.query.intent import hard_rules
from app.query.summarize import asks_summary

Way = Literal["reply", "clarify", "converse", "aggregate", "summarize", "fast", "enhanced", "corrective"]
"""Each is a file here (enhanced is fast with more to read)."""

REPLIED: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic"})
CONTINUED: Final[frozenset[Intent]] = frozenset({"followup", "simplify", "deepen"})


@dataclass(frozen=True, slots=True)
class Route:
    """`degraded` tells the caller where this is less than what was asked for."""

    strategy: Way
    reason: str
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer that stands on sources, and the question that it goes back to; "" where that was too long ago."""

    question: str
    answer: Turn


def choose(question: Question, plan: QueryPlan, context: int = 4, *, agentic: bool = False) -> Route:
    """See the module. `context`: last messages among which is the answer that is gone on from (A1.24). `agentic`:
    rag.agenticRetrieval.enabled, without which the corrective strategy does not run (A13.06)."""
    if question.strategy != "auto":
        return _named(question, agentic)
    intent = plan.intent.intent
    if intent in REPLIED:
        return Route("reply", f"{intent}: {plan.intent.reason}")
    if intent == "clarify_needed":
        return Route("clarify", f"it cannot be told what is asked: {plan.intent.reason}")
    if intent in CONTINUED and last_exchange(question.history, context):
        return Route("converse", f"{intent} of the last answer: {plan.intent.reason}")
    if plan.about_collection:
        return Route("aggregate", "it asks about the documents as such, which SQL answers completely")
    if plan.summarize or asks_summary(plan.text):
        return Route("summarize", "it asks for a summary, which reads everything in order")
    if agentic and (why := multi_hop(plan)):
        return Route("corrective", f"multi-hop: {why}")
    return _by_complexity(plan)


def _named(question: Question, agentic: bool) -> Route:
    if question.strategy == "corrective":
        if agentic:
            return Route("corrective", "named by the caller")
        note = "strategy 'corrective' is switched off (rag.agenticRetrieval.enabled): ran fast"
        return Route("fast", "the caller named 'corrective'", (note,))
    if question.strategy in ("fast", "enhanced"):
        return Route("fast" if question.strategy == "fast" else "enhanced", "named by the caller")
    note = f"strategy {question.strategy!r} is not available in this version: ran fast"
    return Route("fast", f"the caller named {question.strategy!r}", (note,))


def _by_complexity(plan: QueryPlan) -> Route:
    complexity = plan.complexity
    why = f"{complexity.level.lower()}: {complexity.reasoning}"
    if complexity.level == "SIMPLE":
        return Route("fast", why)
    if complexity.level == "MODERATE":
        return Route("enhanced", why)
    if complexity.level == "AMBIGUOUS" and not plan.entities and not words(plan.text):
        return Route("clarify", why)
    searched = f"{len(plan.subquestions)} sub-questions" if plan.subquestions else "the whole question"
    return Route("enhanced", why, (f"agent strategies are not available in this version: ran enhanced on {searched}",))


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
