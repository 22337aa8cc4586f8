"""Which way a message goes, and why: the first row of `TABLE` that applies. Pure.

No row reads text: what a message asks for was found out once, by cairn/query/understand.py. Agents (planned, iterative, react)
need a chat model; without one each part of the question is searched and answered.

A strategy that the caller names always retrieves: it is the way out for a message that is taken for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cairn.domain.plan import Intent, Level, QueryPlan
from cairn.query.complexity import SEVERAL_STEPS
from cairn.query.multi_hop import multi_hop

Way = Literal[
    "reply", "clarify", "converse", "aggregate", "code", "summarize", "related", "fast", "enhanced", "react", "planned",
    "iterative", "corrective",
]  # fmt: skip
"""strategies/registry.py has the function of each; enhanced is fast with more to read."""

REPLIED: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic"})
AGENTS: Final = frozenset({"planned", "iterative", "react"})


@dataclass(frozen=True, slots=True)
class Route:
    """`degraded` tells the caller where this is less than what was asked for. `row`: of the table, "" where the caller chose."""

    strategy: Way | str
    reason: str
    degraded: tuple[str, ...] = ()
    row: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a way is chosen by: what is known of the message, and what there is to answer it with.

    `strategy`: named by the caller. `filtered`: the caller set conditions. `chat`: there is a chat model. `agentic`:
    rag.agenticRetrieval.enabled, without which the corrective strategy does not run. `code`, `symbols`: the code of the
    collection may be asked, and may have what the message names; False where it was looked up in vain.
    """

    plan: QueryPlan
    strategy: str = "auto"
    filtered: bool = False
    chat: bool = False
    agentic: bool = False
    code: bool = False
    symbols: bool = False

    @property
    def narrowed(self) -> bool:
        """Whether only some documents may answer."""
        return bool(self.filtered or self.plan.filters or self.plan.documents)

    @property
    def hops(self) -> str | None:
        """Why one search is hardly enough."""
        return multi_hop(self.plan)


@dataclass(frozen=True, slots=True)
class RouteRow:
    """`why` may name what it applies for: `{plan}`, `{hops}`, `{level}`."""

    name: str
    way: Way
    applies: Callable[[Situation], bool]
    why: str


def _at(level: Level) -> Callable[[Situation], bool]:
    return lambda on: on.plan.complexity.level == level


_SCORED: Final = "{level}: {plan.complexity.reasoning}"
BY_COMPLEXITY: Final = (
    RouteRow("simple", "fast", _at("SIMPLE"), _SCORED),
    # reading more quotes no more (docs/adr/0054-routing.md)
    RouteRow("several_steps", "fast", lambda on: on.plan.complexity.override == SEVERAL_STEPS and not on.chat, _SCORED),
    RouteRow("moderate", "enhanced", _at("MODERATE"), _SCORED),
    RouteRow("vague", "clarify", lambda on: _at("AMBIGUOUS")(on) and not (on.plan.entities or on.plan.has_terms), _SCORED),
    RouteRow("complex", "react", lambda _: True, _SCORED),
)  # fmt: skip
"""Of questions that are answered from what a search finds."""

TABLE: Final = (
    RouteRow(
        "code", "code",
        lambda on: on.code and bool(on.plan.code),
        "it asks for a relation or a declaration of code, which its symbols tell",
    ),
    RouteRow(
        "small_talk", "reply",
        lambda on: on.plan.intent.intent in REPLIED,
        "{plan.intent.intent}: {plan.intent.reason}",
    ),
    RouteRow(
        "unclear", "clarify",
        lambda on: on.plan.intent.intent == "clarify_needed",
        "it cannot be told what is asked: {plan.intent.reason}",
    ),
    RouteRow(
        "continued", "converse",
        lambda on: on.plan.continued is not None,
        "{plan.intent.intent} of the last answer: {plan.intent.reason}",
    ),
    RouteRow(
        "listing", "aggregate",
        lambda on: on.plan.listing is not None,
        "it asks about the documents as such, which SQL answers completely",
    ),
    RouteRow(
        "summary", "summarize",
        lambda on: on.plan.summary is not None,
        "it asks for a summary, which reads everything in order",
    ),
    RouteRow(
        "relation", "related",
        lambda on: bool(on.plan.ends) and not on.narrowed,  # the graph is one of all documents
        "it asks how two things are related: {plan.classification.reason}",
    ),
    RouteRow(
        "told_how", "planned",
        lambda on: on.plan.constraints.explicit,
        "it says how it is to be answered, which a plan keeps to",
    ),
    RouteRow("several_hops", "corrective", lambda on: on.agentic and bool(on.hops), "multi-hop: {hops}"),
    RouteRow(
        "symbols", "iterative",
        lambda on: on.symbols and bool(on.plan.symbols) and on.chat,
        "it names symbols of code, and their answer refers to other places",
    ),
    *BY_COMPLEXITY,
)  # fmt: skip


def choose(situation: Situation) -> Route:
    """See the module."""
    return _first(TABLE, situation) if situation.strategy == "auto" else _named(situation)


def by_complexity(situation: Situation) -> Route:
    """For questions that are answered from what a search finds."""
    return _first(BY_COMPLEXITY, situation)


def _first(table: Sequence[RouteRow], situation: Situation) -> Route:
    row = next(row for row in table if row.applies(situation))
    plan = situation.plan
    why = row.why.format(plan=plan, hops=situation.hops, level=plan.complexity.level.lower())
    return _route(row.way, why, situation, row.name)


def _named(situation: Situation) -> Route:
    name, why = situation.strategy, "named by the caller"
    if name == "corrective" and not situation.agentic:
        note = f"strategy {name!r} is switched off (rag.agenticRetrieval.enabled): ran fast"
        return Route("fast", f"the caller named {name!r}", (note,))
    ours = name in AGENTS or name in ("fast", "enhanced", "corrective")
    return _route(name, why if ours else f"{why}, from another package", situation)


def _route(way: str, why: str, situation: Situation, row: str = "") -> Route:
    """Without a chat model each part of what an agent would answer is searched and answered for itself. That is said where an
    agent was asked for, by its name or by the steps that a question wants taken; of any other question nothing is missing."""
    if way not in AGENTS or situation.chat:
        return Route(way, why, (), row)
    parts = situation.plan.subquestions
    searched = f"each of {len(parts)} parts of the question was" if parts else "the question was"
    asked = f"{way} needs" if not row else "the steps that the question asks for need"
    note = f"{asked} a chat model, and none is configured: {searched} searched for and answered by itself"
    return Route("enhanced", why, () if row in _BY_ITSELF else (note,), row)


_BY_ITSELF: Final = frozenset({"complex", "symbols"})
"""Rows that take an agent though nobody asked for one."""
