"""What one run may spend: calls of models, tokens, money; of agent strategies wall clock and calls of tools as well.

A run has one budget, which is its meter: every model of the run is taken from it. A call gets at most the time and the tokens
that are left, and no request is sent, nor repeated, when none is. A reserve is kept for the answer: `out()` and calls that
gather come to their end before those that write and check it do. What is refused raises BudgetExceededError, a ProviderError,
so a strategy that bears a model's failure (as all do: the answer is extracted then) bears this as well.

Agent strategies open it (`run.record.open_budget(run.settings)`), which starts the clock, and ask `budget.out()` before each
step.
"""

from __future__ import annotations

import math
from time import monotonic
from typing import Any, Final

from cairn.providers.metered import FEWEST_TOKENS, Account, Meter
from cairn.settings import AgentSettings, AnswerSettings

ANSWERING: Final = frozenset({"generate", "retry", "ground"})
"""Purposes of calls that may use the reserve: writing the answer, and checking it."""
RESERVED: Final = 0.25
"""Share of a limit that the reserve for the answer takes at most."""
RESERVED_CALLS: Final = 2
"""Calls of the reserve: writing the answer, and either checking it or writing it again after a failure."""


class Budget(Meter):
    """Of one run. `exceeded` is the first limit that was hit, in words, or None."""

    def __init__(self, limits: AgentSettings, answer: AnswerSettings, account: Account | None = None) -> None:
        super().__init__(answer.prices, account)
        self.limits = limits
        self.silent_seconds = answer.silent_seconds
        self.exceeded: str | None = None
        self.tool_calls = 0
        self._made = monotonic()
        self._started: float | None = None
        worth = answer.max_context_tokens + answer.max_output_tokens
        self._kept_seconds = min(answer.timeout_seconds, RESERVED * limits.seconds)
        self._kept_tokens = min(worth, int(RESERVED * limits.tokens))
        self._kept_calls = min(RESERVED_CALLS, max(1, int(RESERVED * limits.model_calls)))

    def start(self) -> None:
        """From now on the wall clock counts; the same when told again."""
        self._started = self._started or monotonic()

    @property
    def started(self) -> bool:
        return self._started is not None

    @property
    def used(self) -> bool:
        """Whether there is something to tell of it."""
        return self.started or self.calls > 0 or self.exceeded is not None

    def seconds_left(self, *, for_answer: bool = False) -> float:
        """At least 0; without the reserve unless it is `for_answer`. Without end before the start."""
        if self._started is None:
            return math.inf
        kept = 0.0 if for_answer else self._kept_seconds
        return max(0.0, self.limits.seconds - kept - (monotonic() - self._started))

    def tokens_left(self, *, for_answer: bool = False) -> int:
        """Without those that calls under way may take."""
        kept = 0 if for_answer else self._kept_tokens
        return max(0, self.limits.tokens - kept - self.spend.tokens - self.tokens_held)

    def out(self, *, for_answer: bool = False, read: int = 0) -> str | None:
        """See Meter. Then the strategy ends with what it has, and the answer says so."""
        limits = self.limits
        reason = None
        if self.seconds_left(for_answer=for_answer) <= 0:
            reason = f"its time ({limits.seconds:g} s)"
        elif self.calls >= limits.model_calls - (0 if for_answer else self._kept_calls):
            reason = f"its calls of models ({limits.model_calls})"
        elif self.tokens_left(for_answer=for_answer) - read < FEWEST_TOKENS:
            reason = f"its tokens ({limits.tokens:,})"
        elif limits.cost and self.priced >= limits.cost * (1 if for_answer else 1 - RESERVED):
            reason = f"its cost ({limits.cost:g})"
        return self._note(reason)

    def take_tool_call(self) -> str | None:
        """Count one call of a tool, or say why it must not be made."""
        if self.tool_calls >= self.limits.tool_calls:
            return self._note(f"its calls of tools ({self.limits.tool_calls})")
        if self.seconds_left() <= 0:
            return self.out()
        self.tool_calls += 1
        return None

    def describe(self) -> dict[str, Any]:
        """For routes and traces."""
        spend = self.spend
        return {
            "seconds": round(monotonic() - (self._started or self._made), 3), "model_calls": self.calls,
            "tokens": spend.tokens, "cost": spend.usage()["cost"], "tool_calls": self.tool_calls,
            "exceeded": self.exceeded,
        }  # fmt: skip

    def note_exceeded(self, reason: str) -> None:
        """See Meter."""
        self._note(reason)

    def _note(self, reason: str | None) -> str | None:
        self.exceeded = self.exceeded or reason
        return reason
