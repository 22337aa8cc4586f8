"""Runs of evaluations as JSON, and what differs between two of them. Pure; chart.py draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cairn.domain.evaluation import EvalResult, EvalRun
from cairn.evals.metrics import METRICS, Comparison, compare

HEADLINE = ("ndcg@10", "recall@5", "recall@10", "recall@100", "mrr", "map")
"""What is shown; everything else is stored and in the JSON."""
TITLES: Mapping[str, str] = {
    "ndcg": "nDCG",
    "recall": "Recall",
    "precision": "Precision",
    "mrr": "MRR",
    "map": "MAP",
    "quoted": "Quoted",
    "token_f1": "F1",
    "exact_match": "Exact",
    "answer_in": "Holds it",
    "citation_recall": "Cited",
    "source_recall": "Read",
    "context_utilization": "Used",
    "semantic_similarity": "Means it",
    "answer_relevance": "On topic",
    "grounded": "Grounded",
    "found": "Answered",
}


def title(metric: str) -> str:
    """`ndcg@10` as people write it."""
    name, at, cutoff = metric.partition("@")
    return f"{TITLES[name]}{at}{cutoff}"


# --- JSON -------------------------------------------------------------------------------------------------------------


def run_json(run: EvalRun, results: Sequence[EvalResult] = ()) -> dict[str, Any]:
    """A run, and the metrics of each query; rankings are in analyst.eval_results."""
    values = asdict(run)
    if results:
        values["queries"] = {result.query_id: dict(result.metrics) for result in results}
    return values


# --- two runs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunComparison:
    """Two runs over the queries that both have. `changed` names what differs besides the results: setting or parameter
    to its two values. `same_data`: queries and judgements were equal."""

    first: EvalRun
    second: EvalRun
    queries: int
    metrics: Mapping[str, Comparison]
    changed: Mapping[str, tuple[Any, Any]]
    same_data: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "first": run_json(self.first),
            "second": run_json(self.second),
            "queries": self.queries,
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "changed": {name: list(values) for name, values in self.changed.items()},
            "same_data": self.same_data,
        }


def compare_runs(
    first: EvalRun, first_results: Sequence[EvalResult], second: EvalRun, second_results: Sequence[EvalResult]
) -> RunComparison:
    """Compare query by query. Raises ValueError when the runs share no query."""
    before = {result.query_id: result.metrics for result in first_results}
    after = {result.query_id: result.metrics for result in second_results}
    common = [query for query in before if query in after]
    metrics = {
        name: compare([before[query][name] for query in common], [after[query][name] for query in common])
        for name in common_metrics(before, after, common)
    }
    return RunComparison(
        first, second, len(common), metrics, dict(_changes(_list_pinned(first), _list_pinned(second))),
        first.data_hash == second.data_hash,
    )  # fmt: skip


def common_metrics(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]], common: Sequence[str]
) -> list[str]:
    """Metrics that both runs have for every query of theirs: those of retrieval, and of answers where both asked."""
    names = list(before[common[0]]) if common else list(METRICS)
    return [name for name in names if all(name in run[query] for run in (before, after) for query in common)]


OUTCOMES = ("rates", "usage", "strategies_run", "figures", "tells_of_restricted")
"""Parameters of a run over questions that came of it: nothing that it was made with."""


def _list_pinned(run: EvalRun) -> dict[str, Any]:
    """What a run was made with, flat: dotted names to values."""
    parameters = {name: value for name, value in run.parameters.items() if name not in OUTCOMES}
    return dict(
        _flat(
            {
                "data set": run.data_set, "collection": run.collection, "epochs": dict(run.epochs),
                "code version": run.code_version, "parameters": parameters, "settings": dict(run.settings),
            }
        )
    )  # fmt: skip


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield name, (before.get(name), after.get(name))
