"""`cairn watch`: a collection follows a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cairn.errors import CairnError
from cairn.interfaces.cli.ingest import show_failures, show_notes
from cairn.interfaces.cli.terminal import note, say, services
from cairn.interfaces.guardian import GuardedProcess
from cairn.service.audit import follow_settings
from cairn.service.files import IngestReport
from cairn.service.watching import WatchedFolder, find_folder, follow_folder

GRACE_SECONDS = 5.0
"""What is being indexed may go on for so long after a stop; the rest is found at the next start."""


def watch(folder: Path, collection: str | None, prefix: str | None, access: Sequence[str] | None = None) -> int:
    """Follow it until SIGTERM or Ctrl-C; a stop that was asked for is no failure. Raises InputError."""
    with GuardedProcess() as ending:
        return asyncio.run(_watch(find_folder(folder, prefix, access), collection, ending))


async def _watch(folder: WatchedFolder, collection: str | None, ending: GuardedProcess) -> int:
    async with services() as opened:
        name = collection or opened.settings.current.rag.collection_name
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        ending.obey(lambda: loop.call_soon_threadsafe(stop.set))
        say(f"Collection {name} follows {folder.path} until Ctrl-C; what is there now is indexed first.")
        work = asyncio.create_task(follow_folder(opened, name, folder, stop, _show, _complain))
        others = [asyncio.create_task(stop.wait()), asyncio.create_task(follow_settings(opened))]
        try:
            await asyncio.wait([work, others[0]], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([work], timeout=GRACE_SECONDS)
            if work.done():
                await work
        finally:
            for task in (work, *others):
                task.cancel()
            await asyncio.gather(work, *others, return_exceptions=True)
    return 0


def _show(report: IngestReport) -> None:
    """What changed, a line each."""
    at = f"{datetime.now():%H:%M:%S}"
    for outcome in report.fresh:
        say(f"{at} {outcome.change}: {outcome.external_id}")
    for external_id in report.removed:
        say(f"{at} removed: {external_id}")
    show_failures(report, None)
    show_notes(report, None)


def _complain(error: CairnError) -> None:
    note(f"{error.detail}; tried again in a few seconds")
