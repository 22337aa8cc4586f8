"""Charts of evaluations as SVG, and HTML pages with them that need nothing else: retrieval, routing, groundedness. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from cairn.domain.evaluation import EvalRun
from cairn.domain.plan import Intent
from cairn.evals.report import HEADLINE, title
from cairn.evals.routing import RoutingReport

COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Okabe and Ito's, which colour-blind readers can tell apart."""


def _draw(width: int, height: int, said: str, parts: Iterable[str]) -> str:
    """A self-contained SVG; `said` is what a screen reader reads."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="12" fill="#222">',
        f"<title>{html.escape(said)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    return "\n".join([*head, *parts, "</svg>\n"])


def _page(name: str, heading: str, chart: str, tables: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{name}</title>\n'
        "<style>body{font-family:system-ui,sans-serif;margin:2rem}table{border-collapse:collapse;margin-top:1rem}"
        "td,th{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:left}</style>\n"
        f"<h1>{heading}</h1>\n{chart}{tables}</html>\n"
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """Cells are HTML."""
    lines = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    top = "".join(f"<th>{cell}</th>" for cell in head)
    return f"<table>{f'<caption>{caption}</caption>' if caption else ''}<tr>{top}</tr>\n{lines}\n</table>"


def _key(left: float, top: float, colour: str, text: str) -> Iterator[str]:
    """An entry of a legend."""
    yield f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colour}"/>'
    yield f'<text x="{left + 17}" y="{top + 10}">{html.escape(text)}</text>'


def _moved(x: float, y: float, parts: Iterable[str]) -> Iterator[str]:
    yield f'<g transform="translate({x} {y})">'
    yield from parts
    yield "</g>"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


# --- retrieval: bars with intervals -----------------------------------------------------------------------------------

CHARTED: Final = ("ndcg@10", "recall@100")
_LABELS, _PLOT, _VALUES, _BAR, _GAP, _HEAD = 210, 420, 150, 18, 10, 44


def draw_retrieval(runs: Sequence[EvalRun]) -> str:
    """A panel per metric, a group of bars per data set, a bar with its interval per run."""
    groups: dict[str, list[EvalRun]] = {}
    for run in runs:
        groups.setdefault(run.data_set, []).append(run)
    labels = list(dict.fromkeys(map(_label, runs)))
    colours = {label: COLOURS[number % len(COLOURS)] for number, label in enumerate(labels)}
    panel = _HEAD + sum(len(group) * _BAR + _GAP for group in groups.values()) + 24
    height = panel * len(CHARTED) + 34
    parts = list(_run_legend(colours, height - 20))
    for number, metric in enumerate(CHARTED):
        parts += _moved(0, panel * number, _metric_panel(metric, groups, colours, panel))
    return _draw(_LABELS + _PLOT + _VALUES, height, "; ".join(map(_sentence, runs)), parts)


def retrieval_page(runs: Sequence[EvalRun]) -> str:
    """The chart and the figures as an HTML page."""
    head = ["Data set", "Run", "Queries", *map(title, HEADLINE), "Median ms", "Id"]
    rows = (
        [
            html.escape(run.data_set),
            html.escape(_label(run)),
            str(run.query_count),
            *(f"{run.metrics[metric].mean:.3f}<br><small>{_range(run, metric)}</small>" for metric in HEADLINE),
            f"{run.timings_ms['p50']:.1f}",
            f"<small>{run.id}</small>",
        ]
        for run in runs
    )
    return _page("Retrieval evaluation", "Retrieval evaluation", draw_retrieval(runs), _table(head, rows))


def _label(run: EvalRun) -> str:
    return f"{run.name} ({run.mode})" if run.name else run.mode


def _sentence(run: EvalRun) -> str:
    measured = ", ".join(f"{title(name)} {run.metrics[name].mean:.3f} ({_range(run, name)})" for name in CHARTED)
    return f"{run.data_set}, {_label(run)}: {measured}"


def _range(run: EvalRun, metric: str) -> str:
    value = run.metrics[metric]
    return f"{value.low:.3f}–{value.high:.3f}"


def _run_legend(colours: Mapping[str, str], top: int) -> Iterator[str]:
    left = _LABELS
    for label, colour in colours.items():
        short = _cut(label, 30)
        yield from _key(left, top, colour, short)
        left += 40 + 7 * len(short)


def _metric_panel(
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
            yield from _run_bar(run, metric, colours[_label(run)], top + number * _BAR)
        top += len(runs) * _BAR + _GAP


def _run_bar(run: EvalRun, metric: str, colour: str, top: float) -> Iterator[str]:
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


# --- routing: shares --------------------------------------------------------------------------------------------------

_SHARES: Final = (220, 460, 90, 16, 6, 34)
"""Widths of labels, plot and counts; height of a bar, of a gap and of the head."""
_GREY: Final = "#bbbbbb"
_INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
_SHADES: Final[Mapping[str, str]] = {
    "question": _GREY, "command": "#888888", "greeting": COLOURS[4], "gratitude": COLOURS[2], "garbage": "#222222",
    "off_topic": COLOURS[5], "clarify_needed": COLOURS[3], "followup": COLOURS[0], "simplify": COLOURS[1], "deepen": "#f0e442",
}  # fmt: skip
"""Grey is retrieved, colours are not."""


def draw_routing(reports: Sequence[RoutingReport]) -> str:
    """A bar per label, divided by what its messages were taken for."""
    labels, plot, counts, bar, gap, head = _SHARES
    said = "; ".join(f"{report.name}: {len(report.routed)} messages by intent" for report in reports)
    top, parts = 0, list[str]()
    for report in reports:
        parts += _moved(0, top, _share_panel(report))
        top += head + len(report.labels) * (bar + gap) + 12
    for number, intent in enumerate(_INTENTS):
        parts += _key(20 + (number % 5) * 150, top + 6 + (number // 5) * 20, _SHADES[intent], intent)
    return _draw(labels + plot + counts, top + 50, said, parts)


def routing_page(reports: Sequence[RoutingReport]) -> str:
    """The chart and the counts as an HTML page."""
    tables = "\n".join(_counts(report) for report in reports)
    return _page("Routing evaluation", "Routing evaluation", draw_routing(reports), tables)


def _counts(report: RoutingReport) -> str:
    rows = (
        [html.escape(label), *(str(row.get(intent, 0)) for intent in _INTENTS)] for label, row in _by_intent(report)
    )
    return _table(["Label", *_INTENTS], rows, html.escape(report.name))


def _by_intent(report: RoutingReport) -> Iterable[tuple[str, Mapping[str, int]]]:
    return report.table(lambda one: one.intent.intent).items()


def _share_panel(report: RoutingReport) -> Iterator[str]:
    labels, plot, _, bar, gap, top = _SHARES
    yield f'<text x="{labels}" y="20" font-weight="600">{html.escape(report.name)}: share of messages by intent</text>'
    for label, row in _by_intent(report):
        yield f'<text x="{labels - 10}" y="{top + 12}" text-anchor="end">{html.escape(label[:32])}</text>'
        yield from _share_bar(label, row, top)
        yield f'<text x="{labels + plot + 10}" y="{top + 12}" fill="#666">{sum(row.values()):,}</text>'
        top += bar + gap


def _share_bar(label: str, row: Mapping[str, int], top: int) -> Iterator[str]:
    labels, plot, _, bar, *_ = _SHARES
    total, left = sum(row.values()), float(labels)
    for intent in _INTENTS:
        if number := row.get(intent, 0):
            wide = plot * number / total
            yield (
                f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{bar}" fill="{_SHADES[intent]}">'
                f"<title>{html.escape(label)}: {intent} {number} of {total}</title></rect>"
            )
            left += wide


# --- groundedness: ROC curves -----------------------------------------------------------------------------------------

_SIDE: Final = 300
_PAD: Final = 50
_METHODS: Final = {"overlap": "#999999", "fast": "#d07a1f", "detector": "#1f5fa8"}
"""Told apart by lightness as well."""


def draw_groundedness(measured: Sequence[Mapping[str, Any]]) -> str:
    """A panel for each data set; each curve has its area in the legend."""
    parts = list[str]()
    for number, one in enumerate(measured):
        parts += _moved(_PAD + number * (_SIDE + 2 * _PAD), _PAD, _roc_panel(one))
    said = " ".join(map(_areas, measured))
    return _draw(len(measured) * (_SIDE + 2 * _PAD), _SIDE + 3 * _PAD, said, parts)


def groundedness_page(measured: Sequence[Mapping[str, Any]]) -> str:
    """The chart and the figures as an HTML page."""
    rows = (
        [
            html.escape(one["set"]),
            str(one["responses"]),
            *(f"{a['auc']:.3f} ({a['low']:.3f}–{a['high']:.3f})" for a in one["auc"].values()),
        ]
        for one in measured
    )
    heading = "Groundedness: area under the ROC curve"
    tables = _table(["Data set", "Responses", *_METHODS], rows)
    return _page("Groundedness", heading, draw_groundedness(measured), tables)


def _areas(one: Mapping[str, Any]) -> str:
    areas = ", ".join(f"{name} {value['auc']:.3f}" for name, value in one["auc"].items())
    return f"{one['set']}: {areas}."


def _roc_panel(one: Mapping[str, Any]) -> Iterator[str]:
    yield f'<text x="0" y="-12" font-weight="600">{html.escape(one["set"])} ({one["responses"]:,})</text>'
    yield f'<rect width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#bbb"/>'
    yield f'<path d="M0 {_SIDE}L{_SIDE} 0" stroke="#ddd"/>'
    for tenth in (0, 0.5, 1):
        yield f'<text x="{tenth * _SIDE:.0f}" y="{_SIDE + 16}" text-anchor="middle" fill="#666">{tenth:g}</text>'
        yield f'<text x="-8" y="{_SIDE - tenth * _SIDE + 4:.0f}" text-anchor="end" fill="#666">{tenth:g}</text>'
    yield f'<text x="{_SIDE / 2}" y="{_SIDE + 34}" text-anchor="middle" fill="#666">false positive rate</text>'
    for row, (method, colour) in enumerate(_METHODS.items()):
        line = "L".join(f"{x * _SIDE:.1f} {_SIDE - y * _SIDE:.1f}" for x, y in one["roc"][method])
        yield f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        area, at = one["auc"][method], _SIDE - 14 - 18 * (len(_METHODS) - 1 - row)
        yield f'<rect x="{_SIDE - 190}" y="{at - 9}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{_SIDE - 175}" y="{at}">{method} {area["auc"]:.3f} ({area["low"]:.3f}–{area["high"]:.3f})</text>'
