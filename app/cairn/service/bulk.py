"""Bulk: documents are prepared into Parquet files, without a database and on any number of machines, and loaded from there."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from cairn.distribution import release
from cairn.domain.document import Indexed, PreparedDocument, Rejected, Source
from cairn.domain.names import clean_title
from cairn.errors import CairnError, InputError
from cairn.graph.refresh import follow
from cairn.ingest.embed import Target
from cairn.ingest.loaders import REVISION
from cairn.ingest.outlines import OutlineReader, outline_reader
from cairn.ingest.pipeline import DOCUMENT_ERRORS, ingest_prepared
from cairn.ingest.prepare import source_hash
from cairn.ingest.prepared_files import (
    PartWriter,
    PreparedFolder,
    PreparedManifest,
    check_settings,
    make_manifest,
    open_prepared,
    write_rows,
)
from cairn.ingest.prepared_rows import PreparedRow, document_of
from cairn.ingest.publish_queue import Embedded
from cairn.ingest.without_database import embed_apart, read_apart
from cairn.language.text import normalise
from cairn.providers.configured import LOCAL_MODELS, chosen_model_name, is_local
from cairn.providers.protocols import Embedder
from cairn.service.documents import check_collection_name, check_source, ensure_collection
from cairn.service.file_identity import refuse_taken
from cairn.service.files import IngestReport, Selection, Skipped, read_files
from cairn.settings import Environment, Settings
from cairn.store import collections, lexical, models, vectors
from cairn.wiring import Services, open_embedder

AHEAD: Final = 16
"""Documents that are read while others are embedded."""
_READ_ROWS: Final = 16

__all__ = [
    "PrepareReport",
    "PreparedRow",
    "load_prepared",
    "open_folder",
    "prepare_files",
    "prepare_one",
    "write_prepared",
]


# --- preparing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrepareReport:
    """What became of files; `unchanged`: those that the folder holds already. `seconds` of wall-clock time."""

    folder: str
    documents: int
    chunks: int
    unchanged: int
    failed: tuple[Rejected, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[tuple[str, str], ...]
    seconds: float


async def prepare_files(
    environment: Environment, settings: Settings, selection: Selection, folder: Path, step: Callable[[str], None]
) -> PrepareReport:
    """Prepare the files into parts of the folder, which other processes may write to at the same time. Files that it holds
    already, with the same content, are left aside. A file that cannot be read is told of; the rest goes on. What has been
    prepared is kept, whatever ends the run. Raises InputError for a folder that was prepared otherwise or cannot be written,
    and ProviderError."""
    started, failed = time.monotonic(), list[Rejected]()
    documents = chunks = unchanged = 0
    notes: list[tuple[str, str]] = []

    def refuse(outcome: Rejected) -> None:
        failed.append(outcome)
        step(outcome.external_id)

    async with open_embedder(environment, settings) as embedder, outline_reader(settings) as outlines:
        manifest = make_manifest(settings, _model_name(settings), embedder.dimensions, release())
        writer = await asyncio.to_thread(PartWriter, folder, manifest)
        known = (await asyncio.to_thread(open_prepared, folder)).places

        def sources() -> Iterator[Source]:
            nonlocal unchanged
            for source in read_files(selection, settings, lambda file: step(file.path), refuse):
                place = known.get(source.external_id)
                if place and place.content_hash == source_hash(source) and place.loader_revision >= REVISION:
                    unchanged += 1
                    step(source.external_id)
                else:
                    yield source

        try:
            async with aclosing(_read_ahead(sources(), settings, embedder, outlines, refuse)) as ready:
                async for document in ready:
                    row = await embed_apart(document, settings, embedder)
                    await asyncio.to_thread(writer.add, row)
                    documents, chunks = documents + 1, chunks + len(document.chunks)
                    notes += [(document.source.external_id, note) for note in document.notes]
                    step(document.source.external_id)
        except BaseException:
            with suppress(CairnError):
                writer.close()
            raise
        await asyncio.to_thread(writer.close)
    return PrepareReport(
        str(folder), documents, chunks, unchanged, tuple(failed), tuple(selection.skipped), tuple(notes),
        time.monotonic() - started,
    )  # fmt: skip


async def _read_ahead(
    sources: Iterable[Source],
    settings: Settings,
    embedder: Embedder,
    outlines: OutlineReader,
    refuse: Callable[[Rejected], None],
) -> AsyncGenerator[PreparedDocument]:
    """Documents, some of which are read while the one before is embedded."""
    ready: asyncio.Queue[PreparedDocument | Exception | None] = asyncio.Queue(maxsize=AHEAD)

    async def read() -> None:
        try:
            for source in sources:
                try:
                    await ready.put(await read_apart(source, settings, embedder, outlines))
                except DOCUMENT_ERRORS as error:
                    refuse(Rejected(source.external_id, source.name, error.code, error.detail))
        except Exception as error:
            await ready.put(error)
        else:
            await ready.put(None)

    reading = asyncio.create_task(read())
    try:
        while (found := await ready.get()) is not None:
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        reading.cancel()
        await asyncio.wait([reading])


def _model_name(settings: Settings) -> str:
    """Of the model that documents are prepared with. Where the settings leave it to the documents it is that of prose: processes
    that see some of them each have to agree, and who prepares source code names the model."""
    return chosen_model_name(settings, code=False)


def prepare_one(source: Source, environment: Environment, settings: Settings) -> PreparedRow:
    """A document as a row, from nothing but its content and the settings; in any thread, with an event loop or without. Raises
    CairnError."""
    with ThreadPoolExecutor(1) as thread:  # who calls may have an event loop
        return thread.submit(asyncio.run, _prepare_one(source, environment, settings)).result()


async def _prepare_one(source: Source, environment: Environment, settings: Settings) -> PreparedRow:
    source = check_source(source, settings)
    async with _kept_embedder(environment, settings) as embedder, outline_reader(settings) as outlines:
        return await embed_apart(await read_apart(source, settings, embedder, outlines), settings, embedder)


@asynccontextmanager
async def _kept_embedder(environment: Environment, settings: Settings) -> AsyncIterator[Embedder]:
    """A local model is loaded once in a process; clients of others belong to an event loop."""
    local, _, precision = _model_name(settings).rpartition(":")
    if local in LOCAL_MODELS:
        yield _local_model(local, environment.home, precision, os.getpid())
    else:
        async with open_embedder(environment, settings) as embedder:
            yield embedder


@lru_cache(maxsize=2)
def _local_model(name: str, home: Path, precision: Any, process: int) -> Embedder:
    """Of this process: its thread is not there in one that was forked."""
    return LOCAL_MODELS[name].open(home, precision)


def write_prepared(rows: Iterable[PreparedRow], folder: Path, settings: Settings) -> list[Path]:
    """Rows that `prepare_one` made under these settings, into parts of the folder; the parts. Raises InputError."""
    waiting = iter(rows)
    if (first := next(waiting, None)) is None:
        return []
    manifest = make_manifest(settings, _model_name(settings), first["vectors"].shape[1], release())
    return write_rows((row for some in ([first], waiting) for row in some), folder, manifest)


# --- loading ----------------------------------------------------------------------------------------------------------


def open_folder(folder: Path) -> PreparedFolder:
    """See cairn/ingest/prepared_files.py: everything that can be said before a document is read. Raises InputError."""
    found = open_prepared(folder.expanduser().absolute())
    if not found.parts:
        raise InputError(f"there are no Parquet files (*.parquet) in {folder}")
    return found


async def load_prepared(
    services: Services, collection: str, prepared: PreparedFolder, step: Callable[[str], None], *, replace: bool = False
) -> IngestReport:
    """Make the documents searchable, as ingestion would; `step` is told each when it is done. What is there already with the same
    content costs next to nothing, so a run that was broken off is simply run again. Documents that the folder does not hold stay
    as they are. `replace`: documents may take the place of those that were read from other files, under the same ids.

    Raises InputError, before anything is stored, where vectors are of another model or documents were cut by other settings;
    ConflictError where ids belong to other files.
    """
    started, settings = time.monotonic(), services.settings.current
    check_collection_name(collection)
    check_settings(prepared.manifest, settings, str(prepared.path))
    await _check_model(services, collection, prepared.manifest)
    if not replace:
        origins = prepared.origins()
        while (part := await asyncio.to_thread(next, origins, None)) is not None:
            await refuse_taken(services, collection, [_NamedOrigin(Path(path), name) for name, path in part])
    found = await ensure_collection(services, collection)
    target = await _with_model(services, services.target(services.principal, found.id), prepared.manifest)
    async with aclosing(_documents(services, target, prepared)) as documents:
        outcomes = await ingest_prepared(
            services.database, target, documents, on_outcome=lambda outcome: step(outcome.external_id)
        )
    await follow(services.database, services.principal, found.id, settings)
    return IngestReport(
        found.name,
        tuple(outcome for outcome in outcomes if isinstance(outcome, Indexed)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Rejected)),
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, slots=True)
class _NamedOrigin:
    path: Path
    external_id: str


async def _check_model(services: Services, collection: str, manifest: PreparedManifest) -> None:
    """Raises InputError where the collection, which may not be there yet, is of another model."""
    principal = services.principal
    async with services.database.transaction(principal, readonly=True) as connection:
        found = await collections.by_name(connection, principal, normalise(collection))
        needed = await models.list_needed(connection, principal, found.id) if found else []
    wanted = needed or [services.search_deps.model]
    if not needed and services.chooser is not None and is_local(manifest.model.rpartition(":")[0]):
        wanted = [await services.register_model(manifest.model)]  # whoever prepared them has chosen
    model = next((one for one in wanted if one.name == manifest.model), None)
    if model is None:
        whose = f"collection {collection} is of" if needed else "the settings name"
        raise InputError(
            f"the vectors are those of {manifest.model}, and {whose} {wanted[0].name}: prepare the documents with that model, "
            "or load them into another collection"
        )
    if model.dimensions != manifest.dimensions:
        raise InputError(
            f"vectors of {model.name} have {model.dimensions} dimensions, the manifest says {manifest.dimensions}"
        )


async def _with_model(services: Services, target: Target, manifest: PreparedManifest) -> Target:
    """The target whose new collection is served by the model of the documents."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        model = await vectors.model(connection, manifest.model)
    if model is None or model.id == target.model.id:
        return target
    return dataclasses.replace(target, model=model, embedder=target.embedder_of(model))


