"""`cairn tenants ...`: options in, app.service.limits out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.service.limits import TenantUsage

group = typer.Typer(rich_markup_mode=None, help="Tenants: what they keep, and how much they may.")

DEFAULT = "default"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _amount(text: str) -> int | None:
    """A number, or None for what the settings say."""
    if text == DEFAULT:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise typer.BadParameter(f"{text[:40]!r} is neither a number nor {DEFAULT}")
    return int(text)


@group.command("list")
def list_tenants(json: Json = False) -> int:
    """List tenants, with what they keep and may keep."""
    return asyncio.run(_list(json))


@group.command()
def limit(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="As cairn tenants list shows it.")],
    documents: Annotated[str | None, typer.Option(metavar="N|default", help="Most indexed documents.")] = None,
    size: Annotated[str | None, typer.Option("--bytes", metavar="N|default", help="Most bytes of their files.")] = None,
    chunks: Annotated[str | None, typer.Option(metavar="N|default", help="Most chunks of them.")] = None,
    json: Json = False,
) -> int:
    """Say how much a tenant may keep; default: what section limits of settings.json says. Holds at once, for every process."""
    given = {"documents": documents, "bytes": size, "chunks": chunks}
    changes = {name: _amount(text) for name, text in given.items() if text is not None}
    if not changes:
        raise typer.BadParameter("give at least one of --documents, --bytes and --chunks")
    return asyncio.run(_limit(tenant, changes, json))


async def _list(as_json: bool) -> int:
    from app.commands.terminal import say_json, services
    from app.service.limits import list_tenant_usage

    async with services() as opened:
        found = await list_tenant_usage(opened)
    if as_json:
        say_json([asdict(one) for one in found])
    else:
        for one in found:
            _show(one)
    return 0


async def _limit(tenant: str, changes: dict[str, int | None], as_json: bool) -> int:
    from app.commands.terminal import say_json, services
    from app.service.limits import limit_tenant

    async with services() as opened:
        found = await limit_tenant(opened, tenant, changes)
    if as_json:
        say_json(asdict(found))
    else:
        _show(found)
    return 0


def _show(usage: TenantUsage) -> None:
    from app.commands.terminal import say

    kept, most = asdict(usage.kept), asdict(usage.most)
    parts = [f"{kept[name]:,} {name}" + ("" if most[name] is None else f" of {most[name]:,}") for name in kept]
    say(f"{usage.tenant}: {', '.join(parts)}")
