"""The folder that prepared documents travel in: Parquet files ("parts") and a manifest, manifest.json.

A part is written under another name and renamed when it is complete, so what is there by its name is whole, and several
processes can write into one folder. Parts are read in the order of their names, which begin with the time; of rows with one
external id the last one counts. Needs pyarrow, the extra `parquet`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cairn.distribution import require_part
from cairn.domain.ids import new_id
from cairn.errors import InputError
from cairn.ingest.prepared_rows import PreparedRow
from cairn.settings import Settings

FORMAT: Final = "cairn-prepared"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
PART_CHUNKS: Final = 4096
"""Chunks of a part, after which the next one begins: what a process that is killed has to prepare again."""
PART_BYTES: Final = 64_000_000
"""Bytes of texts and files of a part, likewise."""
GROUP_CHUNKS: Final = 512
"""Chunks of a row group: what is read at once."""
_GROUP_BYTES: Final = 1_000_000_000
"""A row group that unpacks to more is not read."""
_MANIFEST_BYTES: Final = 1_000_000
_ABANDONED_SECONDS: Final = 3600
"""An unfinished part that nobody has written to for this long was left by a process that died."""
_READ_ROWS: Final = 16
_KEY: Final = FORMAT.encode()
"""Of the manifest within each part, by which parts of different runs are told apart."""


class PreparedManifest(BaseModel):
    """What all parts of a folder have in common. `model`: the name that the vectors are registered under. `settings`: those that
    decide what is prepared; null where others wrote the rows."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["cairn-prepared"]
    version: int
    model: Annotated[str, Field(min_length=1, max_length=200)]
    dimensions: Annotated[int, Field(ge=1, le=16_000)]
    settings: dict[str, Any] | None = None
    cairn: Annotated[str, Field(max_length=100)] | None = None
    """Version that wrote it, for people."""


def make_manifest(settings: Settings, model: str, dimensions: int, cairn: str) -> PreparedManifest:
    return PreparedManifest(
        format=FORMAT, version=VERSION, model=model, dimensions=dimensions, settings=deciding(settings), cairn=cairn
    )


def deciding(settings: Settings) -> dict[str, Any]:
    """The settings that decide what is prepared of a file, under their names in settings.json."""
    chunking, ingest, graph = settings.chunking, settings.ingest, settings.graph
    found: dict[str, Any] = {f"chunking.{name}": value for name, value in chunking.model_dump(by_alias=True).items()}
    if chunking.strategy != "parent_child":
        found |= {"rag.chunkSize": settings.rag.chunk_size, "rag.chunkOverlap": settings.rag.chunk_overlap}
    return found | {
        "ingest.keepOriginal": ingest.keep_original, "ingest.language": ingest.language,
        "ingest.detectLanguage": ingest.detect_language, "ingest.codeSymbols": ingest.code_symbols,
        "ingest.codeMaxChars": ingest.code_max_chars, "graph.enabled": graph.enabled,
        "graph.maxMentions": graph.max_mentions, "graph.maxRelations": graph.max_relations,
        "providers.embeddingTokens": settings.providers.embedding_tokens,
    }  # fmt: skip


def check_settings(manifest: PreparedManifest, settings: Settings, what: str) -> None:
    """Raises InputError, which names the first that differ, where the rows were made by others than these."""
    if manifest.settings is None:
        return
    here = deciding(settings)
    other = [name for name in {**here, **manifest.settings} if here.get(name) != manifest.settings.get(name)]
    if other:
        told = [_differs(name, here.get(name), manifest.settings.get(name)) for name in other[:3]]
        raise InputError(f"{what} was prepared with other settings: {'; '.join(told)}")


def _differs(name: str, here: object, there: object) -> str:
    return f"{name[:60]} is {str(here)[:60]} here and was {str(there)[:60]}"


# --- the shape of a part ----------------------------------------------------------------------------------------------


def _arrow() -> Any:
    """Raises MissingPartError where pyarrow is not installed."""
    require_part("parquet", "reading and writing Parquet files")
    import pyarrow
    import pyarrow.parquet

    return pyarrow


