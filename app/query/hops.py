"""Whether a question goes through another one: "who founded the company that makes X?" Pure; four languages.

The answer to the inner question ("the company that makes X") is not said, so one search finds the inner half, the outer one,
or neither. What tells is a description in place of a name: a noun with a relative clause or a participle, one description
inside another ("the capital of the country of ..."), or two possessives in a row.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from app.domain.plan import Intent, QueryPlan

QueryClass = Literal["DIRECT_ANSWER", "STANDARD_RAG", "MULTI_HOP_RAG"]
"""No retrieval, one pass, a loop."""
_DIRECT: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic", "clarify_needed"})

LONGEST: Final = 600
"""Characters; longer messages are pasted texts, whose relative clauses describe nothing that is asked for."""

_NOUN = r"(?:[\w'’-]+\s+){0,3}?[\w'’-]+"
_PARTICIPLE = (
    r"(?:born|located|situated|based|published|directed|written|founded|created|released|produced|owned|played|sung|performed|"
    r"starring|featuring|featured|named|known|called|containing|holding|bordering|recorded|developed|designed|built|used|"
    r"headquartered|portrayed|composed|married|credited|considered)"
)
_ROLE = (
    r"(?:author|writer|composer|singer|performer|artist|director|producer|founder|creator|designer|owner|publisher|developer|"
    r"manufacturer|inventor|president|leader|head|husband|wife|spouse|father|mother|brother|sister|birthplace|employer)"
)
"""What names a thing by another one; asked for directly ("who is the author of X?") it is one fact."""
_PATTERNS: Final = {
    "en": (
        rf"\b(?:the|a|an|which|what)\s+{_NOUN},?\s+(?:that|who|whom|whose|where|in\s+which|of\s+which|for\s+which|with\s+which|to\s+which)\s+\w",
        rf"\b(?:the|a|an)\s+{_NOUN}\s+{_PARTICIPLE}\s+(?:by|in|on|of|at|as|for|from|the|with|to)\b",
        rf"\bthe\s+{_NOUN}\s+(?:of|in|for|by)\s+the\s+{_NOUN}\s+(?:of|in|where|that|who|by|for)\s+\w",
        rf"\b(?:by|did|does|do|of|from|for|to|with|(?<!who )(?<!what )(?:is|was))\s+the\s+(?:\w+\s+)?{_ROLE}\s+of\s+\w",
        r"\b[\w-]+['’]s\s+(?:\w+\s+){0,2}?[\w-]+['’]s\s+\w",
    ),
    "fr": (
        rf"\b(?:l[ea]|l['’]|une?|d[ue]|quel(?:le)?)\s*{_NOUN}\s+(?:qui|que|qu['’]|dont|où|(?:dans|pour|avec|à)\s+laquelle|auquel|duquel)\s*\w",
        rf"\b(?:le|la|l['’])\s*{_NOUN}\s+(?:du|de\s+la|de\s+l['’])\s*{_NOUN}\s+(?:qui|dont|où|que|du|de\s+la)\s*\w",
    ),
    "es": (
        rf"\b(?:el|la|un|una|del|al|qué)\s+{_NOUN}\s+(?:que|cuy[oa]s?|donde|en\s+(?:el|la)\s+que|del?\s+(?:la\s+)?que)\s+\w",
        rf"\b(?:el|la)\s+{_NOUN}\s+(?:del|de\s+la)\s+{_NOUN}\s+(?:que|donde|cuy[oa]|del|de\s+la)\s+\w",
    ),
    "de": (
        rf"\b(?:de[rmns]|die|das|eine?[rmns]?|welche[rsmn]?)\s+{_NOUN},\s+(?:in\s+|mit\s+|auf\s+|von\s+)?(?:de[rmn]|die|das|dessen|deren|wo)\s+\w",
        rf"\b(?:de[rs]|die|das)\s+{_NOUN}\s+(?:des|der)\s+{_NOUN}\s+(?:des|der)\s+\w",
    ),
}  # fmt: skip
_COMPILED: Final = {
    language: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    for language, patterns in _PATTERNS.items()
}


def bridge(question: str, language: str) -> str | None:
    """The description that stands in place of a name; None where the question names what it asks about."""
    text = " ".join(question.split())
    if len(text) > LONGEST:
        return None
    found = (pattern.search(text) for pattern in _COMPILED.get(language, _COMPILED["en"]))
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
