"""Milliseconds per stage, for traces and responses."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from app.domain.passage import Fused, Leg, LegResult, Passage, SearchRequest
from app.domain.plan import Conditions
from app.domain.principal import Principal
from app.errors import NotFoundError
from app.providers.protocols import Embedder, Embedders, Rerankers
from app.settings import Settings
from app.store import vectors
from app.store.cache_ledger import CacheLedger
from app.store.query_embeddings import QueryEmbeddings
from app.store.session import Database

T = TypeVar("T")


class Stopwatch:
    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages: dict[str, float] = {}

    async def measure(self, stage: str, work: Awaitable[T]) -> T:
        """Await and book the time; a stage that runs twice adds up."""
        begun = time.perf_counter()
        try:
            return await work
        finally:
            self.book(stage, (time.perf_counter() - begun) * 1000)

    def book(self, stage: str, milliseconds: float) -> None:
        """Add time that was measured elsewhere."""
        self._stages[stage] = round(self._stages.get(stage, 0) + milliseconds, 3)

    def timings(self) -> dict[str, float]:
        """Stages so far, and the total since the start."""
        return {**self._stages, "total": round((time.perf_counter() - self._started) * 1000, 3)}


# --- What a search works with, one search on its way, and what the database gave for it ---


@dataclass(frozen=True, slots=True)
class SearchDeps:
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

    deps: SearchDeps
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
