"""The sources of an answer, cut and counted once, so that each sentence of the answer can be held against them. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from app.language.numbers import Quantity, quantities
from app.language.sentences import split_sentences
from app.language.tokens import all_terms, is_stop_word

WINDOW: Final = 1
"""Neighbours on each side that a sentence is read with: its subject often stands before it."""
STEM: Final = 6
"""Letters kept. Cutting words is about as good as stemming them in these four languages (McNamee and Mayfield 2004)."""
_SUFFIX = re.compile(r"(?<=...)(?:ing|edly|ied|ed|ies|es|en|er|ers|em|ly|os|as|s|e|y)$")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A folded word without its ending; numbers as they are."""
    return word if word[0].isdigit() else _SUFFIX.sub("", word)[:STEM]


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words)


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """`source` is the number of its source, from 1. `near`: stems of it and its neighbours."""

    source: int
    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    near: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sources:
    """`frequencies`: in how many sentences a stem occurs. `words`: all words, folded."""

    sentences: tuple[SourceSentence, ...]
    frequencies: dict[str, int]
    words: frozenset[str]
    quantities: frozenset[Quantity]

    def rarity(self, wanted: str) -> float:
        """Inverse document frequency of a stem as in BM25, with sentences as documents."""
        df = self.frequencies.get(wanted, 0)
        return math.log(1 + (len(self.sentences) - df + 0.5) / (df + 0.5))


def read_sources(texts: Sequence[str], titles: Sequence[str] = ()) -> Sources:
    """`titles[i]` (file, headings) belongs to `texts[i]`: its words count as said there, since they say what it is about."""
    sentences: list[SourceSentence] = []
    for number, text in enumerate(texts, start=1):
        pieces = [text[start:end] for start, end in split_sentences(text)]
        said = [tuple(all_terms(piece)) for piece in pieces]
        kept = [stems(words) for words in said]
        for i, (piece, words) in enumerate(zip(pieces, said, strict=True)):
            near = frozenset().union(*kept[max(0, i - WINDOW) : i + WINDOW + 1])
            sentences.append(SourceSentence(number, piece, words, kept[i], near))
    around = frozenset(word for title in titles for word in all_terms(title))
    frequencies = Counter(one for sentence in sentences for one in sentence.stems)
    for one in stems(around):
        frequencies.setdefault(one, 1)
    vocabulary = frozenset(word for sentence in sentences for word in sentence.words) | around
    told = frozenset(q for text in (*texts, *titles) for q in quantities(text))
    return Sources(tuple(sentences), dict(frequencies), vocabulary, told)


def content_words(words: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(word for word in words if not is_stop_word(word)))
