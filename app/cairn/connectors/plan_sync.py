"""What a listing means for what is known of a source: which files are read, which documents go. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cairn.connectors.connector import RemoteFile


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was read. `version` is empty where a reading of it was broken off, `content_id` None where there was none.
    `owned`: the document of its id is the source's. `arrived`: it was read since the last synchronisation that came to its
    end."""

    external_id: str
    version: str
    content_id: str | None = None
    failed: bool = False
    owned: bool = True
    arrived: bool = False


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """Paths. `new` and `changed` are read, in the order of the listing; `gone` are known, and it did not name them."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    unchanged: int


@dataclass(frozen=True, slots=True)
class DeletionFinding:
    """Whether documents of files that are gone go too; `note` says why they do not, and what to do."""

    verdict: Literal["delete", "keep", "pause"]
    note: str | None = None


def plan_sync(
    listed: Mapping[str, RemoteFile], known: Mapping[str, KnownFile], *, retry_failed: bool = False
) -> SyncPlan:
    """Compare a listing that came to its end, by path, with what is known. A file that failed is read again when its version is
    another one, or where somebody asks (`retry_failed`)."""
    new, changed, unchanged = list[str](), list[str](), 0
    for path, file in listed.items():
        before = known.get(path)
        if before is None:
            new.append(path)
        elif before.version != file.version or (retry_failed and before.failed):
            changed.append(path)
        else:
            unchanged += 1
    return SyncPlan(tuple(new), tuple(changed), tuple(sorted(known.keys() - listed.keys())), unchanged)


def judge_deletions(
    gone: int, known: int, listed: int, *, most_deleted: float, empty_before: int, accepted: bool = False
) -> DeletionFinding:
    """Whether to believe that so many of the known files are gone, and not moved. `empty_before`: listings without a file that
    came before this one, one after the other. `accepted`: somebody has said so."""
    if not gone or accepted:
        return DeletionFinding("delete")
    if not listed and not empty_before:
        return DeletionFinding(
            "keep",
            f"the source lists no file at all, and {known:,} are known: nothing was deleted. When it is empty once more, that is "
            "believed",
        )
    if gone > most_deleted * known:
        return DeletionFinding(
            "pause",
            f"{gone:,} of {known:,} files are gone, more than {most_deleted:.0%}: nothing was deleted, and the source is paused. "
            "Synchronise it with deletions accepted, or mend the source and resume it",
        )
    return DeletionFinding("delete")


def find_moved(arrived: Mapping[str, str], gone: Mapping[str, str | None]) -> dict[str, str]:
    """Where files that are gone are now, by their old paths: what arrived with the same bytes, each for one of them. Both are ids
    of contents by path."""
    places: dict[str, list[str]] = {}
    for path in sorted(arrived, reverse=True):
        places.setdefault(arrived[path], []).append(path)
    moved = dict[str, str]()
    for path in sorted(gone):
        content = gone[path]
        if content and (found := places.get(content)):
            moved[path] = found.pop()
    return moved
