"""What search costs and yields, and which fusion suits the data (average relevance, latency, reranking impact).

Tune on several data sets together: what is best for one is seldom best for the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import numpy as np

from cairn.domain.evaluation import Estimate
from cairn.domain.passage import Fused, Leg, LegResult, SearchRequest, SearchResult
from cairn.errors import DatabaseUnavailableError
from cairn.evals.datasets import RetrievalSet
from cairn.evals.metrics import Comparison, Floats, compare, estimate, interval, ndcg, resampled_means
from cairn.evals.retrieval import Bench, Step, find_collection, ranking, search_all, timings
from cairn.retrieve.execute import execute
from cairn.retrieve.fuse import reciprocal_rank_fusion, relative_score_fusion
from cairn.retrieve.plan import default_legs, plan_search
from cairn.store import evals

Form = Literal["relative_score", "rrf"]
TOP_K = 10
"""Documents per search: what a caller of /search gets by default."""
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Of the vector leg (rag.hybridSearchWeight); the one in force is tried too."""


# --- what search costs and yields --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RerankImpact:
    """Searches with reranking against the same ones without. `ndcg` is None without judgements.

    `top_changed`: share of the queries whose first document is another one; `added_ms`: difference of the medians.
    """

    reranker: str
    ndcg: Comparison | None
    top_changed: float
    added_ms: float


@dataclass(frozen=True, slots=True)
class SearchReport:
    """`relevance` is nDCG@10 where there are judgements (`judged`), else the score of the first result, 0..1 under
    relative score fusion. `reranking` is None where no reranker is configured. Times in milliseconds."""

    queries: int
    judged: bool
    relevance: Estimate
    timings_ms: Mapping[str, float]
    reranking: RerankImpact | None


async def optimize_search(
    bench: Bench,
    queries: Mapping[str, str],
    collection: str,
    judgements: Mapping[str, Mapping[str, int]] | None,
    step: Step,
) -> SearchReport:
    """Average relevance, latency and reranking impact of searches as they are now, one at a time.

    `step` is called once per search. Raises NotFoundError for an unknown collection, ValueError without queries.
    """
    plain = await _searches(bench, queries, collection, step, rerank=False)
    choice = bench.search_deps.reranker.get(bench.settings)
    reranker = choice.reranker
    ranked = await _searches(bench, queries, collection, step, rerank=True) if reranker else None
    by_itself = bench.settings.rag.reranking_enabled and not choice.on_request
    return report_searches(
        plain, ranked, judgements, reranker=reranker.name if reranker else "", reranks_by_itself=by_itself
    )


def report_searches(
    plain: Mapping[str, SearchResult],
    ranked: Mapping[str, SearchResult] | None,
    judgements: Mapping[str, Mapping[str, int]] | None,
    *,
    reranker: str,
    reranks_by_itself: bool,
) -> SearchReport:
    """What the same searches yielded without and with reranking, of which those count that a caller gets who says nothing of
    it. Raises ValueError without searches."""
    used = ranked if ranked and reranks_by_itself else plain
    return SearchReport(
        queries=len(plain),
        judged=judgements is not None,
        relevance=estimate(_relevance(used, judgements)),
        timings_ms=timings(_times(used)),
        reranking=_impact(reranker, plain, ranked, judgements) if ranked else None,
    )


async def _searches(
    bench: Bench, queries: Mapping[str, str], collection: str, step: Step, *, rerank: bool
) -> dict[str, SearchResult]:
    legs = default_legs(bench.settings)
    return await search_all(bench, queries, collection, legs, TOP_K, step, rerank=rerank, concurrency=1)


def _relevance(found: Mapping[str, SearchResult], judgements: Mapping[str, Mapping[str, int]] | None) -> list[float]:
    if judgements is not None:
        return [ndcg(ranking(result), judgements[query], TOP_K) for query, result in found.items()]
    return [result.passages[0].score if result.passages else 0.0 for result in found.values()]


def _times(found: Mapping[str, SearchResult]) -> list[float]:
    return [result.timings_ms["total"] for result in found.values()]


def _impact(
    name: str,
    plain: Mapping[str, SearchResult],
    ranked: Mapping[str, SearchResult],
    judgements: Mapping[str, Mapping[str, int]] | None,
) -> RerankImpact:
    changed = sum(ranking(plain[query])[:1] != ranking(ranked[query])[:1] for query in plain)
    return RerankImpact(
        reranker=name,
        ndcg=compare(_relevance(plain, judgements), _relevance(ranked, judgements)) if judgements else None,
        top_changed=changed / len(plain),
        added_ms=round(timings(_times(ranked))["p50"] - timings(_times(plain))["p50"], 3),
    )


