"""Routing as a chart: what became of the messages of each label, in shares. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

from app.domain.plan import Intent
from app.evals.report import COLOURS
from app.evals.routing import RoutingReport

_LABELS, _PLOT, _COUNTS, _BAR, _GAP, _HEAD = 220, 460, 90, 16, 6, 34
_GREY: Final = "#bbbbbb"
_INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
_SHADES: Final[Mapping[str, str]] = {
    "question": _GREY, "command": "#888888", "greeting": COLOURS[4], "gratitude": COLOURS[2], "garbage": "#222222",
    "off_topic": COLOURS[5], "clarify_needed": COLOURS[3], "followup": COLOURS[0], "simplify": COLOURS[1], "deepen": "#f0e442",
}  # fmt: skip
"""Grey is retrieved, colours are not."""


def chart(reports: Sequence[RoutingReport]) -> str:
    """A self-contained SVG: a bar per label, divided by intent."""
    heights = [_HEAD + len(report.labels) * (_BAR + _GAP) + 12 for report in reports]
    width, height = _LABELS + _PLOT + _COUNTS, sum(heights) + 50
    said = html.escape("; ".join(f"{report.name}: {len(report.routed)} messages by intent" for report in reports))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="12" fill="#222">',
        f"<title>{said}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    top = 0
    for report, tall in zip(reports, heights, strict=True):
        parts += [f'<g transform="translate(0 {top})">', *_panel(report), "</g>"]
        top += tall
    return "\n".join([*parts, *_legend(top + 6), "</svg>\n"])


def page(reports: Sequence[RoutingReport]) -> str:
    """The chart and the counts as an HTML page that needs nothing else."""
    tables = "\n".join(_table(report) for report in reports)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Routing evaluation</title>\n'
        "<style>body{font-family:system-ui,sans-serif;margin:2rem}table{border-collapse:collapse;margin-top:1rem}"
        "td,th{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:left}</style>\n"
        f"<h1>Routing evaluation</h1>\n{chart(reports)}\n{tables}</html>\n"
    )


def _table(report: RoutingReport) -> str:
    head = "".join(f"<th>{intent}</th>" for intent in _INTENTS)
    rows = "\n".join(
        f"<tr><td>{html.escape(label)}</td>{''.join(f'<td>{row.get(intent, 0)}</td>' for intent in _INTENTS)}</tr>"
        for label, row in report.table(lambda one: one.intent.intent).items()
    )
    return f"<table><caption>{html.escape(report.name)}</caption><tr><th>Label</th>{head}</tr>\n{rows}\n</table>"


def _panel(report: RoutingReport) -> Iterator[str]:
    yield f'<text x="{_LABELS}" y="20" font-weight="600">{html.escape(report.name)}: share of messages by intent</text>'
    top = _HEAD
    for label, row in report.table(lambda one: one.intent.intent).items():
        yield f'<text x="{_LABELS - 10}" y="{top + 12}" text-anchor="end">{html.escape(label[:32])}</text>'
        yield from _bar(label, row, top)
        yield f'<text x="{_LABELS + _PLOT + 10}" y="{top + 12}" fill="#666">{sum(row.values()):,}</text>'
        top += _BAR + _GAP


def _bar(label: str, row: Mapping[str, int], top: int) -> Iterator[str]:
    total, left = sum(row.values()), float(_LABELS)
    for intent in _INTENTS:
        if number := row.get(intent, 0):
            wide = _PLOT * number / total
            yield (
                f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{_BAR}" fill="{_SHADES[intent]}">'
                f"<title>{html.escape(label)}: {intent} {number} of {total}</title></rect>"
            )
            left += wide


def _legend(top: int) -> Iterator[str]:
    for number, intent in enumerate(_INTENTS):
        left, down = 20 + (number % 5) * 150, top + (number // 5) * 20
        yield f'<rect x="{left}" y="{down}" width="12" height="12" fill="{_SHADES[intent]}"/>'
        yield f'<text x="{left + 17}" y="{down + 10}">{intent}</text>'
