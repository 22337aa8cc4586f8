"""What a search is made with, what it carries from step to step, and what comes of executing it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar
from uuid import UUID

from pgvector import HalfVector

from cairn.domain.ids import new_id
from cairn.domain.passage import Fused, FusionForm, Leg, LegResult, Passage, SearchRequest
from cairn.domain.plan import Conditions
from cairn.domain.principal import Principal
from cairn.providers.answer_reader import AnswerReader
from cairn.providers.protocols import Embedder, Embedders, RerankerChoice, Rerankers
from cairn.providers.table_parser import TableParser
from cairn.settings import Settings
from cairn.store.cache_ledger import CacheLedger
from cairn.store.query_embeddings import QueryEmbeddings
from cairn.store.session import Database
from cairn.store.vectors import EmbeddingModel
from cairn.telemetry import record, span

T = TypeVar("T")


MOST_KNOWN: Final = 10_000  # bound: tests/unit/test_edges_retrieve.py
"""Collections whose model is remembered."""


class Stopwatch:
    """Milliseconds per stage, for traces and responses."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages: dict[str, float] = {}

    async def measure(self, stage: str, work: Awaitable[T]) -> T:
        """Await and book the time; a stage that runs twice adds up."""
        begun = time.perf_counter()
        try:
            with span(f"search.{stage}"):
                return await work
        finally:
            self._add(stage, (time.perf_counter() - begun) * 1000)

    def book(self, stage: str, milliseconds: float) -> None:
        """Add time that was measured elsewhere, and has just passed."""
        record(f"search.{stage}", milliseconds / 1000)
        self._add(stage, milliseconds)

    def _add(self, stage: str, milliseconds: float) -> None:
        self._stages[stage] = round(self._stages.get(stage, 0) + milliseconds, 3)

    def timings(self) -> dict[str, float]:
        """Stages so far, and the total since the start."""
        return {**self._stages, "total": round((time.perf_counter() - self._started) * 1000, 3)}


def no_model() -> None:
    """Where none was built."""


@dataclass(frozen=True, slots=True)
class SearchDeps:
    """What the search engine is made of, the same for all searches of a process. `embedder` and `model` are those of the
    settings, which serve new collections; others are had from `embedders` by name. `judge` and `judge_model` are those that
    thresholds and regressions were fitted to, whichever model serves a collection. `reranker` is chosen anew for each state of
    the settings.

    `reader` finds what answers in the passages, `table_parser` reads questions about tables; both are asked for each time, since
    they may be built while the process runs, and are None until then.
    `ledger` serves the retrieval cache; `embeddings` keeps vectors of queries.
    """

    database: Database
    embedder: Embedder
    model: EmbeddingModel
    reranker: Rerankers
    ledger: CacheLedger
    embeddings: QueryEmbeddings
    embedders: Embedders
    judge: Embedder
    judge_model: EmbeddingModel
    reader: Callable[[], AnswerReader | None] = no_model
    table_parser: Callable[[], TableParser | None] = no_model

    serving: ServingModels = field(default_factory=lambda: ServingModels())

    def embedder_of(self, model: EmbeddingModel) -> Embedder:
        """Raises ProviderError or SettingsError when it cannot be had."""
        return self.embedder if model.id == self.model.id else self.embedders.get(model.name)


class ServingModels:
    """Which model served a collection when that was last seen, so that a question is embedded by the right one before anything is
    read. What it says may be out of date: each search reads what is so."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], EmbeddingModel] = {}
        self._models: dict[int, EmbeddingModel] = {}

    def get(self, principal: Principal, collection: str) -> EmbeddingModel | None:
        return self._known.get((principal.tenant_id, collection))

    def by_id(self, model_id: int) -> EmbeddingModel | None:
        """A model that serves some collection."""
        return self._models.get(model_id)

    def note(self, principal: Principal, collection: str, model: EmbeddingModel) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[principal.tenant_id, collection] = model
        self._models[model.id] = model


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """Vectors of one query by model id; `problems` says why one cannot be had, `degraded` what did not work on the way."""

    by_model: Mapping[int, HalfVector] = field(default_factory=dict)
    problems: Mapping[int, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    def missing(self, models: Iterable[EmbeddingModel]) -> tuple[EmbeddingModel, ...]:
        """Those of the models that were not asked yet."""
        return tuple(model for model in set(models) if model.id not in self.by_model and model.id not in self.problems)


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """Why the graph is followed or not, in words, and who decided: see WeightsUsed."""

    reason: str
    classifier: str


@dataclass(frozen=True, slots=True)
class SearchContext:
    """One search: what was requested, and what cairn/retrieve/plan.py decided about it.

    `text` is the query without its operators, which are the `conditions`. `legs` are the retrievers that run, of those requested;
    `graph_choice` says why the graph is among them or not. `fusion` is the form in force. `whole`: how many passages are read
    with their text, because they are reranked or shown. `answering`: an answer will be made of the passages. `expected`: the
    model that served the collection when that was last seen, None where several are searched. Steps that learn something
    pass on a copy; only the stopwatch is shared.
    """

    deps: SearchDeps
    principal: Principal
    request: SearchRequest
    settings: Settings
    text: str = ""
    conditions: Conditions | None = None
    legs: tuple[Leg, ...] = ()
    graph_choice: GraphChoice = GraphChoice("the caller chose what is searched", "caller")
    fusion: FusionForm = "relative_score"
    whole: int = 0
    reranker_choice: RerankerChoice = field(default_factory=RerankerChoice)
    reranks: bool = False
    answering: bool = False
    vectors: QueryVectors = field(default_factory=QueryVectors)
    expected: EmbeddingModel | None = None
    run_id: UUID = field(default_factory=new_id)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A collection that was searched, as the snapshot had it."""

    id: UUID
    name: str
    epoch: int
    passage_count: int


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one snapshot gave: lists of the retrievers, and the passages as these order them.

    `linked`: over which entity the graph came to a passage. `candidates` are what grouping left of `fused`, `shortlist` the first
    of them, whole.
    """

    scope: Sequence[CollectionState]
    legs: Mapping[Leg, LegResult]
    fused: Sequence[Fused]
    linked: Mapping[UUID, UUID] = field(default_factory=dict)
    candidates: Sequence[Fused] = ()
    shortlist: Sequence[Passage] = ()

    def documents_by_passage(self) -> dict[UUID, UUID]:
        """Of all that the retrievers found."""
        return {hit.passage_id: hit.document_id for result in self.legs.values() for hit in result.hits}


class Reason(Enum):
    """Why retrievers have to run again. What is done about each stands in cairn/retrieve/execute.py."""

    OTHER_MODEL = "another model than the one that was expected serves the collection"
    COLLECTION_CHANGED = "the collection changed between two statements"
    STATEMENT_FAILED = "the statement failed, which does not say which retriever did"
    RETRIEVER_FAILED = "a retriever failed and took the transaction with it"
    VECTORS_MISSING = "the query has no vector yet under a model that serves a collection"
    GRAPH_UNSURE = "the graph alone found too little"


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of one attempt, or of all: `found`, `failed` retrievers with the reason, and why to go again.

    With `retry` the rest says nothing, but for `models`, which are those to embed the query with. `retries` are the
    reasons of the attempts before; `degraded` is what did not work besides retrievers.
    """

    found: Retrieved | None = None
    failed: Mapping[Leg, str] = field(default_factory=dict)
    retry: Reason | None = None
    models: Sequence[EmbeddingModel] = ()
    retries: tuple[Reason, ...] = ()
    degraded: tuple[str, ...] = ()
