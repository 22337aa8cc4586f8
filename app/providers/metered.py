"""A chat model that keeps account: wrapped around one for the length of a run, it knows what all calls of it cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from typing import TypeVar

from app.domain.trace import Prices, Spend, one_call
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
from app.providers.retry import now

_Reply = TypeVar("_Reply", Completion, Acted, Structured)


class MeteredChat:
    """ChatModel around another one, which stays its owner's to close. `spend` is the sum of all calls so far, failed
    ones included: they have cost time, and nobody knows how many tokens."""

    def __init__(self, chat: ChatModel, prices: Prices) -> None:
        self._chat = chat
        self._prices = prices
        self.spend = Spend()

    @property
    def name(self) -> str:
        return self._chat.name

    def _note(self, usage: Usage, begun: float) -> None:
        self.spend += one_call(self.name, usage.input_tokens, usage.output_tokens, now() - begun, self._prices)

    async def complete(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> Completion:
        """See `ChatModel.complete`."""
        return await self._metered(
            self._chat.complete(messages, temperature=temperature, max_tokens=max_tokens, timeout=timeout)
        )

    async def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> AsyncGenerator[Delta]:
        """See `ChatModel.stream`."""
        begun, usage = now(), Usage()
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=max_tokens, timeout=timeout)
        try:
            async with aclosing(stream) as deltas:
                async for delta in deltas:
                    usage = delta.usage or usage
                    yield delta
        finally:
            self._note(usage, begun)

    async def act(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, in_words: Sequence[Message],
        choice: ToolChoice = "auto", temperature: float, max_tokens: int, timeout: float,
    ) -> Acted:  # fmt: skip
        """See `ChatModel.act`."""
        return await self._metered(
            self._chat.act(
                messages, tools, in_words=in_words, choice=choice, temperature=temperature, max_tokens=max_tokens,
                timeout=timeout,
            )
        )  # fmt: skip

    async def structured(
        self, messages: Sequence[Message], schema: Schema, *, choice: ToolChoice = "auto", temperature: float,
        max_tokens: int, timeout: float,
    ) -> Structured:  # fmt: skip
        """See `ChatModel.structured`."""
        return await self._metered(
            self._chat.structured(
                messages, schema, choice=choice, temperature=temperature, max_tokens=max_tokens, timeout=timeout
            )
        )

    async def _metered(self, call: Awaitable[_Reply]) -> _Reply:
        """A whole reply, booked; also where there is none."""
        begun, usage = now(), Usage()
        try:
            reply = await call
            usage = reply.usage
            return reply
        finally:
            self._note(usage, begun)

    async def close(self) -> None:
        """Nothing: the chat model is its owner's."""
