"""Words of questions and sentences, and how alike two words are. Pure; English, French, Spanish and German.

There is no stemmer here: inflections of these languages mostly share a prefix, and a German compound holds its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from app.language.tokens import (
    ALL_STOP_WORDS,
    STOP_WORDS,
    Language,
    fold,
)

__all__ = ["STOP_WORDS", "Language", "alike", "fold", "language_of", "likeness", "spelled_words", "words"]

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+")
_ELISION = re.compile(r"\b(?:[A-Za-z]|qu|Qu|jusqu|lorsqu|puisqu)['’](?=\w)")
SHORTEST_STEM: Final = 4
"""Letters; shorter words must be equal to match."""


def language_of(question: str) -> Language:
    """The language with the most stop words in the text; English where nothing tells."""
    words = [fold(word) for word in _WORD.findall(_ELISION.sub("", question))]
    marks = {"es": 2.0 * ("¿" in question or "ñ" in question), "de": 1.0 * ("ß" in question)}

    def score(language: Language) -> float:
        return sum(word in STOP_WORDS[language] for word in words) + marks.get(language, 0.0)

    return max(STOP_WORDS, key=score)


def words(text: str) -> list[str]:
    """Folded words and numbers in order, without stop words and elided articles."""
    return [word for _, word in spelled_words(text)]


def spelled_words(text: str) -> list[tuple[str, str]]:
    """The same, each with its spelling in the text. "IT" and "US" are names, unless everything is in capitals."""
    loud = text.isupper()
    found = ((raw, fold(raw)) for raw in _WORD.findall(_ELISION.sub(" ", text)))
    return [
        (raw, word)
        for raw, word in found
        if word not in ALL_STOP_WORDS or (raw.isupper() and len(raw) > 1 and not loud)
    ]


def likeness(a: str, b: str) -> float:
    """How far `b` counts as the word `a`, 0..1: equal 1, inflected .9, one begins the other .7, compounds .5."""
    if a == b:
        return 1.0
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(short) < SHORTEST_STEM or not short.isalpha() or not long.isalpha():
        return 0.0
    common = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if common >= max(SHORTEST_STEM, 0.7 * len(long)):
        return 0.9
    if common == len(short) and common > SHORTEST_STEM:
        return 0.7
    return 0.5 if common > SHORTEST_STEM + 1 or long.endswith(short) else 0.0


def alike(word: str, vocabulary: Iterable[str]) -> dict[str, float]:
    """The words of the vocabulary that match `word`, with their likeness."""
    return {other: value for other in vocabulary if (value := likeness(word, other)) > 0}


def all_words(text: str) -> list[str]:
    """Folded words and numbers in order, stop words included; elided articles are none."""
    return [fold(word) for word in _WORD.findall(_ELISION.sub(" ", text))]


def is_stop_word(word: str) -> bool:
    """Of a folded word: whether it says nothing about what a text is about, in any of the four languages."""
    return word in ALL_STOP_WORDS


FEWEST_MARKERS: Final = 3
SURE: Final = 1.5
"""So many times the stop words of the next best language make a language certain; many words belong to two."""


def known_language(text: str) -> Language | None:
    """The language of a text where its stop words make it certain; None for short texts, names, code, others."""
    found = [fold(word) for word in _WORD.findall(_ELISION.sub(" ", text[:4000]))]
    counts = sorted(((sum(w in STOP_WORDS[x] for w in found), x) for x in STOP_WORDS), reverse=True)
    (best, language), (second, _) = counts[0], counts[1]
    return language if best >= max(FEWEST_MARKERS, SURE * second) and best >= 0.1 * len(found) else None
