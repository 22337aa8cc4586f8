"""`cairn ingest`: files and folders become searchable documents."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.commands.terminal import count, note, progress, say, say_json, services
from app.domain.document import Indexed, Outcome, Rejected
from app.ingest.loaders import supported_formats
from app.service.documents import checked_name, index_now
from app.service.files import (
    Selection,
    Skipped,
    read,
    select,
)
from app.wiring import Services

SHOWN = 20
"""Failures listed without --verbose."""


@dataclass(frozen=True)
class IngestReport:
    """What one run did; `seconds` of wall-clock time."""

    collection: str
    done: list[Indexed]
    failed: list[Rejected]
    skipped: list[Skipped]
    seconds: float

    @property
    def fresh(self) -> list[Indexed]:
        """Documents that are new or have new content."""
        return [outcome for outcome in self.done if not outcome.duplicate]

    def as_json(self) -> dict[str, Any]:
        return {
            "collection": self.collection, "indexed": [asdict(outcome) for outcome in self.done],
            "failed": [asdict(outcome) for outcome in self.failed],
            "skipped": [asdict(file) for file in self.skipped], "seconds": round(self.seconds, 3),
        }  # fmt: skip


async def ingest(paths: Sequence[Path], collection: str | None, as_json: bool, verbose: bool) -> int:
    """Exit code 1 when a document failed or there was none."""
    selection = select(paths)
    if collection is not None:
        checked_name(collection)
    async with services() as opened:
        name = collection or opened.settings.current.rag.collection_name
        report = await ingest_selection(opened, name, selection)
    if as_json:
        say_json(report.as_json())
    else:
        _show(report, verbose)
    return 1 if report.failed or not report.done else 0


async def ingest_selection(opened: Services, collection: str, selection: Selection) -> IngestReport:
    """Index the files with a progress bar."""
    started, failed = time.monotonic(), list[Rejected]()
    with progress("Indexing", len(selection.files)) as step:

        def refuse(outcome: Rejected) -> None:
            failed.append(outcome)
            step(outcome.external_id)

        def reached(outcome: Outcome) -> None:
            step(outcome.external_id)

        sources = read(selection, opened.settings.current, lambda file: step(file.path), refuse)
        outcomes: list[Outcome] = []
        if selection.files:
            outcomes = await index_now(opened, collection, sources, reached)
    done = [outcome for outcome in outcomes if isinstance(outcome, Indexed)]
    failed += [outcome for outcome in outcomes if isinstance(outcome, Rejected)]
    return IngestReport(collection, done, failed, selection.skipped, time.monotonic() - started)


def summary(report: IngestReport) -> str:
    """One line: what is new, what was there already, what failed, what was left aside."""
    passages = sum(outcome.passage_count for outcome in report.fresh)
    parts = [f"{count(len(report.fresh), 'document')} indexed ({count(passages, 'passage')})"]
    if unchanged := len(report.done) - len(report.fresh):
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
        for outcome in report.done:
            say(f"{'unchanged' if outcome.duplicate else 'indexed'}: {outcome.external_id}")
        for file in report.skipped:
            note(f"skipped: {file.path}: {file.reason}")
    if not (report.done or report.failed):
        say(f"Found no documents ({count(len(report.skipped), 'item')} skipped; --verbose lists them).")
        say(f"Cairn reads {supported_formats()}.")
        return
    say(summary(report))
    if report.done:
        say(f'Ask about them: cairn ask "..." --collection {report.collection}')
