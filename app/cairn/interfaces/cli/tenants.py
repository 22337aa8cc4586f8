"""`cairn tenant ...`: options in; cairn.service.limits, or files and deletions by the owner of the database, out. Imports nothing
heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cairn.service.limits import TenantUsage
    from cairn.settings import Environment

group = typer.Typer(
    rich_markup_mode=None, help="Tenants: what they keep and may keep; one into a file, out of one, or gone."
)

DEFAULT = "default"
NAMED = "As cairn tenant list shows it."
Database = Annotated[
    str | None, typer.Option("--database", metavar="NAME", help="One of CAIRN_TENANT_DATABASES, or default.")
]
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
    """List tenants, with what they keep and may keep, and where they live if that is in several databases."""
    return asyncio.run(_list(json))


@group.command()
def limit(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help=NAMED)],
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


@group.command("export")
def export_tenant(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help=NAMED)],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Must not exist; - is stdout.")],
    database: Database = None,
) -> int:
    """Write all that a tenant has to one file, while others go on working."""
    return asyncio.run(_export(tenant, out, database))


@group.command("import")
def import_tenant(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What cairn tenant export wrote.")],
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Default: what it was called.")] = None,
    database: Database = None,
) -> int:
    """Make a tenant of such a file, in this database: all of it, or nothing."""
    return asyncio.run(_import(file, name, database))


@group.command("delete")
def delete_tenant(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help=NAMED)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    database: Database = None,
) -> int:
    """Delete a tenant with all that it has. Stop what serves it first."""
    return asyncio.run(_delete(tenant, yes, database))


async def _export(tenant: str, out: Path, database: str | None) -> int:
    from cairn.db.tenant_export import export_tenant
    from cairn.interfaces.cli.terminal import count, note

    if str(out) == "-" and sys.stdout.isatty():
        raise typer.BadParameter("stdout is a terminal; give --out FILE, or send stdout to a file")
    async with _owner(_place(database)) as (owner_dsn, _):
        with _told() as progress:
            manifest = await export_tenant(owner_dsn, tenant, out, progress)
    size = sum(table.bytes for table in manifest.tables)
    note(
        f"{out} has tenant {tenant}: {count(manifest.rows, 'row')}, {size / 1e6:,.1f} MB, revision {manifest.revision}."
    )
    return 0


async def _import(file: Path, name: str | None, database: str | None) -> int:
    from cairn.db.tenant_import import import_tenant
    from cairn.interfaces.cli.terminal import count, note, say
    from cairn.service.jobs import PLAN_INDEXES
    from cairn.settings import SettingsStore

    async with _owner(_place(database)) as (owner_dsn, environment):
        settings = SettingsStore(environment.settings_path).current
        with _told() as progress:
            manifest, left_out = await import_tenant(owner_dsn, file, name, settings.vector, PLAN_INDEXES, progress)
    if left_out:
        note(
            f"{count(left_out, 'API key')} left out: this database knows them already, and a key is that of one tenant."
        )
    say(f"Imported tenant {name or manifest.tenant}: {count(manifest.rows - left_out, 'row')}.")
    return 0


async def _delete(tenant: str, yes: bool, database: str | None) -> int:
    from cairn.db.tenant_delete import check_keeper, delete_tenant
    from cairn.interfaces.cli.terminal import count, say, services
    from cairn.service.jobs import PLAN_INDEXES
    from cairn.service.limits import find_tenant_usage

    place = _place(database)
    async with _owner(place) as (owner_dsn, _), services(database=place) as opened:
        check_keeper(tenant, opened.principal.tenant)
        usage = await find_tenant_usage(opened, tenant)
        _show(usage)
        if not yes and typer.prompt("This cannot be undone. Its name, to delete it", err=True) != tenant:
            say("Nothing was deleted.")
            return 1
        with _told() as progress:
            rows = await delete_tenant(owner_dsn, tenant, opened.principal.tenant, PLAN_INDEXES, progress)
    say(f"Deleted tenant {tenant}: {count(rows, 'row')}.")
    return 0


def _place(database: str | None) -> str:
    """The name of the database that is meant. While a tenant moves it is in two, and which of them loses it is not guessed at."""
    from cairn.settings import DEFAULT, read_environment

    known = read_environment().tenant_map.names
    if database is None and len(known) > 1:
        raise typer.BadParameter(f"there are several databases: give --database {'|'.join(known)}")
    return database or DEFAULT


@contextlib.asynccontextmanager
async def _owner(database: str) -> AsyncIterator[tuple[str, Environment]]:
    """How the owner gets at a database, brought up to date: CAIRN_DATABASE_URL or that of the map, or the embedded server, which
    runs until then. Never CAIRN_APP_DATABASE_URL, whose login must not make tenants."""
    from cairn.db.migrate import migrate
    from cairn.interfaces.cli.operate import owned_server
    from cairn.interfaces.cli.terminal import quiet_logs
    from cairn.settings import read_environment

    quiet_logs()
    environment = read_environment().at(database)
    with contextlib.ExitStack() as stack:
        owner_dsn = (await asyncio.to_thread(owned_server, environment, stack)).dsn
        await migrate(owner_dsn)
        yield owner_dsn, environment


@contextlib.contextmanager
def _told() -> Iterator[Callable[[str], None]]:
    """Says on stderr what is being done, where that is a terminal."""
    from cairn.interfaces.cli.terminal import STDERR

    with STDERR.status("...") as status:
        yield status.update


async def _list(as_json: bool) -> int:
    from cairn.errors import CairnError
    from cairn.interfaces.cli.terminal import note, say_json, services
    from cairn.service.limits import list_tenant_usage
    from cairn.settings import MOVING, read_environment

    tenant_map = read_environment().tenant_map
    several, found, away = len(tenant_map.names) > 1, [], False
    for database in tenant_map.names:
        try:
            async with services(database=database) as opened:
                found += [(database, one) for one in await list_tenant_usage(opened)]
        except CairnError as error:
            if not several:
                raise
            away = True
            note(f"database {database}: {error.detail}")
    if as_json:
        say_json([asdict(one) | ({"database": database} if several else {}) for database, one in found])
        return int(away)
    for database, one in found:
        place = tenant_map.place_of(one.tenant)
        lost = (
            ""
            if place == database
            else f" (not served: {'it is moving' if place == MOVING else f'it lives in {place}'})"
        )
        _show(one, f" in {database}{lost}" if several else "")
    return int(away)


async def _limit(tenant: str, changes: dict[str, int | None], as_json: bool) -> int:
    from cairn.interfaces.cli.terminal import say_json, services
    from cairn.service.limits import limit_tenant

    async with services(tenant) as opened:
        found = await limit_tenant(opened, tenant, changes)
    if as_json:
        say_json(asdict(found))
    else:
        _show(found)
    return 0


def _show(usage: TenantUsage, place: str = "") -> None:
    from cairn.interfaces.cli.terminal import say

    kept, most = asdict(usage.kept), asdict(usage.most)
    parts = [f"{kept[name]:,} {name}" + ("" if most[name] is None else f" of {most[name]:,}") for name in kept]
    say(f"{usage.tenant}{place}: {', '.join(parts)}; since {usage.created_at:%Y-%m-%d}")
