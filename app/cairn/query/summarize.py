"""Whether a message asks for a summary of a whole document or of the whole collection. Pure.

A summary of the whole is read in order, passage by passage; "summarize the refund policy" is a question like any other,
answered from the passages that are about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cairn.language.identify import languages_of
from cairn.language.lexicon import DEFAULT, Language, either, languages
from cairn.language.linear import bounded

FILE_NAME: Final = bounded(
    r"(?<![\w/])[\w][\w .()/-]{0,120}?\."
    r"(?:pdf|docx?|md|markdown|txt|html?|rst|pptx?|xlsx?|csv|json|py|js|ts|java|go|rs|c|cpp|sql)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Asking:
    """How a language asks for a summary."""

    verb: re.Pattern[str]
    whole: re.Pattern[str]
    narrow: re.Pattern[str]
    bare: re.Pattern[str]


def _asking_of(one: Language) -> _Asking:
    said, before, after = one.summaries, either(one.summaries.before), either(one.summaries.after)
    return _Asking(
        bounded(rf"\b{either(said.verbs)}", re.IGNORECASE),
        bounded(rf"\b{either(said.whole)}", re.IGNORECASE),
        bounded(rf"^\s*{either(said.narrower)}\b", re.IGNORECASE),
        bounded(rf"^\W*(?:{before}\s+)*{either(said.alone)}(?:\s+{after})?\W*$", re.IGNORECASE),
    )


_ASKING: Final = {one.code: _asking_of(one) for one in languages()}


def _asked_in(text: str, language: str) -> list[_Asking]:
    return [_ASKING[one.code] for one in languages_of(text, language)]


def asks_summary(text: str, language: str = DEFAULT) -> bool:
    """Whether the message asks for a summary of anything: of the whole, of a document, or of what is said on a subject.
    `language`: where the message does not tell its own."""
    text = text[:600]
    return any(said.bare.match(text) or said.verb.search(text) for said in _asked_in(text, language))


def wants_summary(text: str, language: str = DEFAULT) -> bool:
    """Whether the message asks to summarize a document or the collection as a whole."""
    text = text[:600]
    return any(_wants(said, text) for said in _asked_in(text, language))


def _wants(said: _Asking, text: str) -> bool:
    if said.bare.match(text):
        return True
    verb = said.verb.search(text)
    if not verb:
        return False
    if FILE_NAME.search(text):
        return True
    return any(
        not said.narrow.match(text[whole.end() :]) or verb.start() > whole.start() or whole.end() <= verb.end()
        for whole in said.whole.finditer(text)
    )
