"""Which files of a folder are documents, under which identity, and what is left aside.

The identity (external_id) of a file is its path from the parent of the folder that was named, so that it does not
depend on the folder one stands in; for a file that was named itself, its path from the current folder, or from the
parent of its own folder when it lies elsewhere.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cairn.connectors.choose_files import SKIPPED_FOLDERS, is_generated
from cairn.domain.access import check_access
from cairn.domain.document import Indexed, Outcome, Rejected, Source, count_outcomes
from cairn.errors import CairnError, EmptyDocumentError, InputError, TooLargeError, UnsupportedTypeError
from cairn.ingest.embed import OnShare
from cairn.ingest.keep_readers import RestrictedContents, keep_readers
from cairn.ingest.loaders import format_names, sniff, supported_formats
from cairn.ingest.model_choice import is_code, writing_of
from cairn.ingest.remove import pass_on_readers
from cairn.language.text import normalise
from cairn.service.documents import check_source, delete_document, get_collection, index_now
from cairn.service.file_identity import find_gone, find_restricted, origin_of, refuse_taken
from cairn.settings import Settings
from cairn.store import documents
from cairn.wiring import Services

_HEAD = 65_536
"""Bytes of a file too large to take that are read to see whether it is a document at all."""

LAST_BYTES: Final = 1_000_000
"""Files that have these are read after all others: one can take minutes, in which nothing else could be found."""


@dataclass(frozen=True, slots=True)
class SelectedFile:
    """A file to ingest. Only what lies in a folder may be left aside; what was `named` is taken or fails."""

    path: Path
    external_id: str
    named: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of files, or of documents handed over; `seconds` of wall-clock time. `gone`: documents whose files are not
    there any more, kept; `removed`: those that were removed for it."""

    collection: str
    indexed: tuple[Indexed, ...]
    failed: tuple[Rejected, ...]
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0
    gone: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def fresh(self) -> list[Indexed]:
        """Documents that are new or have new content."""
        return [outcome for outcome in self.indexed if not outcome.duplicate]

    @property
    def counts(self) -> dict[str, int]:
        """How many documents were added, replaced, updated, unchanged, failed and removed, and how many files skipped."""
        counted = count_outcomes((*self.indexed, *self.failed))
        return {**counted, "skipped": len(self.skipped), "removed": len(self.removed)}


