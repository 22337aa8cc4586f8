"""One meter for all calls of models of providers: of a run, of a search, of a job.

Whoever calls a chat model takes it from a meter (`meter.chat(chat, purpose)`), and none is called besides; hosted embedders and
rerankers find theirs (`metered_by` in cairn/providers/requests.py). The meter counts
each HTTP request that is sent, also those that fail, are repeated or fall back to another protocol, and what they cost: tokens
as the server reports them, else estimated. Limits are a meter's as well: it says before each request whether it may be sent
(cairn/runs/budget.py), so that what is counted, what is shown and what is limited are one number.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, Protocol, TypeVar

from cairn.domain.trace import Prices, Spend, one_call
from cairn.domain.usage import Reservation
from cairn.errors import BudgetExceededError, ProviderError, ProviderTimeoutError
from cairn.providers.protocols import (
    Acted,
    ChatModel,
    Completion,
    Delta,
    Message,
    Schema,
    ServedModel,
    Structured,
    ToolChoice,
    ToolSpec,
    Usage,
)
from cairn.providers.requests import T, accounted
from cairn.providers.retry import now
from cairn.providers.tokens import estimate
from cairn.telemetry import Attributes, record

_Reply = TypeVar("_Reply", Completion, Acted, Structured)

FEWEST_TOKENS: Final = 16
"""A reply that may not have so many is not asked for."""
GRACE: Final = 0.5
"""Seconds after which a provider that ignores its deadline is cut off."""
UNLIMITED: Final = 10**12
LONG: Final = 24 * 3600.0
"""Seconds after which nobody waits any more."""
TOKENS_USED: Final = Counter[str]()
"""By model, since this process began."""


class Account(Protocol):
    """On which calls are booked beyond the meter's own work: what a key may use in a day, whichever process serves it."""

    async def reserve(
        self, model: str, reading: int, wanted: int, fewest: int, prices: Prices
    ) -> tuple[int, Reservation | None]:
        """How many tokens, of those that are wanted, a call may write that reads so many; and what was booked for it, to be
        handed back to `book`. Raises BudgetExceededError where fewer than `fewest` are left."""
        ...

    def book(self, reserved: Reservation | None, spend: Spend) -> None:
        """What the call has cost. Never waits and never raises."""
        ...


