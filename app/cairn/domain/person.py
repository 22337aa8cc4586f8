"""Somebody because of whom something is kept: by which names the tables have them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from cairn.domain.principal import PERSON
from cairn.errors import InputError

KEY: Final = "key"
TOKEN: Final = "token"
"""What Caller.id begins with: of whom a key, or a token, is."""
LONGEST_SUBJECT: Final = 1000
"""Characters; issuers keep to 255."""


@dataclass(frozen=True, slots=True)
class Person:
    """`callers`: as who asked, rated, ordered and did something (Caller.id); `names`: as in access lists; `keys`: ids of keys
    that are theirs; `counted`: ids that their usage is counted on."""

    callers: tuple[str, ...]
    names: tuple[str, ...]
    keys: tuple[UUID, ...] = ()
    counted: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """One record of what is kept because of a person. `kind`: of what (docs/privacy.md); `fields`: the columns of its row."""

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, or would be. `mark`: what stands in the place of the person now; `counts`: how much of each kind."""

    mark: str
    counts: Mapping[str, int]


def counted_by(issuer: str, tenant: str, subject: str) -> UUID:
    """What the usage of a token's subject is counted on."""
    return uuid5(NAMESPACE_URL, json.dumps([issuer, tenant, subject]))


def read_principal(text: str) -> tuple[str, str]:
    """Kind (person or key) and name of a principal as access lists write it; a bare name is a person's. Raises InputError."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in (PERSON, KEY, "group"):
        kind, name = PERSON, text
    if kind == "group":
        raise InputError(f"{text[:100]!r} is a group: write person:<subject of a token> or key:<id>")
    if not (0 < len(name) <= LONGEST_SUBJECT and name.isprintable()):
        raise InputError(f"{text[:100]!r} is nobody: write person:<subject of a token> or key:<id>")
    if kind == KEY:
        try:
            return kind, str(UUID(name))
        except ValueError:
            raise InputError(
                f"{name[:100]!r} is not the id of a key; `cairn keys list` and GET /keys have them"
            ) from None
    return kind, name


def new_mark() -> str:
    """What stands in the place of a person who was forgotten; nobody can turn it back."""
    return f"forgotten:{secrets.token_hex(16)}"
