"""The file that a tenant travels in: a ZIP archive with a member for each table and a manifest, nothing compressed.

A member is what COPY writes in its binary format, so a file holds data and no statements. It has no tenant ids, so whose rows
they become is not a matter of the file. Nothing is compressed, so nothing can grow: members are as large as the manifest, the
archive and the file itself say, all three. Nothing is ever written to a path that a file names.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cairn.errors import TenantFileError

FORMAT: Final = "cairn-tenant"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
STDOUT: Final = Path("-")
_MANIFEST_BYTES: Final = 4_000_000
_READ_BYTES: Final = 1 << 18
_MOST_READ: Final = 8_000_000
"""What is read of a file at once: an archive's list of members is read as a whole, however long it says it is."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Identifier = Annotated[str, Field(min_length=1, max_length=63)]
Size = Annotated[int, Field(ge=0, le=2**60)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ModelPart(_Part):
    """An embedding model that has vectors in the file; `id` is its number in them."""

    id: int = Field(ge=-(2**15), lt=2**15)
    name: Name
    dimensions: int = Field(ge=1, le=16_000)


class TablePart(_Part):
    """A table; `columns` in the order of the file, with their types. `sha256` is of the member."""

    name: Identifier
    columns: dict[Identifier, Identifier] = Field(max_length=500)
    rows: Size
    bytes: Size
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @property
    def member(self) -> str:
        return member_of(self.name)


class Manifest(_Part):
    """What a file holds. `days`: of traces in it (UTC). `left_out`: tables whose rows stayed behind, and why."""

    format: Literal["cairn-tenant"]
    version: int
    revision: Identifier
    tenant: Name
    exported_at: Annotated[datetime, Field(strict=False)]
    models: list[ModelPart] = Field(max_length=100)
    days: list[Annotated[date, Field(strict=False)]] = Field(max_length=1000)
    tables: list[TablePart] = Field(max_length=1000)
    left_out: dict[Identifier, str] = Field(max_length=1000)

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


def member_of(table: str) -> str:
    return f"tables/{table}.copy"


# --- writing ----------------------------------------------------------------------------------------------------------


class TenantWriter:
    """Members as they come, in any number of pieces."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    async def add(
        self, table: str, columns: dict[str, str], copy: Callable[[Callable[[bytes], Awaitable[None]]], Awaitable[int]]
    ) -> TablePart:
        """A member of what `copy` hands over; it returns the number of rows."""
        digest, size = hashlib.sha256(), 0
        with self._archive.open(_info(member_of(table)), "w", force_zip64=True) as member:

            async def take(data: bytes) -> None:
                nonlocal size
                member.write(data)
                digest.update(data)
                size += len(data)

            rows = await copy(take)
        return TablePart(name=table, columns=columns, rows=rows, bytes=size, sha256=digest.hexdigest())

    def close(self, manifest: Manifest) -> None:
        """The manifest comes last: it says how much there is of everything."""
        self._archive.writestr(_info(MANIFEST), manifest.model_dump_json(indent=1))


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of 1980: what was when is in the manifest
    info.external_attr = 0o600 << 16
    return info


@contextmanager
def new_tenant_file(file: Path) -> Iterator[TenantWriter]:
    """A file that only its owner can read; it takes its name when it is complete. `-`: stdout, where a failure leaves what
    lacks its end, and cannot be read. Raises TenantFileError."""
    if file == STDOUT:
        with _written("stdout"), zipfile.ZipFile(sys.stdout.buffer, "w") as archive:
            yield TenantWriter(archive)
        return
    file = file.absolute()
    if file.exists():
        raise TenantFileError(f"{file} exists already; choose another name")
    unfinished = file.with_name(f".{file.name}.{os.getpid()}.part")
    with _written(str(file)):
        try:
            descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            with os.fdopen(descriptor, "w+b") as opened:
                with zipfile.ZipFile(opened, "w") as archive:
                    yield TenantWriter(archive)
                opened.flush()
                os.fsync(opened.fileno())
            os.link(unfinished, file)  # unlike a rename it takes nobody else's place
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def _written(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except FileExistsError:
        raise TenantFileError(f"{name} exists already; choose another name") from None
    except OSError as error:
        raise TenantFileError(f"cannot write {name}: {error.strerror or error}") from error


# --- reading ----------------------------------------------------------------------------------------------------------


class _Bounded(io.FileIO):
    """A file of which nobody reads very much at once, whatever lengths it states."""

    def read(self, size: int | None = -1) -> bytes:
        wanted = _MOST_READ + 1 if size is None or size < 0 else size
        found = b"" if wanted > _MOST_READ + 1 else super().read(wanted) or b""
        if wanted > _MOST_READ + 1 or len(found) > _MOST_READ:
            raise TenantFileError(f"{self.name} is no file of cairn tenant export: it states lengths that none has")
        return found


class TenantReader:
    """A file whose structure and manifest are right; what is in its members is known by `verify`."""

    def __init__(self, archive: zipfile.ZipFile, file: Path, manifest: Manifest) -> None:
        self._archive = archive
        self._file = file
        self.manifest = manifest

    def verify(self, progress: Callable[[str], None]) -> None:
        """Read all of it. Raises TenantFileError for a member that is not what the manifest says."""
        for table in self.manifest.tables:
            progress(table.name)
            for _ in self._pieces(table):
                pass

    async def read(self, table: TablePart) -> AsyncIterator[bytes]:
        """A member in pieces, checked once more: the file may have changed since."""
        for piece in self._pieces(table):
            yield piece

    def _pieces(self, table: TablePart) -> Iterator[bytes]:
        digest = hashlib.sha256()
        try:
            with self._archive.open(table.member) as member:
                while piece := member.read(_READ_BYTES):
                    digest.update(piece)
                    yield piece
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise TenantFileError(f"{self._file}: table {table.name} is damaged ({error})") from error
        if digest.hexdigest() != table.sha256:
            raise TenantFileError(f"{self._file}: table {table.name} is damaged (its SHA-256 is another one)")


@contextmanager
def known_tenant_file(file: Path) -> Iterator[TenantReader]:
    """Raises TenantFileError for what is no such file, one that was cut off, and one of another version."""
    try:
        with _Bounded(file) as opened, zipfile.ZipFile(opened) as archive:
            yield TenantReader(archive, file, _checked(archive, file))
    except (zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise TenantFileError(f"{file} is no file of cairn tenant export, or was cut off ({error})") from error
    except OSError as error:
        raise TenantFileError(f"cannot read {file}: {error.strerror or error}") from error


def _checked(archive: zipfile.ZipFile, file: Path) -> Manifest:
    members = {info.filename: info for info in archive.infolist()}
    if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1 for info in members.values()):
        raise TenantFileError(f"{file} is compressed or encrypted, and no file of cairn tenant export is")
    found = members.get(MANIFEST)
    if found is None or found.file_size > _MANIFEST_BYTES:
        raise TenantFileError(f"{file} is no file of cairn tenant export: it has no manifest")
    manifest = _manifest(archive.read(found), file)
    stated = {table.member: table.bytes for table in manifest.tables}
    held = {name: info.file_size for name, info in members.items() if name != MANIFEST}
    if len(stated) != len(manifest.tables) or len(members) != len(archive.infolist()) or stated != held:
        raise TenantFileError(f"{file} is damaged: its members are not those that its manifest states")
    if sum(held.values()) > file.stat().st_size:
        raise TenantFileError(f"{file} is damaged: it states more than it holds")
    return manifest


def _manifest(text: bytes, file: Path) -> Manifest:
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        place: Any = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in place["loc"])[:100]
        raise TenantFileError(f"{file}: the manifest cannot be read ({where}: {place['msg']})") from None
    if manifest.version != VERSION:
        raise TenantFileError(f"{file} has version {manifest.version} of the format, and this release reads {VERSION}")
    return manifest
