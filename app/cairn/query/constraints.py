"""Which constraints a prompt states, by patterns. Pure.

Everything is bounded: prompts are cut at WINDOW, lists at MOST_ITEMS, numbers at MOST.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final

from cairn.domain.plan import PromptConstraints
from cairn.language.lexicon import any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.names import COMMON_OPENERS
from cairn.language.sentences import split_sentences
from cairn.language.tokens import message_words, terms
from cairn.query.small_talk import whole_message

WINDOW: Final = 4000  # bound: tests/unit/test_edges_query.py
MOST: Final = 20  # bound: tests/unit/test_edges_query.py
"""More searches or openings than this are no constraint but a typo; what cannot be met is disclosed."""
MOST_ITEMS: Final = 12  # bound: tests/unit/test_edges_query.py
SECTION_CHARS: Final = 40  # bound: tests/unit/test_edges_query.py
"""Least text of a section that is worth its heading."""
CHARS_PER_WORD: Final = 5  # bound: tests/unit/test_edges_query.py

_NUMBER_WORDS: Final = {word: value for one in languages() for word, value in one.orders.numbers.items()}
_N: Final = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_SEPARATE: Final = any_of(lambda one: one.orders.separate)
_SEARCHES: Final = rf"(?:(?:tool|search|document|doc)[ -])?{any_of(lambda one: one.orders.searches)}"
_SEARCH: Final = bounded(rf"\b{_N} (?:{_SEPARATE},? )?(?:more )?{_SEARCHES}\b", re.IGNORECASE)
_SEARCH_APART: Final = bounded(
    rf"\b{_SEPARATE} {_SEARCHES}\b|\b{any_of(lambda one: one.orders.apart)}\b|"
    rf"\b{_SEARCHES} {any_of(lambda one: one.orders.separate_after)}\b",
    re.IGNORECASE,
)
_FEW: Final = 2  # measured: tests/unit/test_edges_query.py
"""Searches that are meant by "separate searches" of nothing in particular."""
_OPENED: Final = any_of(lambda one: one.orders.texts)
_READ, _AT_LEAST = any_of(lambda one: one.orders.read), any_of(lambda one: one.orders.at_least)
_OPEN: Final = bounded(
    rf"\bopen(?:_citation)?\b(?: (?:for|on|of|up))?(?: {_AT_LEAST})? {_N} (?:[\w-]+ ){{0,2}}{_OPENED}\b|"
    rf"\bopen_citation\b[^.\n]{{0,40}}?\b(?:minimum|{_AT_LEAST}) {_N.replace('<n>', '<m>')}\b|"
    rf"\b{_READ}\b[^.\n]{{0,30}}?\b{_AT_LEAST} {_N.replace('<n>', '<k>')} (?:[\w-]+ ){{0,2}}{_OPENED}\b|"
    rf"\b{_READ} {_N.replace('<n>', '<j>')} (?:[\w-]+ ){{0,2}}{_OPENED}(?: in full)?\b",
    re.IGNORECASE,
)
_OPEN_ONE: Final = bounded(rf"\bopen_citation\b|\b{any_of(lambda one: one.orders.read_whole)}\b", re.IGNORECASE)
_QUOTE: Final = bounded(rf"\b{any_of(lambda one: one.orders.quote)}(?!\w)", re.IGNORECASE)
_CONFLICT: Final = bounded(rf"\b{any_of(lambda one: one.orders.conflict)}\b", re.IGNORECASE)
_DISCLOSE: Final = bounded(rf"\b{any_of(lambda one: one.orders.disclose)}\b", re.IGNORECASE)
_WORDS: Final = bounded(rf"\b{_AT_LEAST} {_N} {any_of(lambda one: one.orders.words)}\b", re.IGNORECASE)
_SECTION_NAMES: Final = any_of(lambda one: one.orders.section_names)
_SECTIONS: Final = bounded(
    rf"\b(?i:{any_of(lambda one: one.orders.sections)})"
    rf"(?:(?: {_SECTION_NAMES})?\s*:\s*| {_SECTION_NAMES}\s+(?=[A-ZÄÖÜÉ\"“'«])|\s+(?=[\"“'«]))",
)
_TOPICS: Final = bounded(
    rf"\b{_SEARCHES}(?: (?:separately|each))? {any_of(lambda one: one.orders.about)}[:\s]+|"
    rf"\bsearch (?:separately|individually) (?:for|on|about)[:\s]+|\b{any_of(lambda one: one.orders.topics)}:\s*",
    re.IGNORECASE,
)
_EACH: Final = bounded(rf"{any_of(lambda one: one.orders.each)}\b", re.IGNORECASE)
_BULLET: Final = bounded(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-h][.)])[ \t]+(\S.*)$", re.MULTILINE)
_AND: Final = any_of(lambda one: one.split.joins)
_SPLIT: Final = bounded(rf"\s*(?:,|;|/|\b{_AND}\b|&)\s*", re.IGNORECASE)
_QUOTED: Final = bounded(r"[\"“”'‘’«»`*]{1,2}([^\"“”'‘’«»`*\n]{2,60})[\"“”'‘’«»`*]{1,2}")
_ITEM: Final = bounded(rf"^{any_of(lambda one: one.orders.item)} ", re.IGNORECASE)
_LEAD: Final = bounded(rf"^(?:{_AND}|{any_of(lambda one: one.orders.then)}) ", re.IGNORECASE)


def constraints_of(prompt: str) -> PromptConstraints:
    """What `prompt` demands; PromptConstraints() for a plain question."""
    text = prompt[:WINDOW].replace("’", "'")
    sections = _listed(text, _SECTIONS)
    topics = _topics(text, sections)
    words = max((_number(match) for match in _WORDS.finditer(text)), default=0)
    quoted = tuple(dict.fromkeys(" ".join(match[0].split()) for match in _QUOTE.finditer(text)))
    conflict = _CONFLICT.search(text)
    return PromptConstraints(
        min_searches=_searches(text, topics),
        required_search_topics=topics,
        min_open_citations=_openings(text),
        requires_exact_quote=bool(quoted),
        exact_quote_indicators=quoted[:MOST_ITEMS],
        requires_conflict_resolution=conflict is not None,
        conflict_resolution_rule=_sentence(text, conflict) if conflict else None,
        required_sections=sections,
        requires_insufficiency_disclosure=_DISCLOSE.search(text) is not None,
        estimated_min_answer_length=max(words * CHARS_PER_WORD, SECTION_CHARS * len(sections)),
    )


_ORDERS: Final = (_DISCLOSE, _QUOTE, _CONFLICT, _SEARCH, _SEARCH_APART, _OPEN, _OPEN_ONE, _WORDS)
_SPEAKER: Final = every(lambda one: one.claims.speaker)


def without_orders(prompt: str) -> str:
    """What a prompt asks, without the sentences that say how a model is to work on it and to word it ("Quote exact SQL. Say
    'Insufficient documentation' ..."): their words are not asked about. As it is where nothing else is said."""
    starts = [start for start, _ in split_sentences(prompt[:WINDOW])]
    said = [prompt[start:end] for start, end in pairwise((*starts, len(prompt[:WINDOW])))]
    orders = {at for at, one in enumerate(said) if any(order.search(one) for order in _ORDERS)} - _requests(said)
    left = "".join((*(one for at, one in enumerate(said) if at not in orders), prompt[WINDOW:])).strip()
    return left if orders and terms(left) else prompt


def _requests(said: Sequence[str]) -> set[int]:
    """Places of the sentences that may say what is wanted, though they are orders ("Show the exact price of Alpha."): questions,
    the first that opens as one asks people, and the first of all that is neither small talk nor about who writes it."""
    opened = {at: words[0].folded for at, one in enumerate(said) if terms(one) and (words := message_words(one))}
    telling = (at for at, word in opened.items() if word not in _SPEAKER and not whole_message(said[at]))
    questions = [at for at, one in enumerate(said) if one.rstrip().endswith("?")]
    asking = (at for at, word in opened.items() if word in COMMON_OPENERS or at in questions)
    return {*questions, *islice(telling, 1), *islice(asking, 1)}


def _number(match: re.Match[str]) -> int:
    said = next(value for value in match.groupdict().values() if value is not None)
    return int(said) if said.isdecimal() else _NUMBER_WORDS[said.casefold()]


def _searches(text: str, topics: tuple[str, ...]) -> int:
    counted = min(MOST, max((_number(match) for match in _SEARCH.finditer(text)), default=1))
    apart = max(_FEW, len(topics)) if _SEARCH_APART.search(text) else 1
    return max(1, counted, apart)


def _openings(text: str) -> int:
    counted = min(MOST, max((_number(match) for match in _OPEN.finditer(text)), default=0))
    return max(counted, 1 if _OPEN_ONE.search(text) else 0)


def _topics(text: str, sections: tuple[str, ...]) -> tuple[str, ...]:
    """What is to be searched for separately: a list after "searches for", else the sections where each is to be."""
    if not (_SEARCH_APART.search(text) or _SEARCH.search(text)):
        return ()
    for match in _TOPICS.finditer(text):
        if _EACH.match(text, match.end()):
            return sections or _bullets(text, match.end())
        if found := _items(text, match.end()):
            return found
    return ()


def _listed(text: str, head: re.Pattern[str]) -> tuple[str, ...]:
    for match in head.finditer(text):
        if found := _items(text, match.end(), most_words=6):
            return found
    return ()


# measured: tests/unit/test_edges_query.py
def _items(text: str, at: int, most_words: int = 8) -> tuple[str, ...]:
    """The list that begins at `at`: bullets, quoted names, or words between commas up to the sentence's end."""
    rest = text[at:]
    if rest.lstrip(" \t").startswith("\n") or _BULLET.match(rest):
        return _bullets(text, at)
    line = re.split(r"[.!?;](?:\s|$)|\n", rest, maxsplit=1)[0]
    if quoted := _QUOTED.findall(line):
        return _clean(quoted, most_words)
    found = _clean(_SPLIT.split(line), most_words)
    return found if len(found) > 1 else ()


def _bullets(text: str, at: int) -> tuple[str, ...]:
    return _clean([match[1] for match in _BULLET.finditer(text, at)], 8)


def _clean(items: list[str], most_words: int) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for item in items:
        name = _ITEM.sub("", _LEAD.sub("", item.strip(" \t.,:;!?'\"“”`*()"), count=1), count=1).strip()
        if name and len(name.split()) <= most_words:
            found.setdefault(name)
    return tuple(found)[:MOST_ITEMS]


def _sentence(text: str, match: re.Match[str]) -> str:
    start = max(text.rfind(mark, 0, match.start()) for mark in (". ", "\n", "? ", "! ")) + 1
    end = min(
        (place for mark in (". ", "\n", "? ", "! ") if (place := text.find(mark, match.end())) >= 0), default=len(text)
    )
    return " ".join(text[start:end].split()).strip(" .-*•")[:300]
