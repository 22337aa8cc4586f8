"""Evaluation on the terminal: tables of runs, comparisons and fusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from app.commands.terminal import STDOUT, count, note, say
from app.domain.evaluation import Estimate, EvalRun
from app.evals.metrics import Comparison
from app.evals.optimize import Grid, SearchReport
from app.evals.report import HEADLINE, Versus, title

SHORT_ID = 12
"""Last characters of a run's id that are shown: random, so they tell runs apart."""


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=True, justify="left" if number < 2 else "right")
    return table


def _queries(number: int) -> str:
    return f"{number:,} common {'query' if number == 1 else 'queries'}"


def _print(table: Table) -> None:
    """At full width also where stdout is no terminal: nothing is cut off."""
    STDOUT.print(table, width=max(STDOUT.width, STDOUT.measure(table).maximum), crop=False)


def _two_lines(value: Estimate, form: str = ".3f") -> str:
    return f"{value.mean:{form}}\n[{value.low:{form}}, {value.high:{form}}]"


def runs(found: Sequence[EvalRun]) -> None:
    """One row per run: means with their intervals."""
    table = _table("data set", "mode", "queries", *map(title, HEADLINE), "median ms", "run")
    for run in found:
        named = f"{run.data_set}\n{run.name}" if run.name else run.data_set
        figures = [_two_lines(run.metrics[metric]) for metric in HEADLINE]
        table.add_row(named, run.mode, f"{run.query_count:,}", *figures, f"{run.timings_ms['p50']:.1f}",
                      str(run.id)[-SHORT_ID:])  # fmt: skip
    _print(table)
    say("Means over queries with 95 % bootstrap intervals.", style="dim")


def versus(result: Versus) -> None:
    """Two runs query by query, and what they were made with."""
    for label, run in (("A", result.first), ("B", result.second)):
        named = f" {run.name!r}" if run.name else ""
        say(f"{label}: {run.id}{named}, {run.data_set}, {run.mode}, {run.started_at:%Y-%m-%d %H:%M}")
    table = _table("metric", "A", "B", "B - A", "95 % interval", "B better", "worse", "equal")
    for metric in HEADLINE:
        found = result.metrics[metric]
        value = found.difference
        means = (result.first.metrics[metric].mean, result.second.metrics[metric].mean)
        table.add_row(title(metric), *(f"{mean:.3f}" for mean in means), f"{value.mean:+.4f}",
                      f"[{value.low:+.4f}, {value.high:+.4f}]", *map(str, (found.wins, found.losses, found.ties)))  # fmt: skip
    _print(table)
    say(f"Over {_queries(result.queries)}. {_verdict(result.metrics['ndcg@10'])}")
    for name, (before, after) in result.changed.items():
        say(f"  differs: {name}: {before} -> {after}", style="dim")
    if not result.same_data:
        note("warning: queries or judgements of the two runs are not the same; the columns A and B cover all of each")


def _verdict(found: Comparison) -> str:
    if not found.clear:
        return "On nDCG@10 no clear difference: the interval holds 0."
    return f"On nDCG@10 {'B' if found.difference.mean > 0 else 'A'} is better: the interval leaves out 0."


def reports(measured: Mapping[str, SearchReport]) -> None:
    """What search costs and yields on each data set (A16.03)."""
    table = _table("data set", "queries", "nDCG@10", "median ms", "p95 ms", "reranking: nDCG@10", "adds ms")
    for name, found in measured.items():
        impact = found.reranking
        gain = impact.ndcg.difference if impact and impact.ndcg else None
        table.add_row(name, f"{found.queries:,}", _two_lines(found.relevance), f"{found.timings_ms['p50']:.1f}",
                      f"{found.timings_ms['p95']:.1f}", _two_lines(gain, "+.3f") if gain else "no reranker",
                      f"{impact.added_ms:+.1f}" if impact else "")  # fmt: skip
    _print(table)


def grid(found: Grid, sets: int) -> None:
    """Every fusion that was tried, best first."""
    say()
    table = _table("fusion", "vector share", "nDCG@10", "95 % interval", "against now", "95 % interval", "")
    for item in found.candidates:
        marks = [word for word, other in (("now", found.current), ("recommended", found.recommended)) if other is item]
        table.add_row(item.fusion, f"{item.vector_share:g}", f"{item.ndcg.mean:.4f}",
                      f"[{item.ndcg.low:.3f}, {item.ndcg.high:.3f}]", f"{item.versus_current.mean:+.4f}",
                      f"[{item.versus_current.low:+.4f}, {item.versus_current.high:+.4f}]", ", ".join(marks))  # fmt: skip
    _print(table)
    best = found.recommended
    if best is found.current:
        say(f"Keep the present fusion: over {count(sets, 'data set')} nothing is better beyond the noise.")
    else:
        say(f"Recommended: retrieve.fusion {best.fusion}, rag.hybridSearchWeight {best.vector_share:g}.")
