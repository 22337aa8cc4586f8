"""Access tokens of one OpenID Connect issuer: is this one of its own, for us, and of now; and what does it say.

The signature is checked with the issuer's published keys (JWKS), by PyJWT. Only asymmetric algorithms count, each with its own
kind of key, so that no public key can be taken for a secret; keys that a token brings along are never looked at.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

import httpx2
import jwt
import structlog

from cairn.domain.access import is_name
from cairn.domain.key import TokenClaims
from cairn.domain.names import check_named
from cairn.domain.person import TOKEN, counted_by
from cairn.domain.principal import ALL_SCOPES, Caller, Scope
from cairn.errors import InputError, IssuerUnavailableError, SettingsError, UnauthenticatedError, named_reason
from cairn.providers.tls import authorities
from cairn.settings import OidcIssuer

T = TypeVar("T")
log = structlog.get_logger(__name__)

KEY_TYPES: Final = {
    "RS256": "RSA", "RS384": "RSA", "RS512": "RSA", "PS256": "RSA", "PS384": "RSA", "PS512": "RSA",
    "ES256": "EC", "ES384": "EC", "ES512": "EC", "EdDSA": "OKP",
}  # fmt: skip
"""Algorithms that count, and what kind of key each takes."""
TOKEN_TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
LEEWAY_SECONDS: Final = 30
KEPT_SECONDS: Final = 300.0
"""After so long keys, and where they are, are fetched again, so that those which the issuer took back count no longer."""
STALE_SECONDS: Final = 3600.0
"""So long the last keys count while the issuer is away."""
RETRY_SECONDS: Final = 10.0
"""Between two fetches, whatever tokens say: who makes up names of keys does not make us ask for them."""
FETCH_SECONDS: Final = 5.0
MAX_BYTES: Final = 256_000
MIN_RSA_BITS: Final = 2048
LONGEST_SECONDS: Final = 366 * 24 * 3600.0
WRONG_TOKEN: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
"""What reading a token raises that does not count."""
FETCH_ERRORS: Final = (
    TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError, IssuerUnavailableError,
)  # fmt: skip
"""What asking the issuer raises that is away or misbehaves."""
INVALID: Final = "the token does not count: it is not of the issuer, not for this server, or expired"


class _Published(Generic[T]):
    """What the issuer publishes at one place: fetched again after a while, kept while the issuer is away."""

    def __init__(self, fetch: Callable[[httpx2.AsyncClient], Awaitable[T]], value: T) -> None:
        """`value` counts as long as nothing was fetched."""
        self.value = value
        self._fetch = fetch
        self._fetched_at = self._tried_at = -math.inf
        self._fetching = asyncio.Lock()

    @property
    def age(self) -> float:
        """Seconds since it was fetched; infinite before."""
        return time.monotonic() - self._fetched_at

    async def refresh(self) -> None:
        """Fetch it, unless that was tried a moment ago. What there is stays where that fails."""
        async with self._fetching:
            if time.monotonic() - self._tried_at < RETRY_SECONDS:
                return
            self._tried_at = time.monotonic()
            try:
                async with asyncio.timeout(FETCH_SECONDS), issuer_client() as client:
                    self.value = await self._fetch(client)
                self._fetched_at = time.monotonic()
            except FETCH_ERRORS as error:
                log.warning("issuer.unavailable", problem=named_reason(error)[:300])


class IssuerKeys:
    """TokenReader for the tokens of one issuer."""

    def __init__(self, issuer: OidcIssuer) -> None:
        """Raises SettingsError for addresses that are not HTTPS; HTTP will do on loopback."""
        self._issuer = issuer
        for url in (issuer.issuer, issuer.jwks_url or issuer.issuer):
            if not is_safe(url):
                raise SettingsError(f"{url[:200]} is no https address; keys that come over plain HTTP can be anybody's")
        self._document: _Published[Mapping[str, Any]] = _Published(self._fetch_document, {})
        self._keys: _Published[tuple[Mapping[str, Any], ...]] = _Published(self._fetch_keys, ())

    async def read(self, token: str) -> TokenClaims:
        """See TokenReader.read."""
        try:
            return self.grant(await self.verify(token, self._issuer.audiences))
        except WRONG_TOKEN as error:
            log.info("token.refused", reason=type(error).__name__)
            raise UnauthenticatedError(INVALID) from None

    async def verify(self, token: str, audiences: tuple[str, ...]) -> Mapping[str, Any]:
        """What a token says that the issuer signed for one of the audiences and that counts now. Raises one of WRONG_TOKEN, and
        IssuerUnavailableError."""
        key = await self._key_for(jwt.get_unverified_header(token))
        found: Mapping[str, Any] = jwt.decode(
            token, key, algorithms=list(KEY_TYPES), audience=audiences, issuer=self._issuer.issuer,
            leeway=LEEWAY_SECONDS, options={"require": ["exp", "iss", "aud", "sub"]},
        )  # fmt: skip
        return found

    async def discover(self) -> Mapping[str, Any]:
        """The issuer's discovery document. Raises IssuerUnavailableError."""
        if self._document.age > KEPT_SECONDS:
            await self._document.refresh()
        if self._document.age > STALE_SECONDS:
            raise IssuerUnavailableError("the issuer of tokens cannot be reached now; try again")
        return self._document.value

    def grant(self, claims: Mapping[str, Any]) -> TokenClaims:
        """For whom such a token works. Raises ValueError where it names no tenant."""
        tenant, subject = _name(claims.get(self._issuer.tenant_claim)), _name(claims["sub"])
        given = claims.get(self._issuer.scope_claim, ())
        words = given.split() if isinstance(given, str) else given if isinstance(given, list) else ()
        scopes: frozenset[Scope] = ALL_SCOPES & {str(word).removeprefix("cairn:") for word in words}
        counted = counted_by(self._issuer.issuer, tenant, subject)
        left = float(claims["exp"]) + LEEWAY_SECONDS - time.time()
        return TokenClaims(
            tenant,
            Caller(f"{TOKEN}:{subject}", subject, scopes, counted, groups=self._groups(claims)),
            max(0.0, min(left, LONGEST_SECONDS)),
        )

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str]:
        """Names that access lists may have; whoever has none of them reads what everybody in the tenant may."""
        given = claims.get(self._issuer.groups_claim, ())
        words = [given] if isinstance(given, str) else given if isinstance(given, list) else ()
        return frozenset(word for word in words if isinstance(word, str) and is_name(word))

    async def _key_for(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        """Raises ValueError, PyJWTError, IssuerUnavailableError."""
        algorithm, name = header.get("alg"), header.get("kid")
        if algorithm not in KEY_TYPES or str(header.get("typ") or "").lower() not in TOKEN_TYPES or "crit" in header:
            raise ValueError("not an access token that counts")
        if self._keys.age > KEPT_SECONDS:
            await self._keys.refresh()
        found = _select(self._keys.value, algorithm, name)
        if found is None:  # the issuer may have a new one
            await self._keys.refresh()
            found = _select(self._keys.value, algorithm, name)
        if self._keys.age > STALE_SECONDS:
            raise IssuerUnavailableError("the keys of the issuer of tokens cannot be had now; try again")
        if found is None:
            raise ValueError("unknown key")
        key = jwt.PyJWK(dict(found), algorithm)
        if KEY_TYPES[algorithm] == "RSA" and key.key.key_size < MIN_RSA_BITS:
            raise ValueError("the key is too short")
        return key

    async def _fetch_keys(self, client: httpx2.AsyncClient) -> tuple[Mapping[str, Any], ...]:
        url = self._issuer.jwks_url or (await self.discover()).get("jwks_uri")
        if not isinstance(url, str) or not is_safe(url):
            raise ValueError("the discovery document names no safe address of keys")
        listed = (await fetch_json(client, "GET", url)).get("keys")
        if not isinstance(listed, list):
            raise ValueError("no keys in the key set")
        return tuple(key for key in listed if isinstance(key, dict))

    async def _fetch_document(self, client: httpx2.AsyncClient) -> Mapping[str, Any]:
        found = await fetch_json(client, "GET", f"{self._issuer.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self._issuer.issuer:
            raise ValueError("the discovery document is of another issuer")
        return found


def issuer_client() -> httpx2.AsyncClient:
    """For what is asked of the issuer: no redirects, no proxy of the environment, a limit in time."""
    return httpx2.AsyncClient(follow_redirects=False, trust_env=False, timeout=FETCH_SECONDS, verify=authorities())


async def fetch_json(
    client: httpx2.AsyncClient, method: str, url: str, *, statuses: tuple[int, ...] = (200,), **options: Any
) -> Mapping[str, Any]:
    """A JSON object. Raises ValueError for anything else, for one that is too large, and for other statuses; httpx2.HTTPError."""
    body = bytearray()
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    async with client.stream(method, url, headers=headers, **options) as answer:
        if answer.status_code not in statuses:
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


def is_safe(url: str) -> bool:
    """Whether nobody between can change what is said there: HTTPS, or loopback."""
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