def schema_of(dimensions: int) -> Any:
    """The columns of a part, as pyarrow has them."""
    pa = _arrow()

    def struct(whole: str, text: str = "", real: str = "", **more: Any) -> Any:
        fields = {name: pa.int32() for name in whole.split()} | {name: pa.string() for name in text.split()}
        return pa.struct(fields | {name: pa.float64() for name in real.split()} | more)

    headings = pa.list_(pa.string())
    landmark = struct("start page", headings=headings)
    return pa.schema(
        {name: pa.string() for name in ("external_id", "name", "title", "media_type", "language", "metadata", "origin")}
        | {
            "text": pa.string(), "content": pa.binary(), "size": pa.int64(), "content_hash": pa.binary(),
            "token_counter": pa.string(), "loader_revision": pa.int32(), "derived_revision": pa.int32(),
            "notes": pa.list_(pa.string()),
            "passages": pa.list_(
                struct("start end page tokens", "search_terms config", headings=headings, landmarks=pa.list_(landmark))
            ),
            "chunks": pa.list_(struct("passage start end tokens")),
            "vectors": pa.list_(pa.list_(pa.float16(), dimensions)),
            "mentions": pa.list_(struct("passage start end occurrences", "family normal name kind form", "confidence")),
            "evidence": pa.list_(
                struct("passage start end", "source_family source_normal kind target_family target_normal", "strength")
            ),
            "calls": pa.list_(struct("start end", "name source target")),
        }
    )  # fmt: skip


REQUIRED: Final = ("external_id", "text", "passages", "chunks", "vectors")


def _check_schema(found: Any, dimensions: int, file: Path) -> None:
    """Raises InputError for columns that are missing, unknown, or of another type."""
    pa, wanted = _arrow(), schema_of(dimensions)
    if missing := [name for name in REQUIRED if name not in found.names]:
        raise InputError(f"{file} holds no prepared documents: it has no column {missing[0]}")
    if len(set(found.names)) < len(found.names):
        raise InputError(f"{file} has two columns of one name")
    for column in found:
        if column.name not in wanted.names:
            raise InputError(f"{file} has a column {column.name[:60]!r}, which prepared documents have not")
        if column.name == "vectors":
            inner: Any = column.type.value_type if _is_list(column.type) else pa.null()
            fits = _is_list(inner) and pa.types.is_floating(inner.value_type)
            if fits and getattr(inner, "list_size", dimensions) != dimensions:
                raise InputError(f"{file} has vectors of {inner.list_size} dimensions, its manifest says {dimensions}")
        else:
            fits = _fits(column.type, wanted.field(column.name).type)
        if not fits:
            raise InputError(f"{file}: the column {column.name} is {str(column.type)[:100]}")


def _is_list(kind: Any) -> bool:
    types = _arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _fits(found: Any, wanted: Any) -> bool:
    """Whether values of a type can be read as those of another: of any width, and structs may lack fields."""
    types = _arrow().types
    if types.is_null(found):
        return True
    if _is_list(wanted):
        return _is_list(found) and _fits(found.value_type, wanted.value_type)
    if types.is_struct(wanted):
        known = {wanted.field(at).name: wanted.field(at).type for at in range(wanted.num_fields)}
        return types.is_struct(found) and all(
            field.name in known and _fits(field.type, known[field.name]) for field in found
        )
    if types.is_string(wanted):
        return bool(types.is_string(found) or types.is_large_string(found))
    if types.is_binary(wanted):
        return bool(types.is_binary(found) or types.is_large_binary(found) or types.is_fixed_size_binary(found))
    return bool(types.is_integer(found) if types.is_integer(wanted) else types.is_floating(found))


# --- writing ----------------------------------------------------------------------------------------------------------


class PartWriter:
    """Collects rows, and writes a part when there is enough for one; `close` writes the rest. Raises InputError where the folder
    cannot be written, or belongs to another manifest."""

    def __init__(self, folder: Path, manifest: PreparedManifest) -> None:
        self.written: list[Path] = []
        self._schema = schema_of(manifest.dimensions).with_metadata({_KEY: manifest.model_dump_json()})
        self._folder, self._dimensions = folder, manifest.dimensions
        self._rows: list[PreparedRow] = []
        self._chunks = self._bytes = 0
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _agree(folder, manifest)
            _remove_abandoned(folder)

    def add(self, row: PreparedRow) -> None:
        self._rows.append(row)
        self._chunks += len(row["chunks"])
        self._bytes += len(row["text"]) + len(row["content"] or b"")
        if self._chunks >= PART_CHUNKS or self._bytes >= PART_BYTES:
            self.close()

    def close(self) -> None:
        if not self._rows:
            return
        name = f"part-{new_id().hex}.parquet"
        unfinished = self._folder / f".{name}.tmp"
        with _writing(self._folder):
            try:
                with unfinished.open("xb") as file:
                    self._write(file)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.rename(self._folder / name)
            finally:
                unfinished.unlink(missing_ok=True)
        self.written.append(self._folder / name)
        self._rows, self._chunks, self._bytes = [], 0, 0

    def _write(self, file: Any) -> None:
        pa = _arrow()
        with pa.parquet.ParquetWriter(
            file, self._schema, compression="zstd", use_dictionary=False, write_page_checksum=True
        ) as writer:
            for rows in _grouped(self._rows):
                columns = [
                    _vector_column(rows, self._dimensions)
                    if field.name == "vectors"
                    else pa.array([row[field.name] for row in rows], field.type)
                    for field in self._schema
                ]
                writer.write_batch(pa.record_batch(columns, schema=self._schema))


