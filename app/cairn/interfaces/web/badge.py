"""What an answer is worth, in one of three words, wherever answers are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nicegui import ui

from cairn.domain.answer import PROBABLE, ConfidenceWord
from cairn.interfaces.web.frame import Page
from cairn.language.lexicon import replies

SHOWN_WORDS: Final[Mapping[str, ConfidenceWord]] = {
    "found": "found", "exact": "found", "computed": "found", "likely": "likely", "recognised": "likely", "not_sure": "not_sure",
}  # fmt: skip
"""The three that a badge says; how it is known stands where somebody points at it."""
WORD_LOOKS: Final[Mapping[ConfidenceWord, tuple[str, str]]] = {
    "found": ("good", "check_circle"), "likely": ("", "check_circle_outline"), "not_sure": ("warn", "help_outline"),
}  # fmt: skip
"""Class and icon of each."""


def show_worth(
    page: Page, answered: str | None, grounded: bool | None, word: str | None, confidence: float | None = None
) -> None:
    """Draw one word of three at most, with the reason where somebody points at it; small talk has none."""
    word = word or ("not_sure" if answered == "unsure" else None)
    if word:
        told = [page.text(f"ask.word_{word}")]
        if confidence and word in PROBABLE:
            told.append(page.text("ask.confidence_hint", share=f"{confidence:.0%}"))
        _draw_badge(page, SHOWN_WORDS[word], ". ".join(told))
    elif grounded is not None and (not grounded or answered == "yes"):
        told_of_model = page.text("ask.grounded" if grounded else "ask.not_grounded")
        _draw_badge(page, "found" if grounded else "not_sure", told_of_model)


def _draw_badge(page: Page, word: ConfidenceWord, told: str) -> None:
    look, icon = WORD_LOOKS[word]
    with ui.element("span").classes(f"word {look}").props("tabindex=0") as badge:
        ui.icon(icon, size="1rem").props("aria-hidden=true")
        ui.label(replies(page.text.language).confidence[word])
        ui.tooltip(told)
    badge.props["aria-description"] = told