class Meter:
    """`by_purpose`: what the calls of chat models that have ended cost, and `hosted_by_purpose` those of hosted embedders and
    rerankers; `failures`: calls of chat models that failed, each with its purpose, but for those that a limit ended. This meter
    has no limits but those of the account, if there is one; `out`, `seconds_left` and `tokens_left` are what a meter with limits
    says otherwise. `on_silence` is called once, where a model said nothing for `silent_seconds`."""

    def __init__(self, prices: Prices, account: Account | None = None) -> None:
        self._prices = prices
        self._account = account
        self._open: set[Call] = set()
        self.by_purpose: dict[str, Spend] = {}
        self.hosted_by_purpose: dict[str, Spend] = {}
        self.failures: list[tuple[str, ProviderError]] = []
        self.silent_seconds = math.inf
        self.on_silence: Callable[[], None] = lambda: None
        self._told_silence = self._given_up = False
        self._waits: set[asyncio.Timeout] = set()

    def chat(self, chat: ChatModel, purpose: str, *, for_answer: bool = False) -> MeteredChat:
        """The model with its calls booked under `purpose`, a word. `for_answer`: they may use what is kept for the answer."""
        return MeteredChat(self, chat, purpose, for_answer=for_answer)

    @property
    def spend(self) -> Spend:
        """Of all calls of chat models that have ended."""
        return sum(self.by_purpose.values(), start=Spend())

    @property
    def priced(self) -> float:
        """What all calls that have ended cost, as far as there are prices, with those of hosted models."""
        return self.spend.priced + sum(one.priced for one in self.hosted_by_purpose.values())

    @property
    def calls(self) -> int:
        """Requests that were sent to chat models, and those that calls under way are about to send."""
        return self.spend.calls + sum(call.counted for call in self._open)

    @property
    def tokens_held(self) -> int:
        """What calls under way may use yet."""
        return sum(call.held for call in self._open)

    @property
    def usage(self) -> dict[str, Any]:
        """What calls of chat models cost together, and what all calls cost for each purpose (`by_purpose`), those of hosted
        models last; empty where there was none. One sum of both would say that a chat model has read what another one has."""
        spends = (*self.by_purpose.items(), *self.hosted_by_purpose.items())
        told = [{"purpose": purpose, **spend.usage()} for purpose, spend in spends]
        return {**self.spend.usage(), "by_purpose": told} if told else {}

    # --- limits -------------------------------------------------------------------------------------------------------

    def out(self, *, for_answer: bool = False, read: int = 0) -> str | None:
        """Which limit is used up, in words, if any; or would be by a call that reads so many tokens."""
        return None

    def seconds_left(self, *, for_answer: bool = False) -> float:
        return math.inf

    def tokens_left(self, *, for_answer: bool = False) -> int:
        return UNLIMITED

    # --- waiting for it -----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def waiting(self, until: float) -> AsyncIterator[None]:
        """A wait for the model, to that moment of the loop's clock. Raises TimeoutError then, and when it is given up."""
        loop = asyncio.get_running_loop()
        silence = loop.call_later(min(self.silent_seconds, LONG), self._note_silence)
        try:
            async with asyncio.timeout_at(until) as scope:
                self._waits.add(scope)
                try:
                    yield
                finally:
                    self._waits.discard(scope)
        finally:
            silence.cancel()

    def _note_silence(self) -> None:
        if not self._told_silence:
            self._told_silence = True
            self.on_silence()

    def give_up(self) -> None:
        """Wait for no model any longer: calls under way end as if their time were up, and no other is begun."""
        self._given_up = True
        for scope in self._waits:
            if not scope.expired():
                scope.reschedule(0)

    # --- calls --------------------------------------------------------------------------------------------------------

    async def open_call(
        self, chat: ChatModel, purpose: str, read: int, max_tokens: int, *, for_answer: bool
    ) -> tuple[Call, float, int]:
        """A call that reads so many tokens, with the seconds and tokens that it may take. Raises BudgetExceededError."""
        if self._given_up:
            raise ProviderTimeoutError(f"{chat.name}: it was not waited for any longer")
        if reason := self.out(for_answer=for_answer, read=read):
            raise BudgetExceededError(reason)
        most = min(max_tokens, self.tokens_left(for_answer=for_answer) - read)
        call = Call(self, chat, purpose, read, read + most, for_answer=for_answer)
        self._open.add(call)
        if self._account is not None:
            try:
                most, call.reserved = await self._account.reserve(chat.name, read, most, FEWEST_TOKENS, self._prices)
            except BaseException as error:
                self._open.discard(call)
                if isinstance(error, BudgetExceededError):
                    self.note_exceeded(error.reason)
                raise
            call.held = read + most
        return call, self.seconds_left(for_answer=for_answer), most

    def note_exceeded(self, reason: str) -> None:
        """The account allows no further call; a meter that ends work early keeps why."""

    def close_call(self, call: Call, spend: Spend) -> None:
        """Book what it has cost."""
        self._open.discard(call)
        if self._account is not None and (spend.calls or call.reserved):
            self._account.book(call.reserved, spend)
        self._add_spend(self.by_purpose, call.purpose, spend)

    def _add_spend(self, to: dict[str, Spend], purpose: str, spend: Spend) -> None:
        if spend.calls:
            to[purpose] = to.get(purpose, Spend()) + spend
            TOKENS_USED.update(dict.fromkeys(spend.models, spend.tokens))  # a call has one model

    async def hosted(self, model: str, purpose: str, reading: int, ask: Callable[[], Awaitable[T]]) -> T:
        """See cairn.providers.requests.HostedMeter. Of the limits of a run they use up cost alone; the run itself refuses none,
        for without vectors it would find less to answer from."""
        reserved = None
        if self._account is not None:
            try:  # as if it wrote a token: else what is written for nothing would be within any cost
                _, reserved = await self._account.reserve(model, reading, 1, 1, self._prices)
            except BudgetExceededError as error:
                self.note_exceeded(error.reason)
                raise
        told, failure, began = _HostedRequests(), None, now()
        try:
            with accounted(told):
                return await ask()
        except ProviderError as error:
            failure = error
            raise
        finally:
            read = _total(one.input_tokens for one in told.usages)
            counted = reading if told.requests and not _refused(failure) else 0
            spend = self.price(
                model, Usage(counted if read is None else read, 0), now() - began, told.requests,
                estimated=read is None and counted > 0,
            )  # fmt: skip
            if self._account is not None and (spend.calls or reserved):
                self._account.book(reserved, spend)
            self._add_spend(self.hosted_by_purpose, purpose, spend)

    def price(self, model: str, usage: Usage, seconds: float, calls: int, *, estimated: bool) -> Spend:
        """A call with all its requests."""
        return one_call(
            model, usage.input_tokens or 0, usage.output_tokens or 0, seconds, self._prices, calls=calls,
            estimated=estimated,
        )  # fmt: skip


