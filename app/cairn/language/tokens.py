"""Text as words: how it is cut, and which words say nothing. Pure.

    words           of a folded text, as people count them: "don't" is one word
    message_words   of a message, each with its place and its spelling
    terms           words and numbers of content, by which a question is compared with a text

Names and identifiers (names.py, identifiers.py) are read by the marks and capitals that these take off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cairn.language import lexicon
from cairn.language.text import fold

STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    one.code: one.words.stop | one.words.asking for one in lexicon.languages()
}
"""Words that say nothing about what a question is about, by language."""
ALL_STOP_WORDS: Final = frozenset[str]().union(*STOP_WORDS.values())

IDLE_WORDS: Final[Mapping[str, frozenset[str]]] = {
    one.code: one.words.stop | one.words.idle for one in lexicon.languages()
}
"""Whole messages of these say nothing by themselves."""
ALL_IDLE_WORDS: Final = frozenset[str]().union(*IDLE_WORDS.values())
_CHATTER: Final = lexicon.every(lambda one: one.words.chatter)
_ELIDED: Final = lexicon.every(lambda one: one.words.elided)


def _either(words: Iterable[str]) -> str:
    """Alternatives of a pattern, the longest first; what matches nothing where there are none."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))) or "(?!)"


# --- words of a folded text ---------------------------------------------------------------------------------------------

WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
"""A word as people count them; `don't` is one."""


def words(folded: str) -> list[str]:
    """Words of a folded text; elided articles and pronouns come off: "l'impact" is "l" and "impact"."""
    found: list[str] = []
    for match in WORD.finditer(folded):
        word = match.group()
        head, apostrophe, tail = word.partition("'")
        found += [head, tail] if apostrophe and (len(head) == 1 or head in _ELIDED) and len(tail) > 1 else [word]
    return found


def says_nothing(folded: str, besides: frozenset[str] = frozenset()) -> bool:
    """Whether all words of a folded text are stop words of one of the languages, or among `besides`."""
    found = [word.replace("'", "") for word in words(folded)]
    return any(all(word in stop or word in besides for word in found) for stop in IDLE_WORDS.values())


