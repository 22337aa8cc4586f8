"""Circuit breakers: a model that keeps failing is not called for a while, so that nobody waits for it (Nygard, Release It!).

One per server and model. Closed: calls pass. After some failed calls in a row it opens: calls fail at once, for some
seconds. Then it is half open: one call may try; its success closes the circuit, its failure opens it again.

All who use a model share its circuit, of whichever tenant: it keeps of a failed call what everybody may know, and none of the
server's words, which may quote what somebody asked or a document that only some may read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal

import structlog

from cairn.errors import BudgetExceededError, CircuitOpenError, ProviderError

log = structlog.get_logger(__name__)

State = Literal["closed", "open", "half_open"]
FAILURES: Final = 5
OPEN_SECONDS: Final = 20.0
_SERVERS_FAULT: Final = frozenset({401, 402, 403, 408, 429})
"""Of the 4xx: these tell of the account or the server, not of the one request, and would hit the next one as well."""
OF_THE_SETTINGS: Final = frozenset({"model", "choice", "address"})
"""Causes that open no circuit, since such an answer costs no time, and yet hit every call."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`failures` in a row open a circuit for `seconds`."""

    failures: int = FAILURES
    seconds: float = OPEN_SECONDS


class Circuit:
    """Of one model at one server; `limits` is asked each time, since settings may change."""

    def __init__(
        self, name: str, limits: Callable[[], Limits] = Limits, clock: Callable[[], float] = monotonic
    ) -> None:
        self.name = name
        self._limits = limits
        self._clock = clock
        self._failures = 0
        self._opened: float | None = None
        self._probing = False
        self._reason: ProviderError | None = None
        self._failed_at = 0.0

    @property
    def state(self) -> State:
        if self._opened is None:
            return "closed"
        return "open" if self.retry_in > 0 else "half_open"

    @property
    def failures(self) -> int:
        """Failed calls since the last good one."""
        return self._failures

    @property
    def reason(self) -> ProviderError | None:
        """Why the last call that was made failed, in no words of the server; None where it did not, or refused only what it was
        asked."""
        return self._reason

    @property
    def failed_ago(self) -> float:
        """Seconds since that call."""
        return self._clock() - self._failed_at

    @property
    def retry_in(self) -> float:
        """Seconds until a call may try; 0 while calls pass."""
        return 0.0 if self._opened is None else max(0.0, self._opened + self._limits().seconds - self._clock())

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Around one call with all its attempts. Raises CircuitOpenError where it must not be made.

        A call that is cancelled or abandoned, or has no budget for a further attempt, counts neither way.
        """
        probe = self._enter()
        try:
            yield
        except BudgetExceededError:
            raise
        except ProviderError as error:
            self._failed_at = self._clock()
            if counts(error):
                self._failed(error)
            else:
                self._succeeded()  # the server is there and has an opinion
                self._reason = error.outlined() if error.cause in OF_THE_SETTINGS else None
            raise
        else:
            self._succeeded()
        finally:
            if probe:
                self._probing = False

    def _enter(self) -> bool:
        """Whether this call is the probe."""
        if self.state == "closed":
            return False
        if self.state == "open" or self._probing:
            assert self._reason is not None
            seconds = max(1, round(self.retry_in))
            raise CircuitOpenError(
                f"{self._reason.detail}; not asked again for {seconds} s, after {self._failures} failures in a row",
                reason=self._reason,
                retry_after=seconds,
            )
        self._probing = True
        return True

    def _failed(self, error: ProviderError) -> None:
        self._failures += 1
        self._reason = error.outlined()
        if self._failures >= self._limits().failures:
            if self._opened is None:
                log.warning("circuit.opened", model=self.name, failures=self._failures, reason=error.code)
            self._opened = self._clock()

    def _succeeded(self) -> None:
        if self._opened is not None:
            log.info("circuit.closed", model=self.name)
        self._failures, self._opened, self._reason = 0, None, None


def counts(error: ProviderError) -> bool:
    """Whether a failure tells of the server. A request that it refuses (400, 404, 422), and a reply without text, do
    not: the next request may be another matter."""
    if not error.blames_server:
        return False
    status = error.extra.get("upstream_status")
    return not (isinstance(status, int) and 400 <= status < 500) or status in _SERVERS_FAULT


class Circuits:
    """All of a process, by kind of work, server and model."""

    def __init__(self, limits: Callable[[], Limits] = Limits) -> None:
        self._limits = limits
        self._made: dict[tuple[str, str | None, str], Circuit] = {}

    def get(self, kind: str, base_url: str | None, model: str) -> Circuit:
        """The same one each time. `kind`: chat, embedding or rerank."""
        key = (kind, base_url, model)
        if key not in self._made:
            self._made[key] = Circuit(f"{kind} {model}", self._limits)
        return self._made[key]

    def all(self) -> list[Circuit]:
        return list(self._made.values())
