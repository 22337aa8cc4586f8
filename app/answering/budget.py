"""What one run of an agent strategy may spend: wall clock, calls of models, tokens, money, calls of tools.

A strategy opens it once (`run.record.open_budget(run.settings)`) and asks `budget.out()` before each step. Every model that
is metered from then on is bounded: a call gets at most the time and the tokens that are left, and none is made when
nothing is. A reserve, a last call's worth, is kept for the answer: `out()` and calls that gather come to their end before
those that write and check it do. What is refused raises BudgetExceededError, a ProviderError, so a strategy that bears a
model's failure (as all do: the answer is extracted then) bears this as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from time import monotonic
from typing import Any, Final, TypeVar

from app.domain.trace import Spend
from app.errors import BudgetExceededError, ProviderError, ProviderTimeoutError
from app.providers.protocols import (
    Acted,
    ChatModel,
    Completion,
    Delta,
    Message,
    Schema,
    Structured,
    ToolChoice,
    ToolSpec,
    Usage,
)
from app.settings import AgentSettings, AnswerSettings

_Said = TypeVar("_Said", Completion, Acted, Structured)

ANSWERING: Final = frozenset({"generate", "retry", "ground"})
"""Purposes of calls that may use the reserve: writing the answer, and checking it."""
RESERVED: Final = 0.25
"""Share of a limit that the reserve for the answer takes at most."""
CHARS_PER_TOKEN: Final = 4
"""For servers that do not report usage; about right for English, too many tokens for no language with spaces."""
FEWEST_TOKENS: Final = 16
GRACE: Final = 0.5
"""Seconds after which a provider that ignores its deadline is cut off."""


class Budget:
    """Of one run; it begins when it is made. `exceeded` is the first limit that was hit, in words, or None."""

    def __init__(self, limits: AgentSettings, answer: AnswerSettings) -> None:
        self.limits = limits
        self.exceeded: str | None = None
        self.calls = self.tokens = self.tool_calls = 0
        self.cost = 0.0
        self._prices = answer.prices
        self._began = monotonic()
        worth = answer.max_context_tokens + answer.max_output_tokens
        self._kept_seconds = min(answer.timeout_seconds, RESERVED * limits.seconds)
        self._kept_tokens = min(worth, int(RESERVED * limits.tokens))

    def add(self, spend: Spend) -> None:
        """What was spent before, on understanding the question."""
        self.calls += spend.calls
        self.tokens += (spend.input_tokens or 0) + (spend.output_tokens or 0)
        self.cost += spend.cost or 0.0

    def seconds_left(self, *, for_answer: bool = False) -> float:
        """At least 0; without the reserve unless it is `for_answer`."""
        kept = 0.0 if for_answer else self._kept_seconds
        return max(0.0, self.limits.seconds - kept - (monotonic() - self._began))

    def tokens_left(self, *, for_answer: bool = False) -> int:
        return max(0, self.limits.tokens - (0 if for_answer else self._kept_tokens) - self.tokens)

    def out(self, *, for_answer: bool = False) -> str | None:
        """Which limit is used up, if any; then the strategy ends with what it has, and the answer says so."""
        limits, kept = self.limits, 0 if for_answer else 1
        reason = None
        if self.seconds_left(for_answer=for_answer) <= 0:
            reason = f"its time ({limits.seconds:g} s)"
        elif self.calls >= limits.model_calls - kept:
            reason = f"its calls of models ({limits.model_calls})"
        elif self.tokens_left(for_answer=for_answer) < FEWEST_TOKENS:
            reason = f"its tokens ({limits.tokens:,})"
        elif limits.cost and self.cost >= limits.cost * (1 - RESERVED * kept):
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

    def bounded(self, chat: ChatModel, *, for_answer: bool = False) -> BoundedChat:
        """The model within this budget."""
        return BoundedChat(chat, self, for_answer=for_answer)

    def begin(self, messages: Sequence[Message], max_tokens: int, *, for_answer: bool) -> tuple[float, int]:
        """Count a call; the seconds and tokens that it may take. Raises BudgetExceededError."""
        if reason := self.out(for_answer=for_answer):
            raise BudgetExceededError(reason)
        left = self.tokens_left(for_answer=for_answer) - estimate(map(_told, messages))
        if left < FEWEST_TOKENS:
            self._note(reason := f"its tokens ({self.limits.tokens:,})")
            raise BudgetExceededError(reason)
        self.calls += 1
        return self.seconds_left(for_answer=for_answer), min(max_tokens, left)

    def end(self, model: str, usage: Usage, messages: Sequence[Message], said: str) -> None:
        """What a call has cost; estimated where nobody reports it."""
        read = estimate(map(_told, messages)) if usage.input_tokens is None else usage.input_tokens
        written = estimate([said]) if usage.output_tokens is None else usage.output_tokens
        price = self._prices.get(model, (0.0, 0.0))
        self.tokens += read + written
        self.cost += (read * price[0] + written * price[1]) / 1_000_000

    def usage(self) -> dict[str, Any]:
        """For traces."""
        return {
            "seconds": round(monotonic() - self._began, 3), "model_calls": self.calls, "tokens": self.tokens,
            "cost": round(self.cost, 8), "tool_calls": self.tool_calls, "exceeded": self.exceeded,
        }  # fmt: skip

    def _note(self, reason: str | None) -> str | None:
        self.exceeded = self.exceeded or reason
        return reason


def estimate(texts: Any) -> int:
    """Tokens of some texts, about."""
    return sum(len(text) // CHARS_PER_TOKEN + 1 for text in texts)


def _told(message: Message) -> str:
    """All that a message makes a model read."""
    return message.content + "".join(f"{call.name} {call.arguments}" for call in message.calls)


class BoundedChat:
    """ChatModel within a budget: see the module. A provider that does not keep its deadline is cut off soon after."""

    def __init__(self, chat: ChatModel, budget: Budget, *, for_answer: bool) -> None:
        self._chat = chat
        self._budget = budget
        self._for_answer = for_answer

    @property
    def name(self) -> str:
        return self._chat.name

    async def complete(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> Completion:
        """See `ChatModel.complete`. Raises BudgetExceededError as well."""
        return await self._within(
            messages, max_tokens, timeout, lambda most, seconds: self._chat.complete(
                messages, temperature=temperature, max_tokens=most, timeout=seconds
            ),
        )  # fmt: skip

    async def act(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, in_words: Sequence[Message],
        choice: ToolChoice = "auto", temperature: float, max_tokens: int, timeout: float,
    ) -> Acted:  # fmt: skip
        """See `ChatModel.act`. Raises BudgetExceededError as well."""
        return await self._within(
            messages, max_tokens, timeout, lambda most, seconds: self._chat.act(
                messages, tools, in_words=in_words, choice=choice, temperature=temperature, max_tokens=most,
                timeout=seconds,
            ),
        )  # fmt: skip

    async def structured(
        self, messages: Sequence[Message], schema: Schema, *, choice: ToolChoice = "auto", temperature: float,
        max_tokens: int, timeout: float,
    ) -> Structured:  # fmt: skip
        """See `ChatModel.structured`. Raises BudgetExceededError as well."""
        return await self._within(
            messages, max_tokens, timeout, lambda most, seconds: self._chat.structured(
                messages, schema, choice=choice, temperature=temperature, max_tokens=most, timeout=seconds
            ),
        )  # fmt: skip

    async def _within(
        self, messages: Sequence[Message], max_tokens: int, timeout: float,
        call: Callable[[int, float], Awaitable[_Said]],
    ) -> _Said:  # fmt: skip
        """A whole reply, within the tokens and seconds that are left."""
        left, most = self._budget.begin(messages, max_tokens, for_answer=self._for_answer)
        usage, said = Usage(), ""
        try:
            async with asyncio.timeout(min(timeout, left) + GRACE):
                reply = await call(most, min(timeout, left))
            usage, said = reply.usage, reply.text
            if isinstance(reply, Acted):
                said += "".join(f"{call.name} {call.arguments}" for call in reply.calls)
            return reply
        except (ProviderError, TimeoutError) as error:
            raise self._judged(error, cut_short=timeout >= left) from None
        finally:
            self._budget.end(self.name, usage, messages, said)

    async def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> AsyncGenerator[Delta]:
        """See `ChatModel.stream`. Raises BudgetExceededError as well."""
        left, most = self._budget.begin(messages, max_tokens, for_answer=self._for_answer)
        usage, said = Usage(), ""
        deadline = asyncio.get_running_loop().time() + min(timeout, left) + GRACE
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=most, timeout=min(timeout, left))
        try:
            async with aclosing(stream) as deltas:
                while True:
                    async with asyncio.timeout_at(deadline):
                        delta = await anext(deltas, None)
                    if delta is None:
                        break
                    usage, said = delta.usage or usage, said + delta.text
                    yield delta
        except (ProviderError, TimeoutError) as error:
            raise self._judged(error, cut_short=timeout >= left) from None
        finally:
            self._budget.end(self.name, usage, messages, said)

    def _judged(self, error: Exception, *, cut_short: bool) -> ProviderError:
        """A call whose time was all that was left of the run's has failed for the budget."""
        if cut_short and (reason := self._budget.out(for_answer=self._for_answer)):
            return BudgetExceededError(reason)
        if isinstance(error, ProviderError):
            return error
        return ProviderTimeoutError(f"{self.name}: no answer in time", retryable=True)

    async def close(self) -> None:
        """Nothing: the chat model is its owner's."""
