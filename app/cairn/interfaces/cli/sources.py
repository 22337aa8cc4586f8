"""`cairn sources ...`: options in, cairn.service.sources out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

if TYPE_CHECKING:
    from cairn.domain.connected_source import ConnectedSource, SourceRun
    from cairn.domain.job import Job
    from cairn.service.sources import SourceChange
    from cairn.wiring import Services

group = typer.Typer(rich_markup_mode=None, help="Sources: places that a collection is kept in step with.")

SourceId = Annotated[UUID, typer.Argument(metavar="ID", help="As cairn sources list shows it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Of its kind, such as include=*.md; repeat it."),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME", help="Asked for, or read from stdin, a line each; repeat it."),
]
Every = Annotated[
    int | None,
    typer.Option("--every", metavar="SECONDS", help="Between two synchronisations; 0: only when asked. Default: 3600."),
]
Readers = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        "-r",
        metavar="[FOLDER=]WHO",
        help="Who may read it, or a folder of it: group:NAME, person:SUBJECT, key:ID; repeat it.",
    ),
]
MostDeleted = Annotated[
    float | None,
    typer.Option("--most-deleted", metavar="SHARE", help="Of its files that may be gone at once. Default: 0.5."),
]
Rate = Annotated[
    float | None, typer.Option("--rate", metavar="N", help="Files read in a second at most; 0: no limit. Default: 0.")
]


@group.command()
def add(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="A folder, or an address such as https://...")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="Default: rag.collectionName (default).")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What ids of its documents begin with. Default: the end of the address."),
    ] = None,
    option: Options = None,
    secret: Secrets = None,
    every: Every = None,
    reader: Readers = None,
    most_deleted: MostDeleted = None,
    rate: Rate = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of documents with the same ids that came otherwise.")
    ] = False,
    later: Annotated[bool, typer.Option("--later", help="Leave the reading to a worker.")] = False,
) -> int:
    """Keep a collection in step with a source from now on: what is new, changed and deleted there."""
    asked = _change(option, None, every, reader, most_deleted, rate)
    elsewhere = "://" in address or address.startswith("github:")
    place = address if elsewhere else os.path.abspath(os.path.expanduser(address))
    return asyncio.run(_add(place, collection, prefix, asked, _ask_secrets(secret), replace, later))


@group.command("list")
def list_sources(json: Json = False) -> int:
    """List the sources, and how they are."""
    return asyncio.run(_list(json))


@group.command()
def show(source_id: SourceId, json: Json = False) -> int:
    """Look at a source, and at its files that failed."""
    return asyncio.run(_show(source_id, json))


@group.command()
def change(
    source_id: SourceId,
    option: Options = None,
    secret: Secrets = None,
    every: Every = None,
    reader: Readers = None,
    most_deleted: MostDeleted = None,
    rate: Rate = None,
) -> int:
    """Change how a source is read; what is not named stays. Options, secrets and readers are given all anew."""
    return asyncio.run(
        _apply(source_id, _change(option, _ask_secrets(secret), every, reader, most_deleted, rate), "changed")
    )


@group.command()
def sync(
    source_id: SourceId,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Read files again that failed.")] = False,
    accept_deletions: Annotated[
        bool, typer.Option("--accept-deletions", help="However many are gone, their documents go.")
    ] = False,
    later: Annotated[bool, typer.Option("--later", help="Leave it to a worker.")] = False,
) -> int:
    """Bring the collection into step now."""
    return asyncio.run(_sync(source_id, retry_failed, accept_deletions, later))


@group.command()
def pause(source_id: SourceId) -> int:
    """Leave a source alone until it is resumed."""
    return asyncio.run(_pause(source_id, True))


@group.command()
def resume(source_id: SourceId) -> int:
    """Go on with a source that was paused."""
    return asyncio.run(_pause(source_id, False))


@group.command()
def remove(
    source_id: SourceId,
    delete_documents: Annotated[bool, typer.Option("--delete-documents", help="Its documents go, too.")] = False,
    keep_documents: Annotated[bool, typer.Option("--keep-documents", help="Its documents stay.")] = False,
) -> int:
    """Follow a source no more. Asks what becomes of its documents, unless told."""
    if delete_documents and keep_documents:
        raise typer.BadParameter("--delete-documents and --keep-documents: say one of them")
    if not (delete_documents or keep_documents):
        if not sys.stdin.isatty():
            raise typer.BadParameter("say what becomes of its documents: --delete-documents or --keep-documents")
        delete_documents = typer.confirm("Delete the documents that were read from it, too?")
    return asyncio.run(_remove(source_id, delete_documents))


@group.command()
def key() -> int:
    """Print a new key for CAIRN_SECRETS_KEY, which secrets of sources are encrypted with."""
    from cairn.interfaces.cli.terminal import say
    from cairn.service.sources import make_key

    say(make_key())
    return 0


@group.command()
def rekey() -> int:
    """Encrypt all secrets with the first key of CAIRN_SECRETS_KEY; put the new one before the old one, with a comma."""
    return asyncio.run(_rekey())


# --- what they do -----------------------------------------------------------------------------------------------------


def _ask_secrets(names: Sequence[str] | None) -> dict[str, str] | None:
    """Neither arguments nor what a shell remembers has them."""
    if names is None:
        return None
    if sys.stdin.isatty():
        return {name: typer.prompt(name, hide_input=True, err=True) for name in names}
    return {name: sys.stdin.readline().rstrip("\r\n") for name in names}


def _change(
    options: Sequence[str] | None,
    secrets: dict[str, str] | None,
    every: int | None,
    readers: Sequence[str] | None,
    most_deleted: float | None,
    rate: float | None,
) -> SourceChange:
    from cairn.domain.access import parse_readers
    from cairn.service.sources import SourceChange

    access = None if readers is None else parse_readers(readers)
    if not all(any(parse_readers([one]).values()) for one in readers or ()):
        # a variable that is not set: nobody means to open a source with that
        raise typer.BadParameter("--reader names nobody: write [FOLDER=]group:NAME, person:SUBJECT or key:ID")
    return SourceChange(
        options=None if options is None else dict(map(_pair, options)), secrets=secrets, interval_seconds=every,
        access=access, most_deleted=most_deleted, requests_per_second=rate,
    )  # fmt: skip


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is no option: write NAME=VALUE")
    return name, value


async def _add(
    place: str,
    collection: str | None,
    prefix: str | None,
    asked: SourceChange,
    secrets: dict[str, str] | None,
    replace: bool,
    later: bool,
) -> int:
    """Raises InputError, ConflictError."""
    from dataclasses import asdict

    from cairn.domain.connected_source import SourceWish
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.sources import add_source, default_prefix

    wanted = {
        name: value
        for name, value in asdict(asked).items()
        if value is not None and name in SourceWish.__dataclass_fields__
    }
    wish = SourceWish(place, default_prefix(place) if prefix is None else prefix, replaces=replace, **wanted)
    async with services() as opened:
        name = collection or opened.settings.current.rag.collection_name
        source, job = await add_source(opened, name, wish, secrets, local=True)
        say(f"Collection {source.collection} follows {source.wish.address}: source {source.id}")
        return await _see_through(opened, source.id, job, later)


async def _see_through(opened: Services, source_id: UUID, job: Job, later: bool) -> int:
    from cairn.interfaces.cli.terminal import note, say
    from cairn.service.jobs import work_until_ended
    from cairn.service.sources import get_source, run_of

    if later:
        say(f"A worker does it: cairn jobs show {job.id}")
        return 0
    ended = await work_until_ended(opened, job.id)
    if ended.status != "succeeded":
        note(ended.error or f"job {ended.id} was {ended.status}")
        return 1
    source, run = await get_source(opened, source_id), run_of(ended)
    if run.counts is not None:
        say(_counts(run.counts))
    if source.failed:
        note(f"{source.failed:,} files are not indexed: cairn sources show {source_id}")
    if run.state == "paused":
        note(f"paused: {source.note or 'somebody has paused it'}")
        note(f"cairn sources sync {source_id} --accept-deletions, or cairn sources resume {source_id}")
        return 1
    if source.note:
        note(source.note)
    return 0


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "nothing there"


async def _list(json: bool) -> int:
    from cairn.interfaces.cli.terminal import count, say, say_json, services
    from cairn.service import sources

    async with services() as opened:
        found = await sources.list_sources(opened)
    if json:
        say_json(list(map(_values, found)))
        return 0
    for one in found:
        say("  ".join([str(one.id), one.collection, one.wish.address, count(one.files, "file"), say_state(one)]))
    if not found:
        say("No sources.")
    return 0


def say_state(source: ConnectedSource) -> str:
    if source.running:
        before = f"; last error: {source.last_error}" if source.last_error else ""
        return f"being synchronised{before}"
    if source.paused:
        return f"paused: {source.note}" if source.note else "paused"
    if source.last_error:
        return f"failed {source.failures} times: {source.last_error}"
    if source.last_finished_at is None:
        return "not read yet"
    left = f", {source.failed:,} not indexed" if source.failed else ""
    return f"in step since {source.last_finished_at:%Y-%m-%d %H:%M:%S}{left}"


async def _show(source_id: UUID, json: bool) -> int:
    """Raises NotFoundError."""
    from dataclasses import asdict

    from cairn.interfaces.cli.terminal import say, say_json, services
    from cairn.service import sources

    async with services() as opened:
        source = await sources.get_source(opened, source_id)
        runs = await sources.list_runs(opened, source_id)
        failed = await sources.list_failed_files(opened, source_id)
    values = _values(source)
    if json:
        say_json({**values, "runs": [asdict(one) for one in runs], "failed_files": [asdict(one) for one in failed]})
        return 0
    for name, value in values.items():
        if value not in (None, "", {}, []):
            say(f"{name}: {value}")
    for run in runs:
        say(f"run: {_told_run(run)}")
    for one in failed:
        say(f"not indexed: {one.path}: {one.error}")
    return 0


def _values(source: ConnectedSource) -> dict[str, object]:
    """What is known of it, and what was asked for, by name."""
    from dataclasses import asdict

    values = asdict(source)
    return {**values, **values.pop("wish")}


def _told_run(run: SourceRun) -> str:
    """When it began, for how long, and how it went."""
    began = f"{run.started_at:%Y-%m-%d %H:%M:%S}" if run.started_at else "not begun"
    took = f"{(run.finished_at - run.started_at).total_seconds():.1f} s" if run.started_at and run.finished_at else None
    did = None if run.counts is None else _counts(run.counts)
    return "  ".join(filter(None, (began, took, run.state, did, run.note, run.error)))


async def _apply(source_id: UUID, change: SourceChange, done: str) -> int:
    """Raises NotFoundError, InputError."""
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service.sources import change_source

    async with services() as opened:
        await change_source(opened, source_id, change, local=True)
    say(f"source {source_id} is {done}")
    return 0


async def _pause(source_id: UUID, paused: bool) -> int:
    from cairn.service.sources import SourceChange

    return await _apply(source_id, SourceChange(paused=paused), "paused" if paused else "resumed")


async def _sync(source_id: UUID, retry_failed: bool, accept_deletions: bool, later: bool) -> int:
    """Raises NotFoundError, ConflictError."""
    from cairn.interfaces.cli.terminal import services
    from cairn.service import sources

    async with services() as opened:
        job = await sources.sync(
            opened, source_id, retry_failed=retry_failed, accept_deletions=accept_deletions, local=True
        )
        return await _see_through(opened, source_id, job, later)


async def _remove(source_id: UUID, documents: bool) -> int:
    """Raises NotFoundError, ConflictError."""
    from cairn.interfaces.cli.terminal import count, say, services
    from cairn.service.sources import remove_source

    async with services() as opened:
        gone = await remove_source(opened, source_id, documents=documents)
    say(f"Followed no more; {count(gone, 'document')} deleted.")
    return 0


async def _rekey() -> int:
    """Raises InputError."""
    from cairn.interfaces.cli.terminal import count, say, services
    from cairn.service.sources import reseal_secrets

    async with services() as opened:
        done = await reseal_secrets(opened)
    say(f"{count(done, 'source')} encrypted anew.")
    return 0
