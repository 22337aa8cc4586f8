"""How many passes a question needs: several questions, one that goes through another, or one whose answer is spread over many
places (cairn/language/bridge.py). Pure."""

from __future__ import annotations

from typing import Final, Literal

from cairn.domain.plan import Intent, QueryPlan

QueryClass = Literal["DIRECT_ANSWER", "STANDARD_RAG", "MULTI_HOP_RAG"]
"""No retrieval, one pass, a loop."""
_DIRECT: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic", "clarify_needed"})


def multi_hop(plan: QueryPlan) -> str | None:
    """Why one pass is hardly enough; None where it may be."""
    if len(plan.subquestions) > 1:
        return f"{len(plan.subquestions)} sub-questions"
    if plan.inner:
        return f"it goes through another question: {plan.inner!r}"
    return f"its answer is spread over many places: {plan.spread!r}" if plan.spread else None


def query_class(plan: QueryPlan) -> QueryClass:
    """By rules."""
    if plan.intent.intent in _DIRECT:
        return "DIRECT_ANSWER"
    return "MULTI_HOP_RAG" if multi_hop(plan) else "STANDARD_RAG"
