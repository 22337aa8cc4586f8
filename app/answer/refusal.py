"""How Cairn says that the documents do not answer (A10.15), and how it recognises a model that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.answer.terms import Language, fold, language_of

REFUSALS: Final[Mapping[Language, str]] = {
    "en": "I don't know based on the provided documents.",
    "fr": "Je ne sais pas d'après les documents fournis.",
    "es": "No lo sé según los documentos proporcionados.",
    "de": "Das weiß ich anhand der vorliegenden Dokumente nicht.",
}
_OTHER_WORDINGS: Final = ("Insufficient documentation", "The provided documents do not")


def refusal(question: str) -> str:
    """The sentence in the question's language; A10.15 gives the English one."""
    return REFUSALS[language_of(question)]


def is_refusal(text: str) -> bool:
    """Whether a model's whole answer is one of these sentences, or begins with one."""
    said = _plain(text)
    return any(said.startswith(_plain(known)) for known in (*REFUSALS.values(), *_OTHER_WORDINGS))


def _plain(text: str) -> str:
    return " ".join(fold(text.replace("’", "'")).strip("*_\"' \n").rstrip(".").split())
