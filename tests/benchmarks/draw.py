"""The curve of bench_growth.py as a picture: milliseconds over chunks, both logarithmic, in plain SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 400, 60, 50, 30, 110
COLOURS = {"hybrid": "#1b6ca8", "vector": "#d1495b", "lexical": "#3a7d44"}


def draw_growth(steps: Mapping[int, Mapping[str, Mapping[str, float]]], target: Path) -> None:
    """`steps`: size to leg to {p50_ms, p95_ms}. p95 is dashed."""
    values = [leg[which] for step in steps.values() for leg in step.values() for which in ("p50_ms", "p95_ms")]
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))
    least, most = min(steps), max(steps)

    def place(size: float, ms: float) -> tuple[float, float]:
        across = math.log(size / least) / math.log(most / least) if most > least else 0.5
        up = math.log(ms / low) / math.log(high / low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    parts = [
        _text(WIDTH / 2, HEIGHT - 10, "chunks in the collection"),
        _text(LEFT, 18, "ms (p50, dashed: p95)", "start"),
    ]
    for ms in _ticks(low, high):
        y = place(least, ms)[1]
        parts += [_line([(LEFT, y), (WIDTH - RIGHT, y)], "#ddd"), _text(LEFT - 6, y + 4, f"{ms:g}", "end")]
    for size in steps:
        x = place(size, low)[0]
        parts += [_line([(x, HEIGHT - BOTTOM), (x, TOP)], "#eee"), _text(x, HEIGHT - BOTTOM + 18, f"{size:,}")]
    for leg, colour in COLOURS.items():
        for which, dashes in (("p50_ms", ""), ("p95_ms", "5 4")):
            points = [place(size, step[leg][which]) for size, step in sorted(steps.items())]
            parts.append(_line(points, colour, dashes, 2))
            if not dashes:
                parts.append(_text(points[-1][0] + 8, points[-1][1] + 4, leg, "start", colour))
    body = "\n".join(parts)
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n', encoding="utf-8"
    )  # fmt: skip


def _ticks(low: float, high: float) -> list[float]:
    decades = range(round(math.log10(low)), round(math.log10(high)) + 1)
    return [tick for decade in decades for step in (1, 2, 5) if low <= (tick := step * 10.0**decade) <= high]


def _line(points: Sequence[tuple[float, float]], colour: str, dashes: str = "", width: int = 1) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
