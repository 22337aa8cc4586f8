"""How sure it is that a name is one: what comes first in a list. Pure.

A name that doubt.py leaves one is ordered by what its document shows for it. The steps are stored as the confidence of its
mentions; docs/adr/0124-the-surest-names-first.md says what each sign was worth.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Final

from cairn.domain.graph import EntityKind
from cairn.graph.doubt import FoundName, read_lines_of
from cairn.graph.keys import key_of
from cairn.graph.kinds import (
    ASSERTS,
    INDEFINITE,
    LABELS,
    LEADING_ARTICLE,
    LEGAL_FORMS,
    OCCUPATIONS,
    ORGANISATIONS,
    PLACE_PREPOSITIONS,
    PLACES,
    STOPS,
)
from cairn.graph.layout import Lines
from cairn.language.linear import bounded
from cairn.language.names import CONNECTORS, NameToken
from cairn.language.text import fold

SURE: Final = 0.95
"""Of the names that had this step in one document, 9 of 10 were names to a reader; of LIKELY 8, of OPEN 7, of UNLIKELY 4."""
LIKELY: Final = 0.85
OPEN: Final = 0.75
"""The document shows little: several documents may show more together."""
UNLIKELY: Final = 0.6
"""The document shows something against it."""
_INSIDE: Final = 3
"""How often a word stands within sentences before it is taken for a name by that alone; a phrase or acronym, once less."""
_SHARE: Final = 0.3
"""Of the mentions of a word: as many tell for it or against it."""
_MOST: Final = 0.5
_MODIFIER: Final = 0.6
_SHORT: Final = 2
"""Letters of an acronym that may mean anything."""
_SHORTENED: Final = 6
"""Letters of an abbreviation at most; what is longer ends a sentence."""
_SILENT: Final = CONNECTORS | STOPS | LEGAL_FORMS
_GENERIC: Final = LABELS | ORGANISATIONS | PLACES
"""Words that name nothing together, either: "District Court"."""
_WORD: Final = re.compile(r"[^\W_]+")
_ACRONYM: Final = bounded(r"(?=[^a-z]*[A-Z])[^a-z]{2,}s?")
_SHOUTED: Final = bounded(r"[A-Z]{4,} [A-Z]{4,},? [A-Z.]+$")
"""The end of a name in capitals; behind words in small letters, two lines of a heading: "Balance Sheets GENERAL MILLS, INC."."""
_WHOLE: Final = bounded(r"[^\W\d_]+|[^\W_]+(?:_[^\W_]+)+|www\..+")
"""Identifiers that stand for one thing: "YouTube", "max_connections", an address."""
_TERM_OF_ART: Final = bounded(r"[a-z]{1,2}[A-Z]{3,}|[A-Z]{2,}s|.[a-z].")
"""Short forms of common nouns, "mRNA", "ISPs", "QoS": what may name something, too."""
_CODED: Final = bounded(
    r"[A-Za-z]{1,2}\d{1,4}|[A-Z]-\d|\d+(?:-\w+){2,5}|"
    r".*\.(?:png|jpe?g|gif|svg|docx?|pdf)|.{41,}|(?:\d{1,2}|[A-Z]|[ivx]{1,4}|[IVX]{1,4}|No)\.\w+"
)
"""Numbers of things ("Q1", "FY25"), names of files, hashes, and a number that sticks to what follows it ("2.Revenue")."""
_LONGEST_FORM: Final = 4
"""Letters of a legal form that only ends names: "Inc", "LLC", "GmbH", but not "Company"."""

NameKey = tuple[str, bool]
"""A normal form, and whether it is of an identifier."""


@dataclass(slots=True)
class _Signs:
    """What the mentions of a name show together."""

    names: Counter[str] = field(default_factory=Counter)
    kinds: Counter[EntityKind] = field(default_factory=Counter)
    inside: int = 0
    """Within sentences, with a word before it on its line."""
    determined: int = 0
    told: int = 0
    """Before a comma or a possessive, or behind a preposition of places."""

    shortened: int = 0
    """Before a full stop that ends no sentence: "Treas. Reg. 1.409A", "W. Dist. Ct."."""

    modifies: int = 0
    """Right before a word in small letters that tells something, or before a capital: "European markets"."""

    @property
    def times(self) -> int:
        return self.names.total()


def name_key(one: FoundName) -> NameKey:
    return key_of(one.name, one.kind), one.kind == "identifier"


def find_certainty(
    found: Sequence[FoundName],
    tokens: Sequence[NameToken],
    text: str,
    lines: Lines,
    *,
    expanded: Iterable[str],
    nouns: bool,
) -> dict[NameKey, float]:
    """Step of each name of a document. `expanded`: those that it gives an acronym of; `nouns`: its language writes all nouns
    with capitals, so that a capital tells nothing of a word."""
    small = {token.folded for token in tokens if not token.capital}
    known = {key_of(name) for name in expanded}
    return {
        key: _step(sign, small, key[0] in known, nouns)
        for key, sign in _read_signs([one for one in found if one.kind != "term"], tokens, text, lines).items()
    }


def _read_signs(
    found: Iterable[FoundName], tokens: Sequence[NameToken], text: str, lines: Lines
) -> dict[NameKey, _Signs]:
    starts = [token.start for token in tokens]
    begins_line = read_lines_of(text)
    signs: dict[NameKey, _Signs] = {}
    for one in found:
        sign = signs.setdefault(name_key(one), _Signs())
        sign.names[one.name] += 1
        sign.kinds[one.kind] += 1
        at, after = bisect_left(starts, one.start), bisect_left(starts, one.end)
        opens = at < len(tokens) and tokens[at].start == one.start and tokens[at].opens
        sign.inside += not opens and lines.at(one.start) == "prose" and not begins_line(one.start)
        before = tokens[at - 1] if at and not opens and text[tokens[at - 1].end : one.start].isspace() else None
        sign.determined += before is not None and (
            before.folded in INDEFINITE or LEADING_ARTICLE.match(f"{before.folded} ") is not None
        )
        if after < len(tokens) and text[one.end : tokens[after].start] == " ":
            sign.modifies += tokens[after].folded not in STOPS and tokens[after].folded not in ASSERTS
        sign.shortened += (
            after < len(tokens)
            and text[one.end : tokens[after].start] == ". "
            and (tokens[after].word.isdigit() or tokens[after].word[:1].isupper())
        )
        sign.told += (after < len(tokens) and text[one.end : one.end + 1] in (",", "'", "’")) or (
            before is not None and before.folded in PLACE_PREPOSITIONS
        )
    return signs


def _step(sign: _Signs, small: set[str], expanded: bool, nouns: bool) -> float:
    name, kind = sign.names.most_common(1)[0][0], sign.kinds.most_common(1)[0][0]
    if kind == "identifier":
        return _step_of_identifier(sign, name, nouns=nouns)
    words = [fold(word) for word in _WORD.findall(name)]
    if _is_broken(name, words):
        return UNLIKELY
    telling = [word for word in words if word not in _SILENT] or words
    written = sum(word in small for word in telling)
    common = all(word in small or word in _GENERIC for word in telling)
    if kind == "organisation" and not common:
        return UNLIKELY if words[-1] in OCCUPATIONS or _is_of_something(words, small) else SURE
    if kind == "organisation":
        return LIKELY if expanded else UNLIKELY
    if kind == "person":
        return UNLIKELY if written or words[0] in OCCUPATIONS or words[-1] in OCCUPATIONS else SURE
    told = sign.told > _MOST * sign.times
    if kind == "place":
        if written:
            return UNLIKELY if common else LIKELY if told else OPEN
        return OPEN if len(words) == 1 and (nouns or sign.modifies >= _MODIFIER * sign.times) else SURE
    if len(words) > 1:
        return _step_of_phrase(sign, name, words, telling, written, expanded=expanded, told=told, nouns=nouns)
    return _step_of_word(sign, name, common=common, nouns=nouns)


def _is_broken(name: str, words: Sequence[str]) -> bool:
    """Whether it has no letters (a key is written Ⓐ), holds a choice, begins with a legal form or goes on behind one ("Wyeth LLC
    Texas"), says its first word twice, joins two lines of a heading, or ends in a small word."""
    if "/" in name or len(words) < 2:
        return "/" in name or not words
    ended = any(
        form in LEGAL_FORMS
        and len(form) <= _LONGEST_FORM
        and form not in CONNECTORS
        and after not in LEGAL_FORMS | STOPS
        for form, after in pairwise(words)
    )
    heading = not name.isupper() and len(words) > _SHORT and _SHOUTED.search(name) is not None
    return ended or heading or words[0] in LEGAL_FORMS or words[0] == words[1] or words[-1] in STOPS


def _is_of_something(words: Sequence[str], small: set[str]) -> bool:
    """Whether what stands before its first small word names no organisation: "Employees of The Boeing Company"."""
    head = list(takewhile(lambda word: word not in CONNECTORS and word not in STOPS, words))
    if len(head) == len(words) or not ORGANISATIONS.isdisjoint(head):
        return False
    return all(word in small or word in LABELS or word in OCCUPATIONS for word in head)


def _step_of_identifier(sign: _Signs, name: str, *, nouns: bool) -> float:
    """What has an underscore at its end, a slash or a dot before an underscore is emphasis, a choice or a path; what stands in
    code and cells alone may be anything, and "3D-Drucker" is a noun."""
    if name.startswith("_") or name.endswith("_") or "/" in name or "._" in name or _CODED.fullmatch(name):
        return UNLIKELY
    if not sign.inside or (nouns and "-" in name) or _TERM_OF_ART.fullmatch(name):
        return OPEN
    return SURE if _WHOLE.fullmatch(name) else LIKELY


def _step_of_phrase(
    sign: _Signs,
    name: str,
    words: Sequence[str],
    telling: Sequence[str],
    written: int,
    *,
    expanded: bool,
    told: bool,
    nouns: bool,
) -> float:
    if words[-1] in LABELS:
        return UNLIKELY
    if written == len(telling):
        # "IRS", but not "RSU", which the document spells out in small letters
        return OPEN if name.islower() else LIKELY if expanded else UNLIKELY
    again = sign.inside >= _INSIDE - 1
    if nouns:
        return OPEN if again and not written else UNLIKELY
    return LIKELY if again and (not written or told) else OPEN


def _step_of_word(sign: _Signs, name: str, *, common: bool, nouns: bool) -> float:
    again = sign.inside >= _INSIDE - 1
    if _ACRONYM.fullmatch(name):
        if fold(name) in OCCUPATIONS or name.endswith("s"):  # "RSUs": several of something have no name
            return UNLIKELY
        return LIKELY if again and len(name) > _SHORT else OPEN
    if sign.shortened == sign.times and len(name) <= _SHORTENED:
        return UNLIKELY
    if common or sign.inside == 0 or sign.determined >= _SHARE * sign.times:
        return UNLIKELY
    if nouns:
        return LIKELY if again and sign.told > _MOST * sign.times else UNLIKELY
    if sign.inside < _INSIDE or sign.modifies >= _MODIFIER * sign.times:
        return OPEN
    return SURE if sign.told > _SHARE * sign.times else LIKELY
