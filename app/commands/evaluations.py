"""What `cairn eval` does: prepare collections, measure, and show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from app.commands import evaluation_tables as tables
from app.commands.terminal import count, note, progress, say, say_json, services
from app.domain.evaluation import EvalResult, EvalRun
from app.domain.passage import Mode
from app.errors import InputError, NotFoundError
from app.evals import report
from app.evals.datasets import RetrievalSet, load
from app.evals.optimize import SearchReport, fetch_legs, grid, optimize_search
from app.evals.retrieval import ALL, Bench, evaluate, index_corpus, stale_settings
from app.service.documents import checked_name, delete_collection, get_collection
from app.store import evals
from app.wiring import Services


@dataclass(frozen=True)
class Corpora:
    """Which data sets to measure on, and what becomes of their collections."""

    paths: Sequence[Path]
    collection: str | None
    split: str | None
    limit: int | None
    index: bool
    fresh: bool


# --- commands ---------------------------------------------------------------------------------------------------------


async def retrieval(corpora: Corpora, mode: str, name: str, json: Path | None, plot: Path | None) -> int:
    """Exit code 1 when part of the search failed for some query: the figures are not what they seem."""
    check_plot(plot)
    sets = load_sets(corpora)
    runs: list[tuple[EvalRun, list[EvalResult]]] = []
    async with services() as opened:
        bench = bench_of(opened)
        for data, collection in sets:
            await prepare(opened, bench, data, collection, corpora)
            for chosen in ALL if mode == "all" else (cast("Mode", mode),):
                with progress(f"{data.name}, {chosen}", len(data.queries)) as step:
                    runs.append(await evaluate(bench, data, collection, chosen, step, name=name))
    if plot:
        draw = report.page if plot.suffix == ".html" else report.chart
        write(plot, draw([run for run, _ in runs]))
    if json:
        write_json(json, {"runs": [report.run_json(run, results) for run, results in runs]})
    if str(json) != "-":
        tables.runs([run for run, _ in runs])
    problems = [f"{run.data_set}, {run.mode}: {problem}" for run, _ in runs for problem in run.degraded]
    for problem in problems:
        note(f"warning: {problem}")
    return 1 if problems else 0


async def compare(first: str, second: str, json: Path | None) -> int:
    """Raises NotFoundError for an unknown run, InputError for an ambiguous ending or runs without a common query."""
    async with services() as opened:
        before, after = await _stored(opened, first), await _stored(opened, second)
    try:
        result = report.compare_runs(*before, *after)
    except ValueError:
        raise InputError("the two runs have no query in common") from None
    if json:
        write_json(json, result.as_json())
    if str(json) != "-":
        tables.versus(result)
    return 0


async def list_runs(limit: int, json: Path | None) -> int:
    async with (
        services() as opened,
        opened.database.transaction(opened.principal, readonly=True) as connection,
    ):
        runs = await evals.page(connection, opened.principal, limit=limit)
    if json:
        write_json(json, {"runs": [report.run_json(run) for run in runs]})
    if str(json) != "-":
        tables.runs(runs) if runs else say("No runs yet; make one: cairn eval retrieval PATH")
    return 0


async def optimize(corpora: Corpora, json: Path | None) -> int:
    sets = load_sets(corpora)
    reports: dict[str, SearchReport] = {}
    legs = []
    async with services() as opened:
        bench = bench_of(opened)
        for data, collection in sets:
            await prepare(opened, bench, data, collection, corpora)
            searches = len(data.queries) * (2 if bench.search_deps.reranker.get(bench.settings).reranker else 1)
            with progress(f"{data.name}, searching", searches) as step:
                reports[data.name] = await optimize_search(bench, data.queries, collection, data.judgements, step)
            with progress(f"{data.name}, trying fusions", len(data.queries)) as step:
                legs.append(await fetch_legs(bench, data, collection, step))
    found = grid(bench, legs)
    if json:
        write_json(json, {"search": {name: asdict(value) for name, value in reports.items()}, "grid": asdict(found)})
    if str(json) != "-":
        tables.reports(reports)
        tables.grid(found, len(sets))
    return 0


# --- data sets and collections ----------------------------------------------------------------------------------------


def load_sets(corpora: Corpora) -> list[tuple[RetrievalSet, str]]:
    """Each set with the name of its collection. Raises InputError before anything is opened."""
    if corpora.collection and len(corpora.paths) > 1:
        raise InputError("--collection takes one data set: documents of several would replace each other")
    if corpora.fresh and not corpora.index:
        raise InputError("--fresh empties the collection and --no-index leaves it so; give one of them")
    sets = [load(path, corpora.split).first(corpora.limit) for path in corpora.paths]
    named = [(data, corpora.collection or collection_name(data.folder)) for data in sets]
    if len({collection for _, collection in named}) < len(named):
        raise InputError("two of the folders have the same name; evaluate them one by one with --collection")
    return [(data, checked_name(collection)) for data, collection in named]


def collection_name(folder: Path) -> str:
    """`eval-<folder>` in the letters that a collection's name may have."""
    return f"eval-{re.sub(r'[^A-Za-z0-9._-]+', '-', folder.resolve().name)}"[:128]


