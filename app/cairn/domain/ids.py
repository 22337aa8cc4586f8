"""Ids are UUIDv7 (RFC 9562), made by the app: they sort by time, and no database sequence ties tenants together."""

from __future__ import annotations

import os
import time
from uuid import UUID


def new_id() -> UUID:
    """48 bits of Unix milliseconds, then version, variant and 74 random bits."""
    stamp = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (
        (stamp & (1 << 48) - 1) << 80 | 0x7 << 76 | (random >> 64 & 0xFFF) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    )
    return UUID(int=value)


def as_id(text: str) -> UUID | None:
    """What the text says, where it is an id in any spelling of one."""
    try:
        return UUID(text)
    except ValueError:
        return None
