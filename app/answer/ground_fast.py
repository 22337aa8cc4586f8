"""The fast check of an answer against its sources: shared words and word trigrams. Pure; well under 1 ms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.language.identify import certain_language
from app.language.tokens import Language, all_terms, is_stop_word

WORD_SHARE: Final = 0.6
TRIGRAM_SHARE: Final = 0.4
CONTENT_IN_TRIGRAM: Final = 2
"""A trigram counts with at least so many content words."""

Trigram = tuple[str, str, str]


def fast_score(answer: str, sources: Sequence[str]) -> float:
    """0..1: .6 * share of the answer's content words in the sources + .4 * share of its trigrams there.

    Words are folded (case and accents); content words are those that are no stop word of the four languages; each counts
    once. Trigrams run over all words, within one source. An answer too short for a trigram is judged by words alone, one
    without content words by nothing: 0.
    """
    said = all_terms(answer)
    content = {word for word in said if not is_stop_word(word)}
    if not content:
        return 0.0
    held = [all_terms(source) for source in sources]
    words = len(content & {word for source in held for word in source}) / len(content)
    wanted = trigrams(said)
    if not wanted:
        return words
    found = {trigram for source in held for trigram in trigrams(source)}
    return WORD_SHARE * words + TRIGRAM_SHARE * len(wanted & found) / len(wanted)


def trigrams(words: Sequence[str]) -> set[Trigram]:
    """Three words in a row, at least two of them content words."""
    content = [not is_stop_word(word) for word in words]
    return {
        (words[i], words[i + 1], words[i + 2])
        for i in range(len(words) - 2)
        if sum(content[i : i + 3]) >= CONTENT_IN_TRIGRAM
    }


def languages_differ(answer: str, sources: Sequence[str]) -> bool:
    """Whether shared words mean nothing: the answer's language is certain, and so is that of most of the sources' text,
    and they are not the same."""
    own = certain_language(answer)
    if own is None:
        return False
    lengths: dict[Language | None, int] = {}
    for source in sources:
        language = certain_language(source)
        lengths[language] = lengths.get(language, 0) + len(source)
    return bool(lengths) and max(lengths, key=lambda known: lengths[known]) not in (own, None)
