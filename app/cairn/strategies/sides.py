"""The sides of a comparison: which passages are about one of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.domain.passage import Passage
from cairn.language.tokens import alike, terms


def not_of_others(side: str, sides: Sequence[str], passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Passages without those whose title or headings name another side and not this one: the section on KML may mention
    GeoJSON, but does not say what it is. All of them where nothing else is left."""
    own = _apart(side, [other for other in sides if other != side])
    others = [words for other in sides if other != side and (words := _apart(other, [side]))]
    if not own or not others:
        return tuple(passages)
    kept = [one for one in passages if _names(own, one) or not any(_names(words, one) for words in others)]
    return tuple(kept or passages)


def _apart(side: str, others: Sequence[str]) -> frozenset[str]:
    """Words that only this side has."""
    return frozenset(terms(side)) - {word for other in others for word in terms(other)}


def _names(words: frozenset[str], passage: Passage) -> bool:
    last = passage.headings[-1:] or (passage.title,)
    vocabulary = frozenset(terms(" ".join(last)))
    return all(alike(word, vocabulary) for word in words)
