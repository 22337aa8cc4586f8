"""What a run leaves behind for analysts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

BELOW_TOP_K = "below top_k"
"""The fate of most candidates."""


@dataclass(frozen=True, slots=True)
class LegTrace:
    """Candidates of one leg (or of fusion) as parallel arrays, best first; those of which a leg has nothing are empty.

    `chunk_ids`: of a leg that finds chunks, the best one of each passage. `shares`: contribution to the RRF score; for "fused"
    the rerank score (NaN where not reranked). `fates`: for "fused", kept or why it was dropped.
    `leg` of the n-th search of a run, from the second on, ends in #n; "merged" is the list made of several searches.
    """

    leg: str
    passage_ids: Sequence[UUID]
    scores: Sequence[float]
    chunk_ids: Sequence[UUID | None] = ()
    shares: Sequence[float] = ()
    fates: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunTrace:
    """One search or question; columns of rag.runs. `outcome` is running of one that is traced while it is under way. `asked_by`:
    Caller.id; None of traces from before that was noted. `asked_as`: Principal.names, of which those are kept that access
    lists name, and `held`: Caller.asked_as, which are kept."""

    id: UUID
    tenant_id: int
    started_at: datetime
    kind: Literal["search", "query"]
    collections: tuple[str, ...]
    question: str
    settings_revision: str
    outcome: Literal["ok", "error", "cancelled", "running"]
    strategy: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    legs_used: tuple[str, ...] = ()
    legs_failed: Mapping[str, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    epochs: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    document_ids: tuple[UUID, ...] = ()
    legs: Sequence[LegTrace] = ()
    session_id: str | None = None
    asked_by: str | None = None
    asked_as: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it; fields as in RunTrace. `answered` and `grounded`: verdicts on its answer; None without one."""

    id: UUID
    kind: Literal["search", "query"]
    started_at: datetime
    collections: tuple[str, ...]
    question: str
    strategy: str | None
    outcome: Literal["ok", "error", "cancelled", "running"]
    error: str | None
    timings_ms: Mapping[str, float]
    usage: Mapping[str, Any]
    degraded: tuple[str, ...]
    answered: str | None
    grounded: bool | None
    confidence_word: str | None


@dataclass(frozen=True, slots=True)
class StageVerdict:
    """What a stage of a search made of a passage, in plain words; its rank (from 1) and score there, where it has any."""

    stage: str
    verdict: str
    rank: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class DayOfAnswers:
    """Of the questions of a day: how many the documents did not answer, how many answers were not sure, how many failed, and what
    readers thought of them."""

    day: date
    questions: int
    refused: int
    unsure: int
    failed: int
    good: int
    bad: int


# --- What calls of models cost, in tokens, money and time ---

Prices = Mapping[str, tuple[float, float]]
"""Model to the price of a million input tokens and of a million output tokens, in one currency."""


@dataclass(frozen=True, slots=True)
class Spend:
    """One call, or several: spends add up, and `Spend()` is nothing spent.

    `calls` are HTTP requests, repeats included. `estimated`: a server did not report some of the tokens. `cost` is None as soon
    as one call's is not known, because a sum of the known ones would look like the whole; `priced` is that sum. `seconds` is
    the time of all calls together. `models`: each one once.
    """

    models: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    calls: int = 0
    seconds: float = 0.0
    estimated: bool = False
    priced: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            tuple(dict.fromkeys((*self.models, *other.models))),
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.estimated or other.estimated,
            self.priced + other.priced,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def usage(self) -> dict[str, Any]:
        """As it stands in answers and traces: model, input_tokens, output_tokens, estimated, cost, calls, seconds."""
        return {
            "model": ", ".join(self.models) or None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "estimated": self.estimated,
            "cost": None if self.cost is None else round(self.cost, 8),
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
        }


def one_call(
    model: str, input_tokens: int, output_tokens: int, seconds: float, prices: Prices, *, calls: int = 1,
    estimated: bool = False,
) -> Spend:  # fmt: skip
    """The spend of a single call, with so many requests; its cost is None without a price for the model."""
    price = prices.get(model)
    cost = (input_tokens * price[0] + output_tokens * price[1]) / 1_000_000 if price else None
    return Spend((model,), input_tokens, output_tokens, cost, calls, seconds, estimated, cost or 0.0)
