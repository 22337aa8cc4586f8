"""What a user can do with embedding models and indexes of collections, once for all surfaces (docs/adr/0013)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from cairn.domain.document import Collection
from cairn.domain.job import Job
from cairn.errors import ConflictError, InputError, NotFoundError, SettingsError
from cairn.ingest.loaders import REVISION
from cairn.ingest.prepare import RULES
from cairn.jobs.reindex import BACKFILL, REINDEX
from cairn.jobs.reread import REREAD
from cairn.jobs.vector_indexes import enqueue_plan
from cairn.service.documents import find_document, get_collection, require_reader_of_all
from cairn.store import audit, collections, documents, jobs, models, vectors
from cairn.store.documents import OlderDocuments
from cairn.store.models import CollectionModel
from cairn.store.vectors import EmbeddingModel
from cairn.wiring import Services


@dataclass(frozen=True, slots=True)
class Models:
    """Registered models, and what collections do with them."""

    models: list[EmbeddingModel]
    collections: list[CollectionModel]


@dataclass(frozen=True, slots=True)
class CollectionEmbedding:
    """Which embedding model serves a collection, None before its first document. `changing`: the vectors of another model are
    being made; `reindexing`: its documents are cut and embedded anew."""

    model: str | None = None
    state: Literal["empty", "serving", "changing", "reindexing"] = "empty"


async def get_embedding(services: Services, collection: str | None = None) -> Mapping[str, CollectionEmbedding]:
    """By the name of the collection, of one or of all; those that are empty are left out."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        listed = await models.list_models(connection, services.principal, collection)
        reindexing = await models.list_reindexing(connection, services.principal)
    changing = {one.collection for one in listed if one.state == "backfilling"}
    return {
        one.collection: CollectionEmbedding(
            one.model,
            "reindexing" if one.collection in reindexing else "changing" if one.collection in changing else "serving",
        )
        for one in listed if one.state == "serving"
    }  # fmt: skip


async def list_models(services: Services, collection: str | None = None) -> Models:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return Models(
            await models.all_models(connection),
            await models.list_models(connection, services.principal, collection),
        )


async def add_model(services: Services, name: str) -> EmbeddingModel:
    """Register a model: one call of its provider, a row, and an empty HNSW index. Cheap when it is there already.

    Raises InputError when no provider that is set up has it, ProviderError, DatabaseUnavailableError.
    """
    if not 0 < len(name) <= 200:
        raise InputError("a model's name has 1 to 200 characters")
    try:
        return await services.register_model(name)
    except SettingsError as error:  # of the caller's choice, and of no setting
        raise InputError(error.detail) from None


async def start_backfill(services: Services, collection: str, name: str) -> Job:
    """Order the vectors of another model for all chunks; from now on ingestion makes them too. Raises NotFoundError,
    ConflictError when the model serves already, and what `add_model` raises."""
    found = await get_collection(services, collection)
    model = await add_model(services, name)
    async with services.database.transaction(services.principal) as connection:
        await require_reader_of_all(services, connection, found)
        locked = await _lock(connection, services, found)
        if locked.model_id is None:
            raise ConflictError(f"collection {collection} is empty: it will be served by the model of the settings")
        if locked.model_id == model.id:
            raise ConflictError(f"collection {collection} is served by {model.name} already")
        state = await models.state(connection, services.principal, found.id, model.id)
        if state not in ("retired", "ready"):
            await models.set_state(connection, services.principal, found.id, model.id, "backfilling")
        payload = {"collection_id": str(found.id), "collection": found.name, "model_id": model.id, "model": model.name}
        return await jobs.enqueue(
            connection, services.principal, BACKFILL, payload, dedupe_key=f"{BACKFILL}:{found.id}:{model.id}",
            max_attempts=services.settings.current.jobs.max_attempts,
        )  # fmt: skip


async def flip_model(services: Services, collection: str, name: str) -> Collection:
    """Let a model serve that has a vector for every chunk. Raises NotFoundError, ConflictError when it has not."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        locked = await _lock(connection, services, found)
        model = await vectors.model(connection, services.model_name(name))
        state = model and await models.state(connection, services.principal, found.id, model.id)
        if model is None or state is None:
            raise ConflictError(f"collection {collection} has no vectors of {name}; backfill it first")
        await _serve(connection, services, locked, model, "model.flip")
    return await get_collection(services, collection)


async def rollback_model(services: Services, collection: str) -> Collection:
    """Let the model serve again that did before the last flip. Raises NotFoundError, ConflictError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        locked = await _lock(connection, services, found)
        model = await models.last_retired(connection, services.principal, found.id)
        if model is None:
            raise ConflictError(f"collection {collection} was not served by another model before")
        await _serve(connection, services, locked, model, "model.rollback")
    return await get_collection(services, collection)


