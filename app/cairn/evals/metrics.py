"""How good a ranking is, and how sure one can be of a mean. Pure.

Definitions are those of trec_eval, as pytrec_eval and ir-measures compute them: a document is relevant from grade 1 on;
the gain of nDCG is the grade itself (not 2^grade - 1), discounted by log2(rank + 1); recall and average precision divide
by all relevant documents, also by those that the ranking cannot hold; a judged query without a ranking counts 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cairn.domain.evaluation import Estimate

RESAMPLES = 1000
SEED = 20261
"""Of the bootstrap: the same values give the same interval."""
LEVEL = 0.95
EQUAL = 1e-9
"""Differences up to this are rounding: a tie."""

Floats = NDArray[np.float64]
Ranking = Sequence[str]
Judgements = Mapping[str, int]


# --- one query --------------------------------------------------------------------------------------------------------


def ndcg(ranking: Ranking, judgements: Judgements, k: int) -> float:
    """Normalised discounted cumulative gain of the first `k`; 0 where nothing is relevant."""
    ideal = sorted((grade for grade in judgements.values() if grade > 0), reverse=True)
    best = _dcg(ideal[:k])
    return _dcg([max(0, judgements.get(document, 0)) for document in ranking[:k]]) / best if best else 0.0


def _dcg(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def recall(ranking: Ranking, judgements: Judgements, k: int) -> float:
    """Share of the relevant documents among the first `k`."""
    wanted = _relevant(judgements)
    return len(wanted.intersection(ranking[:k])) / len(wanted) if wanted else 0.0


def precision(ranking: Ranking, judgements: Judgements, k: int) -> float:
    """Relevant documents among the first `k`, divided by `k` also where fewer were found."""
    return len(_relevant(judgements).intersection(ranking[:k])) / k


def reciprocal_rank(ranking: Ranking, judgements: Judgements, k: int | None = None) -> float:
    """1 / rank of the first relevant document; 0 where there is none (among the first `k`)."""
    wanted = _relevant(judgements)
    return next((1 / rank for rank, document in enumerate(ranking[:k], start=1) if document in wanted), 0.0)


def average_precision(ranking: Ranking, judgements: Judgements) -> float:
    """Mean over the relevant documents of the precision at their rank; 0 for those that were not found."""
    wanted = _relevant(judgements)
    ranks = [rank for rank, document in enumerate(ranking, start=1) if document in wanted]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / len(wanted) if wanted else 0.0


def _relevant(judgements: Judgements) -> set[str]:
    return {document for document, grade in judgements.items() if grade > 0}


METRICS: Mapping[str, Callable[[Ranking, Judgements], float]] = {
    **{f"ndcg@{k}": partial(ndcg, k=k) for k in (1, 3, 5, 10)},
    **{f"recall@{k}": partial(recall, k=k) for k in (1, 3, 5, 10, 100)},
    **{f"precision@{k}": partial(precision, k=k) for k in (1, 3, 5, 10)},
    "mrr@10": partial(reciprocal_rank, k=10),
    "mrr": reciprocal_rank,
    "map": average_precision,
}
"""The retrieval metrics that a run stores."""


def score(ranking: Ranking, judgements: Judgements) -> dict[str, float]:
    """Every metric for one query. Raises ValueError for a ranking that names a document twice."""
    if len(set(ranking)) != len(ranking):
        raise ValueError("a ranking names each document once")
    return {name: metric(ranking, judgements) for name, metric in METRICS.items()}


# --- many queries -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """Second minus first, over the same queries: mean difference, and for how many queries the second is better."""

    difference: Estimate
    wins: int
    losses: int
    ties: int

    @property
    def clear(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.difference.low > 0 or self.difference.high < 0


def resampled_means(values: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Means of `resamples` samples with replacement. `values` has a row per query; so has the result per resample.

    How often each query was drawn is all that a mean needs, so that memory is resamples x queries whatever is measured.
    """
    count = len(values)
    if not count:
        raise ValueError("no queries")
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    means: Floats = drawn @ values / count
    return means


def interval(means: Floats) -> tuple[float, float]:
    """The middle 95 % of resampled means."""
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def estimate(values: Sequence[float], *, seed: int = SEED) -> Estimate:
    """Mean and interval of one metric. Raises ValueError without values."""
    array = np.asarray(values, dtype=np.float64)
    means = resampled_means(array, seed=seed)
    return Estimate(float(array.mean()), *interval(means))


def summarise(scores: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """Mean and interval of every metric over the queries, all from the same resamples. Raises ValueError without any."""
    names = list(scores[0]) if scores else []
    table = np.array([[row[name] for name in names] for row in scores], dtype=np.float64)
    means = resampled_means(table)
    return {
        name: Estimate(float(table[:, column].mean()), *interval(means[:, column]))
        for column, name in enumerate(names)
    }  # fmt: skip


def compare(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Two runs query by query: `first[i]` and `second[i]` belong to the same query. Raises ValueError where they differ
    in length, or are empty."""
    if len(first) != len(second):
        raise ValueError("the runs have different queries")
    difference = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    return Comparison(
        estimate(list(difference)),
        wins=int((difference > EQUAL).sum()),
        losses=int((difference < -EQUAL).sum()),
        ties=int((abs(difference) <= EQUAL).sum()),
    )
