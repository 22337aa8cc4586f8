"""Which names mean the same: one key for the spellings of a name, and aliases that a document gives. Pure.

The key decides within and between documents; it never joins what people would tell apart, so it is careful: case,
accents, punctuation, articles, possessives, and the plural of terms. What needs more than spelling people merge themselves.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Final

from cairn.domain.graph import Alias, EntityKind
from cairn.graph.kinds import LEADING_ARTICLE, LEGAL_FORMS
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS

LONGEST_KEY: Final = 120
"""Code points; longer names are sentences."""
_APART: Final = re.compile(r"[^\w+#.:/]+|\.(?!\w)")
_POSSESSIVE: Final = re.compile(r"['’]s?(?=\s|$)")
_DOTTED: Final = re.compile(r"\b(?:[^\W\d_]\.)+(?:[^\W\d_](?!\w)\.?|(?<=\..\.))")
_TITLE_TAIL: Final = bounded(r"\s*(?:\([^()]*\)|,\s.*)$", re.DOTALL)
_EXPANDED: Final = re.compile(r"\(\s{0,2}(?:the )?[\"“«]?(?P<acronym>[A-Z][A-Za-z0-9&.\-]{1,9})[\"”»]?\s{0,2}\)")
_WORD: Final = re.compile(r"[^\W_]+")


@lru_cache(maxsize=8192)
def key_of(name: str, kind: EntityKind = "name") -> str:
    """The form under which an entity is stored and looked up; "" where nothing is left.

    "The Beatles'" and "beatles" are one, "U.S.A." and "USA", and "Best Buy Co., Inc." and "BEST BUY"; of a term in small letters
    the plural is folded too.
    """
    dotless = _DOTTED.sub(lambda match: match.group().replace(".", ""), name)
    folded = _POSSESSIVE.sub("", fold(dotless.replace("’", "'")))
    words = [word for word in _APART.split(LEADING_ARTICLE.sub("", folded.strip(), count=1)) if word]
    if kind == "term" and words and name.islower():
        words[-1] = singular(words[-1])
    while (
        len(words) > 1 and words[-1] in LEGAL_FORMS and (words[-1] not in ALL_STOP_WORDS or _ends_in_capitals(dotless))
    ):
        words.pop()
    return " ".join(words)[:LONGEST_KEY]


def _ends_in_capitals(name: str) -> bool:
    """Whether its last word is: "SA" is a legal form, "sa" a word."""
    last = _WORD.findall(name)[-1:]
    return bool(last) and len(last[0]) > 1 and last[0].isupper()


def singular(word: str) -> str:
    """A folded word without the plural of English, French or Spanish; short words and "ss" stay."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def bare_title(title: str) -> str:
    """A title without what tells it from others of its name: "Brand (play)", "Johnnycake, West Virginia"."""
    return _TITLE_TAIL.sub("", title).strip() or title.strip()


def acronyms(text: str) -> list[tuple[str, str, int]]:
    """Expansion, acronym and where the acronym stands: "American Basketball Association (ABA)".

    The initials of the words before the bracket, small words aside, spell the acronym (after Schwartz and Hearst 2003).
    """
    found = []
    for match in _EXPANDED.finditer(text):
        letters = [c.casefold() for c in match["acronym"] if c.isalnum()]
        start = _expansion(text[max(0, match.start() - 120) : match.start()].rstrip(), letters)
        if start is not None:
            found.append((start, match["acronym"], match.start("acronym")))
    return found


def _expansion(before: str, letters: Sequence[str]) -> str | None:
    """The last words of `before` whose initials are `letters`."""
    words = [*_WORD.finditer(before)]
    at = len(words) - 1
    for letter in reversed(letters):
        while at >= 0 and words[at].group().casefold() in ALL_STOP_WORDS and words[at].group()[0].casefold() != letter:
            at -= 1
        if at < 0 or words[at].group()[0].casefold() != letter:
            return None
        at -= 1
    expansion = before[words[at + 1].start() :]
    return expansion if "." not in expansion and "\n" not in expansion else None


def surnames(names: Iterable[tuple[str, EntityKind]], small: Container[str] = ()) -> list[Alias]:
    """Single names that are the last word of exactly one longer name of the document, which may be a person's.

    `names` in the order in which the document first says them: a person is named in full first, but "Delaware" stands before
    "Voting Under Delaware". An acronym is no surname ("DNS" beside "Google Public DNS"), and what holds a small word and begins
    with one that the document writes in small letters, too (`small`, folded), is no person: "History of Klipper".
    """
    full: dict[str, set[str]] = {}
    short: list[str] = []
    for name, kind in dict(names).items():
        parts = name.split()
        if kind not in ("person", "name"):
            continue
        if 2 <= len(parts) <= 4 and all(part[:1].isupper() for part in (parts[0], parts[-1])):
            if fold(parts[0]) not in small or all(part[:1].isupper() for part in parts):
                full.setdefault(fold(parts[-1]), set()).add(name)
        elif fold(name) in full:
            short.append(name)
    owned = [(name, full[fold(name)]) for name in short]
    return [
        Alias(next(iter(owners)), name, "surname")
        for name, owners in owned
        if len(owners) == 1 and (not name.isupper() or next(iter(owners)).isupper())
    ]
