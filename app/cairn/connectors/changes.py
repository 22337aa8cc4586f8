"""What happened to a source since it was last read: which files are new, changed, moved and gone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cairn.connectors.connector import RemoteFile
from cairn.domain.sources import KnownFile

FEW: Final = 10
"""Files that may always go at once: a share of little says nothing."""


@dataclass(frozen=True, slots=True)
class Changes:
    """`moved`: by the new path, the path where the same bytes were known, which is gone: it is among `gone`, too, and the new one
    among `added`."""

    added: tuple[RemoteFile, ...]
    changed: tuple[RemoteFile, ...]
    gone: tuple[str, ...]
    moved: Mapping[str, str]
    unchanged: int


def find_changes(listed: Iterable[RemoteFile], known: Mapping[str, KnownFile]) -> Changes:
    """Compare a whole listing with what is known, by path."""
    there = {file.path: file for file in listed}
    added = tuple(file for path, file in there.items() if path not in known)
    changed = tuple(file for path, file in there.items() if path in known and known[path].version != file.version)
    gone = tuple(sorted(known.keys() - there.keys()))
    lost = {known[path].content_id: path for path in reversed(gone) if known[path].content_id}
    moved: dict[str, str] = {}
    for file in added:
        if file.content_id and (before := lost.pop(file.content_id, None)):
            moved[file.path] = before
    return Changes(added, changed, gone, moved, len(there) - len(added) - len(changed))


def refuse_deletions(
    changes: Changes, listed: int, known: Mapping[str, KnownFile], *, most_deleted: float, emptied_before: bool
) -> str | None:
    """Why the documents whose files are gone are kept for now, in a sentence; None: they may go. An empty listing is believed
    when it comes twice in a row; what was moved counts as there."""
    documents = sum(one.error is None for one in known.values())
    lost = sum(known[path].error is None for path in changes.gone) - len(changes.moved)
    if not lost:
        return None
    if not listed and not emptied_before:
        return f"the source lists no file, where {documents:,} were; its documents are kept until it says so again"
    if listed and lost > FEW and lost > most_deleted * documents:
        return (
            f"{lost:,} of {documents:,} documents are gone from the source, more than a share of {most_deleted:g}: nothing is "
            "deleted; look whether that is meant, then raise mostDeleted of the source and go on"
        )
    return None