# --- words of a message -------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(r"[^\W_](?:[\w'’.:/@+#&-]*[\w+#])?", re.UNICODE)
# not where an English genitive follows: "Dell's"
_ELISION: Final = re.compile(rf"^(?:{_either(_ELIDED)})['’](?!s\b)(?=\w)", re.IGNORECASE)
_INVERTED: Final = re.compile(
    rf"^(\w+)-(?:t-)?({_either(lexicon.every(lambda one: one.words.inverted))})$", re.IGNORECASE
)
_CLITIC: Final = re.compile(rf"['’](?:{_either(lexicon.every(lambda one: one.words.clitics))})$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """`text` stands at start..end of the message; `folded` is it without case, accents, elided article and clitic."""

    text: str
    folded: str
    start: int
    end: int

    @property
    def content(self) -> bool:
        """Whether it says something: neither a function word nor chatter. "IT" and "US" are names."""
        if self.text.isupper() and len(self.text) > 1:
            return True
        return self.folded not in ALL_STOP_WORDS and self.folded not in _CHATTER

    @property
    def capital(self) -> bool:
        """Whether it is written as a name or a number."""
        return self.text[0].isupper() or self.text[0].isdigit()


def message_words(text: str) -> list[Word]:
    """Words and numbers in order; elided articles ("l'hôpital") and clitics ("Apple's") are not part of them."""
    return list(_message_words(text))


def _message_words(text: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(text):
        raw, start = match.group(), match.start()
        if fold(raw) in _CHATTER:
            yield Word(raw, fold(raw), start, match.end())
            continue
        if inverted := _INVERTED.match(raw):  # "est-elle"
            head, tail = inverted[1], inverted[2]
            yield Word(head, fold(head), start, start + len(head))
            yield Word(tail, fold(tail), match.end() - len(tail), match.end())
            continue
        elided = _ELISION.match(raw)
        if elided:
            yield Word(elided.group(), fold(elided.group()[:-1]), start, start + elided.end())
            raw, start = raw[elided.end() :], start + elided.end()
        raw = _CLITIC.sub("", raw).rstrip(".:/-")
        if raw:
            yield Word(raw, fold(raw), start, start + len(raw))


def content_words(text: str) -> list[str]:
    """Words that say something, as they are spelled, each once."""
    found: dict[str, str] = {}
    for word in message_words(text):
        if word.content:
            found.setdefault(word.folded, word.text)
    return list(found.values())


# --- terms: what a question and a text have in common ------------------------------------------------------------------

_TERM = re.compile(r"\d+(?:[.,]\d+)+|\w+")
_BEFORE_APOSTROPHE = re.compile(r"\b(\w{1,8})['’](?!s\b)(?=\w)")
SHORTEST_STEM: Final = 4
"""Letters; shorter words must be equal to match."""


def _without_elided(text: str) -> str:
    """Elided articles blanked, and single letters before an apostrophe."""
    if "'" not in text and "’" not in text:
        return text
    return _BEFORE_APOSTROPHE.sub(_elision, text)


def _elision(match: re.Match[str]) -> str:
    word = match[1]
    return " " if (len(word) == 1 and word.isascii() and word.isalpha()) or fold(word) in _ELIDED else match[0]


def terms(text: str) -> list[str]:
    """Folded words and numbers in order, without stop words and elided articles."""
    return [word for _, word in spelled_terms(text)]


def spelled_terms(text: str) -> list[tuple[str, str]]:
    """The same, each with its spelling in the text. "IT" and "US" are names, unless everything is in capitals."""
    loud = text.isupper()
    found = ((raw, fold(raw)) for raw in _TERM.findall(_without_elided(text)))
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


class WordIndex:
    """A vocabulary in which the words that match one are found without a look at all of them: `alike` with the same result."""

    def __init__(self, vocabulary: frozenset[str]) -> None:
        self._words = vocabulary
        self._joined = "\n".join(("", *vocabulary, ""))

    def alike(self, word: str) -> dict[str, float]:
        """The words of the vocabulary that match `word`, with their likeness."""
        near = {word} & self._words
        if len(word) >= SHORTEST_STEM and word.isalpha():
            near |= self._containing(f"\n{word[:SHORTEST_STEM]}") | self._containing(f"{word}\n")
            near |= {word[at:] for at in range(1, len(word) - SHORTEST_STEM + 1)} & self._words
        return alike(word, near)

    def _containing(self, piece: str) -> set[str]:
        """Words that begin or end with a piece, whose line end says which."""
        found: set[str] = set()
        at = self._joined.find(piece)
        while at >= 0:
            begins = self._joined.rfind("\n", 0, at + 1) + 1
            found.add(self._joined[begins : self._joined.find("\n", begins)])
            at = self._joined.find(piece, at + 1)
        return found


def all_terms(text: str) -> list[str]:
    """Folded words and numbers in order, stop words included; elided articles are none."""
    return [fold(word) for word in _TERM.findall(_without_elided(text))]


def is_stop_word(word: str) -> bool:
    """Of a folded word: whether it says nothing about what a text is about, in any language."""
    return word in ALL_STOP_WORDS


def same_word(one: str, other: str) -> bool:
    """Whether two words are singular and plural of one: "prices" and "price", "regione" and "regioni"."""
    short, long = sorted((one, other), key=len)
    if len(short) == len(long) and short.endswith("s") and long.endswith("s"):
        short, long = short[:-1], long[:-1]  # "públicas" and "públicos"
    # measured: tests/unit/test_edges_query.py
    if len(short) < 4 or not short.isalpha() or not long.isalpha():
        return False
    if short.endswith("i") and long == f"{short}o":
        return True  # "negozi" and "negozio"
    if long.startswith(short):
        return long[len(short) :] in ("s", "es", "e", "n", "en", "er", "x")
    if short.endswith("y") and long == f"{short[:-1]}ies":
        return True
    # measured: tests/unit/test_edges_query.py
    return len(short) == len(long) > 4 and short[:-1] == long[:-1] and short[-1] in "aeio" and long[-1] in "aeio"
