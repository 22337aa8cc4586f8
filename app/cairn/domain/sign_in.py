"""One attempt to sign in at an OpenID Connect issuer: all that has to come back as it was sent follows from one secret, which the
browser keeps while the reader is away. So no process has to remember anything, and any of them may end what another one began.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Final, Literal

SignInFailure = Literal[
    "denied", "lost", "clock", "audience", "account", "misconfigured", "too_long", "unavailable", "away", "over"
]
"""Why somebody is not signed in; each is a sentence of the page. Unavailable: who they are cannot be told now; away: where their
tenant lives cannot be used now; over: they were, and are no longer."""
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """`secret`: 256 random bits that the browser keeps."""

    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def is_well_formed(self) -> bool:
        return _SECRET.fullmatch(self.secret) is not None

    @property
    def state(self) -> str:
        """By which what comes back is known to belong to this attempt of this browser."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """By which an ID token is known to be made for this attempt."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """PKCE (RFC 7636): by which the issuer knows who brings a code."""
        return self._derive("verifier")

    @property
    def challenge(self) -> str:
        """What the issuer is told of the verifier at first (S256)."""
        return _encode(hashlib.sha256(self.verifier.encode()).digest())

    def _derive(self, purpose: str) -> str:
        return _encode(hmac.digest(self.secret.encode(), purpose.encode(), "sha256"))


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
