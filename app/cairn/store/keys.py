"""rag.api_keys. `find`, `live`, `listen` and `echo` concern all tenants and take a bare connection; the others take one inside
a transaction of the principal's tenant."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.ids import new_id
from cairn.domain.key import SHOWN_CHARS, ApiKey, hash_secret
from cairn.domain.principal import ALL_SCOPES, KeyLimits, Principal, Scope

CHANNEL = "cairn_keys"
"""Its notifications are the ids of keys that were revoked or got other groups, echoes, and ACCESS."""
ACCESS: Final = "access"
"""That others may read some documents than before (rag.write_access)."""
ECHO = "echo "
_LIMITS = tuple(KeyLimits.__dataclass_fields__)
_SQL = load_queries("keys")


@dataclass(frozen=True, slots=True)
class LoadedKey:
    """A key that counts, with its tenant and its hash. `seconds_left` until it expires, by the clock of the database."""

    key: ApiKey
    key_hash: bytes
    tenant_id: int
    tenant: str
    seconds_left: float | None


def _key(row: Any) -> ApiKey:
    names = set(ApiKey.__dataclass_fields__) - {"groups", "limits", "scopes"}
    return ApiKey(
        **{name: row[name] for name in names},
        limits=KeyLimits(**{name: row[name] for name in _LIMITS}),
        scopes=ALL_SCOPES & set(row["scopes"]),
        groups=tuple(row["groups"] or ()),
    )


async def create(
    connection: Any, principal: Principal, secret: str, name: str, scopes: Collection[Scope], limits: KeyLimits,
    expires_at: datetime | None, groups: Collection[str] = (),
) -> ApiKey:  # fmt: skip
    """Keep the hash of a new key."""
    row = await connection.fetchrow(
        _SQL["create"], principal.tenant_id, new_id(), name, hash_secret(secret), secret[:SHOWN_CHARS], sorted(scopes),
        *(getattr(limits, name) for name in _LIMITS), principal.caller.id, expires_at,
        sorted(groups) or None,
    )  # fmt: skip
    return _key(row)


async def from_now(connection: Any, span: timedelta) -> datetime:
    """The time after so long, by the clock of the database."""
    moment: datetime = await connection.fetchval(_SQL["from_now"], span)
    return moment


async def list_keys(connection: Any, principal: Principal, before: UUID | None, limit: int) -> list[ApiKey]:
    """Newest first; `before`: the last id of the page before."""
    return [_key(row) for row in await connection.fetch(_SQL["list"], principal.tenant_id, before, limit)]


async def revoke(connection: Any, principal: Principal, key_id: UUID) -> ApiKey | None:
    """From the commit on it counts no more, and who listens is told. None where there is no such key."""
    row = await connection.fetchrow(_SQL["revoke"], principal.tenant_id, key_id)
    return _key(row) if row else None


async def change_groups(
    connection: Any, principal: Principal, key_id: UUID, groups: Collection[str]
) -> tuple[ApiKey, tuple[str, ...]] | None:
    """The key with these groups in the place of those it had, and those; from the commit on they count, and who listens is told.
    None where there is no such key."""
    row = await connection.fetchrow(_SQL["change_groups"], principal.tenant_id, key_id, sorted(groups) or None)
    return (_key(row), tuple(row["groups_before"] or ())) if row else None


async def find(connection: Any, key_hash: bytes) -> tuple[int, UUID] | None:
    """Tenant and id of the key, if it counts; and note that it is used."""
    row = await connection.fetchrow(_SQL["find"], key_hash)
    return (row["tenant_id"], row["id"]) if row else None


async def load(connection: Any, tenant_id: int, key_id: UUID) -> LoadedKey | None:
    """What is known of it, if it counts."""
    row = await connection.fetchrow(_SQL["load"], tenant_id, key_id)
    return LoadedKey(_key(row), row["key_hash"], tenant_id, row["tenant"], row["seconds_left"]) if row else None


async def live(connection: Any, ids: Collection[UUID]) -> set[UUID]:
    """Which of them count."""
    return {row["id"] for row in await connection.fetch(_SQL["live"], list(ids))}


async def listen(connection: Any, hear: Callable[[str], None]) -> None:
    """Call `hear` with each notification, as long as the connection lives."""

    def heard(_connection: Any, _process: int, _channel: str, payload: str) -> None:
        hear(payload)

    await connection.add_listener(CHANNEL, heard)


async def echo(connection: Any, token: str) -> None:
    """Have a notification sent to all who listen."""
    await connection.execute(_SQL["notify"], ECHO + token)


async def ensure_tenant(connection: Any, name: str) -> int:
    """The id of the tenant of that name, made if it is new."""
    return int(await connection.fetchval(_SQL["ensure_tenant"], name))
