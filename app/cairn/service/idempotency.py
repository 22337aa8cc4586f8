"""Carrying out a request once, however often it is sent (Idempotency-Key): durable, for all processes.

A key belongs to a caller. It is claimed before the request is carried out, by a lease that is renewed meanwhile, so that the
key of a process that died is free again. What succeeded is kept and told again; what failed frees the key. Only between a deed
and the keeping of its answer, in the moment that a process is killed, can a repetition meet its own deed: then the deeds
themselves answer for it (a name that is taken, a document that is there already).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

import structlog

from cairn.domain.idempotency import StoredAnswer
from cairn.errors import CairnError, IdempotencyInFlightError, IdempotencyReusedError
from cairn.store import idempotency
from cairn.store.idempotency import RequestKey
from cairn.wiring import Services

log = structlog.get_logger(__name__)

LEASE_SECONDS: Final = 30.0
"""How long the key of a process that died stays taken."""
MAX_ANSWER_BYTES: Final = 4_000_000
"""Larger answers are not kept."""

T = TypeVar("T")


async def carry_out_once(
    services: Services,
    key: str,
    fingerprint: bytes,
    work: Callable[[], Awaitable[T]],
    answer_of: Callable[[T], StoredAnswer | None],
) -> T | StoredAnswer:
    """What `work` gives, or what it was answered with before. `answer_of`: what of that is to be kept; None: nothing was done.
    Raises IdempotencyReusedError, IdempotencyInFlightError, and what `work` raises."""
    request = RequestKey(services.principal, key)
    before = await _claim(services, request, fingerprint)
    if before is not None:
        return before
    renewing = asyncio.create_task(_renew(services, request))
    kept = None
    try:
        done = await work()
        kept = answer_of(done)
        return done
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
        # also where the caller is gone, or the key was revoked: whatever was done is known
        await asyncio.shield(asyncio.ensure_future(_settle(services, request, kept)))


async def _claim(services: Services, request: RequestKey, fingerprint: bytes) -> StoredAnswer | None:
    """The answer of before; None: it is ours to carry out."""
    hours = services.settings.current.api.idempotency_hours
    while True:
        async with services.database.transaction(services.principal) as connection:
            if await idempotency.claim(connection, request, fingerprint, seconds=LEASE_SECONDS, keep_hours=hours):
                return None
            known = await idempotency.get(connection, request)
        if known is None:
            continue  # it was given up in this moment
        if known.fingerprint != fingerprint:
            raise IdempotencyReusedError(request.key)
        if known.answer is None:
            raise IdempotencyInFlightError(request.key)
        return known.answer


async def _renew(services: Services, request: RequestKey) -> None:
    while True:
        await asyncio.sleep(LEASE_SECONDS / 3)
        with suppress(CairnError):  # the next one may reach the database
            async with services.database.transaction(services.principal) as connection:
                await idempotency.renew(connection, request, LEASE_SECONDS)


async def _settle(services: Services, request: RequestKey, answer: StoredAnswer | None) -> None:
    try:
        async with services.database.transaction(services.principal) as connection:
            if answer is not None and len(answer.body) <= MAX_ANSWER_BYTES:
                await idempotency.keep_answer(connection, request, answer)
            else:
                await idempotency.release(connection, request)
    except CairnError as error:  # the lease ends, and the caller has the answer anyway
        log.warning("idempotency.unsettled", key=request.key, problem=error.detail)
