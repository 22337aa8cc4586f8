"""`cairn ingest`: files, folders and pages become searchable documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cairn.errors import InputError
from cairn.interfaces.cli.terminal import count, note, progress, say, say_json, services
from cairn.service.documents import check_collection_name
from cairn.service.files import IngestReport, Selection, describe_formats, ingest_files, select_files
from cairn.service.jobs import build_indexes, work_until_ended
from cairn.service.urls import fetch_later, is_url
from cairn.wiring import Services

SHOWN = 20
"""Failures listed without --verbose."""


async def ingest(
    given: Sequence[str], collection: str | None, as_json: bool, verbose: bool, *, prefix: str | None = None,
    replace: bool = False, prune: bool = False, access: Sequence[str] | None = None,
) -> int:  # fmt: skip
    """Exit code 1 when a document failed or there was none."""
    urls = [text for text in given if is_url(text)]
    if urls and len(urls) < len(given):
        raise InputError("files and addresses of pages go by themselves: call it once for each kind")
    if urls and (prefix or replace or prune):
        raise InputError("--prefix, --replace and --prune are for files: the address of a page is its id")
    if urls and access:
        raise InputError(
            "--reader is for files; for pages say it of their site: cairn collections access NAME --folder URL"
        )
    selection = select_files([Path(text) for text in given if not is_url(text)], prefix=prefix)
    if collection is not None:
        check_collection_name(collection)
    async with services() as opened:
        name = collection or opened.settings.current.rag.collection_name
        if urls:
            return await _fetch(opened, name, urls, as_json)
        report = await ingest_selection(opened, name, selection, replace=replace, prune=prune, access=access)
        await build_indexes(opened)
    if as_json:
        say_report(report)
    else:
        _show(report, verbose)
    return 1 if report.failed or not report.indexed else 0


def say_report(report: IngestReport) -> None:
    """As JSON."""
    say_json(
        {
            "collection": report.collection, "counts": report.counts,
            "indexed": [{**asdict(outcome), "change": outcome.change} for outcome in report.indexed],
            "failed": [asdict(outcome) for outcome in report.failed],
            "skipped": [asdict(file) for file in report.skipped], "removed": report.removed, "gone": report.gone,
            "seconds": round(report.seconds, 3),
        }
    )  # fmt: skip


async def ingest_selection(
    opened: Services, collection: str, selection: Selection, *, replace: bool = False, prune: bool = False,
    access: Sequence[str] | None = None,
) -> IngestReport:  # fmt: skip
    """Index the files with a progress bar, which says of a large one how much of it is read or embedded."""
    with progress("Indexing", len(selection.files)) as step:

        async def tell(external_id: str, share: float | None) -> None:
            if share is not None and share < 1:
                step(external_id, share)

        return await ingest_files(
            opened, collection, selection, step, replace=replace, prune=prune, access=access, on_share=tell
        )


async def _fetch(opened: Services, collection: str, urls: Sequence[str], as_json: bool) -> int:
    """Fetch and index pages by a job, which is done here unless another worker takes it. Exit code 1 when one failed."""
    job = await work_until_ended(opened, (await fetch_later(opened, collection, urls)).id)
    if job.status != "succeeded" or job.result is None:
        note(f"job {job.id} is {job.status}: {job.error}")
        return 1
    if as_json:
        say_json(job.result)
    else:
        for one in job.result["failed"]:
            note(f"failed: {one['external_id']}: {one['error']}")
        for one in job.result["uploaded"]:
            say(f"{one['change']}: {one['external_id']}")
        if job.result["uploaded"]:
            say(f'Ask about them: cairn ask "..." --collection {collection}')
    return 1 if job.result["failed"] else 0


def summary(report: IngestReport) -> str:
    """One line: what is new, what has new content or metadata, what was there already, failed, was left aside or removed."""
    counts, passages = report.counts, sum(outcome.passage_count for outcome in report.fresh)
    fresh = [f"{count(counts['added'], 'document')} added"] if counts["added"] else []
    fresh += [f"{counts['replaced']:,} replaced"] if counts["replaced"] else []
    parts = [f"{', '.join(fresh)} ({count(passages, 'passage')})" if fresh else "nothing new"]
    parts += [
        f"{counts[name]:,} {name}" for name in ("updated", "unchanged", "failed", "skipped", "removed") if counts[name]
    ]
    return f"Collection {report.collection}: {', '.join(parts)}, in {report.seconds:.1f} s."


def show_failures(report: IngestReport, limit: int | None) -> None:
    """Each failed document with its reason, on stderr; at most `limit` of them."""
    for outcome in report.failed[:limit]:
        note(f"failed: {outcome.external_id}: {outcome.error}")
    if limit is not None and len(report.failed) > limit:
        note(f"... and {len(report.failed) - limit:,} more (cairn ingest --verbose lists all)")


def show_notes(report: IngestReport, limit: int | None) -> None:
    """What was not read of documents that are indexed, on stderr; at most `limit` of them."""
    noted = [outcome for outcome in report.indexed if outcome.notes]
    for outcome in noted[:limit]:
        note(f"note: {outcome.external_id}: {'; '.join(outcome.notes)}")
    if limit is not None and len(noted) > limit:
        note(f"... and notes on {len(noted) - limit:,} more (cairn ingest --verbose lists all)")


def _show(report: IngestReport, verbose: bool) -> None:
    show_failures(report, None if verbose else SHOWN)
    show_notes(report, None if verbose else SHOWN)
    if verbose:
        for outcome in report.indexed:
            say(f"{outcome.change}: {outcome.external_id}")
        for external_id in report.removed:
            say(f"removed: {external_id}")
        for file in report.skipped:
            note(f"skipped: {file.path}: {file.reason}")
    if not (report.indexed or report.failed):
        say(f"Found no documents ({count(len(report.skipped), 'item')} skipped; --verbose lists them).")
        say(f"Cairn reads {describe_formats()}.")
        return
    say(summary(report))
    if report.gone:
        gone = ", ".join(report.gone[: None if verbose else 3]) + ("" if verbose or len(report.gone) <= 3 else ", ...")
        say(f"The files of {count(len(report.gone), 'document')} are gone ({gone}); --prune removes them.")
    if report.indexed:
        say(f'Ask about them: cairn ask "..." --collection {report.collection}')
