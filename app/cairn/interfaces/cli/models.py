"""`cairn models ...`: options in, cairn.service.models out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cairn.domain.job import Job
    from cairn.wiring import Services

group = typer.Typer(rich_markup_mode=None, help="Embedding models: add one, fill collections with its vectors, switch.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="minilm, e5, all-MiniLM-L6-v2:fp32, text-embedding-3-small, ...")
]
Collection = Annotated[str, typer.Argument(metavar="COLLECTION")]


@group.command("list")
def list_models(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> int:
    """List models and what collections do with them."""
    return _run(_list(json))


@group.command()
def add(name: Name) -> int:
    """Register a model, with its index."""
    return _run(_add(name))


@group.command()
def create(collection: Collection, name: Name) -> int:
    """Create a collection that a model is to serve."""
    return _run(_create(collection, name))


@group.command()
def backfill(collection: Collection, name: Name) -> int:
    """Make the vectors of a model for all chunks; the old model serves meanwhile."""
    return _run(_backfill(collection, name))


@group.command()
def flip(collection: Collection, name: Name) -> int:
    """Let a model serve that has all vectors."""
    return _run(_change("flip", collection, name))


@group.command()
def rollback(collection: Collection) -> int:
    """Let the model before serve again."""
    return _run(_change("rollback", collection))


@group.command()
def forget(collection: Collection, name: Name) -> int:
    """Delete the vectors of a model that does not serve."""
    return _run(_change("forget", collection, name))


def reindex(collection: str, force: bool) -> int:
    """`cairn reindex`."""
    return _run(_reindex(collection, force))


def reread(collection: str | None, json: bool) -> int:
    """`cairn reread`."""
    return _run(_reread(collection, json))


def _run(work: Coroutine[Any, Any, int]) -> int:
    return asyncio.run(work)


async def _list(json: bool) -> int:
    from dataclasses import asdict

    from cairn.interfaces.cli.terminal import say, say_json, services
    from cairn.service import models as model_service

    async with services() as opened:
        found = await model_service.list_models(opened)
    if json:
        say_json({name: [asdict(item) for item in getattr(found, name)] for name in ("models", "collections")})
        return 0
    for model in found.models:
        say(f"{model.name}  {model.dimensions} dimensions")
    for item in found.collections:
        say(f"  {item.collection}: {item.model} {item.state}")
    return 0


async def _add(name: str) -> int:
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service import models as model_service

    async with services() as opened:
        model = await model_service.add_model(opened, name)
    say(f"{model.name} is registered: {model.dimensions} dimensions.")
    return 0


async def _create(collection: str, name: str) -> int:
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service import documents
    from cairn.service import models as model_service

    async with services() as opened:
        await documents.create_collection(opened, collection, name)
        serving = await model_service.get_embedding(opened, collection)
    model = serving[collection].model if collection in serving else "what its first documents ask for"
    say(f"Collection {collection} is served by {model}.")
    return 0


async def _backfill(collection: str, name: str) -> int:
    from cairn.interfaces.cli.terminal import services
    from cairn.service import models as model_service

    async with services() as opened:
        return await follow(opened, await model_service.start_backfill(opened, collection, name))


async def _reindex(collection: str, force: bool) -> int:
    from cairn.interfaces.cli.terminal import services
    from cairn.service import models as model_service

    async with services() as opened:
        return await follow(opened, await model_service.start_reindex(opened, collection, force=force))


async def _reread(collection: str | None, json: bool) -> int:
    from cairn.interfaces.cli.terminal import note, say, say_json, services
    from cairn.service import models as model_service

    reports: dict[str, dict[str, Any]] = {}
    async with services() as opened:
        for name, outdated in (await model_service.count_outdated(opened, collection)).items():
            reports[name] = {"reread": 0, "unchanged": 0, "overtaken": 0, "left": 0, "left_documents": []}
            if outdated:
                job = await _watched(opened, await model_service.start_reread(opened, name), name, outdated)
                if job.status != "succeeded":
                    note(f"{name}: job {job.id} is {job.status}: {job.error}")
                    return 1
                reports[name] = dict(job.result or {})
    if json:
        say_json(reports)
        return 0
    for name, found in reports.items():
        say(f"{name}: {_reread_in_words(found)}")
        for one in found["left_documents"]:
            note(f"  left: {one['external_id']}: {one['reason']}")
        if (more := found["left"] - len(found["left_documents"])) > 0:
            note(f"  left: {more:,} more")
    return 0


async def _watched(opened: Services, job: Job, label: str, total: int) -> Job:
    """The job when it has ended, worked off here or elsewhere, with a bar of how far it is."""
    from cairn.interfaces.cli.terminal import progress
    from cairn.service.jobs import LOOK_SECONDS, get_job, work_until_ended

    working = asyncio.create_task(work_until_ended(opened, job.id))
    shown = 0
    with progress(label, total) as step:
        while not (await asyncio.wait({working}, timeout=LOOK_SECONDS))[0]:
            reached = (await get_job(opened, job.id)).progress
            for _ in range(shown, reached.done if reached else 0):
                step(reached.message if reached else "")
            shown = max(shown, reached.done if reached else 0)
    return await working


def _reread_in_words(found: dict[str, Any]) -> str:
    """What became of the documents of a collection. Pure."""
    words = {
        "reread": "read anew", "unchanged": "read the same", "overtaken": "replaced or deleted meanwhile",
        "left": "left as they are",
    }  # fmt: skip
    said = [f"{found[key]:,} {word}" for key, word in words.items() if found[key]]
    return ", ".join(said) or "all documents were read by this release"


async def follow(opened: Services, job: Job, as_json: bool = False) -> int:
    """Work until the job has ended; another worker may have taken it. Exit code 1 unless it succeeded."""
    from cairn.interfaces.cli.terminal import note, say, say_json
    from cairn.service.jobs import work_until_ended

    job = await work_until_ended(opened, job.id)
    if job.status != "succeeded":
        note(f"job {job.id} is {job.status}: {job.error}")
        return 1
    if as_json:
        say_json(job.result or {})
        return 0
    say(", ".join(f"{name}: {value}" for name, value in (job.result or {}).items()))
    return 0


async def _change(action: str, collection: str, name: str = "") -> int:
    from cairn.interfaces.cli.terminal import say, services
    from cairn.service import models as model_service

    async with services() as opened:
        if action == "flip":
            await model_service.flip_model(opened, collection, name)
        elif action == "rollback":
            await model_service.rollback_model(opened, collection)
        else:
            await model_service.forget_model(opened, collection, name)
        found = await model_service.list_models(opened, collection)
    for item in found.collections:
        say(f"{item.collection}: {item.model} {item.state}")
    return 0
