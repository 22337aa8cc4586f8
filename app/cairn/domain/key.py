"""Keys: what callers prove with who they are, and what they may do."""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from cairn.domain.principal import Caller, KeyLimits, Principal, Scope

PREFIX: Final = "cairn_"
SECRET_BYTES: Final = 24
"""192 random bits: nobody guesses one, so a plain SHA-256 of it is as good as a slow hash."""
SHOWN_CHARS: Final = len(PREFIX) + 6
"""How much of a key is shown afterwards, to tell it from others; the rest has 168 bits."""
KEY_PATTERN: Final = re.compile(rf"{PREFIX}[0-9a-f]{{{SECRET_BYTES * 2 + 8}}}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored. `shown`: its first characters. `created_by`: Caller.id. `last_used_at` is exact to a minute.
    `groups`: which its holder belongs to, by access lists of documents."""

    id: UUID
    name: str
    shown: str
    scopes: frozenset[Scope]
    limits: KeyLimits
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """What a key or a token stands for. `ends_at`: time of the event loop's clock when it expires; None: never. `key_id`: of the
    key, which may be revoked; None for a token."""

    principal: Principal
    ends_at: float | None = None
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class TokenClaims:
    """What a valid access token says. `seconds_left` until it expires."""

    tenant: str
    caller: Caller
    seconds_left: float


def new_secret() -> str:
    """A key: prefix, random part, and a checksum by which a mistyped one is known without a look-up."""
    secret = secrets.token_hex(SECRET_BYTES)
    return f"{PREFIX}{secret}{_checksum(secret)}"


def is_well_formed(secret: str) -> bool:
    """Whether it could be a key; who sends another text need not be looked up."""
    body = secret.removeprefix(PREFIX)
    return KEY_PATTERN.fullmatch(secret) is not None and _checksum(body[:-8]) == body[-8:]


def hash_secret(secret: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(secret.encode()).digest()


def _checksum(secret: str) -> str:
    return f"{zlib.crc32(secret.encode()):08x}"
