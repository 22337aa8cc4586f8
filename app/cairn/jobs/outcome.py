"""How an attempt ended, and what that means for the job: pure rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal

from cairn.domain.job import Job, JobProgress
from cairn.domain.principal import Principal
from cairn.errors import (
    CairnError,
    CircuitOpenError,
    DatabaseUnavailableError,
    ProviderError,
    QueryTimeoutError,
    SettingsError,
    named_reason,
    reason_of,
)
from cairn.store import jobs

MAX_RETRY_SECONDS = 300.0
"""The backoff of a job does not grow beyond this."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What to record, and the statement that does so; it answers False when the job is no longer the worker's."""

    name: Literal["succeeded", "failed", "parked", "cancelled", "retried", "released"]
    record: Callable[[Any, Principal, Job], Awaitable[bool]]


ELSEWHERE_SECONDS = 15.0
"""A job that this process turned out to be unable to do is left alone for so long: whoever can do it takes it then."""


class NotHereError(Exception):
    """This process cannot do the job, though another may: it lacks a chat model; a SettingsError says the same of an embedding
    model. The job goes back as if it had not been claimed, and waits for who can."""


class HadItsTurnError(NotHereError):
    """The job has worked for long while others wait; it goes back, and what is left of it is done after them."""


CANCELLED = Ending("cancelled", jobs.end_cancelled)
RELEASED = Ending("released", jobs.release)


def success(result: dict[str, Any], progress: JobProgress | None) -> Ending:
    return Ending("succeeded", partial(jobs.finish, result=result, progress=progress))


def failure(job: Job, error: BaseException, *, base: float, spread: float) -> Ending:
    """Back into the queue where another process has to do it; failed at once when another attempt cannot help; else retried
    after a backoff; parked after the last one."""
    text = describe(error)
    if isinstance(error, NotHereError | SettingsError):
        return Ending(
            "released", partial(jobs.release, delay=timedelta(seconds=ELSEWHERE_SECONDS), reason=reason_of(error))
        )
    if not is_retryable(error):
        return Ending("failed", partial(jobs.fail, error=text))
    if job.attempts >= job.max_attempts:
        return Ending("parked", partial(jobs.park, error=text))
    delay = max(retry_delay(job.attempts, base, spread), asked_delay(error))
    return Ending("retried", partial(jobs.fail, error=text, retry_in=delay))


def retry_delay(attempts: int, base: float, spread: float) -> timedelta:
    """Exponential backoff: base, 2 base, 4 base, ... seconds up to MAX_RETRY_SECONDS. `spread` in 0..1 takes off up to
    half, so that jobs which failed together do not return together."""
    delay = min(base * 2.0 ** min(attempts - 1, 32), MAX_RETRY_SECONDS)
    return timedelta(seconds=delay * (1 - spread / 2))


def asked_delay(error: BaseException) -> timedelta:
    """What the provider, or its circuit breaker, asks to be left alone for; within MAX_RETRY_SECONDS."""
    asked = error.extra.get("retry_after") if isinstance(error, ProviderError) else None
    return timedelta(seconds=min(float(asked or 0), MAX_RETRY_SECONDS))


def is_retryable(error: BaseException) -> bool:
    """Whether another attempt may succeed: dependencies recover, and what nobody foresaw might pass."""
    if isinstance(error, ProviderError):
        return error.retryable or isinstance(error, CircuitOpenError)
    return isinstance(error, DatabaseUnavailableError | QueryTimeoutError) or not isinstance(error, CairnError)


def describe(error: BaseException) -> str:
    """The error as the owner of the job reads it."""
    return error.detail if isinstance(error, CairnError) else named_reason(error)[:1000]