def _grouped(rows: Sequence[PreparedRow]) -> Iterator[list[PreparedRow]]:
    group: list[PreparedRow] = []
    chunks = 0
    for row in rows:
        group.append(row)
        chunks += len(row["chunks"])
        if chunks >= GROUP_CHUNKS:
            yield group
            group, chunks = [], 0
    if group:
        yield group


def _vector_column(rows: Sequence[PreparedRow], dimensions: int) -> Any:
    pa = _arrow()
    offsets = np.cumsum([0, *(len(row["vectors"]) for row in rows)], dtype=np.int32)
    values = pa.array(np.concatenate([row["vectors"] for row in rows]).ravel())
    return pa.ListArray.from_arrays(offsets, pa.FixedSizeListArray.from_arrays(values, dimensions))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from error


def _agree(folder: Path, manifest: PreparedManifest) -> None:
    """The first process writes the manifest, the others see that theirs is the same. Raises InputError."""
    unfinished = folder / f".{MANIFEST}.{new_id().hex}.tmp"
    try:
        unfinished.write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
        with suppress(FileExistsError):
            os.link(unfinished, folder / MANIFEST)  # unlike a rename it takes nobody else's place
    finally:
        unfinished.unlink(missing_ok=True)
    known = read_manifest(folder)
    if known != manifest:
        theirs, ours = (one.model_dump() | (one.settings or {}) | {"settings": None} for one in (known, manifest))
        told = [
            _differs(name, ours.get(name), theirs.get(name))
            for name in ours | theirs
            if ours.get(name) != theirs.get(name)
        ]
        raise InputError(f"{folder} holds documents prepared otherwise: {'; '.join(told[:3])}. Choose another folder")


def _remove_abandoned(folder: Path) -> None:
    for left in folder.glob(".*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                left.unlink()


# --- reading ----------------------------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> PreparedManifest:
    """Raises InputError."""
    file = folder / MANIFEST
    try:
        with file.open("rb") as opened:
            text = opened.read(_MANIFEST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{folder} holds no prepared documents: {MANIFEST} cannot be read ({error.strerror or error})"
        ) from None
    return _parsed(text, str(file))


def _parsed(text: bytes, where: str) -> PreparedManifest:
    try:
        found = json.loads(text)
        version = found.get("version") if isinstance(found, dict) else None
        if isinstance(version, int) and version != VERSION:
            raise InputError(f"{where} has version {version} of the format, and this release reads {VERSION}")
        return PreparedManifest.model_validate(found)
    except ValidationError as error:
        place: Any = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{where}: {'.'.join(map(str, place['loc']))[:100]}: {place['msg']}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where} is no manifest of prepared documents: not JSON") from None


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where the row is that counts for a document; `content_hash` is None where others wrote it."""

    part: int
    row: int
    content_hash: bytes | None
    loader_revision: int = 0


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row of a part, counted from 0. `vectors`: or what is wrong with them."""

    part: str
    row: int
    values: PreparedRow
    vectors: NDArray[np.floating[Any]] | InputError


