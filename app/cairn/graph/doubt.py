"""What is written like a name and shows no sign of being one: captions, German nouns, words that only begin sentences. Pure.

Rules over what one document shows, so that an entity depends on no document it is not in. They were chosen against a logistic
regression over sixty such signs (docs/adr/0120-what-is-written-like-a-name.md).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from cairn.domain.graph import EntityKind
from cairn.graph.keys import key_of
from cairn.graph.kinds import ASSERTS, STOPS
from cairn.graph.layout import Lines
from cairn.language.lexicon import Nouns
from cairn.language.names import CONNECTORS, NameToken
from cairn.language.text import fold

_WORD: Final = re.compile(r"[^\W_]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_SHORTEST: Final = 4
"""Letters of a word that is looked for in longer ones."""
_LONGER: Final = 3
"""Letters that a compound has beside it."""
_LONGEST: Final = 60
"""Letters of a compound: what is longer is no word, and has too many parts."""
_QUOTES: Final = frozenset("\"'“„«‘")


class FoundName(Protocol):
    """A name where the document has it."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> EntityKind: ...


@dataclass(slots=True)
class _Signs:
    """What all mentions of a name show together."""

    words: list[str]
    place: bool
    begins_only: bool = True
    stands_apart: bool = False


def find_doubtful(
    found: Sequence[FoundName], tokens: Sequence[NameToken], text: str, lines: Lines, *, title: str, nouns: Nouns | None
) -> set[str]:
    """Keys of names that the document gives no reason to take for names. `nouns`: of its language, where that writes all nouns
    with capitals; there a preposition makes places of them, too."""
    read = ("name", "place") if nouns else ("name",)
    signs = _read_signs([one for one in found if one.kind in read], tokens, text, lines)
    small = {token.folded for token in tokens if not token.capital}
    called = fold(title)
    vocabulary = {token.folded for token in tokens} if nouns else set()
    parts = _parts_of_compounds(vocabulary, {one.words[0] for one in signs.values() if len(one.words) == 1})
    return {
        key
        for key, one in signs.items()
        if (len(one.words) > 1 and _is_phrase(one, small) and " ".join(one.words) not in called)
        or (len(one.words) == 1 and ((one.begins_only and not one.place) or _is_noun(one, vocabulary, parts, nouns)))
    }


def _read_signs(found: Iterable[FoundName], tokens: Sequence[NameToken], text: str, lines: Lines) -> dict[str, _Signs]:
    """Of names in capitals, with "&" or a number nothing is read: they are what they look like."""
    starts = [token.start for token in tokens]
    begins = read_lines_of(text)
    signs: dict[str, _Signs] = {}
    for one in found:
        if one.name.isupper() or "&" in one.name:
            continue
        key = key_of(one.name)
        sign = signs.setdefault(key, _Signs([fold(word) for word in _WORD.findall(one.name)], one.kind == "place"))
        at, after = bisect_left(starts, one.start), bisect_left(starts, one.end)
        begins_line = begins(one.start)
        opens = begins_line or (at < len(tokens) and tokens[at].start == one.start and tokens[at].opens)
        asserted = after < len(tokens) and tokens[after].folded in ASSERTS
        sign.begins_only = sign.begins_only and opens and not asserted
        sign.stands_apart = (
            sign.stands_apart
            or begins_line
            or lines.at(one.start) != "prose"
            or text[one.start - 1 : one.start] in _QUOTES
        )
    return signs


def read_lines_of(text: str) -> Callable[[int], bool]:
    """Tells whether no letter stands before a place on its line."""
    starts, letters, start = [], [], 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        letter = _LETTER.search(text, start, end)
        starts.append(start)
        letters.append(letter.start() if letter else len(text))
        start = end + 1
    return lambda place: letters[bisect_right(starts, place) - 1] >= place


def _is_phrase(sign: _Signs, small: set[str]) -> bool:
    """Whether it ends in a word that ends no name ("Wählen Sie"), or is made of words that the document writes in small letters,
    too, and stands apart somewhere: "Operating Activities" in a table, "Defaulting Lender" where it is defined."""
    if sign.words[-1] in STOPS and len(sign.words[-1]) > 1:
        return True
    telling = [word for word in sign.words if word not in CONNECTORS and word not in STOPS] or sign.words
    return not sign.place and sign.stands_apart and small.issuperset(telling)


def _parts_of_compounds(vocabulary: Iterable[str], names: set[str]) -> set[str]:
    """Those of the names that longer words begin or end with."""
    longer = (word for word in vocabulary if _SHORTEST + _LONGER <= len(word) <= _LONGEST and word.isalpha())
    return {part for word in longer for part in _parts(word) if part in names}


def _parts(word: str) -> Iterator[str]:
    for cut in range(_LONGER, len(word) - _SHORTEST + 1):
        yield word[cut:]
        yield word[:-cut]


def _is_noun(sign: _Signs, vocabulary: set[str], parts: set[str], nouns: Nouns | None) -> bool:
    """Whether the document inflects it as no name is, or compounds it ("Daten" beside "Datenbank"): that says nothing of a
    place ("Europaparlament")."""
    word = sign.words[0]
    if nouns is None or len(word) < _SHORTEST:
        return False
    inflected = any(
        word + ending in vocabulary or (word.endswith(ending) and word.removesuffix(ending) in vocabulary)
        for ending in nouns.inflections
    )
    return inflected or (word in parts and not sign.place)
