"""The design of the page: its colours, sizes and spaces by name, and the style sheet that uses them (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

COLORS: Final[Mapping[str, tuple[str, str]]] = {
    "ground": ("#faf8f4", "#171613"),
    "surface": ("#ffffff", "#211f1b"),
    "sunken": ("#f1ede5", "#2b2924"),
    "line": ("#e0dacf", "#3b3831"),
    "edge": ("#857f73", "#8a8476"),
    "ink": ("#24211c", "#ece8df"),
    "muted": ("#5e594f", "#b0aa9c"),
    "accent": ("#17695d", "#74c9b7"),
    "on-accent": ("#ffffff", "#08231e"),
    "accent-soft": ("#dcece8", "#1d3a35"),
    "good": ("#1f6b33", "#8ad19a"),
    "on-good": ("#ffffff", "#0a2410"),
    "good-soft": ("#e0f0e3", "#1b3423"),
    "warn": ("#80500a", "#e8bb6c"),
    "on-warn": ("#ffffff", "#2b1b02"),
    "warn-soft": ("#faedd3", "#3c2e14"),
    "bad": ("#a8251c", "#f59d94"),
    "on-bad": ("#ffffff", "#340a07"),
    "bad-soft": ("#fae3e0", "#45211d"),
    "mark": ("#ffe39a", "#6a4d0c"),
    "on-mark": ("#24211c", "#fff5dc"),
}
"""Name -> in light, in dark."""
DRAWN: Final[Mapping[str, str]] = {"muted": "#857f73", "accent": "#2c8a7b", "warn": "#bd7412", "bad": "#d6453a"}
"""Of charts and the mark of a tab, whose colours do not follow light and dark: at least 3 to 1 on the grounds of both."""
SIZES: Final[Mapping[str, str]] = {
    "size-small": ".8125rem", "size-note": ".875rem", "size-text": "1rem", "size-title": "1.25rem", "size-value": "2rem",
    "space-1": ".25rem", "space-2": ".5rem", "space-3": ".75rem", "space-4": "1rem", "space-6": "1.5rem", "space-8": "2.5rem",
    "radius": ".5rem", "radius-large": ".875rem", "radius-full": "999px", "measure": "31em", "column": "42rem",
}  # fmt: skip
"""Type scale, spacing, radius; how wide a line of text is (about 70 characters of whichever size), and a column."""
TEXT_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "ink": ("ground", "surface", "sunken", "accent-soft", "good-soft", "warn-soft", "bad-soft"),
    "muted": ("ground", "surface", "sunken"),
    "accent": ("ground", "surface", "sunken", "accent-soft"),
    "good": ("ground", "surface", "good-soft"),
    "warn": ("ground", "surface", "warn-soft"),
    "bad": ("ground", "surface", "bad-soft"),
    "on-accent": ("accent",), "on-good": ("good",), "on-warn": ("warn",), "on-bad": ("bad",), "on-mark": ("mark",),
}  # fmt: skip
"""Colour of a text -> grounds that it may stand on: contrast at least 4.5 to 1."""
EDGES_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "edge": ("ground", "surface", "sunken"), "accent": ("ground", "surface", "sunken"),
}  # fmt: skip
"""Of lines by which a control or the focus is known: at least 3 to 1."""


@lru_cache
def style() -> str:
    """All of it, as an element of a page's head."""
    light = _declared((name, colors[0]) for name, colors in COLORS.items()) + _declared(SIZES.items())
    dark = _declared((name, colors[1]) for name, colors in COLORS.items())
    return f"<style>:root{{{light}}}.body--dark{{{dark}}}{_read('cairn.css')}</style>"


def _declared(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"--{name}:{value};" for name, value in pairs)


@lru_cache
def mark(*, colored: bool = False) -> str:
    """A pile of stones, as SVG in the colour of the text around it; `colored`: in its own, as browsers show it in a tab."""
    drawn = _read("mark.svg").strip()
    return drawn.replace("currentColor", DRAWN["accent"]) if colored else drawn


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
