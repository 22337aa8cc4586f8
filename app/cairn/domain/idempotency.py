"""Requests that are made once, however often they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a request was answered with."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request that came before under the same key. `answer`: None while it is under way. `fingerprint`: of all that it
    said."""

    fingerprint: bytes
    answer: StoredAnswer | None
