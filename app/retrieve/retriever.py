"""What a search works with, one search on its way, and what the database gave for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.domain.passage import Fused, Leg, LegResult, Passage, SearchRequest
from app.domain.plan import Conditions
from app.domain.principal import Principal
from app.errors import NotFoundError
from app.providers.protocols import Embedder, Embedders, Rerankers
from app.retrieve.stopwatch import Stopwatch
from app.settings import Settings
from app.store import vectors
from app.store.cache_ledger import CacheLedger
from app.store.query_embeddings import QueryEmbeddings
from app.store.session import Database


@dataclass(frozen=True, slots=True)
class Retriever:
    """What a search works with. `embedder` and `model` are those of the settings, which serve new collections; others are
    had from `embedders` by name. `reranker` is chosen anew for each state of the settings.

    `ledger` serves `cached_search`; `embeddings` keeps vectors of queries.
    """

    database: Database
    embedder: Embedder
    model: vectors.EmbeddingModel
    reranker: Rerankers
    ledger: CacheLedger
    embeddings: QueryEmbeddings
    embedders: Embedders

    def embedder_of(self, model: vectors.EmbeddingModel) -> Embedder:
        """Raises ProviderError or SettingsError when it cannot be had."""
        return self.embedder if model.id == self.model.id else self.embedders.get(model.name)


@dataclass(frozen=True, slots=True)
class Asked:
    """One search. The query of `request` has no operators any more: they are `conditions`. `whole`: how many passages are
    read with their text, because they are reranked or shown."""

    retriever: Retriever
    principal: Principal
    request: SearchRequest
    conditions: Conditions | None
    settings: Settings
    whole: int
    stopwatch: Stopwatch


@dataclass(frozen=True, slots=True)
class State:
    """A collection that was searched, as the snapshot had it."""

    id: UUID
    name: str
    epoch: int
    passage_count: int


@dataclass(frozen=True, slots=True)
class Found:
    """What one snapshot gave. `candidates` are what grouping left of `fused`, `shortlist` the first of them, whole.
    `linked`: over which entity the graph came to a passage."""

    scope: Sequence[State]
    fused: Sequence[Fused]
    candidates: Sequence[Fused]
    documents: Mapping[UUID, UUID]
    legs: Mapping[Leg, LegResult]
    failed: Mapping[Leg, str]
    shortlist: list[Passage]
    linked: Mapping[UUID, UUID] = field(default_factory=dict)


def unknown_collections(names: Iterable[str]) -> NotFoundError:
    listed = ", ".join(sorted(names))
    return NotFoundError(f"no collection named {listed}; create it by adding documents, or see GET /collections")
