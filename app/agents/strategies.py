"""Every way to answer, by name: what `answering` can do, and what agents can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.agents.policies.corrective import corrective
from app.agents.policies.iterative import iterative
from app.agents.policies.planned import planned
from app.agents.policies.react import react
from app.answering.aggregate import aggregate
from app.answering.code import code
from app.answering.context import Strategy
from app.answering.converse import converse
from app.answering.fast import fast
from app.answering.related import related
from app.answering.replies import clarify, reply
from app.answering.summarize import summarize

STRATEGIES: Final[Mapping[str, Strategy]] = {
    "reply": reply,
    "clarify": clarify,
    "converse": converse,
    "aggregate": aggregate,
    "code": code,
    "summarize": summarize,
    "related": related,
    "fast": fast,
    "enhanced": fast,
    "planned": planned,
    "iterative": iterative,
    "react": react,
    "corrective": corrective,
}
