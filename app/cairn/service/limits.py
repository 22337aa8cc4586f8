"""What a user can know of limits, and who operates the server can set: what keys and tenants may use, and have used."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from cairn.domain.principal import KeyLimits, Principal
from cairn.domain.usage import Holding, KeyUsage
from cairn.errors import NotFoundError
from cairn.runs.limits.effective import limits_of
from cairn.store import audit, limits, tenants
from cairn.wiring import Services


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """What a tenant keeps, and may keep; since when it is there."""

    tenant: str
    kept: Holding
    most: Holding
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CallerUsage:
    """`key`: of the caller, with the `most` that it may use; None for callers that are not counted. `keys`: of all that are in
    use, for who may operate."""

    tenant: TenantUsage
    key: KeyUsage | None
    most: KeyLimits | None
    keys: tuple[KeyUsage, ...]


async def get_usage(services: Services) -> CallerUsage:
    """At this moment; what this process has not written yet included."""
    principal, key = services.principal, services.principal.caller.key_id
    operates = "admin" in principal.caller.scopes
    await services.spending.flush()
    async with services.database.transaction(principal, readonly=True) as connection:
        tenant = await _tenant_usage(services, connection, principal)
        known = await limits.key_usage(connection, principal, None if operates else key) if operates or key else []
    shown = tuple(known) if operates else ()
    if key is None:
        return CallerUsage(tenant, None, None, shown)
    own = next((one for one in known if one.key_id == key), KeyUsage(key))
    return CallerUsage(tenant, own, limits_of(principal, services.settings.current.limits), shown)


async def _tenant_usage(services: Services, connection: Any, principal: Principal) -> TenantUsage:
    own, defaults = await limits.tenant_limits(connection, principal), services.settings.current.limits
    most = Holding(
        defaults.documents if own.documents is None else own.documents,
        defaults.bytes if own.bytes is None else own.bytes,
        defaults.chunks if own.chunks is None else own.chunks,
    )
    name, created_at = await tenants.describe(connection, principal)
    return TenantUsage(name, await limits.tenant_usage(connection, principal), most, created_at)


async def list_tenant_usage(services: Services) -> list[TenantUsage]:
    """Of all tenants; for who operates the server, never for a caller of one of them."""
    async with services.database.connection() as connection:
        known = await tenants.list_ids(connection)
    found = []
    for tenant in (Principal(one, "") for one in known):
        async with services.database.transaction(tenant, readonly=True) as connection:
            found.append(await _tenant_usage(services, connection, tenant))
    return found


async def limit_tenant(services: Services, name: str, changes: dict[str, int | None]) -> TenantUsage:
    """Set some of `documents`, `bytes` and `chunks` that a tenant may keep; None: as the settings say. For who operates the
    server. Raises NotFoundError for a tenant that there is none of."""
    tenant = await _find(services, name)
    async with services.database.transaction(tenant) as connection:
        wanted = replace(await limits.tenant_limits(connection, tenant), **changes)
        await limits.set_tenant_limits(connection, tenant, wanted)
        await audit.record(connection, tenant, "tenant.limit", name, asdict(wanted))
        return await _tenant_usage(services, connection, tenant)


async def find_tenant_usage(services: Services, name: str) -> TenantUsage:
    """For who operates the server. Raises NotFoundError."""
    tenant = await _find(services, name)
    async with services.database.transaction(tenant, readonly=True) as connection:
        return await _tenant_usage(services, connection, tenant)


async def _find(services: Services, name: str) -> Principal:
    async with services.database.connection() as connection:
        found = await tenants.find_id(connection, name)
    if found is None:
        raise NotFoundError(f"there is no tenant {name[:140]!r}; see cairn tenant list")
    return Principal(found, name, services.principal.caller)