class Call:
    """One call of a model, with the requests that its client makes for it: the RequestAccount of these.

    A client that does not tell of its requests (one of another package may not) has made one. `read`: tokens of the messages,
    by estimate; `held`: what the call may use in all; `reserved`: what was booked for it on the account.
    """

    def __init__(self, meter: Meter, chat: ChatModel, purpose: str, read: int, held: int, *, for_answer: bool) -> None:
        self.purpose = purpose
        self.held = held
        self._meter = meter
        self._model = chat.name
        self._reports = bool(getattr(chat, "reports_requests", False))
        self._read = read
        self._for_answer = for_answer
        self.reserved: Reservation | None = None
        self._requests = 0
        self._usages: list[Usage] = []
        self._begun = now()

    @property
    def counted(self) -> int:
        """Requests, the one that it was opened for included."""
        return max(1, self._requests)

    def begin_request(self) -> None:
        """See RequestAccount. The first was admitted when the call was opened."""
        if self._requests:
            self.check_repeat()
        self._requests += 1

    def check_repeat(self) -> None:
        """See RequestAccount."""
        self.held = 0  # else it would stand in its own way
        if reason := self._meter.out(for_answer=self._for_answer):
            raise BudgetExceededError(reason)

    def note_usage(self, usage: Usage) -> None:
        """See RequestAccount."""
        if usage != Usage():
            self._usages.append(usage)

    def end(self, usage: Usage, written: str, failure: BaseException | None) -> None:
        """Book the call: by what its requests reported, else by what the reply says (`usage`), else by estimate. What the
        server has refused to do, with an HTTP status, cost no tokens, and neither did what was never sent."""
        calls = self._requests or (0 if self._reports else 1)
        reported = [usage] if usage != Usage() and not self._usages else self._usages
        read = _total(one.input_tokens for one in reported)
        wrote = _total(one.output_tokens for one in reported)
        estimated = False
        if not calls or (_refused(failure) and not reported):
            read = wrote = 0
        elif read is None or wrote is None:
            estimated = True
            read = self._read if read is None else read
            wrote = (estimate(written) if written else 0) if wrote is None else wrote
        spent = now() - self._begun
        told: Attributes = {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": self._model, "gen_ai.usage.input_tokens": read,
            "gen_ai.usage.output_tokens": wrote, "cairn.purpose": self.purpose, "cairn.requests": calls,
        }  # fmt: skip
        record(f"chat {self._model}", spent, told, error=failure)
        spend = self._meter.price(self._model, Usage(read, wrote), spent, calls, estimated=estimated)
        self._meter.close_call(self, spend)


class _HostedRequests:
    """RequestAccount of one call of a hosted embedder or reranker."""

    def __init__(self) -> None:
        self.requests = 0
        self.usages: list[Usage] = []

    def begin_request(self) -> None:
        self.requests += 1

    def check_repeat(self) -> None:
        """It may always be repeated."""

    def note_usage(self, usage: Usage) -> None:
        if usage != Usage():
            self.usages.append(usage)


