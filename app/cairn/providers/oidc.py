"""Access tokens of one OpenID Connect issuer: is this one of its own, for us, and of now; and what does it say.

The signature is checked with the issuer's published keys (JWKS), by PyJWT. Only asymmetric algorithms count, each with its own
kind of key, so that no public key can be taken for a secret; keys that a token brings along are never looked at.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx2
import jwt
import structlog

from cairn.domain.key import TokenClaims
from cairn.domain.names import check_named
from cairn.domain.principal import ALL_SCOPES, Caller, Scope
from cairn.errors import InputError, IssuerUnavailableError, SettingsError, UnauthenticatedError, named_reason
from cairn.providers.tls import authorities
from cairn.settings import OidcIssuer

log = structlog.get_logger(__name__)

KEY_TYPES: Final = {
    "RS256": "RSA", "RS384": "RSA", "RS512": "RSA", "PS256": "RSA", "PS384": "RSA", "PS512": "RSA",
    "ES256": "EC", "ES384": "EC", "ES512": "EC", "EdDSA": "OKP",
}  # fmt: skip
"""Algorithms that count, and what kind of key each takes."""
TOKEN_TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
LEEWAY_SECONDS: Final = 30
KEPT_SECONDS: Final = 300.0
"""After so long keys are fetched again, so that those which the issuer took back count no longer."""
STALE_SECONDS: Final = 3600.0
"""So long the last keys count while the issuer is away."""
RETRY_SECONDS: Final = 10.0
"""Between two fetches, whatever tokens say: who makes up names of keys does not make us ask for them."""
FETCH_SECONDS: Final = 5.0
MAX_BYTES: Final = 256_000
MIN_RSA_BITS: Final = 2048
LONGEST_SECONDS: Final = 366 * 24 * 3600.0
INVALID: Final = "the token does not count: it is not of the issuer, not for this server, or expired"


class IssuerKeys:
    """TokenReader for the tokens of one issuer."""

    def __init__(self, issuer: OidcIssuer) -> None:
        """Raises SettingsError for addresses that are not HTTPS; HTTP will do on loopback."""
        self._issuer = issuer
        for url in (issuer.issuer, issuer.jwks_url or issuer.issuer):
            if not _is_safe(url):
                raise SettingsError(f"{url[:200]} is no https address; keys that come over plain HTTP can be anybody's")
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._fetched_at = self._tried_at = -math.inf
        self._fetching = asyncio.Lock()

    async def read(self, token: str) -> TokenClaims:
        """See TokenReader.read."""
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key_for(header)
            claims = jwt.decode(
                token, key, algorithms=list(KEY_TYPES), audience=self._issuer.audience, issuer=self._issuer.issuer,
                leeway=LEEWAY_SECONDS, options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
            return self._claims(claims)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            log.info("token.refused", reason=type(error).__name__)
            raise UnauthenticatedError(INVALID) from None

    def _claims(self, claims: Mapping[str, Any]) -> TokenClaims:
        """Raises ValueError."""
        tenant, subject = _name(claims.get(self._issuer.tenant_claim)), _name(claims["sub"])
        given = claims.get(self._issuer.scope_claim, ())
        words = given.split() if isinstance(given, str) else given if isinstance(given, list) else ()
        scopes: frozenset[Scope] = ALL_SCOPES & {str(word).removeprefix("cairn:") for word in words}
        counted_by = uuid5(NAMESPACE_URL, json.dumps([self._issuer.issuer, tenant, subject]))
        left = float(claims["exp"]) + LEEWAY_SECONDS - time.time()
        return TokenClaims(
            tenant, Caller(f"token:{subject}", subject, scopes, counted_by), max(0.0, min(left, LONGEST_SECONDS))
        )

    async def _key_for(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        """Raises ValueError, PyJWTError, IssuerUnavailableError."""
        algorithm, name = header.get("alg"), header.get("kid")
        if algorithm not in KEY_TYPES or str(header.get("typ") or "").lower() not in TOKEN_TYPES or "crit" in header:
            raise ValueError("not an access token that counts")
        now = time.monotonic()
        if now - self._fetched_at > KEPT_SECONDS:
            await self._refresh()
        found = _select(self._keys, algorithm, name)
        if found is None:  # the issuer may have a new one
            await self._refresh()
            found = _select(self._keys, algorithm, name)
        if time.monotonic() - self._fetched_at > STALE_SECONDS:
            raise IssuerUnavailableError("the keys of the issuer of tokens cannot be had now; try again")
        if found is None:
            raise ValueError("unknown key")
        key = jwt.PyJWK(dict(found), algorithm)
        if KEY_TYPES[algorithm] == "RSA" and key.key.key_size < MIN_RSA_BITS:
            raise ValueError("the key is too short")
        return key

    async def _refresh(self) -> None:
        """Fetch the keys, unless that was tried a moment ago. Keeps those that it has where that fails."""
        async with self._fetching:
            if time.monotonic() - self._tried_at < RETRY_SECONDS:
                return
            self._tried_at = time.monotonic()
            try:
                async with asyncio.timeout(FETCH_SECONDS):
                    self._keys = await self._fetch()
                self._fetched_at = time.monotonic()
            except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
                log.warning("issuer.unavailable", problem=named_reason(error)[:300])

    async def _fetch(self) -> tuple[Mapping[str, Any], ...]:
        async with httpx2.AsyncClient(
            follow_redirects=False, trust_env=False, timeout=FETCH_SECONDS, verify=authorities()
        ) as client:
            url = self._issuer.jwks_url or await self._discover(client)
            found = await _get(client, url)
        listed = found.get("keys")
        if not isinstance(listed, list):
            raise ValueError("no keys in the key set")
        return tuple(key for key in listed if isinstance(key, dict))

    async def _discover(self, client: httpx2.AsyncClient) -> str:
        found = await _get(client, f"{self._issuer.issuer.rstrip('/')}/.well-known/openid-configuration")
        url = found.get("jwks_uri")
        if found.get("issuer") != self._issuer.issuer or not isinstance(url, str) or not _is_safe(url):
            raise ValueError("the discovery document is of another issuer, or names no safe address of keys")
        return url


async def _get(client: httpx2.AsyncClient, url: str) -> Mapping[str, Any]:
    """A JSON object. Raises ValueError for anything else, and for one that is too large."""
    body = bytearray()
    async with client.stream(
        "GET", url, headers={"Accept": "application/json", "Accept-Encoding": "identity"}
    ) as answer:
        if answer.status_code != 200:
            raise ValueError(f"status {answer.status_code}")
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES:,} bytes")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _select(keys: tuple[Mapping[str, Any], ...], algorithm: str, name: object) -> Mapping[str, Any] | None:
    """The key of that name that is for signatures by this algorithm; where a token names none, the only one there is."""
    fitting = [
        key for key in keys
        if key.get("kty") == KEY_TYPES[algorithm] and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm and (name is None or key.get("kid") == name)
    ]  # fmt: skip
    return fitting[0] if len(fitting) == 1 else None


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return (parts.scheme == "https" and bool(host)) or (
        parts.scheme == "http" and host in ("127.0.0.1", "::1", "localhost")
    )


def _name(value: object) -> str:
    """Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("a name is missing")
    try:
        usable = check_named(value, "tenant") == value
    except InputError:
        usable = False
    if not usable:
        raise ValueError("a name is not usable")
    return value
