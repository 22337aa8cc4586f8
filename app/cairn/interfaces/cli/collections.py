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


@group.command()
def access(
    name: Name,
    folder: Annotated[
        str,
        typer.Option(metavar="FOLDER", help="What ids of documents begin with: hr/. Default: the whole collection."),
    ] = "",
    reader: Annotated[
        list[str] | None,
        typer.Option("--reader", "-r", metavar="WHO", help="group:NAME, person:SUBJECT or key:ID; repeat it."),
    ] = None,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Everybody in the tenant, also where a folder above is restricted.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the rule away: as the folder above.")] = False,
) -> int:
    """Say who may read what is in a collection or a folder, and what comes later; without an option show the rules. Documents
    with an access list of their own keep it."""
    if (everybody, bool(reader), remove).count(True) > 1:
        raise typer.BadParameter("say one of --reader (repeated for each), --everybody and --remove")
    readers = reader if reader or not everybody else []
    return asyncio.run(_access(name, folder, readers, remove))


async def _access(name: str, folder: str, readers: list[str] | None, remove: bool) -> int:
    """Raises InputError, NotFoundError."""
    from cairn.interfaces.cli.terminal import count, say, services
    from cairn.service import access as rules

    async with services() as opened:
        done = None
        if remove:
            done = await rules.remove_folder_access(opened, name, folder)
        elif readers is not None:
            done = await rules.set_folder_access(opened, name, folder, readers)
        found = await rules.list_access_rules(opened, name)
    if done:
        say(f"{count(done.changed, 'document')} changed.")
    if done and done.made:
        say(f"Collection {name} is new: there was none of this name.")
    if done and readers is not None and not done.documents:
        say("No document is there yet: the rule is for those that come.")
    if done and done.job:
        say(f"A worker brings them back into the graph: cairn jobs show {done.job.id}")
    for one in found:
        place = f"{one.prefix}/" if one.prefix else "all"
        say(f"{place}  {'only for ' + ', '.join(one.access) if one.access else 'everybody in the tenant'}")
    if not found:
        say("No access rules: everybody in the tenant reads what has no access list of its own.")
    return 0


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
