"""Whether a sentence says the other way round what a source says: a negation on one side only, or an opposite. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cairn.answer.ground.places import stem
from cairn.language.lexicon import every, languages
from cairn.language.text import folded_words
from cairn.language.tokens import is_stop_word

SPEAKER: Final = every(lambda one: one.claims.speaker)
_NEGATIONS: Final = every(lambda one: one.claims.negations)
_NO_NEGATION: Final = frozenset(pair for one in languages() for pair in one.claims.no_negation)
_OPPOSITES: Final = tuple(
    tuple(folded_words(side) for side in pair.split("|")) for one in languages() for pair in one.claims.opposites
)
_TURNING: Final = frozenset(word for pair in _OPPOSITES for side in pair for word in side)

ALIKE: Final = 0.75  # measured: tests/unit/test_edges_ground.py
"""Share of a sentence's content words that a place in a source must have, for a difference to turn the meaning."""
LOOSE: Final = 1.5  # measured: tests/unit/test_edges_ground.py
"""A place is so many times as long as the sentence: a "not" elsewhere in a long source sentence turns nothing."""
_ASIDE: Final = re.compile(r"^\W*(?:no|non|nein)\b[\s,.!]|\bnot (?:sure|really|certain)\b|\bno idea\b", re.IGNORECASE)


def turned(sentence: str, said: Sequence[str], places: Sequence[Sequence[str]]) -> str:
    """A negation on one side only, or a word whose opposite the source has in its place; "" where a source sentence that
    is as much like it says the same way."""
    content = frozenset(
        stem(word) for word in said if not is_stop_word(word) and word not in _NEGATIONS and word not in _TURNING
    )
    if len(content) < 2 or _ASIDE.search(sentence) or any(word in SPEAKER for word in said):
        return ""
    found = []
    for words in places:
        share, place = _place(content, words, round(LOOSE * len(said)) + 3)
        if share >= ALIKE:
            found.append(_difference(said, place))
    return found[0] if found and all(found) else ""


def _place(content: frozenset[str], words: Sequence[str], length: int) -> tuple[float, Sequence[str]]:
    """The stretch of a source sentence that holds the most content words, with their share, shortened to them."""
    at = [i for i, word in enumerate(words) if stem(word) in content]
    best: tuple[int, Sequence[str]] = (0, ())
    for first in at:
        inside = [i for i in at if first <= i < first + length]
        held = len({stem(words[i]) for i in inside})
        if held > best[0]:
            best = (held, words[max(0, first - 2) : inside[-1] + 2])
    return best[0] / len(content), best[1]


def _difference(said: Sequence[str], told: Sequence[str]) -> str:
    """What is the other way round; a negation together with an opposite ("not allowed", "forbidden") is not."""
    ours, theirs = frozenset(said), frozenset(told)
    turns = []
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            mine, its = (ours & here) - theirs, (theirs & there) - ours
            if mine and its and not (ours & there) and not (theirs & here):
                turns.append(f"“{min(mine)}” where the source says “{min(its)}”")
    turns += [f"“{one}” where the source says “{other}”" for one, other in _prefixed(ours - theirs, theirs - ours)]
    if _negated(said) != _negated(told):
        turns.append("negated, where the source is not" if _negated(said) else "not negated, where the source is")
    return turns[0] if len(turns) % 2 else ""


_PREFIXES: Final = ("un", "non", "dis", "in", "im", "ir")
SHORTEST_ROOT: Final = 4  # measured: tests/unit/test_edges_ground.py
"""Letters of what a prefix turns round ("paid", "unpaid")."""


def _prefixed(ours: frozenset[str], theirs: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Words of which one is the other with a negative prefix."""
    for here, there, exchanged in ((ours, theirs, False), (theirs, ours, True)):
        for word in sorted(here):
            for prefix in _PREFIXES:
                root = word.removeprefix(prefix)
                if root != word and len(root) >= SHORTEST_ROOT and root in there:
                    yield (root, word) if exchanged else (word, root)


def _negated(words: Sequence[str]) -> bool:
    """A "no" or "not" that is one: "not only", "no longer than", "No. 5" are none, "n't" comes as the word "t"."""
    return any(
        (word in _NEGATIONS or (word == "t" and i and words[i - 1].endswith("n")))
        and (word, words[i + 1] if i + 1 < len(words) else "") not in _NO_NEGATION
        for i, word in enumerate(words)
    )