@dataclass(frozen=True, slots=True)
class PreparedFolder:
    """Parts that were opened once and are what they should be. `places` by external id; `superseded`: rows that do not count."""

    path: Path
    manifest: PreparedManifest
    parts: Sequence[Path]
    places: Mapping[str, RowPlace] = field(repr=False)
    superseded: int

    def origins(self) -> Iterator[list[tuple[str, str]]]:
        """External ids and paths of documents that were read from files, part by part."""
        for number, part in enumerate(self.parts):
            with _opened(part) as file:
                names = [name for name in ("external_id", "origin") if name in file.schema_arrow.names]
                table = file.read(columns=names).to_pylist() if len(names) == 2 else []
            yield [
                (row["external_id"], row["origin"])
                for at, row in enumerate(table)
                if row["origin"] and self._counts(row["external_id"], number, at)
            ]

    def rows(self) -> Iterator[ReadRow]:
        """The rows that count, one after the other. Raises InputError for a part that is damaged."""
        for number, part in enumerate(self.parts):
            with _opened(part) as file:
                at = 0
                for group in range(file.num_row_groups):
                    rows = file.metadata.row_group(group).num_rows
                    ids = file.read_row_group(group, columns=["external_id"]).column(0).to_pylist()
                    if any(self._counts(external_id, number, at + place) for place, external_id in enumerate(ids)):
                        for place, found in enumerate(_rows_of(file, group, self.manifest.dimensions)):
                            if self._counts(ids[place], number, at + place):
                                yield ReadRow(part.name, at + place, *found)
                    at += rows

    def _counts(self, external_id: str | None, part: int, row: int) -> bool:
        """A row without an id counts, to be told of."""
        place = self.places.get(external_id or "")
        return place is None or (place.part, place.row) == (part, row)


def open_prepared(folder: Path) -> PreparedFolder:
    """Look at all parts, and read which documents they hold. Raises InputError, before anything is loaded, for a folder that has
    no manifest, and for a part that is cut off, of another format, model or run."""
    manifest = read_manifest(folder)
    parts = sorted(folder.glob("*.parquet"))
    places: dict[str, RowPlace] = {}
    superseded = 0
    for number, part in enumerate(parts):
        with _opened(part) as file:
            _check_part(file, part, manifest)
            names = [
                name for name in ("external_id", "content_hash", "loader_revision") if name in file.schema_arrow.names
            ]
            rows = (row for batch in file.iter_batches(batch_size=4096, columns=names) for row in batch.to_pylist())
            for at, row in enumerate(rows):
                if external_id := row["external_id"]:
                    superseded += external_id in places
                    places[external_id] = RowPlace(number, at, row.get("content_hash"), row.get("loader_revision") or 0)
    return PreparedFolder(folder, manifest, parts, places, superseded)


def _check_part(file: Any, part: Path, manifest: PreparedManifest) -> None:
    """Raises InputError."""
    own = (file.schema_arrow.metadata or {}).get(_KEY)
    if own is not None and _parsed(own, str(part)) != manifest:
        raise InputError(
            f"{part} was prepared otherwise than {MANIFEST} beside it says; keep them in folders of their own"
        )
    _check_schema(file.schema_arrow, manifest.dimensions, part)
    for group in range(file.num_row_groups):
        if file.metadata.row_group(group).total_byte_size > _GROUP_BYTES:
            raise InputError(f"{part}: a row group unpacks to more than {_GROUP_BYTES:,} bytes; write smaller ones")


@contextmanager
def _opened(part: Path) -> Iterator[Any]:
    pa = _arrow()
    if not part.is_file():  # a pipe would be waited for
        raise InputError(f"{part} is no file")
    try:
        with pa.parquet.ParquetFile(part, buffer_size=1 << 20, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{part} is no Parquet file, or is damaged ({reason})") from error


def _rows_of(
    file: Any, group: int, dimensions: int
) -> Iterator[tuple[PreparedRow, NDArray[np.floating[Any]] | InputError]]:
    for batch in file.iter_batches(batch_size=_READ_ROWS, row_groups=[group]):
        vectors = batch.column("vectors")
        rows = batch.drop_columns(["vectors"]).to_pylist()
        for place, row in enumerate(rows):
            try:
                yield row, _vectors_of(vectors[place].values, dimensions)
            except InputError as error:
                yield row, error


def _vectors_of(found: Any, dimensions: int) -> NDArray[np.floating[Any]]:
    """Raises InputError."""
    if found is None or found.null_count:
        raise InputError("a vector is null")
    sizes = {int(size) for size in found.value_lengths().to_numpy(zero_copy_only=False)}
    if sizes - {dimensions}:
        raise InputError(f"a vector has {min(sizes - {dimensions})} dimensions; the manifest says {dimensions}")
    flat = found.flatten()
    if flat.null_count:
        raise InputError("a vector holds a null")
    vectors: NDArray[np.floating[Any]] = flat.to_numpy(zero_copy_only=False).reshape(-1, dimensions)
    return vectors


def write_rows(rows: Iterable[PreparedRow], folder: Path, manifest: PreparedManifest) -> list[Path]:
    """Into parts; their paths. Raises InputError."""
    writer = PartWriter(folder, manifest)
    for row in rows:
        writer.add(row)
    writer.close()
    return writer.written