async def forget_model(services: Services, collection: str, name: str) -> None:
    """Delete the vectors of a model that does not serve; ingestion makes no more. Raises NotFoundError, ConflictError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        locked = await _lock(connection, services, found)
        model = await vectors.model(connection, services.model_name(name))
        if model is None or await models.state(connection, services.principal, found.id, model.id) is None:
            raise NotFoundError(f"collection {collection} has no vectors of {name}")
        if model.id == locked.model_id:
            raise ConflictError(f"{name} serves collection {collection}; flip to another model first")
        await models.forget(connection, services.principal, found.id, model.id)
        await audit.record(connection, services.principal, "model.forget", found.name, {"model": model.name})


async def start_reindex(services: Services, collection: str, *, force: bool) -> Job:
    """Order that all documents are cut and embedded anew with the settings in force. Raises NotFoundError,
    and ForbiddenError where some of them are withheld from the caller."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        await require_reader_of_all(services, connection, found)
        payload = {"collection_id": str(found.id), "collection": found.name, "force": force}
        return await jobs.enqueue(
            connection, services.principal, REINDEX, payload, dedupe_key=f"{REINDEX}:{found.id}:{force}",
            max_attempts=services.settings.current.jobs.max_attempts,
        )  # fmt: skip


async def start_reread(services: Services, collection: str, document_id: UUID | None = None) -> Job:
    """Order that the documents are read anew that loaders of an earlier release read, or one of them. Raises NotFoundError,
    and ForbiddenError where it is about all and some are withheld from the caller."""
    found = await get_collection(services, collection)
    one = None if document_id is None else (await find_document(services, collection, document_id)).id
    async with services.database.transaction(services.principal) as connection:
        if one is None:
            await require_reader_of_all(services, connection, found)
        payload = {"collection_id": str(found.id), "collection": found.name}
        payload |= {} if one is None else {"document_id": str(one)}
        return await jobs.enqueue(
            connection, services.principal, REREAD, payload, dedupe_key=f"{REREAD}:{one or found.id}",
            max_attempts=services.settings.current.jobs.max_attempts,
        )  # fmt: skip


async def which_outdated(services: Services, document_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the documents that loaders of an earlier release read."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await documents.which_outdated(connection, services.principal, document_ids, REVISION)


async def count_older(services: Services, collection: str | None = None) -> dict[str, OlderDocuments]:
    """Of each collection, or of one, how many documents an earlier release left. Raises NotFoundError."""
    found = [await get_collection(services, collection)] if collection else []
    async with services.database.transaction(services.principal, readonly=True) as connection:
        while collection is None:
            page = await collections.page(
                connection, services.principal, after=found[-1].name if found else "", limit=100
            )
            if not page:
                break
            found += page
        return {
            one.name: await documents.count_older(connection, services.principal, one.id, loaders=REVISION, rules=RULES)
            for one in found
        }


async def count_outdated(services: Services, collection: str | None = None) -> dict[str, int]:
    """The same, those alone that its loaders read."""
    return {name: older.read for name, older in (await count_older(services, collection)).items()}


async def outdated_notes(services: Services) -> list[str]:
    """For whoever runs it: which collections have documents that an earlier release read, or whose graph, symbols and cells it
    made, and what renews them."""
    return older_notes(await count_older(services))


def older_notes(found: Mapping[str, OlderDocuments]) -> list[str]:
    """The same of what was counted."""
    notes = []
    for name, older in found.items():
        if older.read:
            were = "document was" if older.read == 1 else "documents were"
            notes.append(
                f"collection {name}: {older.read:,} {were} read by an earlier release; "
                f"cairn reread {name} reads what can be read better"
            )
        if older.derived:
            of = "document" if older.derived == 1 else "documents"
            notes.append(
                f"collection {name}: graph, symbols of code and cells of tables of {older.derived:,} {of} were made by an "
                f"earlier release; cairn reindex {name} makes them anew"
            )
    return notes


async def _serve(
    connection: object, services: Services, locked: Collection, model: EmbeddingModel, action: str
) -> None:
    principal = services.principal
    if locked.model_id == model.id:
        return
    missing = await models.count_missing(connection, principal, locked.id, model.id)
    if missing:
        raise ConflictError(
            f"{missing:,} chunks of collection {locked.name} have no vector of {model.name} yet; backfill it first",
            missing=missing,
        )
    old = locked.model_id
    assert old is not None  # a collection without a model has no chunks and no other models
    await models.serve(connection, principal, locked.id, old, model.id)
    names = {one.id: one.name for one in await models.all_models(connection)}
    await audit.record(connection, principal, action, locked.name, {"before": names[old], "after": model.name})
    await enqueue_plan(connection, principal)


async def _lock(connection: object, services: Services, found: Collection) -> Collection:
    locked = await models.lock(connection, services.principal, found.id)
    if locked is None:
        raise NotFoundError(f"no collection named {found.name}")
    if locked.model_id is None and found.model_id is not None:  # older than the column
        await collections.pin_model(connection, services.principal, found.id, found.model_id)
        return await _lock(connection, services, found)
    return locked
