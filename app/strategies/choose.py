"""Which strategy runs a question, and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.question import Question, Strategy

BUILT: Final[frozenset[Strategy]] = frozenset({"fast"})
"""Strategies that exist; the others run fast and say so."""


@dataclass(frozen=True, slots=True)
class Route:
    """`degraded` tells the caller where this is less than what was asked for."""

    strategy: Strategy
    reason: str
    degraded: tuple[str, ...] = ()


def choose(question: Question) -> Route:
    """The strategy that the caller names, where it exists; `auto` is fast until questions are classified."""
    if question.strategy == "auto":
        return Route("fast", "auto: every question runs fast until questions are classified")
    if question.strategy in BUILT:
        return Route(question.strategy, "named by the caller")
    note = f"strategy {question.strategy!r} is not available in this version: ran fast"
    return Route("fast", f"the caller named {question.strategy!r}", (note,))
