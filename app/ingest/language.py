"""Which language a document is in, and the text search configuration that stems it."""

from __future__ import annotations

from app.domain.language import CONFIGURATIONS
from app.providers.langid import SAMPLE_BYTES, identify

__all__ = ["CONFIGURATIONS", "detect_language", "passage_configuration"]

MIN_LETTERS = 20
"""Shorter texts keep the default: a title or a list of names looks like any language."""
MIN_PROBABILITY = 0.7
"""The identifier's probabilities are calibrated for length, so that short texts seldom reach it."""
PASSAGE_LETTERS, PASSAGE_PROBABILITY = 80, 0.95
"""A passage is taken for another language than its document only on good evidence: names, quotations and tables of an
English text look like anything."""
WITHOUT_STEMMER = "simple"


def detect_language(text: str, default: str) -> tuple[str | None, str]:
    """(ISO 639-1 code, text search configuration) of `text`; (None, `default`) where it is not certain.

    A language that PostgreSQL has no stemmer for gets the configuration `simple`: English suffixes and stop words
    would only damage it. Only the beginning is looked at, and the middle where that is not certain (a page that begins
    with its menu).
    """
    starts = (0, len(text) // 2) if len(text) > 2 * SAMPLE_BYTES else (0,)
    for start in starts:
        code = _language(text[start : start + SAMPLE_BYTES])
        if code:
            return code, CONFIGURATIONS.get(code, WITHOUT_STEMMER)
    return None, default


def passage_configuration(text: str, of_document: str) -> str:
    """Text search configuration of a passage: its document's, unless it is clearly in another language."""
    code = _language(text, PASSAGE_LETTERS, PASSAGE_PROBABILITY)
    return CONFIGURATIONS.get(code, WITHOUT_STEMMER) if code else of_document


def _language(text: str, letters: int = MIN_LETTERS, certainty: float = MIN_PROBABILITY) -> str | None:
    """ISO 639-1 code where it is certain."""
    sample = text.encode("utf-8", "ignore")[:SAMPLE_BYTES].decode("utf-8", "ignore")
    if sum(map(str.isalpha, sample)) < letters:
        return None
    code, probability = identify(sample)
    # other codes than ISO 639-1's are small languages, which more often are an error than the truth
    return code if probability >= certainty and len(code) == 2 else None
