"""Evaluation on the terminal: tables of runs, comparisons and fusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table

from cairn.domain.evaluation import Estimate, EvalRun
from cairn.evals.agents import AgentsRun
from cairn.evals.answers import shown
from cairn.evals.calibrate import CalibrationReport
from cairn.evals.metrics import Comparison
from cairn.evals.optimize import FusionGrid, SearchReport
from cairn.evals.replay import ReplayReport, Tried
from cairn.evals.report import HEADLINE, RunComparison, title
from cairn.interfaces.cli.terminal import count, note, printable, say

SHORT_ID = 12
"""Last characters of a run's id that are shown: random, so they tell runs apart."""
WIDEST = 400
"""Characters; more than any table here needs."""


def new_table(*columns: str, words: int = 2) -> Table:
    """The first columns hold words, the others figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=True, justify="left" if number < words else "right")
    return table


def _queries(number: int) -> str:
    return f"{number:,} common {'query' if number == 1 else 'queries'}"


def print_table(table: Table) -> None:
    """As wide as it needs to be, also where the terminal is narrow or there is none: nothing is cut off."""
    page = Console(file=StringIO(), width=WIDEST, markup=False, highlight=False, color_system=None)
    with page.capture() as captured:
        page.print(table)
    say("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _short(value: float, form: str = ".3f") -> str:
    """`.974`; a nought before the point says nothing."""
    return f"{value:{form}}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:{form}}"


def _two_lines(value: Estimate, form: str = ".3f") -> str:
    """The mean, below it the interval."""
    return f"{_short(value.mean, form)}\n{_short(value.low, form)}–{_short(value.high, form)}"


def runs(found: Sequence[EvalRun]) -> None:
    """One row per run: means, below them their intervals."""
    table = new_table("data set\nrun", "mode\nqueries", *map(title, HEADLINE), "ms\np50")
    for run in found:
        named = f"{run.data_set} ({run.name})" if run.name else run.data_set
        figures = [_two_lines(run.metrics[metric]) for metric in HEADLINE]
        table.add_row(f"{printable(named)}\n{str(run.id)[-SHORT_ID:]}", f"{run.mode}\n{run.query_count:,}", *figures,
                      f"{run.timings_ms['p50']:.1f}")  # fmt: skip
    print_table(table)
    say("Means over queries, below them their 95 % bootstrap intervals.", style="dim")


def agents(measured: Sequence[AgentsRun]) -> None:
    """Answers, then how often the strategy corrected itself."""
    names = shown([name for one in measured for name in one.run.metrics])
    table = new_table("data set\nrun", "strategy\nquestions", *map(title, names), "ms\np50", "tokens")
    for one in measured:
        run = one.run
        figures = [_two_lines(run.metrics[name]) if name in run.metrics else "" for name in names]
        used = run.parameters["usage"]
        spent = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        table.add_row(f"{printable(run.data_set)}\n{str(run.id)[-SHORT_ID:]}", f"{run.mode}\n{run.query_count:,}",
                      *figures, f"{run.timings_ms['p50']:.0f}", f"{spent:,.0f}")  # fmt: skip
    print_table(table)
    rated = [one for one in measured if one.rates]
    if rated:
        say()
        rates = list(dict.fromkeys(name for one in rated for name in one.rates if name != "runs"))
        table = new_table("data set", "runs", *(name.replace("_", " ").replace("avg ", "") for name in rates))
        for one in rated:
            values = [one.rates.get(name) for name in rates]
            shares = ["" if value is None else _short(value, ".2f") for value in values]
            table.add_row(printable(one.run.data_set), f"{one.rates['runs']:,.0f}", *shares)
        print_table(table)
    say("Means over questions, below them their 95 % bootstrap intervals; rates out of the traces.", style="dim")


def quotations(measured: Sequence[AgentsRun]) -> None:
    """What came of the questions whose answers are known, whole and by group."""
    rows = [(one, group, found) for one in measured for group, found in one.figures.items()]
    if not rows:
        return
    table = new_table(
        "data set", "questions", "n", "quoted", "in answer", "characters", "refused: wrongly", "rightly", "AUC", "ECE"
    )
    for one, group, found in rows:
        shares = [_known(value) for value in (found.quoted, found.answer_in)]
        rates = [
            _known(value)
            for value in (found.wrongly_refused, found.rightly_refused, found.auc, found.calibration_error)
        ]
        length = "" if found.length is None else f"{found.length:.0f}"
        table.add_row(
            printable(one.run.data_set), printable(group) or "all", f"{found.questions:,}", *shares, length, *rates
        )
    print_table(table)


def calibration(collection: str, found: CalibrationReport, *, kept: bool) -> None:
    """What fitting the confidence of a collection does to questions that it was not fitted to."""
    table = new_table("confidence", "AUC", "ECE", words=1)
    for name, figures in (("as shipped", found.before), ("fitted, on held-out folds", found.after)):
        table.add_row(name, _known(figures.auc), _short(figures.error))
    print_table(table)
    say(
        f"{count(found.questions, 'question')}, {found.answerable:,} of them answered by the documents, "
        f"{found.right:,} by the first quotation."
    )
    if kept:
        say(f"Kept: {collection} answers with it from now on; --reset goes back.")
    elif not found.helps:
        say("Not kept: on questions that it was not fitted to it is no better than what is shipped.")


def _known(value: float | None) -> str:
    return "" if value is None else _short(value)


def versus(result: RunComparison) -> None:
    """Two runs query by query, and what they were made with."""
    for label, run in (("A", result.first), ("B", result.second)):
        named = f" {run.name!r}" if run.name else ""
        say(f"{label}: {run.id}{named}, {run.data_set}, {run.mode}, {run.started_at:%Y-%m-%d %H:%M}")
    table = new_table("metric", "A", "B", "B - A", "95 % interval", "B better", "worse", "equal")
    for metric in (*HEADLINE, *shown(list(result.metrics))):
        found = result.metrics[metric]
        value = found.difference
        means = (result.first.metrics[metric].mean, result.second.metrics[metric].mean)
        table.add_row(title(metric), *(f"{mean:.3f}" for mean in means), f"{value.mean:+.4f}",
                      f"[{value.low:+.4f}, {value.high:+.4f}]", *map(str, (found.wins, found.losses, found.ties)))  # fmt: skip
    print_table(table)
    say(f"Over {_queries(result.queries)}. {_verdict(result.metrics['ndcg@10'])}")
    for name, (before, after) in result.changed.items():
        say(f"  differs: {name}: {before} -> {after}", style="dim")
    if not result.same_data:
        note("warning: queries or judgements of the two runs are not the same; the columns A and B cover all of each")


def _verdict(found: Comparison) -> str:
    if not found.clear:
        return "On nDCG@10 no clear difference: the interval holds 0."
    return f"On nDCG@10 {'B' if found.difference.mean > 0 else 'A'} is better: the interval leaves out 0."


def _difference(found: Comparison) -> str:
    value = found.difference
    return f"{value.mean:+.3f}\n[{value.low:+.3f}, {value.high:+.3f}]"


def reports(measured: Mapping[str, SearchReport]) -> None:
    """What search costs and yields on each data set."""
    table = new_table("data set", "queries", "nDCG@10", "median ms", "p95 ms", "reranking: nDCG@10", "adds ms")
    for name, found in measured.items():
        impact = found.reranking
        gain = _difference(impact.ndcg) if impact and impact.ndcg else "no reranker"
        table.add_row(name, f"{found.queries:,}", _two_lines(found.relevance), f"{found.timings_ms['p50']:.1f}",
                      f"{found.timings_ms['p95']:.1f}", gain,
                      f"{impact.added_ms:+.1f}" if impact else "")  # fmt: skip
    print_table(table)


def grid(found: FusionGrid, sets: int) -> None:
    """Every fusion that was tried, best first."""
    say()
    table = new_table("fusion", "vector share", "nDCG@10", "95 % interval", "against now", "95 % interval", "")
    for item in found.candidates:
        marks = [word for word, other in (("now", found.current), ("recommended", found.recommended)) if other is item]
        table.add_row(item.fusion, f"{item.vector_share:g}", f"{item.ndcg.mean:.4f}",
                      f"[{item.ndcg.low:.3f}, {item.ndcg.high:.3f}]", f"{item.versus_current.mean:+.4f}",
                      f"[{item.versus_current.low:+.4f}, {item.versus_current.high:+.4f}]", ", ".join(marks))  # fmt: skip
    print_table(table)
    best = found.recommended
    if best is found.current:
        say(f"Keep the present fusion: over {count(sets, 'data set')} nothing is better beyond the noise.")
    else:
        say(f"Recommended: retrieve.fusion {best.fusion}, rag.hybridSearchWeight {best.vector_share:g}.")
        say(
            "What users said of answers judges it: cairn eval replay "
            f"--set retrieve.fusion={best.fusion} --set rag.hybridSearchWeight={best.vector_share:g}",
            style="dim",
        )


def replayed(found: ReplayReport, *, written: bool) -> None:
    """What other settings do to questions that users judged."""
    under = ", ".join(f"{name} ({number:,})" for name, number in found.rated_under.items())
    say(
        f"{count(found.questions, 'judged question')}, {found.rated_up:,} rated up, asked again; settings in force: "
        f"{found.revision}; rated under: {under}."
    )
    for why, number in found.left_out.items():
        say(f"Left out: {count(number, 'run')} {why}.")
    table = new_table("changed", "settings", "helpful", "95 % interval", "better", "worse", "rated up", "cited", "")
    rows = [(one, "chosen" if one.changes == found.chosen.changes else "") for one in found.tried]
    for one, mark in [*rows, (found.chosen, "on held-out questions")] if found.held_out else rows[:1]:
        table.add_row(printable(_changes(one)), one.revision, *_replayed(one.helpful), _signed(one.kept),
                      _signed(one.cited), mark)  # fmt: skip
    print_table(table)
    say()
    if found.groups:
        table = new_table("by", "", "questions", "helpful", "95 % interval", "better", "worse")
        for name, values in found.groups.items():
            for value, against in values.items():
                asked = against.wins + against.losses + against.ties
                table.add_row(name.replace("query_", ""), printable(value), f"{asked:,}", *_replayed(against))
        print_table(table)
    say(_replay_verdict(found, written=written))


def _replay_verdict(found: ReplayReport, *, written: bool) -> str:
    changes = _changes(found.chosen)
    if written:
        return f"Written: {changes}."
    if found.chosen.better:
        return f"Better: {changes}. --write puts it into the settings file."
    if found.chosen.helpful.difference.high < 0:
        return f"Worse: {changes}. Nothing was written."
    if found.chosen.helpful.clear:
        return f"Not better: {changes} finds less of what was rated up. Nothing was written."
    more = f" About {found.needed:,} judged questions would tell a difference of this size." if found.needed else ""
    return f"No clear difference: the interval holds 0. Nothing was written.{more}"


def _changes(one: Tried) -> str:
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in one.changes.items()
    )


def _replayed(found: Comparison) -> tuple[str, str, str, str]:
    value = found.difference
    return f"{value.mean:+.4f}", f"[{value.low:+.4f}, {value.high:+.4f}]", f"{found.wins:,}", f"{found.losses:,}"


def _signed(found: Comparison | None) -> str:
    return "" if found is None else f"{found.difference.mean:+.4f}"


def measured_groundedness(measured: Sequence[Mapping[str, Any]]) -> None:
    """Areas under the ROC curve with their 95 % intervals, and what the check decided."""
    table = new_table("Set", "Responses", "Overlap", "Fast", "Detector", "Median ms", words=1)
    for one in measured:
        areas = [_two_lines(Estimate(a["auc"], a["low"], a["high"])) for a in one["auc"].values()]
        responses = f"{one['responses']:,}\n{one['grounded']:,} grounded"
        table.add_row(printable(one["set"]), responses, *areas, f"{one['milliseconds']['p50']:.1f}")
    print_table(table)
    say()
    table = new_table("Set", "Detector", "Right", "False alarms", "Missed", "Accuracy")
    for one in measured:
        for name, counts in (("verdict", one["verdict"]), *((f"from {t}", c) for t, c in one["at"].items())):
            right = counts["true_positive"] + counts["true_negative"]
            # what the check lets through that is not grounded is what it missed
            table.add_row(
                printable(one["set"]), name, f"{right:,}", f"{counts['false_negative']:,}",
                f"{counts['false_positive']:,}", _short(right / one["responses"]),
            )  # fmt: skip
    print_table(table)
