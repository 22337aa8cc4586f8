"""What a client of a chat model tells whoever keeps account of its calls, about each HTTP request of its own.

One call may make several: repeats after 429, 5xx and broken connections, others without a field that the server refuses, in
words where it takes no tools. A client calls `begin_request` before each, `note_usage` where a reply reports its tokens, and
`check_repeat` before it waits for another attempt; without somebody who keeps account these do nothing. That is a context
variable rather than an argument: it would have to go through every method of every client, those of other packages too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

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
