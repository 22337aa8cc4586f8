"""Runs side by side: what differs between two of them, as JSON, and as a chart. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.domain.evaluation import EvalResult, EvalRun
from app.evals.metrics import METRICS, Comparison, compare

HEADLINE = ("ndcg@10", "recall@5", "recall@10", "recall@100", "mrr", "map")
"""What is shown; everything else is stored and in the JSON."""
CHARTED = ("ndcg@10", "recall@100")
TITLES: Mapping[str, str] = {
    "ndcg": "nDCG",
    "recall": "Recall",
    "precision": "Precision",
    "mrr": "MRR",
    "map": "MAP",
    "token_f1": "F1",
    "exact_match": "Exact",
    "answer_in": "Holds it",
    "citation_recall": "Cited",
    "source_recall": "Read",
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
        first, second, len(common), metrics, dict(_changes(_pinned(first), _pinned(second))),
        first.data_hash == second.data_hash,
    )  # fmt: skip


def common_metrics(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]], common: Sequence[str]
) -> list[str]:
    """Metrics that both runs have for every query of theirs: those of retrieval, and of answers where both asked."""
    names = list(before[common[0]]) if common else list(METRICS)
    return [name for name in names if all(name in run[query] for run in (before, after) for query in common)]


OUTCOMES = ("rates", "usage", "strategies_run")
"""Parameters of a run over questions that came of it: nothing that it was made with."""


def _pinned(run: EvalRun) -> dict[str, Any]:
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


# --- the chart --------------------------------------------------------------------------------------------------------

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Okabe and Ito's, which colour-blind readers can tell apart."""
_LABELS, _PLOT, _VALUES, _BAR, _GAP, _HEAD = 210, 420, 150, 18, 10, 44


def chart(runs: Sequence[EvalRun]) -> str:
    """A self-contained SVG: a panel per metric, a group of bars per data set, a bar with its interval per run."""
    groups: dict[str, list[EvalRun]] = {}
    for run in runs:
        groups.setdefault(run.data_set, []).append(run)
    labels = list(dict.fromkeys(map(_label, runs)))
    colours = {label: COLOURS[number % len(COLOURS)] for number, label in enumerate(labels)}
    panel = _HEAD + sum(len(group) * _BAR + _GAP for group in groups.values()) + 24
    width, height = _LABELS + _PLOT + _VALUES, panel * len(CHARTED) + 34
    said = html.escape("; ".join(_sentence(run) for run in runs))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="12" fill="#222">',
        f"<title>{said}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_legend(colours, height - 20),
    ]
    for number, metric in enumerate(CHARTED):
        parts += [f'<g transform="translate(0 {panel * number})">', *_panel(metric, groups, colours, panel), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def page(runs: Sequence[EvalRun]) -> str:
    """The chart and the figures as an HTML page that needs nothing else."""
    head = "".join(f"<th>{title(metric)}</th>" for metric in HEADLINE)
    rows = "\n".join(
        f"<tr><td>{html.escape(run.data_set)}</td><td>{html.escape(_label(run))}</td><td>{run.query_count}</td>"
        + "".join(
            f"<td>{run.metrics[metric].mean:.3f}<br><small>{_range(run, metric)}</small></td>" for metric in HEADLINE
        )
        + f"<td>{run.timings_ms['p50']:.1f}</td><td><small>{run.id}</small></td></tr>"
        for run in runs
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Retrieval evaluation</title>\n'
        "<style>body{font-family:system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}"
        "td,th{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:left}</style>\n"
        f"<h1>Retrieval evaluation</h1>\n{chart(runs)}"
        f"<table><tr><th>Data set</th><th>Run</th><th>Queries</th>{head}<th>Median ms</th><th>Id</th></tr>\n"
        f"{rows}\n</table></html>\n"
    )


def _label(run: EvalRun) -> str:
    return f"{run.name} ({run.mode})" if run.name else run.mode


def _sentence(run: EvalRun) -> str:
    measured = ", ".join(f"{title(name)} {run.metrics[name].mean:.3f} ({_range(run, name)})" for name in CHARTED)
    return f"{run.data_set}, {_label(run)}: {measured}"


def _range(run: EvalRun, metric: str) -> str:
    value = run.metrics[metric]
    return f"{value.low:.3f}–{value.high:.3f}"


def _legend(colours: Mapping[str, str], top: int) -> Iterator[str]:
    left = _LABELS
    for label, colour in colours.items():
        yield f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 17}" y="{top + 10}">{html.escape(_cut(label, 30))}</text>'
        left += 40 + 7 * len(_cut(label, 30))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _panel(
    metric: str, groups: Mapping[str, Sequence[EvalRun]], colours: Mapping[str, str], height: int
) -> Iterator[str]:
    yield (
        f'<text x="{_LABELS}" y="20" font-weight="600">{title(metric)}, mean over queries with 95 % bootstrap '
        "interval</text>"
    )
    for tenth in range(0, 11, 2):
        x = _LABELS + _PLOT * tenth / 10
        yield f'<line x1="{x:.0f}" y1="30" x2="{x:.0f}" y2="{height - 24}" stroke="#ddd"/>'
        yield f'<text x="{x:.0f}" y="{height - 10}" text-anchor="middle" fill="#666">{tenth / 10:.1f}</text>'
    top = _HEAD - 6
    for data_set, runs in groups.items():
        middle = top + len(runs) * _BAR / 2 + 4
        name = f"{_cut(data_set, 22)} ({max(run.query_count for run in runs):,})"
        yield f'<text x="{_LABELS - 10}" y="{middle:.0f}" text-anchor="end">{html.escape(name)}</text>'
        for number, run in enumerate(runs):
            yield from _bar(run, metric, colours[_label(run)], top + number * _BAR)
        top += len(runs) * _BAR + _GAP


def _bar(run: EvalRun, metric: str, colour: str, top: float) -> Iterator[str]:
    """The bar, and its interval as a whisker."""
    value = run.metrics[metric]
    mean, low, high = (_LABELS + _PLOT * number for number in (value.mean, value.low, value.high))
    middle, thick = top + (_BAR - 3) / 2, _BAR - 3
    yield f"<g><title>{html.escape(_sentence(run))}</title>"
    yield f'<rect x="{_LABELS}" y="{top:.1f}" width="{mean - _LABELS:.1f}" height="{thick}" fill="{colour}"/>'
    yield (
        f'<path d="M{low:.1f} {middle:.1f}H{high:.1f}M{low:.1f} {middle - 4:.1f}v8M{high:.1f} {middle - 4:.1f}v8" '
        'stroke="#222" fill="none"/>'
    )
    yield f'<text x="{_LABELS + _PLOT + 12}" y="{middle + 4:.1f}">{value.mean:.3f} ({_range(run, metric)})</text></g>'
