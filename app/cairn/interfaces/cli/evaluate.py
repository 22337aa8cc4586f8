"""`cairn eval ...`: options in, cairn.interfaces.cli.evaluations out. Imports nothing heavy, because `cairn --help` does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

group = typer.Typer(rich_markup_mode=None, help="Measure retrieval, answers and routing, compare runs, tune settings.")


class EvalMode(StrEnum):
    hybrid = "hybrid"
    text = "text"
    vector = "vector"
    lexical = "lexical"
    graph = "graph"
    all = "all"


class AgentStrategy(StrEnum):
    auto = "auto"
    fast = "fast"
    enhanced = "enhanced"
    react = "react"
    iterative = "iterative"
    planned = "planned"
    corrective = "corrective"


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Folders with corpus.jsonl, queries.jsonl, qrels.tsv (BEIR).")
]
Collection = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Default: eval-<folder>. One PATH only.")
]
Split = Annotated[str | None, typer.Option(metavar="NAME", help="Judgements of a split: test, dev, ...")]
Limit = Annotated[int | None, typer.Option("--limit-queries", min=1, help="Only the first queries of each set.")]
NoIndex = Annotated[bool, typer.Option("--no-index", help="Search the collection as it stands.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Empty the collection first: after a change of chunking or model.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="FIELD=VALUE,...", help="Only questions whose field is one of the values."),
]
Floor = Annotated[
    Path | None, typer.Option("--floor", metavar="FILE", help="Least means as JSON; exit code 1 where a run is below.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; - is stdout.")]
Run = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run, or its last characters, as cairn eval list shows.")
]


@group.command()
def retrieval(
    paths: Paths,
    mode: Annotated[
        EvalMode,
        typer.Option(help="What to search by; text is hybrid without the graph, all hybrid, vector and lexical."),
    ] = EvalMode.hybrid,
    collection: Collection = None,
    split: Split = None,
    limit_queries: Limit = None,
    no_index: NoIndex = False,
    fresh: Fresh = False,
    json: JsonFile = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a chart: FILE.svg or FILE.html.")] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Kept with the runs.")] = "",
    floor: Floor = None,
) -> int:
    """Search the queries of data sets and judge what is found."""
    from cairn.interfaces.cli import evaluations
    from cairn.service.evaluation import Corpora

    corpora = Corpora(paths, collection, split, limit_queries, index=not no_index, fresh=fresh)
    return _run(evaluations.retrieval(corpora, mode.value, name, json, plot, floor))


@group.command()
def agents(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="The same folders; answers.jsonl has the answers.")
    ],
    strategy: Annotated[AgentStrategy, typer.Option(help="Which one answers.")] = AgentStrategy.corrective,
    collection: Collection = None,
    split: Split = None,
    limit_queries: Limit = None,
    no_index: NoIndex = False,
    fresh: Fresh = False,
    where: Where = None,
    sample: Annotated[int | None, typer.Option(min=1, help="So many questions, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of the sample: the same one draws the same questions.")] = 0,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Leave out the documents that answer: a refusal is right.")
    ] = False,
    ask: Annotated[
        str, typer.Option(metavar="TEXT", help="How questions about files are asked: 'In {file}: {question}'.")
    ] = "{question}",
    by: Annotated[str, typer.Option(metavar="FIELD", help="Figures for each value of a field of the questions.")] = "",
    json: JsonFile = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Kept with the runs.")] = "",
    floor: Floor = None,
) -> int:
    """Answer questions by a strategy; judge answers."""
    from cairn.interfaces.cli import evaluations
    from cairn.service.evaluation import Corpora

    corpora = Corpora(
        paths, collection, split, limit_queries, index=not no_index, fresh=fresh, where=_conditions(where or ()),
        sample=sample, seed=seed, withhold=withhold, template=ask,
    )  # fmt: skip
    return _run(evaluations.agents(corpora, strategy.value, name, json, by, floor))


@group.command()
def calibrate(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH...", help="Folders with judged questions, as for agents.")
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", metavar="NAME", help="The collection that is asked, as it stands."),
    ] = None,
    where: Where = None,
    sample: Annotated[int | None, typer.Option(min=1, help="So many questions, drawn at random.")] = None,
    withhold: Annotated[
        bool,
        typer.Option("--withhold", help="Ask again without the documents that answer, in a collection of its own."),
    ] = False,
    ask: Annotated[
        str, typer.Option(metavar="TEXT", help="How questions about files are asked: 'In {file}: {question}'.")
    ] = "{question}",
    feedback: Annotated[
        bool, typer.Option("--feedback", help="Fit it to what users said of answers, without a PATH.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would change.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Back to the calibration as shipped.")] = False,
    json: JsonFile = None,
) -> int:
    """Fit a collection's confidence to judged questions or feedback."""
    from cairn.interfaces.cli import evaluations
    from cairn.service.evaluation import Corpora

    if feedback:
        if paths or not collection or withhold or reset:
            raise typer.BadParameter("takes --collection, and no PATH, --withhold or --reset", param_hint="--feedback")
        return _run(evaluations.calibrate_by_feedback(collection, json, keep=not dry_run))
    if not paths:
        raise typer.BadParameter("give a folder with judged questions, or --feedback", param_hint="PATH")
    corpora = Corpora(
        paths, collection, index=collection is None, where=_conditions(where or ()), sample=sample, template=ask
    )
    return _run(evaluations.calibrate(corpora, json, withhold=withhold, keep=not dry_run, reset=reset))


