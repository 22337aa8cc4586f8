"""`cairn keys ...`: options in, cairn.service.keys out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

if TYPE_CHECKING:
    from cairn.domain.key import ApiKey
    from cairn.domain.principal import KeyLimits

group = typer.Typer(rich_markup_mode=None, help="Keys: who may call over HTTP (CAIRN_AUTH=keys).")


class ScopeName(StrEnum):
    read = "read"
    ask = "ask"
    write = "write"
    admin = "admin"


Tenant = Annotated[str | None, typer.Option("--tenant", "-t", metavar="NAME", help="Default: CAIRN_TENANT (default).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_SPAN = re.compile(r"(\d{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SCOPES = "What it may do: read, ask, write, admin; once for each."


@group.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    scope: Annotated[list[ScopeName], typer.Option("--scope", "-s", metavar="SCOPE", help=_SCOPES)],
    tenant: Tenant = None,
    expires: Annotated[str | None, typer.Option(metavar="SPAN", help="After so long: 90d, 12h, 30m.")] = None,
    requests_per_minute: Annotated[int | None, typer.Option(min=1, help="Default: as the settings say.")] = None,
    concurrent_runs: Annotated[int | None, typer.Option(min=1, help="Default: as the settings say.")] = None,
    tokens_per_day: Annotated[int | None, typer.Option(min=0, help="Default: as the settings say.")] = None,
    cost_per_day: Annotated[float | None, typer.Option(min=0, help="Default: as the settings say.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", metavar="NAME", help="Group that its holder belongs to; repeat it."),
    ] = None,
    json: Json = False,
) -> int:
    """Make a key. It is printed once, and stored nowhere."""
    from cairn.domain.principal import KeyLimits

    limits = KeyLimits(requests_per_minute, concurrent_runs, tokens_per_day, cost_per_day)
    return asyncio.run(_create(name, [one.value for one in scope], tenant, _span(expires), limits, group or [], json))


@group.command("list")
def list_keys(
    tenant: Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 50,
    json: Json = False,
) -> int:
    """List keys of a tenant, also those that were revoked."""
    return asyncio.run(_list(tenant, limit, json))


@group.command()
def groups(
    key_id: Annotated[UUID, typer.Argument(metavar="ID", help="As cairn keys list shows it.")],
    group: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", metavar="NAME", help="Group that its holder belongs to; repeat it."),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="No group at all.")] = False,
    tenant: Tenant = None,
) -> int:
    """Say which groups the holder of a key belongs to, and no others, from its next request on."""
    if none == bool(group):
        raise typer.BadParameter("say which groups it has from now on: --group for each, or --none")
    return asyncio.run(_change_groups(key_id, group or [], tenant))


@group.command()
def revoke(
    key_id: Annotated[UUID, typer.Argument(metavar="ID", help="As cairn keys list shows it.")], tenant: Tenant = None
) -> int:
    """Revoke a key: it counts no more from now on, in every process."""
    return asyncio.run(_revoke(key_id, tenant))


def _span(text: str | None) -> timedelta | None:
    if text is None:
        return None
    match = _SPAN.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"--expires is a number with s, m, h or d, such as 90d, and not {text[:40]!r}")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


async def _create(
    name: str,
    scopes: list[Any],
    tenant: str | None,
    expires: timedelta | None,
    limits: KeyLimits,
    groups: list[str],
    json: bool,
) -> int:
    from cairn.interfaces.cli.terminal import note, say, say_json, services
    from cairn.service import keys as key_service

    async with services(tenant) as opened:
        working = await key_service.of_tenant(opened, tenant, create=True)
        made, secret = await key_service.create_key(
            working, name, scopes, limits=limits, expires_in=expires, groups=groups
        )
    if json:
        say_json({**_document(made), "tenant": working.principal.tenant, "key": secret})
        return 0
    say(secret)
    note(f"Key {made.id} of tenant {working.principal.tenant}: {_may(made)}. It is not shown again.")
    return 0


async def _list(tenant: str | None, limit: int, json: bool) -> int:
    from cairn.interfaces.cli.terminal import say, say_json, services
    from cairn.service import keys as key_service

    async with services(tenant) as opened:
        found = await key_service.list_keys(await key_service.of_tenant(opened, tenant), limit=limit)
    if json:
        say_json([_document(key) for key in found])
        return 0
    for key in found:
        say("  ".join((str(key.id), f"{key.shown}…", key.name, _may(key), _used(key))))
    if not found:
        say("No keys.")
    return 0


async def _change_groups(key_id: UUID, groups: list[str], tenant: str | None) -> int:
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service import keys as key_service

    async with services(tenant) as opened:
        changed = await key_service.change_groups(await key_service.of_tenant(opened, tenant), key_id, groups)
    say(f"Key {changed.id} ({changed.name}): {_may(changed)}.")
    return 0


async def _revoke(key_id: UUID, tenant: str | None) -> int:
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service import keys as key_service

    async with services(tenant) as opened:
        revoked = await key_service.revoke_key(await key_service.of_tenant(opened, tenant), key_id)
    say(f"Key {revoked.id} ({revoked.name}) counts no more.")
    return 0


def _may(key: ApiKey) -> str:
    scopes = ", ".join(sorted(key.scopes)) + (f"; in {', '.join(key.groups)}" if key.groups else "")
    if key.revoked_at is not None:
        return f"{scopes}; revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    return f"{scopes}; expires {key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else f"{scopes}; does not expire"


def _used(key: ApiKey) -> str:
    return f"last used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"


def _document(key: ApiKey) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(key), "scopes": sorted(key.scopes)}
