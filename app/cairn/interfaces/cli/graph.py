"""`cairn graph ...`: options in, cairn.interfaces.cli.graph_show out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

group = typer.Typer(
    rich_markup_mode=None, help="The knowledge graph: who and what the documents speak of, and what proves it."
)


class ExportFormat(StrEnum):
    graphml = "graphml"
    json = "json"


Collection = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Default: rag.collectionName (default).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, as the API answers it.")]
Entity = Annotated[str, typer.Argument(metavar="ENTITY", help="Name or id; quote a name with spaces.")]
Hops = Annotated[int, typer.Option("--hops", min=1, max=3, help="Relations that lead from one to the other at most.")]


@group.command()
def entities(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]", help="Beginning of a name or of a word of it.")
    ] = None,
    collection: Collection = None,
    kind: Annotated[str | None, typer.Option(help="Only of this kind: person, place, class, ...")] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Also headings, phrases and what is on nearly every page.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="How many, the surest of those most spoken of first.")
    ] = 20,
    json: Json = False,
) -> int:
    """List what the documents speak of."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.entities(" ".join(text or ()), collection, kind, limit, json, everything=everything))


@group.command()
def show(entity: Entity, hops: Hops = 1, collection: Collection = None, json: Json = False) -> int:
    """Show an entity: its other names, and its relations with what the documents say of them."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.show(entity, hops, collection, json))


@group.command()
def path(
    source: Annotated[str, typer.Argument(metavar="A", help="Name or id.")],
    target: Annotated[str, typer.Argument(metavar="B", help="Name or id.")],
    hops: Hops = 3,
    collection: Collection = None,
    json: Json = False,
) -> int:
    """Show how two entities are related. Exit code 1 where nothing joins them."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.path(source, target, hops, collection, json))


@group.command()
def communities(
    text: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]", help="Only those that it is about.")] = None,
    collection: Collection = None,
    level: Annotated[
        int | None, typer.Option(min=0, max=100, help="Only of this level; default with no TEXT: 0, the largest.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    json: Json = False,
) -> int:
    """List groups of closely related entities, with what the documents say of them."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.communities(" ".join(text or ()), collection, level, limit, json))


@group.command()
def extract(
    collection: Collection = None,
    wait: Annotated[bool, typer.Option(help="Work until it is done, or leave the job to a worker.")] = True,
    json: Json = False,
) -> int:
    """Let the chat model add to the graph (graph.model.*); what it has read already costs nothing."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.extract(collection, wait, json))


@group.command()
def merge(
    merged: Annotated[str, typer.Argument(metavar="ENTITY", help="Name or id of what is the same as INTO.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="Name or id of what it is taken for.")],
    collection: Collection = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="For the log.")] = "by hand",
) -> int:
    """Take an entity for another."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.merge(merged, into, collection, reason))


@group.command()
def merges(collection: Collection = None, json: Json = False) -> int:
    """List merges, newest first."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.merges(collection, json))


@group.command()
def unmerge(merge_id: Annotated[UUID, typer.Argument(metavar="ID", help="As cairn graph merges lists it.")]) -> int:
    """Undo a merge."""
    from cairn.interfaces.cli import graph_show

    return _run(graph_show.unmerge(merge_id))


@group.command()
def export(
    format: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="graphml, or JSON of nodes and edges.")
    ] = ExportFormat.graphml,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: print it.")] = None,
    collection: Collection = None,
) -> int:
    """Write the whole graph, for Gephi, Cytoscape, networkx, d3."""
    from cairn.interfaces.cli import graph_export

    return _run(graph_export.export(format.value, output, collection))


def _run(work: Coroutine[Any, Any, int]) -> int:
    return asyncio.run(work)
