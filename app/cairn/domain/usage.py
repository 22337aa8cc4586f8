"""What keys and tenants may use, and have used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Holding:
    """Indexed documents, the bytes of their files as they were sent, and their chunks: what a tenant keeps, or may keep (None:
    as much as it likes)."""

    documents: int | None = None
    bytes: int | None = None
    chunks: int | None = None


def total(holdings: Iterable[Holding]) -> Holding:
    """Of holdings that are numbers."""
    documents, size, chunks = 0, 0, 0
    for one in holdings:
        documents, size, chunks = documents + (one.documents or 0), size + (one.bytes or 0), chunks + (one.chunks or 0)
    return Holding(documents, size, chunks)


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """`requests`: permits that processes took in the last sixty seconds; `runs`: under way. The rest is of today (UTC): requests
    to models of providers, their tokens, what they cost by answer.prices."""

    key_id: UUID
    requests: int = 0
    runs: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Lease:
    """Requests that a process may let in until `second` (since 1970) is over, which is in `seconds_left`. `taken`: by all
    processes in the last sixty seconds, with these; the oldest of them count no more in `full_for` seconds."""

    granted: int
    taken: int
    second: int
    seconds_left: float
    full_for: float


@dataclass(frozen=True, slots=True)
class RateStanding:
    """Of a key: how many requests it may make in sixty seconds, how many more it may now, and seconds until it may make more
    than that."""

    limit: int
    remaining: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was booked for a call of a model before it was made, to be corrected when it has ended. `day`: that it was booked
    on."""

    day: date
    tokens: int
    cost: float