async def _documents(
    services: Services, target: Target, prepared: PreparedFolder
) -> AsyncGenerator[Embedded | Rejected]:
    """Some rows at a time, in a thread of their own. Raises InputError for a part that is damaged."""
    principal, settings = services.principal, target.settings
    async with services.database.transaction(principal, readonly=True) as connection:
        dominant = await lexical.find_dominant(connection, principal, target.collection_id)
        model = await vectors.model(connection, prepared.manifest.model)
    if model is None:
        raise InputError(
            f"no embedding model {prepared.manifest.model} is registered"
        )  # forgotten since it was checked
    model_id, tokens = model.id, target.embedder_of(model).tokens

    def read() -> Iterator[Embedded | Rejected]:
        for found in prepared.rows():
            try:
                if isinstance(found.vectors, InputError):
                    raise found.vectors
                document, made = document_of(found.values, found.vectors, settings, tokens, dominant)
                source = check_source(document.source, settings)
                document = replace(document, source=source, title=clean_title(document.title) or source.name)
                yield Embedded(document, {model_id: made})
            except DOCUMENT_ERRORS as error:
                external_id = str(found.values["external_id"] or "")
                reason = f"{error.detail} (row {found.row:,} of {found.part})"
                yield Rejected(external_id, str(found.values.get("name") or external_id), error.code, reason)

    rows = read()
    while some := await asyncio.to_thread(lambda: list(islice(rows, _READ_ROWS))):
        for item in some:
            yield item
