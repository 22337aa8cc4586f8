"""What a conversation is about at its end: the last question, what it named, what the answer listed. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.question import Turn
from app.language.lexicon import refusals
from app.language.text import folded_words
from app.language.tokens import content_words, message_words
from app.query.references import BY_LANGUAGE

MAX_ANSWER: Final = 1500
"""Characters of an answer that are looked at."""
MAX_ITEM: Final = 80
MAX_WORDS: Final = 6
MAX_NAMES: Final = 4

_VERBS: Final = frozenset().union(*(table.verbs for table in BY_LANGUAGE.values()))
_CITATION = re.compile(r"\s*\[\d+\]")
_ITEM = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-h]\))\s+(?P<item>\S.*)$", re.MULTILINE)
_AND = r"(?:and|or|et|ou|y|e|o|und|oder|sowie)"
_SERIES = re.compile(rf"(?P<head>[^,.;:!?\n]+(?:,\s*[^,.;:!?\n]+)*)\s*,?\s+{_AND}\s+(?P<last>[^,.;:!?\n]+)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Topic:
    """`question` stands alone already. `items`: what the last answer lists, else what the last question names beside
    each other. `named`: names of the answer that the question did not have. `sources`: titles, cited ones first."""

    question: str
    language: str
    names: tuple[str, ...]
    words: tuple[str, ...]
    answer: str = ""
    named: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def subject(self) -> tuple[str, ...]:
        """What the question was about: its names, else the words that say something."""
        return self.names[:MAX_NAMES] or self.words[:MAX_WORDS]


def topic(question: str, language: str, answer: Turn | None, names_in: Callable[[str], Sequence[str]]) -> Topic:
    """`names_in` finds the entities of a text."""
    text = said(answer)
    plain = (name for name in names_in(question) if any(map(str.isalpha, name)))
    names = tuple(dict.fromkeys(name for found in plain for name in _numbered(found, question)))
    named = _new_names(text, question, names_in)
    items = listed(text) or named_series(question, names)
    sources = sorted(answer.sources, key=lambda source: (not source.cited, source.n)) if answer else []
    titles = tuple(dict.fromkeys(source.title or source.filename for source in sources if not source.deleted))
    return Topic(question, language, names, tuple(content_words(question)), text, named, items, titles)


def _numbered(name: str, question: str) -> list[str]:
    """A name with the number behind it, each of several: "the Clio 4 and the Clio 5"."""
    numbers = re.findall(rf"(?<!\w){re.escape(name)}\s+(\d{{1,4}})(?![\w.,]*\w)", question)
    return [f"{name} {number}" for number in numbers] or [name]


def said(answer: Turn | None) -> str:
    """What an answer says, without its citations; nothing where it refuses, though it names documents to ask about."""
    if answer is None or answer.content.startswith(_REFUSALS):
        return ""
    return _CITATION.sub("", answer.content[:MAX_ANSWER])


_REFUSALS: Final = refusals()


def _new_names(answer: str, question: str, names_in: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """Names that are new in the sentence of the answer which says most of the question's words: what was asked for."""
    sentences = _SENTENCE.split(answer.strip())[:3]
    first = sentences[0]
    words = message_words(first)
    short = 0 < len(words) <= 5 and not _ITEM.match(first) and not _VERBS & {word.folded for word in words}
    if (
        short
        and words[-1].capital
        and any(map(str.isalpha, first))
        and (len(words) > 1 or not _ASKS_FOR_SEVERAL.match(question))
    ):
        return (first.strip(" .!"),)
    asked = question.casefold()
    words_asked = {word.casefold() for word in content_words(question)}
    telling = max(sentences, key=lambda one: len(words_asked & {word.casefold() for word in content_words(one)}))
    found = [name for name in names_in(telling) if any(map(str.isalpha, name)) and name.casefold() not in asked]
    return tuple(found[:MAX_NAMES])


_ASKS_FOR_SEVERAL: Final = re.compile(
    r"\W*(?:what\s+(?:do|does|did|are|were)|how|why|que|comment|pourquoi|cómo|por\s+qué|wie|warum|was\s+(?:sind|tut|macht))\b",
    re.IGNORECASE,
)
"""A capitalised word as the whole answer is no name then: "What does Acme sell?" "Widgets."."""


def listed(answer: str) -> tuple[str, ...]:
    """Lines of a list, else the members of the longest "A, B and C" of the answer. At least two, else none."""
    lines = [match["item"].strip() for match in _ITEM.finditer(answer)]
    if len(lines) >= 2:
        return tuple(_short(line) for line in lines[:20])
    best: list[str] = []
    for sentence in _SENTENCE.split(answer)[:6]:
        if (match := _SERIES.search(sentence[:400])) and "," in match["head"]:
            head = match["head"].split(",")
            members = [_member(head[0], first=True), *map(_member, head[1:]), _member(match["last"])]
            if not any(_VERBS & {word.folded for word in message_words(member)[:1]} for member in members):
                best = max(best, [member for member in members if member], key=len)
    return tuple(best) if len(best) >= 3 else ()


def _short(line: str) -> str:
    """The beginning of an item, up to a colon, dash or full stop."""
    head = re.split(r"\s[-–—]\s|:\s|(?<=\w{3})\.\s", line.replace("**", ""), maxsplit=1)[0]
    return head[:MAX_ITEM].strip(" .;,:")


def _member(part: str, *, first: bool = False) -> str:
    """A member of a series; from the first one only what follows the verb can be meant, its last words."""
    words = part.split()
    words = words[-3:] if first and len(words) > 4 else words[:6]
    while words and first and words[0].casefold() in _LEAD:
        words = words[1:]
    return " ".join(words)[:MAX_ITEM].strip(" .;:")


_LEAD: Final = folded_words(
    "is are was were include includes including sont est comprend son incluye incluyen sind ist the"
)


def named_series(question: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of the question beside each other: "compare PostgreSQL and MySQL"."""
    return tuple(names) if len(names) >= 2 and re.search(rf"\b{_AND}\b|,|\bvs\b|\bto\b", question) else ()