@group.command()
def routing(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="A .jsonl of {_id, text, label}, or a folder with such.")
    ],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first messages of each label.")] = None,
    json: JsonFile = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a chart: FILE.svg or FILE.html.")] = None,
) -> int:
    """Labels against intents, types of question and complexity."""
    from cairn.interfaces.cli import evaluations

    return _run(evaluations.routing(paths, limit, json, plot))


@group.command()
def compare(first: Run, second: Run, json: JsonFile = None) -> int:
    """Compare two runs query by query."""
    from cairn.interfaces.cli import evaluations

    return _run(evaluations.compare(first, second, json))


@group.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20, json: JsonFile = None
) -> int:
    """List stored runs."""
    from cairn.interfaces.cli import evaluations

    return _run(evaluations.list_runs(limit, json))


@group.command()
def optimize(
    paths: Paths,
    collection: Collection = None,
    split: Split = None,
    limit_queries: Limit = None,
    no_index: NoIndex = False,
    fresh: Fresh = False,
    json: JsonFile = None,
) -> int:
    """Relevance, latency, reranking; the fusion that suits."""
    from cairn.interfaces.cli import evaluations
    from cairn.service.evaluation import Corpora

    corpora = Corpora(paths, collection, split, limit_queries, index=not no_index, fresh=fresh)
    return _run(evaluations.optimize(corpora, json))


@group.command()
def replay(
    changes: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE,...", help="A setting and what to try; several: all combinations."),
    ],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="Only questions asked of it.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="So many judged runs, newest first.")] = 500,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Let the chat model take part, at its price; else answers are quoted.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Put the better settings into the settings file; never if they are not.")
    ] = False,
    json: JsonFile = None,
) -> int:
    """Ask rated questions again with other settings."""
    from cairn.interfaces.cli import evaluations
    from cairn.settings.changes import read_value

    tried: dict[str, list[Any]] = {}
    for key, values in _assignments(changes, "--set").items():
        tried[key] = list(map(read_value, values))
    return _run(evaluations.replay(tried, collection, limit, json, with_model=with_model, keep=write))


@group.command()
def groundedness(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files (or folders of files) *.jsonl of labelled responses.")
    ],
    json: JsonFile = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Write ROC curves: FILE.svg or FILE.html.")] = None,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Let the chat model decide the middle band.")
    ] = False,
) -> int:
    """Tell supported from unsupported responses."""
    from cairn.interfaces.cli import evaluations

    return _run(evaluations.groundedness(paths, json, plot, with_model=with_model))


def _conditions(texts: Sequence[str]) -> dict[str, frozenset[str]]:
    """Raises BadParameter."""
    return {name: frozenset(values) for name, values in _assignments(texts, "--where").items()}


def _assignments(texts: Sequence[str], option: str) -> dict[str, list[str]]:
    """Raises BadParameter."""
    pairs = [text.partition("=") for text in texts]
    if any(not name or not values for name, _, values in pairs):
        raise typer.BadParameter("wanted NAME=VALUE or NAME=VALUE,VALUE", param_hint=option)
    return {name: values.split(",") for name, _, values in pairs}


def _run(work: Coroutine[Any, Any, int]) -> int:
    return asyncio.run(work)
