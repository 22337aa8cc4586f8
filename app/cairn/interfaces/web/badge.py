"""What an answer is worth, in one of three words, wherever answers are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nicegui import ui

from cairn.domain.answer import PROBABLE, ConfidenceWord
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.texts import Texts
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
    """Draw one word of three, with the reason where somebody points at it; nothing of small talk."""
    if worth := tell_worth(page.text, answered, grounded, word, confidence):
        _draw_badge(page, *worth)


def tell_worth(
    text: Texts, answered: str | None, grounded: bool | None, word: str | None, confidence: float | None = None
) -> tuple[ConfidenceWord, str] | None:
    """One word of three, and why. `word` and `confidence` are those of a quotation; of what a model wrote, `grounded` tells."""
    word = word or ("not_sure" if answered == "unsure" else None)
    if word:
        told = [text(f"ask.word_{word}")]
        if confidence and word in PROBABLE:
            told.append(text("ask.confidence_hint", share=f"{confidence:.0%}"))
        return SHOWN_WORDS[word], ". ".join(told)
    if grounded is None or (grounded and answered != "yes"):
        return None
    return ("found", text("ask.grounded")) if grounded else ("not_sure", text("ask.not_grounded"))


def _draw_badge(page: Page, word: ConfidenceWord, told: str) -> None:
    look, icon = WORD_LOOKS[word]
    with ui.element("span").classes(f"word {look}").props("tabindex=0") as badge:
        ui.icon(icon, size="1rem").props("aria-hidden=true")
        ui.label(replies(page.text.language).confidence[word])
        ui.tooltip(told)
    badge.props["aria-description"] = told
