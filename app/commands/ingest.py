"""`cairn ingest`: files and folders become searchable documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from app.commands.terminal import count, note, progress, say, say_json, services
from app.service.documents import check_collection_name
from app.service.files import IngestReport, Selection, describe_formats, ingest_files, select_files
from app.wiring import Services

SHOWN = 20
"""Failures listed without --verbose."""


async def ingest(paths: Sequence[Path], collection: str | None, as_json: bool, verbose: bool) -> int:
    """Exit code 1 when a document failed or there was none."""
    selection = select_files(paths)
    if collection is not None:
        check_collection_name(collection)
    async with services() as opened:
        name = collection or opened.settings.current.rag.collection_name
        report = await ingest_selection(opened, name, selection)
    if as_json:
        say_json(
            {
                "collection": report.collection, "indexed": [asdict(outcome) for outcome in report.indexed],
                "failed": [asdict(outcome) for outcome in report.failed],
                "skipped": [asdict(file) for file in report.skipped], "seconds": round(report.seconds, 3),
            }
        )  # fmt: skip
    else:
        _show(report, verbose)
    return 1 if report.failed or not report.indexed else 0


async def ingest_selection(opened: Services, collection: str, selection: Selection) -> IngestReport:
    """Index the files with a progress bar."""
    with progress("Indexing", len(selection.files)) as step:
        return await ingest_files(opened, collection, selection, step)


def summary(report: IngestReport) -> str:
    """One line: what is new, what was there already, what failed, what was left aside."""
    passages = sum(outcome.passage_count for outcome in report.fresh)
    parts = [f"{count(len(report.fresh), 'document')} indexed ({count(passages, 'passage')})"]
    if unchanged := len(report.indexed) - len(report.fresh):
        parts.append(f"{unchanged:,} unchanged")
    if report.failed:
        parts.append(f"{len(report.failed):,} failed")
    if report.skipped:
        parts.append(f"{len(report.skipped):,} skipped")
    return f"Collection {report.collection}: {', '.join(parts)}, in {report.seconds:.1f} s."


def show_failures(report: IngestReport, limit: int | None) -> None:
    """Each failed document with its reason, on stderr; at most `limit` of them."""
    for outcome in report.failed[:limit]:
        note(f"failed: {outcome.external_id}: {outcome.error}")
    if limit is not None and len(report.failed) > limit:
        note(f"... and {len(report.failed) - limit:,} more (cairn ingest --verbose lists all)")


def _show(report: IngestReport, verbose: bool) -> None:
    show_failures(report, None if verbose else SHOWN)
    if verbose:
        for outcome in report.indexed:
            say(f"{'unchanged' if outcome.duplicate else 'indexed'}: {outcome.external_id}")
        for file in report.skipped:
            note(f"skipped: {file.path}: {file.reason}")
    if not (report.indexed or report.failed):
        say(f"Found no documents ({count(len(report.skipped), 'item')} skipped; --verbose lists them).")
        say(f"Cairn reads {describe_formats()}.")
        return
    say(summary(report))
    if report.indexed:
        say(f'Ask about them: cairn ask "..." --collection {report.collection}')
