"""What a client of a model tells whoever keeps account of its calls, about each HTTP request of its own.

One call may make several: repeats after 429, 5xx and broken connections, others without a field that the server refuses, in
words where it takes no tools. A client calls `begin_request` before each, `note_usage` where a reply reports its tokens, and
`check_repeat` before it waits for another attempt; without somebody who keeps account these do nothing. That is a context
variable rather than an argument: it would have to go through every method of every client, those of other packages too.

Chat models are taken from a meter (metered.py). Hosted embedders and rerankers are asked from places that know of none, so theirs
is the meter of the work that goes on (`metered_by`): a search, a run, an upload, a job.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar

from cairn.providers.protocols import Usage


class RequestAccount(Protocol):
    """Of one call of a model."""

    def begin_request(self) -> None:
        """Count a request that will be sent now. Raises BudgetExceededError where it must not be."""
        ...

    def check_repeat(self) -> None:
        """Raises BudgetExceededError where no other request may follow."""
        ...

    def note_usage(self, usage: Usage) -> None:
        """Tokens of one request, as its reply reports them."""
        ...


T = TypeVar("T")


class HostedMeter(Protocol):
    """On which calls of hosted models are booked that are no chat models."""

    async def hosted(self, model: str, purpose: str, reading: int, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` comes to, a call that reads so many tokens by our count, or none where its provider bills none; its requests
        are told as above, and tokens that a reply reports count instead. Raises BudgetExceededError, instead of asking, where a
        key has no more of them."""
        ...


_meter: Final = ContextVar[HostedMeter | None]("meter of hosted models", default=None)


@contextmanager
def metered_by(meter: HostedMeter) -> Iterator[None]:
    """Hosted models that are asked within the block, also by tasks that begin in it, are booked on the meter."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)


async def hosted(model: str, purpose: str, reading: int, ask: Callable[[], Awaitable[T]]) -> T:
    """See HostedMeter; where nobody keeps account, `ask()`."""
    meter = _meter.get()
    return await (ask() if meter is None else meter.hosted(model, purpose, reading, ask))


_account: Final = ContextVar[RequestAccount | None]("request account", default=None)


@contextmanager
def accounted(account: RequestAccount) -> Iterator[None]:
    """Requests of this task are told to the account. Not around a `yield`: what follows may run in another context."""
    token = _account.set(account)
    try:
        yield
    finally:
        _account.reset(token)


def begin_request() -> None:
    """See RequestAccount."""
    if account := _account.get():
        account.begin_request()


def check_repeat() -> None:
    """See RequestAccount."""
    if account := _account.get():
        account.check_repeat()


def note_usage(usage: Usage) -> None:
    """See RequestAccount."""
    if account := _account.get():
        account.note_usage(usage)
