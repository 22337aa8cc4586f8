"""Whether a question goes through another one: "who founded the company that makes X?" Pure.

The answer to the inner question ("the company that makes X") is not said, so one search finds the inner half, the outer one,
or neither. What tells is a description in place of a name: a noun with a relative clause or a participle, one description
inside another ("the capital of the country of ..."), or two possessives in a row.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from app.domain.plan import Intent, QueryPlan
from app.language.lexicon import DEFAULT, languages

QueryClass = Literal["DIRECT_ANSWER", "STANDARD_RAG", "MULTI_HOP_RAG"]
"""No retrieval, one pass, a loop."""
_DIRECT: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic", "clarify_needed"})

LONGEST: Final = 600
"""Characters; longer messages are pasted texts, whose relative clauses describe nothing that is asked for."""

_PATTERNS: Final = {
    one.code: tuple(re.compile(pattern, re.IGNORECASE) for pattern in one.questions.through_another)
    for one in languages()
}


def bridge(question: str, language: str) -> str | None:
    """The description that stands in place of a name; None where the question names what it asks about."""
    text = " ".join(question.split())
    if len(text) > LONGEST:
        return None
    found = (pattern.search(text) for pattern in _PATTERNS.get(language, _PATTERNS[DEFAULT]))
    return next((match.group() for match in found if match), None)


def multi_hop(plan: QueryPlan) -> str | None:
    """Why one pass is hardly enough: several questions, or one that goes through another; None where it may be."""
    if len(plan.subquestions) > 1:
        return f"{len(plan.subquestions)} sub-questions"
    inner = bridge(plan.text, plan.language)
    return f"it goes through another question: {inner!r}" if inner else None


def query_class(plan: QueryPlan) -> QueryClass:
    """By rules."""
    if plan.intent.intent in _DIRECT:
        return "DIRECT_ANSWER"
    return "MULTI_HOP_RAG" if multi_hop(plan) else "STANDARD_RAG"