def _total(counts: Iterable[int | None]) -> int | None:
    """None where nothing was counted."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _refused(failure: BaseException | None) -> bool:
    """Whether a call ended by a status of the server, with nobody there, or by a limit that forbade to ask again."""
    if isinstance(failure, BudgetExceededError):
        return True
    if not isinstance(failure, ProviderError):
        return False
    return failure.extra.get("upstream_status") is not None or failure.cause == "unreachable"


async def learn_name(chat: ChatModel) -> None:
    """Before its name counts: one that the settings do not name is asked for it. Raises ProviderError."""
    if isinstance(chat, ServedModel):
        await chat.learn_name()


def tokens_of(messages: Sequence[Message]) -> int:
    """What messages make a model read, by estimate."""
    return sum(
        estimate(message.content) + sum(estimate(f"{call.name} {call.arguments}") for call in message.calls)
        for message in messages
    )


class MeteredChat:
    """ChatModel around another one, which stays its owner's to close: see the module. A provider that does not keep its
    deadline is cut off soon after. All its methods raise BudgetExceededError as well."""

    reports_requests = True

    def __init__(self, meter: Meter, chat: ChatModel, purpose: str, *, for_answer: bool) -> None:
        self._meter = meter
        self._chat = chat
        self._purpose = purpose
        self._for_answer = for_answer

    @property
    def name(self) -> str:
        return self._chat.name

    async def complete(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> Completion:
        """See `ChatModel.complete`."""
        return await self._metered(
            messages, max_tokens, timeout, lambda most, seconds: self._chat.complete(
                messages, temperature=temperature, max_tokens=most, timeout=seconds
            ),
        )  # fmt: skip

    async def act(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, in_words: Sequence[Message],
        choice: ToolChoice = "auto", temperature: float, max_tokens: int, timeout: float,
    ) -> Acted:  # fmt: skip
        """See `ChatModel.act`."""
        return await self._metered(
            messages, max_tokens, timeout, lambda most, seconds: self._chat.act(
                messages, tools, in_words=in_words, choice=choice, temperature=temperature, max_tokens=most,
                timeout=seconds,
            ),
        )  # fmt: skip

    async def structured(
        self, messages: Sequence[Message], schema: Schema, *, choice: ToolChoice = "auto", temperature: float,
        max_tokens: int, timeout: float,
    ) -> Structured:  # fmt: skip
        """See `ChatModel.structured`."""
        return await self._metered(
            messages, max_tokens, timeout, lambda most, seconds: self._chat.structured(
                messages, schema, choice=choice, temperature=temperature, max_tokens=most, timeout=seconds
            ),
        )  # fmt: skip

    async def _metered(
        self, messages: Sequence[Message], max_tokens: int, timeout: float,
        ask: Callable[[int, float], Awaitable[_Reply]],
    ) -> _Reply:  # fmt: skip
        """A whole reply, within the tokens and seconds that are left."""
        call, left, most = await self._open(messages, max_tokens)
        usage, written, failure = Usage(), "", None
        try:
            with accounted(call):
                async with self._meter.waiting(now() + min(timeout, left) + GRACE):
                    reply = await ask(most, min(timeout, left))
            usage, written = reply.usage, reply.text
            if isinstance(reply, Acted):
                written += "".join(f"{one.name} {one.arguments}" for one in reply.calls)
            return reply
        except (ProviderError, TimeoutError) as error:
            failure = error
            raise self._judged(error, cut_short=timeout >= left) from None
        finally:
            call.end(usage, written, failure)

    async def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> AsyncGenerator[Delta]:
        """See `ChatModel.stream`."""
        call, left, most = await self._open(messages, max_tokens)
        usage, written, failure = Usage(), "", None
        deadline = now() + min(timeout, left) + GRACE
        stream = self._chat.stream(messages, temperature=temperature, max_tokens=most, timeout=min(timeout, left))
        try:
            async with aclosing(stream) as deltas:
                while True:
                    with accounted(call):
                        async with self._meter.waiting(deadline):
                            delta = await anext(deltas, None)
                    if delta is None:
                        break
                    usage, written = delta.usage or usage, written + delta.text
                    yield delta
        except (ProviderError, TimeoutError) as error:
            failure = error
            raise self._judged(error, cut_short=timeout >= left) from None
        finally:
            call.end(usage, written, failure)

    async def _open(self, messages: Sequence[Message], max_tokens: int) -> tuple[Call, float, int]:
        try:
            await learn_name(self._chat)  # prices go by it
            return await self._meter.open_call(
                self._chat, self._purpose, tokens_of(messages), max_tokens, for_answer=self._for_answer
            )
        except ProviderError as error:
            raise self._judged(error, cut_short=False) from None

    def _judged(self, error: Exception, *, cut_short: bool) -> ProviderError:
        """A call whose time was all that was left of the run's has failed for the budget."""
        if cut_short and (reason := self._meter.out(for_answer=self._for_answer)):
            return BudgetExceededError(reason)
        late = ProviderTimeoutError(f"{self.name}: no answer in time", retryable=True)
        failed = error if isinstance(error, ProviderError) else late
        if not isinstance(failed, BudgetExceededError):
            self._meter.failures.append((self._purpose, failed))
        return failed

    async def close(self) -> None:
        """Nothing: the chat model is its owner's."""