@dataclass
class Selection:
    """The files of one run, and what was left aside (grows while files are read). `named`: the absolute paths that were
    asked for."""

    named: tuple[Path, ...] = ()
    files: list[SelectedFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def describe_formats() -> str:
    """What Cairn reads, for people."""
    return supported_formats()


def name_formats() -> str:
    """Those of them that have a name, which is the same in every language: all but plain text and source code."""
    return format_names()


def select_files(paths: Sequence[Path], base: Path | None = None, *, prefix: str | None = None) -> Selection:
    """All files under the paths, sorted; identities count from `base` if given, and begin with `prefix`.

    Raises InputError for a path that does not exist, for two files that would get the same identity, and for a prefix that
    cannot be the beginning of one.
    """
    selection = Selection(tuple(map(_absolute, paths)))
    before = "" if prefix is None else f"{_check_prefix(prefix)}/"
    reals = [Path(os.path.realpath(path)) for path in selection.named]
    for path in selection.named:
        if path.is_dir():
            for file in _walk(path, reals, selection.skipped):
                identity = before + _identity(file, base or path.parent)
                selection.files.append(SelectedFile(file, identity, named=False))
        elif path.exists():
            selection.files.append(SelectedFile(path, before + _identity(path, base or _parent(path)), named=True))
        else:
            raise InputError(f"there is no file or folder {path}")
    selection.files = list({found.path: found for found in selection.files}.values())
    _check_identities(selection.files)
    return selection


def _check_prefix(prefix: str) -> str:
    parts = normalise(prefix).strip("/").split("/")
    if not all(part.strip() and part not in (".", "..") for part in parts):
        raise InputError(f"{prefix[:100]!r} cannot be a prefix: name a folder, such as team-a or team-a/2026")
    return "/".join(parts)


def _absolute(path: Path) -> Path:
    # not resolve(): a link keeps the name that the user knows
    return Path(os.path.normpath(path.expanduser().absolute()))


def _parent(file: Path) -> Path:
    here = Path.cwd()
    return here if file.is_relative_to(here) else file.parent.parent


def _identity(file: Path, base: Path) -> str:
    return normalise(os.path.relpath(file, base).replace(os.sep, "/"))


def _check_identities(files: Sequence[SelectedFile]) -> None:
    seen: dict[str, Path] = {}
    for found in files:
        if (other := seen.setdefault(found.external_id, found.path)) != found.path:
            raise InputError(
                f"{other} and {found.path} would both be {found.external_id!r}; ingest the folder above them, or each by "
                "itself with a prefix"
            )


def _walk(folder: Path, reals: Sequence[Path], skipped: list[Skipped]) -> Iterator[Path]:
    """Files under the folder in the order of their names, without hidden ones, what tools have put or made there, and links to
    what is in one of the `reals`."""

    def unreadable(error: OSError) -> None:
        skipped.append(Skipped(str(error.filename), error.strerror or str(error)))

    for current, folders, names in os.walk(folder, onerror=unreadable):
        kept = []
        for name in sorted(folders):
            inner = Path(current, name)
            if reason := _tooling(inner):
                skipped.append(Skipped(f"{inner}{os.sep}", reason))
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            file = Path(current, name)
            if name.startswith("."):
                skipped.append(Skipped(str(file), "hidden"))
            elif is_generated(name):
                skipped.append(Skipped(str(file), "generated"))
            elif not file.is_file():
                skipped.append(Skipped(str(file), "not a regular file"))
            elif file.is_symlink() and any(Path(os.path.realpath(file)).is_relative_to(real) for real in reals):
                # by its own name it has its readers; a link elsewhere would have those of the link's place
                skipped.append(Skipped(str(file), "a link to what is read by its own name"))
            else:
                yield file


def _tooling(folder: Path) -> str | None:
    if folder.name.startswith("."):
        return "hidden"
    if folder.name in SKIPPED_FOLDERS:
        return "not documents"
    return "a virtual environment" if (folder / "pyvenv.cfg").exists() else None


def read_files(
    selection: Selection, settings: Settings, on_skip: Callable[[Skipped], None], on_failure: Callable[[Rejected], None],
    access: tuple[str, ...] | None = None, restricted: RestrictedContents | None = None,
) -> Iterator[Source]:  # fmt: skip
    """The documents, each read when it is asked for, for whom `access` names, or where that is None as
    `keep_readers` has it; what is not one goes to the callbacks."""
    for found in selection.files:
        try:
            source = _source(found, settings.ingest.max_file_bytes)
            source = keep_readers(dataclasses.replace(source, access=access), restricted or {})
            yield check_source(source, settings)
        except (EmptyDocumentError, UnsupportedTypeError) as error:
            if found.named:
                on_failure(_rejected(found, error))
            else:
                skipped = Skipped(str(found.path), error.title.lower())
                selection.skipped.append(skipped)
                on_skip(skipped)
        except CairnError as error:
            on_failure(_rejected(found, error))


async def ingest_files(
    services: Services, collection: str, selection: Selection, step: Callable[[str], None], *, replace: bool = False,
    prune: bool = False, may_be_empty: bool = False, access: Sequence[str] | None = None, only: Collection[str] | None = None,
    on_share: OnShare | None = None,
) -> IngestReport:  # fmt: skip
    """Index the files and wait; `step` is told each file when it is done, skipped or refused. The collection is created if
    need be. `replace`: files may take the place of other files, in other folders, under the same ids. `prune`: documents
    whose files are gone from the named paths go too; all of them where these `may_be_empty`. `access`: who may read them; None:
    as they are. `only`: paths of the selection, as they are stored, that are read; the others are as they were. `on_share`: see
    `ingest`. Raises InputError for its name, ConflictError where ids belong to other files, and what ingestion raises when it
    cannot go on."""
    started, failed = time.monotonic(), list[Rejected]()
    async with services.database.connection() as connection:
        began = await documents.clock(connection)
    named = None if access is None else check_access(access)
    wanted = [file for file in selection.files if only is None or origin_of(file.path) in only]
    reading = dataclasses.replace(selection, files=large_last(wanted))
    if not replace:
        await refuse_taken(services, collection, reading.files)

    def refuse(outcome: Rejected) -> None:
        failed.append(outcome)
        step(outcome.external_id)

    restricted = await find_restricted(services, collection) if named is None and reading.files else None
    sources = read_files(reading, services.settings.current, lambda file: step(file.path), refuse, named, restricted)
    outcomes: list[Outcome] = []
    if reading.files:
        writing = writing_of(is_code(found.path.name) for found in reading.files)
        outcomes = await index_now(
            services, collection, sources, lambda outcome: step(outcome.external_id), writing=writing, on_share=on_share
        )
    gone = await find_gone(services, collection, selection, may_be_empty=may_be_empty)
    if prune and gone:
        home = await get_collection(services, collection)
        for document_id in gone:
            await pass_on_readers(services.database, services.principal, home.id, document_id, began)
            await delete_document(services, collection, document_id, may_return=True)
    return IngestReport(
        collection,
        tuple(outcome for outcome in outcomes if isinstance(outcome, Indexed)),
        (*failed, *(outcome for outcome in outcomes if isinstance(outcome, Rejected))),
        tuple(selection.skipped),
        time.monotonic() - started,
        gone=() if prune else tuple(gone.values()),
        removed=tuple(gone.values()) if prune else (),
    )


def large_last(files: Sequence[SelectedFile]) -> list[SelectedFile]:
    """In the same order else."""

    def is_large(found: SelectedFile) -> bool:
        try:
            return found.path.stat().st_size >= LAST_BYTES
        except OSError:
            return False  # who reads it says what is wrong

    return sorted(files, key=is_large)


def _rejected(found: SelectedFile, error: CairnError) -> Rejected:
    return Rejected(found.external_id, normalise(found.path.name), error.code, error.detail)


def _source(found: SelectedFile, max_bytes: int) -> Source:
    """Raises TooLargeError before reading, InputError for a file that cannot be read, and what `sniff` raises."""
    try:
        if not found.path.is_file():
            raise InputError(f"{found.path} is not a regular file")
        size = found.path.stat().st_size
        if size > max_bytes:
            with found.path.open("rb") as file:
                sniff(found.path.name, file.read(_HEAD))
            raise TooLargeError(
                f"the file has {size:,} bytes; at most {max_bytes:,} are accepted (setting ingest.maxFileBytes)"
            )
        content = found.path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from None
    sniff(found.path.name, content)
    return Source(found.external_id, normalise(found.path.name), content, origin=origin_of(found.path))
