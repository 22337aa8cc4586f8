"""How probably a passage helps to answer a question, by vectors and words: grades without a model. Pure."""

from __future__ import annotations

import math
from typing import Final

from app.domain.passage import Passage
from app.language.identify import language_of
from app.language.tokens import alike, spelled_terms, terms

_INTERCEPT: Final = (-4.64, -5.56)
_COSINE: Final = (5.95, 4.89)
_SHARE: Final = 3.96
"""Logistic regression for English and for other languages, whose questions MiniLM places less well: on the first 15 passages
of 480 questions of xquad_en, hotpotqa100, musique100, cranfield and spf_fr, both classes and all sets equally frequent
(docs/quality.md, "Grading")."""


def relevance(question: str, passage: Passage, cosine: float | None) -> float:
    """Probability, 0..1. `cosine`: of the question and the passage's best chunk, -1..1, under MiniLM; None where it cannot be
    had: then the share of words alone."""
    share = share_of_words(question, passage)
    if cosine is None:
        return share
    other = language_of(question) != "en"
    return 1 / (1 + math.exp(-(_INTERCEPT[other] + _COSINE[other] * cosine + _SHARE * share)))


def share_of_words(question: str, passage: Passage) -> float:
    """Share of the question's words that the passage, its title or its headings hold in any inflection; names and numbers
    count double. 0 for a question without words of content."""
    asked = {word: 1.0 + _names(raw) for raw, word in spelled_terms(question)}
    held = frozenset(terms(" ".join((passage.title, *passage.headings, passage.content))))
    found = sum(worth * max(alike(word, held).values(), default=0.0) for word, worth in asked.items())
    return found / sum(asked.values()) if asked else 0.0


def _names(raw: str) -> bool:
    return any(char.isdigit() or char == "_" for char in raw) or raw[:1].isupper()