# --- the fusion that suits ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RetrievedLegs:
    """What both legs found for one query, before fusion: documents are external ids."""

    results: Mapping[Leg, LegResult]
    documents: Mapping[UUID, str]
    judgements: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FusionCandidate:
    """One way to fuse: its mean nDCG@10 over the sets (each set counts the same), and how it differs from the present
    way, both with 95 % bootstrap intervals."""

    fusion: Form
    vector_share: float
    ndcg: Estimate
    versus_current: Estimate

    @property
    def clearly_better(self) -> bool:
        """Whether the whole interval of the difference lies above 0."""
        return self.versus_current.low > 0


@dataclass(frozen=True, slots=True)
class FusionGrid:
    """`candidates` best first; `current` is the one in force. `recommended` is another one only where it is clearly
    better: differences within the noise are no reason to change."""

    candidates: tuple[FusionCandidate, ...]
    current: FusionCandidate
    recommended: FusionCandidate


async def fetch_legs(bench: Bench, data: RetrievalSet, collection: str, step: Step) -> list[RetrievedLegs]:
    """Run both legs once for every query, so that any number of fusions can be tried on what they found: as a search
    does, with the embedding model that serves the collection, and operators understood.

    Raises DatabaseUnavailableError when a leg fails or the query cannot be embedded: a fusion of one leg says nothing.
    """
    where = await find_collection(bench, collection)
    async with bench.search_deps.database.transaction(bench.principal, readonly=True) as connection:
        names = await evals.external_ids(connection, bench.principal, where.id)
    found: list[RetrievedLegs] = []
    for query_id, text in data.queries.items():
        request = SearchRequest(query=text, collections=(where.name,), top_k=TOP_K, cache=False)
        executed = await execute(plan_search(bench.search_deps, bench.principal, request, bench.settings))
        if executed.failed or executed.found is None:
            reasons = (f"the {leg} search failed: {why}" for leg, why in executed.failed.items())
            raise DatabaseUnavailableError("; ".join(reasons))
        documents = {passage: names[document] for passage, document in executed.found.documents_by_passage().items()}
        found.append(RetrievedLegs(executed.found.legs, documents, data.judgements[query_id]))
        step(query_id)
    return found


def grid(bench: Bench, sets: Sequence[Sequence[RetrievedLegs]]) -> FusionGrid:
    """Every form of fusion with every share of the vector leg, over all sets together. Raises ValueError without sets.

    Both forms are tried on the same candidates; means are resampled within each set.
    """
    if not sets:
        raise ValueError("no data sets")
    settings = bench.settings
    present: tuple[Form, float] = (settings.retrieve.fusion, settings.rag.hybrid_search_weight)
    ways: list[tuple[Form, float]] = [
        (form, share) for form in ("relative_score", "rrf") for share in sorted({*SHARES, present[1]})
    ]
    values = {way: [_values(legs, way, settings.retrieve.rrf_k) for legs in sets] for way in ways}
    candidates = [
        FusionCandidate(
            *way, macro(values[way]), macro([new - old for new, old in zip(values[way], values[present], strict=True)])
        )
        for way in ways
    ]
    ordered = tuple(sorted(candidates, key=lambda item: -item.ndcg.mean))
    current = next(item for item in ordered if (item.fusion, item.vector_share) == present)
    return FusionGrid(ordered, current, ordered[0] if ordered[0].clearly_better else current)


def macro(sets: Sequence[Floats]) -> Estimate:
    """Mean of the means of several sets; queries are resampled within their set."""
    means = np.mean([resampled_means(values) for values in sets], axis=0)
    return Estimate(float(np.mean([values.mean() for values in sets])), *interval(means))


def _values(queries: Sequence[RetrievedLegs], way: tuple[Form, float], rrf_k: int) -> Floats:
    return np.array([ndcg(_documents(legs, way, rrf_k), legs.judgements, TOP_K) for legs in queries])


def _documents(legs: RetrievedLegs, way: tuple[Form, float], rrf_k: int) -> list[str]:
    """Documents by their best passage, as a search with group_by document orders them."""
    form, share = way
    weights: dict[Leg, float] = {"vector": share, "lexical": 1 - share}
    fused: list[Fused] = (
        reciprocal_rank_fusion(legs.results, weights, rrf_k)
        if form == "rrf"
        else relative_score_fusion(legs.results, weights)
    )
    return list(dict.fromkeys(legs.documents[item.passage_id] for item in fused))
