"""`cairn prepare` and `cairn load`: documents into Parquet files, on any machine, and from there into a collection."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cairn.distribution import release
from cairn.interfaces.cli.ingest import SHOWN, say_report, show_failures, show_notes, summary
from cairn.interfaces.cli.terminal import count, note, progress, quiet_logs, say, say_json, services
from cairn.service.bulk import PrepareReport, load_prepared, open_folder, prepare_files
from cairn.service.documents import check_collection_name
from cairn.service.files import describe_formats, select_files
from cairn.service.jobs import build_indexes
from cairn.settings import SettingsStore, read_environment


async def prepare(paths: Sequence[Path], out: Path, prefix: str | None, as_json: bool, verbose: bool) -> int:
    """Exit code 1 when a document failed or there was none."""
    quiet_logs()
    environment = read_environment()
    settings = SettingsStore(environment.settings_path).current
    selection = select_files(paths, prefix=prefix)
    with progress("Preparing", len(selection.files)) as step:
        report = await prepare_files(environment, settings, selection, out, step)
    if as_json:
        say_json({**asdict(report), "notes": [{"external_id": one, "note": text} for one, text in report.notes]})
    else:
        _show(report, verbose)
    return 1 if report.failed or not (report.documents or report.unchanged) else 0


def _show(report: PrepareReport, verbose: bool) -> None:
    limit = None if verbose else SHOWN
    for outcome in report.failed[:limit]:
        note(f"failed: {outcome.external_id}: {outcome.error}")
    for external_id, text in report.notes[:limit]:
        note(f"note: {external_id}: {text}")
    hidden = sum(max(len(lines) - SHOWN, 0) for lines in (report.failed, report.notes))
    if hidden and not verbose:
        note(f"... and {count(hidden, 'more line')} (cairn prepare --verbose lists all)")
    if verbose:
        for file in report.skipped:
            note(f"skipped: {file.path}: {file.reason}")
    if not (report.documents or report.unchanged or report.failed):
        say(f"Found no documents ({count(len(report.skipped), 'item')} skipped; --verbose lists them).")
        say(f"Cairn reads {describe_formats()}.")
        return
    made = f"{count(report.documents, 'document')} prepared ({count(report.chunks, 'chunk')})"
    parts = [made if report.documents else "nothing new"]
    counts = {"unchanged": report.unchanged, "failed": len(report.failed), "skipped": len(report.skipped)}
    parts += [f"{number:,} {name}" for name, number in counts.items() if number]
    say(f"{report.folder}: {', '.join(parts)}, in {report.seconds:.1f} s.")
    say(f"Load them: cairn load {report.folder}")


async def load(folder: Path, collection: str | None, as_json: bool, verbose: bool, *, replace: bool) -> int:
    """Exit code 1 when a document failed or there was none."""
    if collection is not None:
        check_collection_name(collection)
    prepared = await asyncio.to_thread(open_folder, folder)
    if (written := prepared.manifest.cairn) and written != release():
        note(f"{folder} was prepared by Cairn {written}, this is {release()}: documents may be cut otherwise")
    async with services() as opened:
        name = collection or opened.settings.current.rag.collection_name
        with progress("Loading", len(prepared.places)) as step:
            report = await load_prepared(opened, name, prepared, step, replace=replace)
        await build_indexes(opened)
    if as_json:
        say_report(report)
    else:
        limit = None if verbose else SHOWN
        show_failures(report, limit)
        show_notes(report, limit)
        if verbose:
            for outcome in report.indexed:
                say(f"{outcome.change}: {outcome.external_id}")
        say(summary(report))
        if report.indexed:
            say(f'Ask about them: cairn ask "..." --collection {report.collection}')
    return 1 if report.failed or not report.indexed else 0
