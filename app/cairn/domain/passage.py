"""What retrieval passes on: hits of the legs, then passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from uuid import UUID

from cairn.domain.document import Landmark
from cairn.domain.graph import GraphContext
from cairn.domain.plan import Classification, FusionWeights, WeightMode
from cairn.domain.trace import LegTrace

Leg = Literal["vector", "lexical", "graph"]
LEGS: tuple[Leg, ...] = ("vector", "lexical", "graph")
Mode = Literal["hybrid", "text", "vector", "lexical", "graph"]
"""What to search by: all legs, those without the graph, or one."""
FusionForm = Literal["relative_score", "rrf"]
"""How lists are merged: by scores relative to each leg's best, or by reciprocal ranks."""


class Hit(NamedTuple):
    """A passage found by one leg. `score` is the leg's own: cosine similarity, BM25, or worth of a link.

    A tuple, as is `Fused`, because a search makes hundreds, and frozen dataclasses take four times as long to make.
    """

    passage_id: UUID
    document_id: UUID
    score: float
    chunk_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class LegResult:
    """Hits of one leg, best first.

    `confidence` in 0..1: best cosine, best share of the query's idf mass, or best link. `exact`: the list is the true one, not an
    approximation. `complete`: there is nothing beyond it. `how`: by which way it was found, for the trace.
    """

    leg: Leg
    hits: Sequence[Hit]
    confidence: float
    exact: bool
    complete: bool
    how: Mapping[str, Any] = field(default_factory=dict)


class Fused(NamedTuple):
    """A passage after fusion: its score, and the rank (from 1) and share of the score that each leg gave it."""

    passage_id: UUID
    score: float
    ranks: Mapping[Leg, int]
    shares: Mapping[Leg, float]


@dataclass(frozen=True, slots=True)
class Passage:
    """A result: text with where it stands. Spans are half-open ranges of code points in the document's text.

    `page` and `headings` are those of its beginning, `landmarks` tell where they change within it. `url`: of a web page, which is
    outside the documents: its ids are made of the address, and no document has them.
    `matched` is the span of the chunk that the vector leg found, `chunk_id` its id.
    """

    passage_id: UUID
    document_id: UUID
    external_id: str
    title: str
    content: str
    start: int
    end: int
    page: int | None
    headings: tuple[str, ...]
    token_count: int
    version: int
    collection: str
    media_type: str
    metadata: Mapping[str, Any]
    landmarks: tuple[Landmark, ...] = ()
    chunk_id: UUID | None = None
    matched: tuple[int, int] | None = None
    score: float = 0.0
    ranks: Mapping[Leg, int] = field(default_factory=dict)
    rerank_score: float | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search. `top_k` passages (1 to 200); `legs` to run; `filters` match document metadata by containment.

    `model`: search by the vectors of this embedding model instead of those that serve, to compare before a flip.
    `cache` False: neither read from the retrieval cache nor written to it.
    `explicit`: the caller chose the legs, so the graph is asked also where the query names nothing. `weights`: text against
    graph, where the type of the question decides (graph.routing), and `classification` that type. `fusion` None: as the settings
    say. `chat_reranks`: whether a chat model reranks where `rerank` does not say; None: where the settings name one. `asked`: the
    question that the query of an agent serves; it decides whether the graph is followed.
    """

    query: str
    collections: tuple[str, ...]
    top_k: int = 10
    legs: tuple[Leg, ...] = ("vector", "lexical")
    rerank: bool | None = None
    filters: Mapping[str, Any] | None = None
    group_by: Literal["passage", "document"] = "passage"
    expand_parents: bool = True
    model: str | None = None
    cache: bool = True
    explicit: bool = False
    weights: FusionWeights | None = None
    classification: Classification | None = None
    fusion: FusionForm | None = None
    chat_reranks: bool | None = None
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class WeightsUsed:
    """What each leg counted in the order of a search, and why: `legs` sum to 1, what did not run counts 0. `reason` in words;
    `classifier` decided on the graph: names, rules or a model (by the type of the question), caller, settings."""

    legs: Mapping[Leg, float]
    mode: WeightMode
    fusion: FusionForm
    reason: str
    classifier: str

    @property
    def text(self) -> float:
        return round(self.legs.get("vector", 0.0) + self.legs.get("lexical", 0.0), 4)

    @property
    def graph(self) -> float:
        return self.legs.get("graph", 0.0)

    def as_json(self) -> dict[str, Any]:
        """As routes and traces tell it."""
        return {
            "text": self.text, "graph": self.graph, "legs": dict(self.legs), "mode": self.mode, "fusion": self.fusion,
            "reason": self.reason, "classifier": self.classifier,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class CacheHit:
    """Where a cached result came from: the run that found it, `age_seconds` ago.

    `similarity` is the cosine of the two queries at the semantic level, None where they are the same.
    """

    run_id: UUID
    age_seconds: float
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages best first, and how they were found. `confidence` per leg in 0..1; `timings_ms` per stage; `reranker`
    is the name of the one that made the order; `how` as in LegResult, for the legs that have something to tell.

    `weights` None: nothing was searched. `graph` is what the graph says about the passages, where it brought some and an
    answer will be made of them. `retries`: why retrievers ran again, if they did.
    `epochs` by name and `snapshot` by id are the states of the collections that were read, all in one snapshot. `usage`: what
    a search of its own has spent on a chat model that reranked; empty where it was not asked.
    """

    passages: tuple[Passage, ...]
    trace_id: UUID
    legs_used: tuple[Leg, ...]
    legs_failed: Mapping[Leg, str]
    exact: bool
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    confidence: Mapping[Leg, float]
    epochs: Mapping[str, int]
    visible_passages: int
    legs: Sequence[LegTrace] = ()
    reranker: str | None = None
    snapshot: Mapping[UUID, int] = field(default_factory=dict)
    hit: CacheHit | None = None
    how: Mapping[Leg, Mapping[str, Any]] = field(default_factory=dict)
    graph: GraphContext | None = None
    retries: tuple[str, ...] = ()
    weights: WeightsUsed | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def from_cache(self) -> bool:
        return self.hit is not None


# --- The retrieval cache: where an entry stands, and what the cache did ---


@dataclass(frozen=True, slots=True)
class CacheAddress:
    """Where the result of a search belongs.

    `key` and `scope` are MD5 digests: of all that decides the result, and of the same without the query. `query` is
    normalised, `guards` are what two queries must have in common at the semantic level, `collections` names.
    """

    key: str
    scope: str
    query: str
    guards: tuple[str, ...]
    collections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """Searches by what the cache did for them; `semantic_hits` are among the `hits`."""

    hits: int = 0
    semantic_hits: int = 0
    misses: int = 0
    bypassed: int = 0

    def plus(self, other: CacheCounts) -> CacheCounts:
        return CacheCounts(
            self.hits + other.hits,
            self.semantic_hits + other.semantic_hits,
            self.misses + other.misses,
            self.bypassed + other.bypassed,
        )


@dataclass(frozen=True, slots=True)
class CacheStats:
    """`size` counts the entries that can answer now; `query_embeddings` those stored for the tenant."""

    size: int
    counts: CacheCounts
    query_embeddings: int

    @property
    def hit_rate(self) -> float | None:
        """Hits of all searches that looked, 0 to 1; None before the first."""
        looked = self.counts.hits + self.counts.misses
        return self.counts.hits / looked if looked else None


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """Passages in reading order, and how many there are in all."""

    passages: tuple[Passage, ...]
    total: int
