"""`cairn documents ...`: options in, cairn.service.documents out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cairn.domain.document import Document
    from cairn.wiring import Services

group = typer.Typer(rich_markup_mode=None, help="Documents: what a collection holds, and in which state.")

Collection = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Default: rag.collectionName (default).")
]
PAGE = 200


@group.command("list")
def list_documents(
    collection: Collection = None,
    status: Annotated[
        str | None, typer.Option(help="Only those: indexed, failed, pending, parsing, embedding.")
    ] = None,
    contains: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only those whose title or id contains this, in any case.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """List documents by id, with version, state, and why one failed."""
    return asyncio.run(_list(collection, status, contains, json))


@group.command()
def enrich(collection: Collection = None) -> int:
    """Order sentences of context for the chunks of a collection, by a chat model; a worker does it."""
    return asyncio.run(_enrich(collection))


@group.command()
def delete(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="As cairn documents list shows them.")],
    collection: Collection = None,
) -> int:
    """Delete documents with everything derived from them."""
    return asyncio.run(_delete(ids, collection))


@group.command()
def access(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="As cairn documents list shows them.")],
    reader: Annotated[
        list[str] | None,
        typer.Option("--reader", "-r", metavar="WHO", help="group:NAME, person:SUBJECT or key:ID; repeat it."),
    ] = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="Everybody in the tenant.")] = False,
    collection: Collection = None,
) -> int:
    """Say who may read documents, and who else may not."""
    if everybody == bool(reader):
        raise typer.BadParameter("say who may read them: --reader for each, or --everybody")
    return asyncio.run(_access(ids, reader or [], collection))


async def _list(collection: str | None, status: str | None, contains: str | None, json: bool) -> int:
    from dataclasses import asdict

    from cairn.interfaces.cli.terminal import say, say_json, services

    async with services() as opened:
        found = [one async for one in _documents(opened, collection, contains) if status in (None, one.status)]
    if json:
        say_json([asdict(one) for one in found])
        return 0
    for one in found:
        say(
            "  ".join(
                [
                    one.external_id,
                    f"version {one.version}",
                    one.status,
                    *filter(None, [one.error, _contexts(one), _readers(one)]),
                ]
            )
        )
    if not found:
        say(f"No {status} documents." if status else "No such documents." if contains else "No documents.")
    return 0


async def _enrich(collection: str | None) -> int:
    """Raises NotFoundError, InputError where no model may be asked."""
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.jobs import enrich_collection

    async with services() as opened:
        job = await enrich_collection(opened, collection)
    say(f"Ordered; a worker does it: cairn jobs show {job.id}")
    return 0


async def _delete(ids: list[str], collection: str | None) -> int:
    """Raises NotFoundError, before any is deleted, for an id that there is none of."""
    from cairn.errors import NotFoundError
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.documents import delete_document

    async with services() as opened:
        known = {one.external_id: one async for one in _documents(opened, collection)}
        if missing := [one for one in ids if one not in known]:
            raise NotFoundError(f"there is no document {missing[0]!r}; cairn documents list shows what there is")
        for one in dict.fromkeys(ids):
            await delete_document(opened, known[one].collection, known[one].id)
            say(f"deleted: {one}")
    return 0


async def _access(ids: list[str], readers: list[str], collection: str | None) -> int:
    """Raises NotFoundError, before any is changed, for an id that there is none of; InputError."""
    from cairn.errors import NotFoundError
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.editing import change_document

    async with services() as opened:
        known = {one.external_id: one async for one in _documents(opened, collection)}
        if missing := [one for one in ids if one not in known]:
            raise NotFoundError(f"there is no document {missing[0]!r}; cairn documents list shows what there is")
        for one in dict.fromkeys(ids):
            changed = await change_document(opened, known[one].collection, known[one].id, access=readers)
            say(f"{one}: {_readers(changed) or 'everybody in the tenant may read it'}")
    return 0


async def _documents(opened: Services, collection: str | None, contains: str | None = None) -> AsyncIterator[Document]:
    from cairn.domain.document_list import DocumentFilter
    from cairn.service.documents import list_documents as read

    name, after = collection or opened.settings.current.rag.collection_name, ""
    wanted = DocumentFilter(contains=contains or None)
    while page := await read(opened, name, wanted, after=after, limit=PAGE):
        for one in page:
            yield one
        after = page[-1].external_id


def _contexts(document: Document) -> str:
    """How many chunks have a context, where not all of them have."""
    found = document.enrichment
    return f"context for {found['chunks']} of {found['of']} chunks" if found and found["without"] else ""


def _readers(document: Document) -> str:
    """Who may read it, where that is not everybody in the tenant."""
    if not document.access:
        return ""
    place = (
        ""
        if document.access_from is None
        else f" (as {document.access_from or 'all'}{'/' * bool(document.access_from)})"
    )
    return f"only for {', '.join(document.access)}{place}"
