"""What a user can do with keys, once for all surfaces."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from cairn.domain.access import check_groups
from cairn.domain.key import ApiKey, new_secret
from cairn.domain.names import check_named
from cairn.domain.principal import ALL_SCOPES, KeyLimits, Principal, Scope
from cairn.errors import ForbiddenError, InputError, NotFoundError
from cairn.language.text import storable
from cairn.store import audit, keys, tenants
from cairn.wiring import Services

LONGEST = timedelta(days=3660)
"""Ten years: a key that is to last longer does not expire."""
MOST: Final = KeyLimits(1_000_000, 10_000, 10**15, 1e9)
"""The largest limits of a key; what is to be more has none."""


async def create_key(
    services: Services, name: str, scopes: Collection[Scope], *, limits: KeyLimits | None = None,
    expires_in: timedelta | None = None, groups: Collection[str] = (),
) -> tuple[ApiKey, str]:  # fmt: skip
    """The key, and its secret, which nobody can read again. `groups`: which its holder belongs to, by access lists of documents.
    Raises InputError; ForbiddenError for a scope, or a group, that the caller does not have: nobody gives more than they have."""
    name = check_named(name, "key")
    if not scopes:
        raise InputError(f"a key needs a scope: {', '.join(sorted(ALL_SCOPES))}")
    if missing := set(scopes) - services.principal.caller.scopes:
        raise ForbiddenError(min(missing))
    groups = _checked_groups(services.principal, groups)
    if expires_in is not None and not timedelta(0) < expires_in <= LONGEST:
        raise InputError(f"a key lasts up to {LONGEST.days:,} days; leave that out for one that does not expire")
    limits = _checked_limits(limits or KeyLimits())
    secret = new_secret()
    async with services.database.transaction(services.principal) as connection:
        expires_at = await keys.from_now(connection, expires_in) if expires_in else None
        made = await keys.create(connection, services.principal, secret, name, scopes, limits, expires_at, groups)
        detail: dict[str, Any] = {
            "name": name,
            "scopes": sorted(scopes),
            "expires_at": expires_at.isoformat() if expires_at else None,
        }
        detail |= {"groups": list(groups)} if groups else {}
        await audit.record(connection, services.principal, "key.create", str(made.id), detail)
    return made, secret


async def list_keys(services: Services, *, before: UUID | None = None, limit: int = 50) -> list[ApiKey]:
    """Of the caller's tenant, newest first, with those that were revoked. `before`: the last id of the page before."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await keys.list_keys(connection, services.principal, before, limit)


async def revoke_key(services: Services, key_id: UUID) -> ApiKey:
    """It counts no more, and what it has under way ends, on all processes. Revoked again, it stays as it is. Raises
    NotFoundError."""
    async with services.database.transaction(services.principal) as connection:
        revoked = await keys.revoke(connection, services.principal, key_id)
        if revoked is not None:
            await audit.record(connection, services.principal, "key.revoke", str(key_id), {"name": revoked.name})
    if revoked is None:
        raise _no_key(key_id)
    return revoked


async def change_groups(services: Services, key_id: UUID, groups: Collection[str]) -> ApiKey:
    """Its holder belongs to these groups and no others, from the next request on, on all processes; what is under way ends with
    those that it began with. Raises NotFoundError; InputError; ForbiddenError for a group that the caller does not have."""
    groups = _checked_groups(services.principal, groups)
    async with services.database.transaction(services.principal) as connection:
        found = await keys.change_groups(connection, services.principal, key_id, groups)
        if found is not None and set(found[1]) != set(groups):
            changed, before = found
            # as `groups`, which analysts are not shown (rag.readable): an empty list would let them see those of before
            detail = {"name": changed.name, "groups": {"before": list(before), "after": list(groups)}}
            await audit.record(connection, services.principal, "key.change", str(key_id), detail)
    if found is None:
        raise _no_key(key_id)
    return found[0]


async def of_tenant(services: Services, tenant: str | None, *, create: bool = False) -> Services:
    """The same, working for another tenant; `create`: made if it is new. For who works on the database directly. Raises
    NotFoundError."""
    if tenant is None:
        return services
    name = check_named(tenant, "tenant") if create else " ".join(storable(tenant).split())
    async with services.database.connection() as connection:
        tenant_id = await (keys.ensure_tenant if create else tenants.find_id)(connection, name)
    if tenant_id is None:
        raise NotFoundError(f"there is no tenant {name}; `cairn tenant list` has those there are")
    return replace(services, principal=Principal(tenant_id, name, services.principal.caller))


def _no_key(key_id: UUID) -> NotFoundError:
    return NotFoundError(f"no key {key_id}; see GET /keys")


def _checked_groups(principal: Principal, groups: Collection[str]) -> tuple[str, ...]:
    """Each once, in order. Raises InputError; ForbiddenError for one that the caller does not have."""
    checked = check_groups(groups)
    if not (principal.caller.reads_all or principal.caller.groups.issuperset(checked)):
        raise ForbiddenError("admin")
    return checked


def _checked_limits(limits: KeyLimits) -> KeyLimits:
    least = KeyLimits(1, 1, 0, 0)
    for name in KeyLimits.__dataclass_fields__:
        given, low, high = (getattr(of, name) for of in (limits, least, MOST))
        if given is not None and not (math.isfinite(given) and low <= given <= high):
            raise InputError(f"{name} of a key is {low:,} to {high:,.0f}; leave it out for what the settings say")
    return limits
