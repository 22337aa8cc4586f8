"""Vectors of chunks, under every model that a collection needs: the one that serves it, and those it may change to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from cairn.domain.document import PreparedDocument, Source
from cairn.domain.principal import Principal
from cairn.errors import ProviderError
from cairn.ingest.model_choice import ChooseModel, Writing, peek
from cairn.providers.protocols import Embedder, Embedders
from cairn.settings import Settings
from cairn.store import collections, documents, models, vectors
from cairn.store.session import Database

GROUP_CHUNKS = 128
"""Chunks embedded together: short texts of many documents share batches, and progress shows between groups."""

NOT_DURABLE = {"synchronous_commit": "off"}
"""For notes on the way: losing one in a crash costs nothing, waiting for the disk at each would."""

Check = Callable[[], None]
Keep = Callable[[vectors.EmbeddingModel, Mapping[bytes, HalfVector], float], Awaitable[None]]
"""Model, vectors, and how much of all that is wanted there is with them, 0 to 1."""
OnShare = Callable[[str, float | None], Awaitable[None]]
"""External id of a document, and how much of it is read, or, of a large one, embedded, 0 to 1; None between the two."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where documents go: collection, embedding model, and the settings snapshot of this run.

    `embedder` and `model` serve a new collection, unless `choose` says otherwise; one that has another model is found out by
    `in_use`, from `embedders`.
    """

    principal: Principal
    collection_id: UUID
    embedder: Embedder
    model: vectors.EmbeddingModel
    settings: Settings
    embedders: Embedders | None = None
    choose: ChooseModel | None = None
    """Who says which model serves a new collection, where its documents decide."""
    writing: Writing | None = None
    """What most of the documents are, where that is known before they are read."""
    has_chat: bool = False
    """Whether there is a chat model, which may add to the graph later."""
    has_enricher: bool = False
    """Whether there is one that is to write contexts for chunks later."""

    def embedder_of(self, model: vectors.EmbeddingModel) -> Embedder:
        """Raises ProviderError or SettingsError when it cannot be had."""
        if model.id == self.model.id:
            return self.embedder
        if self.embedders is None:
            raise ProviderError(f"the collection needs vectors of {model.name}, which is not at hand")
        return self.embedders.get(model.name)


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """A model that the collection needs vectors of."""

    model: vectors.EmbeddingModel
    embedder: Embedder


async def choose_model(
    database: Database, target: Target, sources: AsyncIterator[Source]
) -> tuple[Target, AsyncIterator[Source]]:
    """The target with the model for a collection that none serves yet, and the same sources. Raises ProviderError."""
    if target.choose is None:
        return target, sources
    async with database.transaction(target.principal, readonly=True) as connection:
        found = await collections.by_id(connection, target.principal, target.collection_id)
    if found is not None and found.model_id is not None:
        return target, sources
    writing = target.writing
    if writing is None:
        writing, sources = await peek(sources)
    model, embedder = await target.choose(writing)
    return replace(target, model=model, embedder=embedder), sources


async def in_use(database: Database, target: Target) -> tuple[ModelInUse, ...]:
    """The serving model first. A collection that has none yet is served by the target's from now on.

    Raises ProviderError or SettingsError when one cannot be had: better no document than one that a flip would lose.
    """
    principal, collection_id = target.principal, target.collection_id
    async with database.transaction(principal) as connection:
        await collections.pin_model(connection, principal, collection_id, target.model.id)
        needed = await models.list_needed(connection, principal, collection_id) or [target.model]
    return tuple(ModelInUse(model, target.embedder_of(model)) for model in needed)


def is_large(document: PreparedDocument) -> bool:
    """Whether its vectors are kept as they are made: a crash on the way would cost more than one group."""
    return len(document.chunks) > GROUP_CHUNKS


async def embed_documents(
    database: Database,
    principal: Principal,
    collection_id: UUID,
    used: Sequence[ModelInUse],
    group: Sequence[PreparedDocument],
    check: Check | None = None,
    on_share: OnShare | None = None,
) -> list[dict[int, list[HalfVector]]]:
    """For each document the vectors of its chunks, by model id; those of a large one are kept on the way, and it is told how far
    they are.

    A document that not everybody may read is computed by itself: quantised for a batch, the vector of a text depends on the
    others, and whoever may read it could try what they say (docs/adr/0160-embedded-apart.md). Raises ProviderError."""
    names = [document.source.external_id for document in group]
    async with database.transaction(principal, readonly=True) as connection:
        lists = await documents.readers_by_name(connection, principal, collection_id, names)
    readers = [lists.get(name) for name in names]
    # one that only some may read, or may from now on, is computed alone: others with its list may be opened later
    apart = [
        None if each is None and not document.source.access else document.source.external_id
        for each, document in zip(readers, group, strict=True)
    ]
    found: list[dict[int, list[HalfVector]]] = [{} for _ in group]
    for key in dict.fromkeys(apart):
        places = [at for at, one in enumerate(apart) if one == key]
        alike = [group[at] for at in places]
        made = await _embed_alike(database, principal, collection_id, used, alike, readers[places[0]], check, on_share)
        for at, one in zip(places, made, strict=True):
            found[at] = one
    return found


async def _embed_alike(
    database: Database,
    principal: Principal,
    collection_id: UUID,
    used: Sequence[ModelInUse],
    group: Sequence[PreparedDocument],
    readers: Sequence[str] | None,
    check: Check | None,
    on_share: OnShare | None,
) -> list[dict[int, list[HalfVector]]]:
    texts = {chunk.content_hash: chunk.embed_text for document in group for chunk in document.chunks}
    large = [(document, {chunk.content_hash for chunk in document.chunks}) for document in group if is_large(document)]

    before = {one.model.id: number for number, one in enumerate(used)}

    async def keep(model: vectors.EmbeddingModel, made: Mapping[bytes, HalfVector], share: float) -> None:
        for document, hashes in large:
            own = {digest: vector for digest, vector in made.items() if digest in hashes}
            async with database.transaction(principal, config=NOT_DURABLE) as connection:
                await vectors.keep_ahead(connection, principal, collection_id, document.source.external_id, model, own)
            if on_share:
                await on_share(document.source.external_id, (before[model.id] + share) / len(used))

    made = {one.model.id: await embed_texts(database, principal, one, texts, readers, check, keep) for one in used}
    return [
        {model: [known[chunk.content_hash] for chunk in document.chunks] for model, known in made.items()}
        for document in group
    ]


async def embed_texts(
    database: Database,
    principal: Principal,
    used: ModelInUse,
    texts: Mapping[bytes, str],
    readers: Sequence[str] | None,
    check: Check | None = None,
    keep: Keep | None = None,
) -> dict[bytes, HalfVector]:
    """Vectors by the hash of the text: those the tenant already has, the others from the model, handed to `keep` as they are
    made. `readers`: who may read all of the texts; None: everybody."""
    async with database.transaction(principal, readonly=True) as connection:
        known = await vectors.reuse(connection, principal, used.model, list(texts), readers)
    missing = [digest for digest in texts if digest not in known]
    for start in range(0, len(missing), GROUP_CHUNKS):
        if check:
            check()
        batch = missing[start : start + GROUP_CHUNKS]
        made = await used.embedder.embed([texts[digest] for digest in batch])
        new = dict(zip(batch, map(HalfVector, made.astype(np.float16)), strict=True))
        known.update(new)
        if keep:
            await keep(used.model, new, len(known) / len(texts))
    return known
