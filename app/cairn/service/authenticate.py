"""Who a key or token stands for, in whichever database: each keeps the keys of its own tenants, and says nothing of others.

A token names its tenant, and with it the database. A key does not: the first time that a process sees one, all databases are
asked, and afterwards the one that knew it. Why: docs/adr/0084-tenants-on-several-servers.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol

import structlog

from cairn.domain.key import Grant, TokenClaims, hash_secret, is_well_formed
from cairn.domain.sign_in import SignInAttempt
from cairn.errors import CairnError, DatabaseUnavailableError, UnauthenticatedError
from cairn.service.authenticate_local import INVALID, KEPT_KEYS, KeyRing
from cairn.settings import DEFAULT, MOVING, TenantMap
from cairn.store.session import Database
from cairn.wiring import Services

log = structlog.get_logger(__name__)

AGREE_SECONDS: Final = 1.0
"""After a database has said whose key it is, for the others to say that it is not one of theirs."""
AWAY: Final = (
    "a database cannot be used now, and this may be a key or token of its tenants: try again; /health/ready tells who operates "
    "the server which it is"
)


class TokenReader(Protocol):
    """Reads access tokens of an issuer."""

    async def read(self, token: str) -> TokenClaims:
        """Raises UnauthenticatedError, and IssuerUnavailableError where the issuer's keys cannot be had."""
        ...


class CodeFlow(Protocol):
    """Signing in at an issuer by an authorization code. `issuer_name`: what people call it."""

    issuer_name: str

    async def begin(self, attempt: SignInAttempt, callback: str) -> str:
        """The address at the issuer where somebody signs in, and from which they come back to `callback`. Raises
        IssuerUnavailableError, SignInError."""
        ...

    async def complete(self, attempt: SignInAttempt, callback: str, answer: Mapping[str, str]) -> str:
        """The access token of who came back with `answer`, the query of their address. Raises SignInError,
        IssuerUnavailableError."""
        ...


class KeyRings:
    """Authenticates the callers of a process: a ring for each database that is open. `tokens`: None where no issuer is
    configured."""

    def __init__(self, tenant_map: TenantMap, tokens: TokenReader | None = None) -> None:
        self._map = tenant_map
        self._tokens = tokens
        self._rings: dict[str, KeyRing] = {}
        self._found: dict[bytes, str] = {}
        """Names of databases by hashes of keys that they knew. Which tenant lives where stays while the process runs."""

    def add(self, name: str, database: Database) -> KeyRing:
        """That of a database, to be asked from now on; somebody has to let it `listen`."""

        def check_tenant(tenant: str) -> None:
            place = self._map.place_of(tenant)
            if place == MOVING:
                raise DatabaseUnavailableError(
                    f"tenant {tenant} is being moved to another server; try again in some minutes"
                )
            if place != name:
                raise UnauthenticatedError(INVALID)  # what was left behind, or came too early, counts nowhere

        ring = self._rings[name] = KeyRing(database, check_tenant)
        return ring

    async def authenticate(self, credential: str) -> Grant:
        """For whom its bearer works. Raises UnauthenticatedError; DatabaseUnavailableError, IssuerUnavailableError where that
        cannot be told now."""
        if is_well_formed(credential):
            return await self._by_key(credential)
        if self._tokens is not None and credential.count(".") == 2:
            claims = await self._tokens.read(credential)
            place = self._map.place_of(claims.tenant)
            return await self._ring(DEFAULT if place == MOVING else place).admit(claims)
        raise UnauthenticatedError(INVALID)

    def watch(self, grant: Grant, end: Callable[[], None]) -> AbstractContextManager[None]:
        """Within the block, `end` is called when the key is revoked or what was presented expires."""
        return self._ring(self._map.place_of(grant.principal.tenant)).watch(grant, end)

    def forget(self) -> None:
        """A key was revoked, or got other groups, here and now."""
        for ring in self._rings.values():
            ring.forget()

    def _ring(self, name: str) -> KeyRing:
        if name not in self._rings:
            raise DatabaseUnavailableError(AWAY)
        return self._rings[name]

    async def _by_key(self, secret: str) -> Grant:
        if not self._map.databases:
            return await self._ring(DEFAULT).authenticate(secret)
        key_hash = hash_secret(secret)
        known = self._found.get(key_hash)
        if known is not None:
            return await self._ring(known).authenticate(secret)
        name, grant = await self._ask_all(secret)
        if len(self._found) >= KEPT_KEYS:
            self._found.clear()
        self._found[key_hash] = name
        return grant

    async def _ask_all(self, secret: str) -> tuple[str, Grant]:
        """Where the key is known, and for whom it works. One that is known in two places, as those of a copy of a tenant are, is
        nobody's: which tenant it opens must not depend on who answers first."""

        async def ask(name: str) -> Grant:
            return await self._ring(name).authenticate(secret)

        asked = {asyncio.create_task(ask(name)): name for name in self._map.names}
        grants: dict[str, Grant] = {}
        silent: CairnError | None = None
        waiting, until, clock = set(asked), None, asyncio.get_running_loop().time
        try:
            while waiting:
                left = None if until is None else max(until - clock(), 0)
                done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
                for task in done:
                    try:
                        grants[asked[task]] = task.result()
                        until = until or clock() + AGREE_SECONDS
                    except UnauthenticatedError:
                        pass
                    except CairnError as error:
                        silent = error
        finally:
            for task in asked:
                task.cancel()
        if not grants:
            raise silent or UnauthenticatedError(INVALID)
        if len(grants) > 1:
            known = {name: grant.principal.tenant for name, grant in grants.items()}
            log.error("keys.ambiguous", keys=[str(grant.key_id) for grant in grants.values()], tenants=known)
            raise UnauthenticatedError(INVALID)
        ((name, grant),) = grants.items()
        return name, grant


def open_issuer(services: Services) -> tuple[TokenReader | None, CodeFlow | None]:
    """Who reads the tokens of the configured issuer, and how people sign in there. Raises SettingsError."""
    configured = services.environment.oidc
    if configured is None:
        return None, None
    from cairn.providers.oidc import IssuerKeys  # half the start of a process that reads no tokens
    from cairn.providers.oidc_sign_in import IssuerCodeFlow

    keys = IssuerKeys(configured)
    return keys, IssuerCodeFlow(configured, keys) if configured.client_id else None
