"""Who a key or token stands for in one database, as a serving process asks it: with every request.

A look-up is kept for seconds, and only while the process is sure to hear of revocations at once: it has a connection that
listens, and has proved within the last moments that notifications come through it. Else every request asks the database.

Whoever may connect to a database may notify there, analysts too, so a notification is a hint and no more: it names one key, which
is looked up again.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from cairn.domain.ids import as_id
from cairn.domain.key import Grant, TokenClaims, hash_secret, is_well_formed
from cairn.domain.principal import Caller, Principal
from cairn.errors import CairnError, DatabaseUnavailableError, UnauthenticatedError
from cairn.store import keys
from cairn.store.session import Database

log = structlog.get_logger(__name__)

FRESH_SECONDS: Final = 5.0
"""After so long a key is looked up again, beside the requests: none waits for it, also where the database is busy."""
KEPT_SECONDS: Final = 30.0
"""How long a look-up is kept where that does not come to an end. A revocation ends it at once."""
KEPT_KEYS: Final = 10_000
PROOF_SECONDS: Final = 1.0
"""Between two proofs that notifications come through."""
PROVEN_SECONDS: Final = 2.5
"""How long one counts."""
ECHO_SECONDS: Final = 2.0
"""A notification to oneself that takes longer than this is lost, with the connection."""
CALM_SECONDS: Final = 0.05
"""Between two looks at what is under way, however often somebody notifies."""
RETRY_SECONDS: Final = 1.0
LOOKUP_SECONDS: Final = 5.0
READINGS: Final = 3
"""Of a key that is said to be revoked or changed again and again while it is read."""
LOOKUPS: Final = 2
"""Look-ups at once: who tries keys takes no more connections of the pool than this."""
INVALID: Final = "the key does not count: it is unknown, revoked or expired"


@dataclass(frozen=True, slots=True)
class _Kept:
    grant: Grant
    fresh_until: float
    until: float


class KeyRing:
    """Knows the callers of one database, for as long as `listen` runs beside. `check_tenant`: raises for a tenant that is not
    to be served from it, whatever it has."""

    def __init__(self, database: Database, check_tenant: Callable[[str], None] = lambda _: None) -> None:
        self._database = database
        self._check_tenant = check_tenant
        self._kept: dict[bytes, _Kept] = {}
        self._hashes: dict[UUID, bytes] = {}
        """Of the keys that are kept, by their ids."""
        self._heard: set[UUID] = set()
        """Ids that were notified of while keys are looked up."""
        self._asked: dict[bytes, asyncio.Task[Grant]] = {}
        self._slots = asyncio.Semaphore(LOOKUPS)
        self._generation = 0
        self._proven_until = 0.0
        self._watched: dict[UUID, set[Callable[[], None]]] = {}
        self._tenants: dict[str, int] = {}

    async def authenticate(self, credential: str) -> Grant:
        """For whom the bearer of a key works. Raises UnauthenticatedError; DatabaseUnavailableError where that cannot be told
        now."""
        if is_well_formed(credential):
            return await self._by_key(hash_secret(credential))
        raise UnauthenticatedError(INVALID)

    @contextmanager
    def watch(self, grant: Grant, end: Callable[[], None]) -> Iterator[None]:
        """Within the block, `end` is called when the key is revoked or what was presented expires."""
        key_id = grant.key_id
        timer = asyncio.get_running_loop().call_at(grant.ends_at, end) if grant.ends_at is not None else None
        if key_id is not None:
            self._watched.setdefault(key_id, set()).add(end)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            if key_id is not None:
                self._watched[key_id].discard(end)
                if not self._watched[key_id]:
                    del self._watched[key_id]

    @property
    def is_proven(self) -> bool:
        """Whether it is sure to hear of revocations."""
        return asyncio.get_running_loop().time() < self._proven_until

    def keeps(self, secret: str) -> bool:
        """Whether a look-up of this key is kept."""
        return hash_secret(secret) in self._kept

    @property
    def watched(self) -> int:
        """What is under way for keys."""
        return sum(len(ends) for ends in self._watched.values())

    # --- keys -----------------------------------------------------------------------------------------------------------

    async def _by_key(self, key_hash: bytes) -> Grant:
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(key_hash)
        if kept is not None and now < kept.until and self.is_proven:
            if kept.grant.ends_at is not None and now >= kept.grant.ends_at:
                raise UnauthenticatedError(INVALID)
            if now >= kept.fresh_until:
                self._ask(key_hash)
            return kept.grant
        return await asyncio.shield(self._ask(key_hash))

    def _ask(self, key_hash: bytes) -> asyncio.Task[Grant]:
        """A look-up: requests that come together ask together."""
        asked = self._asked.get(key_hash)
        if asked is None:
            asked = self._asked[key_hash] = asyncio.create_task(self._look_up(key_hash, self._generation))
            asked.add_done_callback(lambda task: self._answered(key_hash, task))
        return asked

    def _answered(self, key_hash: bytes, task: asyncio.Task[Grant]) -> None:
        if self._asked.get(key_hash) is task:
            del self._asked[key_hash]
        if not self._asked:
            self._heard.clear()
        # whoever waited may have left: it is no error that nobody hears
        if not task.cancelled() and isinstance(task.exception(), UnauthenticatedError):
            self._kept.pop(key_hash, None)

    async def _look_up(self, key_hash: bytes, generation: int) -> Grant:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS), self._slots:
                found = await self._find(key_hash)
                for _ in range(READINGS - 1):
                    if found is None or found.key.id not in self._heard:
                        break
                    self._heard.discard(found.key.id)  # revoked since it was read, or in other groups
                    found = await self._find(key_hash)
        except TimeoutError:
            raise DatabaseUnavailableError("the database did not say in time whose key this is; try again") from None
        # a hash cannot be guessed piece by piece, so the index may find it; that it is this one is told in constant time
        if found is None or not hmac.compare_digest(found.key_hash, key_hash):
            raise UnauthenticatedError(INVALID)
        self._check_tenant(found.tenant)
        key = found.key
        caller = Caller(f"key:{key.id}", key.name, key.scopes, key.id, key.limits, frozenset(key.groups))
        now = asyncio.get_running_loop().time()
        ends_at = None if found.seconds_left is None else now + found.seconds_left
        grant = Grant(Principal(found.tenant_id, found.tenant, caller), ends_at, key.id)
        # else somebody may have revoked it while it was read, or given it other groups
        if generation == self._generation and key.id not in self._heard:
            if len(self._kept) >= KEPT_KEYS:
                self._kept.clear()
                self._hashes.clear()
            self._hashes[key.id] = key_hash
            self._kept[key_hash] = _Kept(grant, now + FRESH_SECONDS, now + KEPT_SECONDS)
        return grant

    async def _find(self, key_hash: bytes) -> keys.LoadedKey | None:
        async with self._database.connection() as connection:
            place = await keys.find(connection, key_hash)
        if place is None:
            return None
        tenant_id, key_id = place
        async with self._database.transaction(Principal(tenant_id, ""), readonly=True) as connection:
            return await keys.load(connection, tenant_id, key_id)

    # --- tokens ---------------------------------------------------------------------------------------------------------

    async def admit(self, claims: TokenClaims) -> Grant:
        """For whom a valid token works; its tenant is made if it is new. Raises DatabaseUnavailableError."""
        self._check_tenant(claims.tenant)
        tenant_id = self._tenants.get(claims.tenant)
        if tenant_id is None:
            async with self._slots, self._database.connection() as connection:
                tenant_id = await keys.ensure_tenant(connection, claims.tenant)
            if len(self._tenants) >= KEPT_KEYS:
                self._tenants.clear()
            self._tenants[claims.tenant] = tenant_id  # a tenant keeps its id and its name
        ends_at = asyncio.get_running_loop().time() + claims.seconds_left
        return Grant(Principal(tenant_id, claims.tenant, claims.caller), ends_at)

    # --- revocations ----------------------------------------------------------------------------------------------------

    async def listen(self) -> None:
        """Hear of revocations, for ever: connect again after every loss."""
        while True:
            try:
                async with self._database.own_connection() as connection:
                    await (self._look_after(connection) if self._database.is_distributed else self._heed(connection))
            except (CairnError, TimeoutError) as error:
                log.warning("keys.not_listening", problem=getattr(error, "detail", "notifications do not come through"))
            finally:
                self._proven_until = 0.0
                self.forget()
            await asyncio.sleep(RETRY_SECONDS)

    async def _look_after(self, connection: object) -> None:
        """Where tenants notify at nodes of their own, nothing is heard: look-ups are not kept, and what runs is looked after."""
        while True:
            await self._end_revoked(connection)
            await asyncio.sleep(PROOF_SECONDS)

    async def _heed(self, connection: object) -> None:
        token, heard, changed = "", asyncio.Event(), asyncio.Event()
        changed.set()  # what was revoked while nobody listened

        def hear(payload: str) -> None:
            if payload.startswith(keys.ECHO):
                if payload == keys.ECHO + token:
                    heard.set()
            elif payload == keys.ACCESS:
                self._database.read_newest()
            elif (key_id := as_id(payload)) is not None and self._reconsider(key_id):
                changed.set()

        await keys.listen(connection, hear)
        looked_at = -CALM_SECONDS
        while True:
            heard.clear()
            token = secrets.token_hex(16)  # a new one each time: whoever listens as well could repeat an old one
            asked_at = asyncio.get_running_loop().time()
            async with asyncio.timeout(ECHO_SECONDS):
                await keys.echo(connection, token)
                await heard.wait()
            # notifications come in the order of commits: whatever was revoked before this one has been heard
            self._proven_until = asked_at + PROVEN_SECONDS
            if changed.is_set():
                await asyncio.sleep(max(0.0, looked_at + CALM_SECONDS - asyncio.get_running_loop().time()))
                looked_at = asyncio.get_running_loop().time()
                changed.clear()
                await self._end_revoked(connection)
            with suppress(TimeoutError):
                async with asyncio.timeout(PROOF_SECONDS):
                    await changed.wait()

    def forget(self) -> None:
        """Ask the database for every key again, also where a look-up is under way."""
        self._kept.clear()
        self._hashes.clear()
        self._heard.clear()
        self._asked.clear()
        self._generation += 1

    def _reconsider(self, key_id: UUID) -> bool:
        """Ask the database for this key again, also where a look-up is under way; whether something is under way for it."""
        if (key_hash := self._hashes.pop(key_id, None)) is not None:
            self._kept.pop(key_hash, None)
        if self._asked:
            self._heard.add(key_id)
            if len(self._heard) > KEPT_KEYS:
                self.forget()
        return key_id in self._watched

    async def _end_revoked(self, connection: object) -> None:
        """End what is under way for keys that count no more. The database is asked: anybody there can notify."""
        if not self._watched:
            return
        asked = tuple(self._watched)  # what comes meanwhile was not asked about
        live = await keys.live(connection, asked)
        for key_id in set(asked) - live:
            for end in tuple(self._watched.get(key_id, ())):
                end()
