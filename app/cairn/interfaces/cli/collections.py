"""`cairn collections ...`: options in, cairn.service.documents out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

group = typer.Typer(rich_markup_mode=None, help="Collections: what there is, and what people call it.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As cairn collections list shows it first.")]
PAGE = 200


@group.command("list")
def list_collections(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> int:
    """List collections by name, with what people call them and how many documents they have."""
    return asyncio.run(_list(json))


@group.command()
def create(
    display_name: Annotated[str, typer.Argument(metavar="WORDS", help='What people call it: "Personnel 2024".')],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="For programs. Default: made of the words.")] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Which serves it: e5, minilm, another.")] = None,
) -> int:
    """Make an empty collection."""
    return asyncio.run(_create(name, model, display_name))


@group.command()
def rename(
    name: Name,
    display_name: Annotated[
        str | None, typer.Argument(metavar="[WORDS]", help="What people call it; left out: its name.")
    ] = None,
) -> int:
    """Change what people call a collection; its name stays, which programs have."""
    return asyncio.run(_rename(name, display_name))


async def _list(json: bool) -> int:
    from dataclasses import asdict

    from cairn.domain.document import Collection
    from cairn.interfaces.cli.terminal import count, say, say_json, services
    from cairn.service.documents import list_collections as read

    found: list[Collection] = []
    async with services() as opened:
        while page := await read(opened, after=found[-1].name if found else "", limit=PAGE):
            found += page
    if json:
        say_json([asdict(one) for one in found])
        return 0
    for one in found:
        said = [one.name, *filter(None, [one.display_name]), count(one.document_count, "document")]
        say("  ".join(said))
    if not found:
        say("No collections.")
    return 0


async def _create(name: str | None, model: str | None, display_name: str) -> int:
    """Raises ConflictError, InputError."""
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.documents import create_collection

    async with services() as opened:
        made = await create_collection(opened, name, model, display_name)
    say(f"{made.name}  {made.shown_name}")
    return 0


async def _rename(name: str, display_name: str | None) -> int:
    """Raises NotFoundError, InputError."""
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.documents import rename_collection

    async with services() as opened:
        found = await rename_collection(opened, name, display_name)
    say(f"{found.name}  {found.shown_name}")
    return 0
