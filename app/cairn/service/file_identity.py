"""Which file a document was read from: whether an id belongs to another file, and which documents' files are gone.

The path of its file is stored with each document that was read from one. Two files with one id (docs/readme.md of two
checkouts) would take each other's place with every ingestion, so the second is refused; a file that was moved is not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from uuid import UUID

from cairn.connectors.connector import RemoteFile
from cairn.connectors.local_connector import version_of
from cairn.connectors.plan_sync import KnownFile, judge_deletions, plan_sync
from cairn.errors import ConflictError
from cairn.ingest.keep_readers import RestrictedContents
from cairn.language.text import normalise
from cairn.store import collections, documents
from cairn.wiring import Services

SHOWN = 1
"""Conflicts that are spelled out."""


class NamedFile(Protocol):
    """A file with the id it is to have."""

    @property
    def path(self) -> Path: ...

    @property
    def external_id(self) -> str: ...


class NamedFiles(Protocol):
    """The files of one run, and the absolute paths that were asked for."""

    @property
    def files(self) -> Sequence[NamedFile]: ...

    @property
    def named(self) -> Sequence[Path]: ...


def origin_of(path: Path) -> str:
    """The path as it is stored; bytes that are no text are replaced."""
    return normalise(str(path))


async def refuse_taken(services: Services, collection: str, files: Sequence[NamedFile]) -> None:
    """Raises ConflictError where documents of the collection have these ids and were read from other files that are still
    there. One whose file is gone was moved, and its successor may take the id."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await collections.by_name(connection, services.principal, normalise(collection))
        ids = [file.external_id for file in files]
        known = await documents.list_origins(connection, services.principal, found.id, ids) if found else {}
    taken = [
        f"{file.external_id} is {known[file.external_id]}, not {origin_of(file.path)}"
        for file in files
        if file.external_id in known and _is_other_file(known[file.external_id], file.path)
    ]
    if taken:
        more = f" (and {len(taken) - SHOWN:,} more)" if len(taken) > SHOWN else ""
        raise ConflictError(
            f"nothing was indexed, because ids in collection {collection} belong to other files: "
            f"{'; '.join(taken[:SHOWN])}{more}. Tell them apart by a prefix (--prefix NAME) or another collection, or let "
            "these take their place (--replace)"
        )


def _is_other_file(stored: str, path: Path) -> bool:
    if stored == origin_of(path):
        return False
    try:
        return not os.path.samefile(stored, path)
    except (OSError, ValueError):
        return False  # what it was read from is not there


def list_named(selection: NamedFiles) -> dict[str, RemoteFile]:
    """What is there of the selection, by the path as it is stored, in the form in which listings are compared."""
    listed = dict[str, RemoteFile]()
    for file in selection.files:
        with suppress(OSError):  # gone by now
            path = origin_of(file.path)
            listed[path] = RemoteFile(path, version_of(file.path.stat()), path)
    return listed


async def find_gone(
    services: Services, collection: str, selection: NamedFiles, *, may_be_empty: bool = False
) -> dict[UUID, str]:
    """External ids, by id, of documents that were read from below the named paths and whose files are not there any more.
    None where no file was found at all, since that is how a disk looks that is not mounted; unless they `may_be_empty`."""
    named = [origin_of(path) for path in selection.named]
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await collections.by_name(connection, services.principal, normalise(collection))
        read = await documents.list_under(connection, services.principal, found.id, named) if found else []
    listed, known = list_named(selection), {origin: KnownFile(external_id, "") for _, external_id, origin in read}
    gone = {path for path in plan_sync(listed, known).gone if _is_gone(path)}
    finding = judge_deletions(len(gone), len(known), len(listed), most_deleted=1, empty_before=int(may_be_empty))
    if finding.verdict != "delete":
        return {}
    return {document_id: external_id for document_id, external_id, origin in read if origin in gone}


async def find_restricted(services: Services, collection: str) -> RestrictedContents:
    """Of a collection, which need not be there yet."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await collections.by_name(connection, services.principal, normalise(collection))
        return await documents.restricted_contents(connection, services.principal, found.id) if found else {}


def _is_gone(path: str) -> bool:
    return not os.path.lexists(path)
