"""What `cairn eval routing` does. It needs the embedding model, and no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from app.commands.evaluation_tables import new_table, print_table
from app.commands.evaluations import check_plot, write, write_json
from app.commands.terminal import count, note, progress, quiet_logs, say
from app.errors import InputError
from app.evals import routing_report
from app.evals.routing import LabelledMessage, RoutingReport, load_messages, route
from app.settings import SettingsStore, read_environment


async def routing(paths: Sequence[Path], limit: int | None, json: Path | None, plot: Path | None) -> int:
    """Raises InputError for files that cannot be read, ProviderError without an embedding model."""
    check_plot(plot)
    sets = [load_messages(path, limit) for path in paths]
    for path, (_, messages) in zip(paths, sets, strict=True):
        if not messages:
            raise InputError(f"{path}: no messages")
    reports = await _routed(sets)
    if plot:
        write(plot, (routing_report.page if plot.suffix == ".html" else routing_report.chart)(reports))
    if json:
        write_json(json, {"sets": [report.as_json() for report in reports]})
    if str(json) != "-":
        for report in reports:
            _show(report)
    return 0


async def _routed(sets: Sequence[tuple[str, Sequence[LabelledMessage]]]) -> list[RoutingReport]:
    from app.wiring import open_models

    environment = read_environment()
    settings = SettingsStore(environment.settings_path).current
    quiet_logs()
    reports = []
    async with open_models(environment, settings) as (embedder, _):
        for name, messages in sets:
            with progress(name, len(messages)) as step:
                reports.append(await route(name, messages, embedder, settings.routing, step))
    return reports


def _show(report: RoutingReport) -> None:
    say(f"{report.name}: {count(len(report.routed), 'message')}")
    for title, rows in (
        ("intent", report.table(lambda one: one.intent.intent)),
        ("type of question", report.table(lambda one: one.type)),
        ("level", report.table(lambda one: one.level)),
    ):
        _confusion(title, rows)
    medians = "; ".join(f"{step} {value:.2f}" for step, value in report.medians_ms().items())
    say(f"Median milliseconds: {medians}")
    kept = report.kept()
    note(f"{report.name}: {len(kept):,} of {len(report.routed):,} kept from retrieval.")


def _confusion(title: str, rows: Mapping[str, Mapping[str, int]]) -> None:
    columns = sorted({name for row in rows.values() for name in row})
    shown = new_table(f"label \\ {title}", *columns, words=1)
    for label, row in rows.items():
        shown.add_row(label, *(f"{row[column]:,}" if column in row else "." for column in columns))
    print_table(shown)
    say()
