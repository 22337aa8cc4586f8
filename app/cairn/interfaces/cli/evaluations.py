"""What `cairn eval` does: measure, show, and write files. What is measured and how is cairn.service.evaluation."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cairn.domain.evaluation import EvalResult, EvalRun
from cairn.errors import InputError
from cairn.evals import chart, report
from cairn.evals.agents import AgentsRun
from cairn.evals.answers import quotation_of
from cairn.evals.calibrate import CalibrationReport
from cairn.evals.datasets import RetrievalSet
from cairn.evals.floors import Floors, load_floors
from cairn.evals.optimize import SearchReport
from cairn.evals.routing import RoutingReport
from cairn.interfaces.cli import evaluation_tables as tables
from cairn.interfaces.cli.terminal import count, note, progress, quiet_logs, say, say_json, services
from cairn.service import evaluation
from cairn.service import replay as replaying
from cairn.service.evaluation import Corpora
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_models


async def retrieval(
    corpora: Corpora, mode: str, name: str, json: Path | None, plot: Path | None, floor: Path | None = None
) -> int:
    """Exit code 1 when part of the search failed for some query, which makes the figures not what they seem, or a figure is below
    its floor."""
    check_plot(plot)
    least = load_floors(floor) if floor else None
    sets = evaluation.load_sets(corpora)
    runs: list[tuple[EvalRun, list[EvalResult]]] = []
    async with services() as opened:
        for data, collection in sets:
            await prepare(opened, data, collection, corpora)
            for chosen in evaluation.modes_of(mode):
                with progress(f"{data.name}, {chosen}", len(data.queries)) as step:
                    runs.append(await evaluation.evaluate_retrieval(opened, data, collection, chosen, step, name=name))
    if plot:
        draw = chart.retrieval_page if plot.suffix == ".html" else chart.draw_retrieval
        write(plot, draw([run for run, _ in runs]))
    if json:
        write_json(json, {"runs": [report.run_json(run, results) for run, results in runs]})
    if str(json) != "-":
        tables.runs([run for run, _ in runs])
    problems = [f"{run.data_set}, {run.mode}: {problem}" for run, _ in runs for problem in run.degraded]
    for problem in problems:
        note(f"warning: {problem}")
    fallen = tell_fallen(least, [run for run, _ in runs])
    return 1 if problems or fallen else 0


def tell_fallen(least: Floors | None, runs: Sequence[EvalRun]) -> bool:
    """Whether a figure is below its floor. Raises InputError for runs that have none."""
    fallen = least.below(runs) if least else []
    for figure in fallen:
        note(f"below the floor: {figure}")
    return bool(fallen)


async def prepare(opened: Services, data: RetrievalSet, collection: str, corpora: Corpora) -> None:
    """Bring the collection up to date, and say what is remarkable about it."""
    if corpora.index:
        with progress(f"{data.name}, indexing", data.document_count) as step:
            found = await evaluation.prepare_collection(opened, data, collection, step, fresh=corpora.fresh)
        note(
            f"{data.name}: {count(data.document_count, 'document')} in collection {collection}, {found.indexed:,} of "
            f"them indexed now; queries: {len(data.queries):,}."
        )
        if found.rejected:
            note(f"{data.name}: {len(found.rejected):,} could not be indexed, e.g. {found.rejected[0].external_id}: "
                 f"{found.rejected[0].error}")  # fmt: skip
        anew = "measure in a collection of its own (--collection)" if found.restricted else "--fresh indexes it again"
        for setting in found.stale_settings:
            note(f"warning: {collection} was indexed with another {setting}; {anew}")
        if found.extra:
            away = "cairn documents delete" if found.restricted else "--fresh"
            note(
                f"warning: {collection} holds {count(found.extra, 'document')} that {data.name} does not; "
                f"{away} removes them"
            )
    if data.absent:
        note(f"{data.name}: {count(data.absent, 'judged document')} not in the corpus; nobody can find them.")


async def compare(first: str, second: str, json: Path | None) -> int:
    """Raises NotFoundError for an unknown run, InputError for an ambiguous ending or runs without a common query."""
    async with services() as opened:
        result = await evaluation.compare_runs(opened, first, second)
    if json:
        write_json(json, result.as_json())
    if str(json) != "-":
        tables.versus(result)
    return 0


async def list_runs(limit: int, json: Path | None) -> int:
    async with services() as opened:
        runs = await evaluation.list_runs(opened, limit=limit)
    if json:
        write_json(json, {"runs": [report.run_json(run) for run in runs]})
    if str(json) != "-":
        tables.runs(runs) if runs else say("No runs yet; make one: cairn eval retrieval PATH")
    return 0


async def optimize(corpora: Corpora, json: Path | None) -> int:
    """Measure search on each set, then try every fusion on all of them."""
    sets = evaluation.load_sets(corpora)
    reports: dict[str, SearchReport] = {}
    legs = []
    async with services() as opened:
        for data, collection in sets:
            await prepare(opened, data, collection, corpora)
            with progress(f"{data.name}, searching", evaluation.count_searches(opened, data)) as step:
                reports[data.name] = await evaluation.measure_search(opened, data, collection, step)
            with progress(f"{data.name}, trying fusions", len(data.queries)) as step:
                legs.append(await evaluation.retrieve_legs(opened, data, collection, step))
        found = evaluation.tune_fusion(opened, legs)
    if json:
        write_json(json, {"search": {name: asdict(value) for name, value in reports.items()}, "grid": asdict(found)})
    if str(json) != "-":
        tables.reports(reports)
        tables.grid(found, len(sets))
    return 0


# --- answers of a strategy ----------------------------------------------------------------------------------------------


async def agents(
    corpora: Corpora, strategy: str, name: str, json: Path | None, group_by: str = "", floor: Path | None = None
) -> int:
    """Exit code 1 when the run of some question failed, which makes the figures not what they seem, or a figure is below its
    floor."""
    least = load_floors(floor) if floor else None
    sets = [(data, evaluation.load_answers(data), collection) for data, collection in evaluation.load_sets(corpora)]
    measured: list[AgentsRun] = []
    async with services() as opened:
        if strategy == "corrective" and evaluation.enable_corrective(opened):
            note("rag.agenticRetrieval.enabled is off; it is on for this evaluation.")
        for data, expected, collection in sets:
            await prepare(opened, data, collection, corpora)
            if not expected:
                note(f"{data.name}: no answers.jsonl; what answers say is not judged, only what they stand on.")
            with progress(f"{data.name}, {strategy}", len(data.queries)) as step:
                done = await evaluation.evaluate_strategy(
                    opened, data, expected, collection, strategy, step, name=name, group_by=group_by
                )
            measured.append(done)
    if json:
        write_json(json, {"runs": [_as_json(one) for one in measured]})
    if str(json) != "-":
        tables.agents(measured)
        say()
        tables.quotations(measured)
    for one in measured:
        for problem in one.run.degraded:
            note(f"{one.run.data_set}: {problem}")
    fallen = tell_fallen(least, [one.run for one in measured])
    return 1 if fallen or any(asked.error for one in measured for asked in one.answers.values()) else 0


async def calibrate(corpora: Corpora, json: Path | None, *, withhold: bool, keep: bool, reset: bool) -> int:
    """Ask judged questions, fit the confidence of their collection to what came of them, and keep it where it helps on questions
    that it was not fitted to. Exit code 1 where nothing is kept."""
    sets = evaluation.load_sets(corpora)
    if len(sets) > 1:
        raise InputError("calibrate one collection at a time: give one PATH")
    data, collection = sets[0]
    expected = evaluation.load_answers(data)
    async with services() as opened:
        if reset:
            await evaluation.keep_calibration(opened, collection, None)
            say(f"{collection}: confidence as shipped.")
            return 0
        asked = [(data, collection)]
        if withhold:
            asked += evaluation.load_sets(replace(corpora, collection=None, index=True, withhold=True))
        runs = []
        for one, name in asked:
            await prepare(opened, one, name, corpora if one is data else replace(corpora, index=True))
            with progress(f"{one.name}{', withheld' if one.withheld else ''}", len(one.queries)) as step:
                run = await evaluation.evaluate_strategy(opened, one, expected, name, "fast", step, name="calibrate")
            runs.append((one, expected, run))
        found = await evaluation.calibrate(opened, runs)
        kept = keep and found.helps
        if kept:
            await evaluation.keep_calibration(opened, collection, found.calibration)
    return _tell_calibration(collection, found, json, kept=kept, keep=keep)


async def calibrate_by_feedback(collection: str, json: Path | None, *, keep: bool) -> int:
    """The same by what users said of answers. Exit code 1 where nothing is kept."""
    async with services() as opened:
        with progress("Asking rated questions again", None) as step:
            found = await replaying.calibrate_by_feedback(opened, collection, step)
        kept = keep and found.helps
        if kept:
            await evaluation.keep_calibration(opened, collection, found.calibration)
    return _tell_calibration(collection, found, json, kept=kept, keep=keep)


def _tell_calibration(collection: str, found: CalibrationReport, json: Path | None, *, kept: bool, keep: bool) -> int:
    if json:
        write_json(json, {"collection": collection, "kept": kept, **asdict(found)})
    if str(json) != "-":
        tables.calibration(collection, found, kept=kept)
    return 0 if kept or not keep else 1


def _as_json(one: AgentsRun) -> dict[str, Any]:
    return {
        **report.run_json(one.run, one.results),
        "rates": dict(one.rates),
        "answers": {
            query_id: {
                "run_id": asked.run_id,
                "answer": asked.answer and asked.answer.answer,
                "error": asked.error and f"{asked.error.code}: {asked.error.detail}",
                "quotation": asked.answer and quotation_of(asked.answer),
                "confidence": asked.answer and asked.answer.confidence,
                "strategy": asked.answer and asked.answer.route["strategy"],
                "usage": dict(asked.answer.usage) if asked.answer else {},
            }
            for query_id, asked in one.answers.items()
        },
    }


# --- what users said of answers -----------------------------------------------------------------------------------------


async def replay(
    tried: Mapping[str, Sequence[Any]], collection: str | None, limit: int, json: Path | None, *, with_model: bool,
    keep: bool,
) -> int:  # fmt: skip
    """Exit code 1 where settings were to be written and are not better. Raises InputError where too little was judged."""
    async with services() as opened:
        with progress("Asking rated questions again", None) as step:
            found = await replaying.replay_feedback(
                opened, tried, step, collection=collection, limit=limit, with_model=with_model
            )
        written = keep and replaying.write_chosen(opened, found)
    if json:
        write_json(json, {**asdict(found), "better": found.chosen.better, "written": written})
    if str(json) != "-":
        tables.replayed(found, written=written)
    for problem in found.problems:
        note(f"warning: {problem}")
    return 1 if keep and not written else 0


# --- routing: an embedding model and no database --------------------------------------------------------------------------


async def routing(paths: Sequence[Path], limit: int | None, json: Path | None, plot: Path | None) -> int:
    """Raises InputError for files that cannot be read, ProviderError without an embedding model."""
    check_plot(plot)
    sets = [evaluation.load_messages(path, limit) for path in paths]
    environment = read_environment()
    settings = SettingsStore(environment.settings_path).current
    quiet_logs()
    reports = []
    async with open_models(environment, settings) as (embedder, _):
        for name, messages in sets:
            with progress(name, len(messages)) as step:
                reports.append(await evaluation.measure_routing(name, messages, embedder, settings, step))
    if plot:
        write(plot, (chart.routing_page if plot.suffix == ".html" else chart.draw_routing)(reports))
    if json:
        write_json(json, {"sets": [one.as_json() for one in reports]})
    if str(json) != "-":
        for one in reports:
            _show_routing(one)
    return 0


def _show_routing(one: RoutingReport) -> None:
    say(f"{one.name}: {count(len(one.routed), 'message')}")
    for title, rows in (
        ("intent", one.table(lambda message: message.intent.intent)),
        ("type of question", one.table(lambda message: message.type)),
        ("level", one.table(lambda message: message.level)),
    ):
        _confusion(title, rows)
    medians = "; ".join(f"{step} {value:.2f}" for step, value in one.medians_ms().items())
    say(f"Median milliseconds: {medians}")
    kept = one.kept()
    note(f"{one.name}: {len(kept):,} of {len(one.routed):,} kept from retrieval.")


def _confusion(title: str, rows: Mapping[str, Mapping[str, int]]) -> None:
    columns = sorted({name for row in rows.values() for name in row})
    shown = tables.new_table(f"label \\ {title}", *columns, words=1)
    for label, row in rows.items():
        shown.add_row(label, *(f"{row[column]:,}" if column in row else "." for column in columns))
    tables.print_table(shown)
    say()


# --- groundedness: an embedding model and no database -----------------------------------------------------------------------


async def groundedness(paths: Sequence[Path], json: Path | None, plot: Path | None, *, with_model: bool) -> int:
    """Exit code 1 when part of the check failed for some response: the figures are not what they seem."""
    check_plot(plot)
    sets = [data for path in paths for data in evaluation.load_responses(path)]
    environment = read_environment()
    settings = SettingsStore(environment.settings_path).current
    quiet_logs()
    async with open_models(environment, settings) as (embedder, chat):
        if with_model and chat is None:
            note("warning: no chat model is configured; the deterministic layers decide")
        judge, measured = chat if with_model else None, []
        for data in sets:
            with progress(data.name, len(data.items)) as step:
                measured.append(await evaluation.measure_groundedness(data, embedder, judge, settings, step))
    if plot:
        write(plot, chart.groundedness_page(measured) if plot.suffix == ".html" else chart.draw_groundedness(measured))
    if json:
        write_json(json, {"sets": measured})
    if str(json) != "-":
        tables.measured_groundedness(measured)
    problems = {one["set"]: one["degraded"] for one in measured if one["degraded"]}
    for name, number in problems.items():
        note(f"warning: {name}: part of the check failed for {number} responses")
    return 1 if problems else 0


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
    if str(path) == "-":
        say_json(value)
    else:
        write(path, json_text.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
