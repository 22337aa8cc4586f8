"""Every way to answer, by name: the fixed ones, those of agents, and what installed packages add.

A strategy is a coroutine function of a `Run` that returns an `Outcome`; docs/extending.md has a recipe for one of your own.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Final, cast, get_args

from cairn.domain.question import BuiltInStrategy
from cairn.plugins import extensions, once
from cairn.runs.context import Strategy
from cairn.strategies.agents.policies.corrective import corrective
from cairn.strategies.agents.policies.iterative import iterative
from cairn.strategies.agents.policies.planned import planned
from cairn.strategies.agents.policies.react import react
from cairn.strategies.aggregate import aggregate
from cairn.strategies.code import code
from cairn.strategies.converse import converse
from cairn.strategies.fast import fast
from cairn.strategies.related import related
from cairn.strategies.replies import clarify, reply
from cairn.strategies.summarize import summarize

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


@once
def all_strategies() -> Mapping[str, Strategy]:
    """Ours, and those of entry points `cairn.strategies`."""
    return {**STRATEGIES, **extensions("strategies", _coroutine_function, {"auto", *STRATEGIES})}


def strategy_names() -> tuple[str, ...]:
    """What a caller may name."""
    return (*get_args(BuiltInStrategy), *(name for name in all_strategies() if name not in STRATEGIES))


def _coroutine_function(name: str, loaded: object) -> Strategy:
    if not inspect.iscoroutinefunction(loaded):
        raise TypeError(f"it is {type(loaded).__name__}, not an async function of a Run")
    return cast("Strategy", loaded)
