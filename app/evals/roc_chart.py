"""ROC curves as SVG and HTML, a panel for each data set. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_SIDE: Final = 300
_PAD: Final = 50
_COLOURS: Final = {"overlap": "#999999", "fast": "#d07a1f", "detector": "#1f5fa8"}
"""Told apart by lightness as well."""


def chart(measured: Sequence[Mapping[str, Any]]) -> str:
    """One panel after the other; each curve has its area in the legend."""
    width, height = len(measured) * (_SIDE + 2 * _PAD), _SIDE + 3 * _PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="12" fill="#222">',
        f"<title>{html.escape(' '.join(_said(one) for one in measured))}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, one in enumerate(measured):
        left = _PAD + number * (_SIDE + 2 * _PAD)
        parts += [f'<g transform="translate({left} {_PAD})">', *_panel(one), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def page(measured: Sequence[Mapping[str, Any]]) -> str:
    """The chart and the figures as an HTML page that needs nothing else."""
    rows = "\n".join(
        f"<tr><td>{html.escape(one['set'])}</td><td>{one['responses']}</td>"
        + "".join(f"<td>{a['auc']:.3f} ({a['low']:.3f}–{a['high']:.3f})</td>" for a in one["auc"].values())
        + "</tr>"
        for one in measured
    )
    head = "".join(f"<th>{name}</th>" for name in _COLOURS)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Groundedness</title>\n'
        "<style>body{font-family:system-ui,sans-serif;margin:2rem}td,th{padding:.3rem .7rem;text-align:left}</style>\n"
        f"<h1>Groundedness: area under the ROC curve</h1>\n{chart(measured)}"
        f"<table><tr><th>Data set</th><th>Responses</th>{head}</tr>\n{rows}\n</table></html>\n"
    )


def _said(one: Mapping[str, Any]) -> str:
    areas = ", ".join(f"{name} {value['auc']:.3f}" for name, value in one["auc"].items())
    return f"{one['set']}: {areas}."


def _panel(one: Mapping[str, Any]) -> Iterator[str]:
    yield f'<text x="0" y="-12" font-weight="600">{html.escape(one["set"])} ({one["responses"]:,})</text>'
    yield f'<rect width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#bbb"/>'
    yield f'<path d="M0 {_SIDE}L{_SIDE} 0" stroke="#ddd"/>'
    for tenth in (0, 0.5, 1):
        yield f'<text x="{tenth * _SIDE:.0f}" y="{_SIDE + 16}" text-anchor="middle" fill="#666">{tenth:g}</text>'
        yield f'<text x="-8" y="{_SIDE - tenth * _SIDE + 4:.0f}" text-anchor="end" fill="#666">{tenth:g}</text>'
    yield f'<text x="{_SIDE / 2}" y="{_SIDE + 34}" text-anchor="middle" fill="#666">false positive rate</text>'
    for row, (method, colour) in enumerate(_COLOURS.items()):
        line = "L".join(f"{x * _SIDE:.1f} {_SIDE - y * _SIDE:.1f}" for x, y in one["roc"][method])
        yield f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        area, at = one["auc"][method], _SIDE - 14 - 18 * (len(_COLOURS) - 1 - row)
        yield f'<rect x="{_SIDE - 190}" y="{at - 9}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{_SIDE - 175}" y="{at}">{method} {area["auc"]:.3f} ({area["low"]:.3f}–{area["high"]:.3f})</text>'
