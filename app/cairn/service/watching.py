"""A folder that a collection follows: what is added, changed and removed there, and what was while nobody watched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cairn.connectors.plan_sync import KnownFile, plan_sync
from cairn.domain.access import check_access
from cairn.errors import CairnError, DatabaseUnavailableError, InputError, ProviderError, QueryTimeoutError
from cairn.service.documents import check_collection_name
from cairn.service.file_identity import list_named
from cairn.service.files import IngestReport, ingest_files, select_files
from cairn.wiring import Services

QUIET_MS: Final = 400
"""What changes is taken up when nothing has changed for so long: a file that is being written is left to its writer."""
LONGEST_MS: Final = 5000
"""But after so long in any case: a log that never rests must not hold up the others."""
LOOK_MS: Final = 500
"""How often it looks whether something is left to do, and whether the folder is there, where nothing changes."""
RETRY_SECONDS: Final = 5.0
OUTAGES = (DatabaseUnavailableError, QueryTimeoutError, ProviderError)
"""What passes: it is tried again then."""


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """`place` tells it from another one that takes its name, such as the folder that a disk was mounted on. `access`: who may
    read its documents; None: as they are."""

    path: Path
    prefix: str | None
    place: tuple[int, int]
    access: tuple[str, ...] | None = None

    @property
    def is_there(self) -> bool:
        try:
            return _place(self.path) == self.place
        except OSError:
            return False

    def shows(self, path: str) -> bool:
        """Whether a change of it may matter: hidden files and folders never do."""
        return not any(part.startswith(".") for part in Path(path).relative_to(self.path).parts)


def find_folder(path: Path, prefix: str | None = None, access: Sequence[str] | None = None) -> WatchedFolder:
    """Raises InputError where there is no such folder, and for entries of an access list that cannot be."""
    folder = Path(os.path.normpath(path.expanduser().absolute()))
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    return WatchedFolder(folder, prefix, _place(folder), None if access is None else check_access(access))


def _place(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino


async def follow_folder(
    services: Services, collection: str, folder: WatchedFolder, stop: asyncio.Event,
    on_report: Callable[[IngestReport], None], on_outage: Callable[[CairnError], None],
) -> None:  # fmt: skip
    """Bring the collection up to date with the folder, and again with each change, until `stop` is set.

    Raises InputError where the folder is gone, with nothing removed; ConflictError where ids belong to other files.
    """
    from watchfiles import awatch

    check_collection_name(collection)
    changes = awatch(
        folder.path, watch_filter=lambda _, path: folder.shows(path), debounce=LONGEST_MS, step=QUIET_MS, stop_event=stop,
        rust_timeout=LOOK_MS, yield_on_timeout=True, ignore_permission_denied=True,
    )  # fmt: skip
    seen: dict[str, str] | None = None  # versions of the files that were read, by path
    due = True
    async for batch in changes:  # the first one comes when the watch has begun, so nothing is missed in between
        if not folder.is_there:
            raise InputError(f"the folder {folder.path} is gone, or is another one now; its documents are kept")
        due = due or bool(batch)
        if seen is not None:
            seen = _forget(seen, {Path(path) for _, path in batch})
        if due:
            try:
                report, seen = await _bring_up_to_date(services, collection, folder, seen)
                due = False
                on_report(report)
            except OUTAGES as error:
                on_outage(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), RETRY_SECONDS)


def _forget(seen: Mapping[str, str], changed: AbstractSet[Path]) -> dict[str, str]:
    """Without what is or lies below one of the paths: it is read, whatever its time says."""
    return {
        path: version
        for path, version in seen.items()
        if not changed or changed.isdisjoint((Path(path), *Path(path).parents))
    }


async def _bring_up_to_date(
    services: Services, collection: str, folder: WatchedFolder, seen: Mapping[str, str] | None
) -> tuple[IngestReport, dict[str, str]]:
    """What came of it, and the versions of the files that are there. Only what is new since `seen`, or another version, is read;
    that the folder is empty is believed where it was seen to become so: at the start it may be one that a disk is mounted on."""
    there = select_files([folder.path], prefix=folder.prefix)
    listed = list_named(there)
    plan = plan_sync(listed, {path: KnownFile("", version) for path, version in (seen or {}).items()})
    report = await ingest_files(
        services, collection, there, lambda _: None, prune=True, may_be_empty=seen is not None, access=folder.access,
        only={*plan.new, *plan.changed},
    )  # fmt: skip
    return report, {path: file.version for path, file in listed.items()}
