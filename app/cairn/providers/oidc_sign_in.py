"""Signing in at the issuer: the authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0).

What comes of it is an access token, which counts as any other of this issuer. Signatures are PyJWT's affair, by way of oidc.py;
why no library has the rest: docs/adr/0111-signing-in-at-an-issuer.md. Neither codes nor tokens are logged.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode

import jwt
import structlog

from cairn.domain.sign_in import SignInAttempt, SignInFailure
from cairn.errors import IssuerUnavailableError, SignInError, named_reason
from cairn.providers.oidc import (
    FETCH_ERRORS,
    FETCH_SECONDS,
    WRONG_TOKEN,
    IssuerKeys,
    fetch_json,
    is_safe,
    issuer_client,
)
from cairn.settings import OidcIssuer

log = structlog.get_logger(__name__)

AWAY: Final = frozenset({"server_error", "temporarily_unavailable"})
DENIED: Final = frozenset({"access_denied", "consent_required", "interaction_required", "login_required"})
"""What issuers say (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6) that is neither our mistake nor theirs."""
AT_ONCE: Final = 8
"""For so many people a process asks the issuer at a time: anybody can make up a secret with its state, and a code."""


class IssuerCodeFlow:
    """CodeFlow at the configured issuer, which has a client id."""

    def __init__(self, issuer: OidcIssuer, keys: IssuerKeys) -> None:
        self._issuer = issuer
        self._keys = keys
        self.issuer_name = issuer.name
        self._asking = 0

    async def begin(self, attempt: SignInAttempt, callback: str) -> str:
        """See CodeFlow.begin."""
        with self._place():
            address = await self._endpoint("authorization_endpoint")
        asked = {
            "response_type": "code", "client_id": self._issuer.client_id, "redirect_uri": callback,
            "scope": " ".join(self._issuer.scopes), "state": attempt.state, "nonce": attempt.nonce,
            "code_challenge": attempt.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        if self._issuer.audiences[0].startswith(("https://", "http://")):  # RFC 8707 knows resources by their addresses
            asked["resource"] = self._issuer.audiences[0]
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def complete(self, attempt: SignInAttempt, callback: str, answer: Mapping[str, str]) -> str:
        """See CodeFlow.complete."""
        if not attempt.is_well_formed or not _is_same(answer.get("state"), attempt.state):
            raise _failed("lost", "another state")
        if (error := answer.get("error")) is not None:
            failure: SignInFailure = (
                "unavailable" if error in AWAY else "denied" if error in DENIED else "misconfigured"
            )
            raise _failed(failure, f"the issuer answered {error[:60]!r}")
        if answer.get("iss", self._issuer.issuer) != self._issuer.issuer:  # RFC 9207
            raise _failed("misconfigured", "another issuer answered")
        code = answer.get("code")
        if not code:
            raise _failed("lost", "no code")
        with self._place():
            tokens = await self._redeem(code, attempt, callback)
            await self._check_identity(tokens.get("id_token"), attempt)
            return await self._check_access(tokens.get("access_token"))

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Within the block the issuer may be asked. Raises SignInError at once where enough wait for it: a queue would be as long
        as somebody likes."""
        if self._asking >= AT_ONCE:
            raise _failed("unavailable", "enough others wait for the issuer")
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    async def _endpoint(self, name: str) -> str:
        address = (await self._keys.discover()).get(name)
        if not isinstance(address, str) or not is_safe(address):
            raise _failed("misconfigured", f"the discovery document names no safe {name}")
        return address

    async def _redeem(self, code: str, attempt: SignInAttempt, callback: str) -> Mapping[str, Any]:
        """Tokens for a code."""
        address = await self._endpoint("token_endpoint")
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": callback, "code_verifier": attempt.verifier,
            "client_id": self._issuer.client_id or "",
        }  # fmt: skip
        options: dict[str, Any] = {}
        if self._issuer.client_secret is not None:
            taken = (await self._keys.discover()).get("token_endpoint_auth_methods_supported")
            if isinstance(taken, list) and "client_secret_post" in taken and "client_secret_basic" not in taken:
                form["client_secret"] = self._issuer.client_secret
            else:  # each part is encoded as in a form: RFC 6749, 2.3.1
                options["auth"] = (quote(form.pop("client_id"), safe=""), quote(self._issuer.client_secret, safe=""))
        try:
            async with asyncio.timeout(FETCH_SECONDS), issuer_client() as client:
                found = await fetch_json(client, "POST", address, statuses=(200, 400, 401), data=form, **options)
        except FETCH_ERRORS as error:
            raise _failed("unavailable", named_reason(error)) from None
        if "error" in found:
            refused = str(found["error"])[:60]
            raise _failed("lost" if refused == "invalid_grant" else "misconfigured", f"no token: {refused!r}")
        return found

    async def _check_identity(self, token: object, attempt: SignInAttempt) -> None:
        """Whether the ID token is for us, of now, and of this attempt (OpenID Connect Core, 3.1.3.7)."""
        client_id = self._issuer.client_id or ""
        claims = await self._read(token, (client_id,), "misconfigured")
        if claims.get("azp", client_id) != client_id:
            raise _failed("misconfigured", "the ID token was made for another client")
        if not _is_same(claims.get("nonce"), attempt.nonce):
            raise _failed("lost", "another nonce")

    async def _check_access(self, token: object) -> str:
        """The token, if it counts as those do that callers of the API send."""
        claims = await self._read(token, self._issuer.audiences, "audience")
        try:
            self._keys.grant(claims)
        except ValueError:
            raise _failed("account", "the access token names no tenant") from None
        assert isinstance(token, str)
        return token

    async def _read(self, token: object, audiences: tuple[str, ...], otherwise: SignInFailure) -> Mapping[str, Any]:
        if not isinstance(token, str):
            raise _failed(otherwise, "a token is missing")
        try:
            return await self._keys.verify(token, audiences)
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise _failed("clock", type(error).__name__) from None
        except WRONG_TOKEN as error:
            raise _failed(otherwise, type(error).__name__) from None
        except IssuerUnavailableError:
            raise _failed("unavailable", "no keys") from None


def _failed(failure: SignInFailure, why: str) -> SignInError:
    log.warning("sign_in.failed", failure=failure, why=why)
    return SignInError(failure)


def _is_same(given: object, expected: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