async def prepare(opened: Services, bench: Bench, data: RetrievalSet, collection: str, corpora: Corpora) -> None:
    if corpora.fresh and any(found.name == collection for found in await _named(opened, collection)):
        await delete_collection(opened, collection)
    if corpora.index:
        with progress(f"{data.name}, indexing", data.document_count) as step:
            corpus = await index_corpus(bench, data, collection, step)
        note(
            f"{data.name}: {count(data.document_count, 'document')} in collection {collection}, {corpus.fresh:,} of "
            f"them indexed now; queries: {len(data.queries):,}."
        )
        if corpus.rejected:
            note(f"{data.name}: {len(corpus.rejected):,} could not be indexed, e.g. {corpus.rejected[0].external_id}: "
                 f"{corpus.rejected[0].error}")  # fmt: skip
        for setting in await stale_settings(bench, corpus.collection):
            note(f"warning: {collection} was indexed with another {setting}; --fresh indexes it again")
        extra = corpus.collection.document_count - data.document_count + len(corpus.rejected)
        if extra > 0:
            note(
                f"warning: {collection} holds {count(extra, 'document')} that {data.name} does not; --fresh removes them"
            )
    if data.absent:
        note(f"{data.name}: {count(data.absent, 'judged document')} not in the corpus; nobody can find them.")


async def _named(opened: Services, collection: str) -> list[Any]:
    try:
        return [await get_collection(opened, collection)]
    except NotFoundError:
        return []


def bench_of(opened: Services) -> Bench:
    try:
        code = version("cairn-rag")
    except PackageNotFoundError:
        code = "source"
    return Bench(opened.search_deps, opened.principal, opened.settings.current, code)


async def _stored(opened: Services, ending: str) -> tuple[EvalRun, list[EvalResult]]:
    """A run and its results. Raises InputError, NotFoundError."""
    wanted = ending.lower()
    if not re.fullmatch(r"[0-9a-f-]{4,36}", wanted):
        raise InputError(f"{ending!r} is no run; give the id that cairn eval list shows")
    async with opened.database.transaction(opened.principal, readonly=True) as connection:
        runs = await evals.by_ending(connection, opened.principal, wanted)
        if len(runs) == 1:
            return runs[0], await evals.results(connection, opened.principal, runs[0].id)
    if not runs:
        raise NotFoundError(f"no evaluation run {ending}; see cairn eval list")
    raise InputError(f"more than one run ends with {ending}; give more of the id")


# --- files ------------------------------------------------------------------------------------------------------------


def check_plot(plot: Path | None) -> None:
    if plot and plot.suffix not in (".svg", ".html"):
        raise InputError(f"--plot writes FILE.svg or FILE.html, not {plot.name}")


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    note(f"Written: {path}")


def write_json(path: Path, value: Any) -> None:
    import json

    if str(path) == "-":
        say_json(value)
    else:
        write(path, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
