"""Whether a message asks for a summary of a whole document or of the whole collection. Pure.

A summary of the whole is read in order, passage by passage; "summarize the refund policy" is a question like any other,
answered from the passages that are about it.
"""

from __future__ import annotations

import re
from typing import Final

from cairn.language.lexicon import any_of
from cairn.language.linear import bounded

FILE_NAME: Final = bounded(
    r"(?<![\w/])[\w][\w .()/-]{0,120}?\."
    r"(?:pdf|docx?|md|markdown|txt|html?|rst|pptx?|xlsx?|csv|json|py|js|ts|java|go|rs|c|cpp|sql)\b",
    re.IGNORECASE,
)

_VERB: Final = bounded(rf"\b{any_of(lambda one: one.summaries.verbs)}", re.IGNORECASE)
_WHOLE: Final = bounded(rf"\b{any_of(lambda one: one.summaries.whole)}", re.IGNORECASE)
_NARROW: Final = bounded(rf"^\s*{any_of(lambda one: one.summaries.narrower)}\b", re.IGNORECASE)
_BARE: Final = bounded(
    rf"^\W*(?:{any_of(lambda one: one.summaries.before)}\s+)*{any_of(lambda one: one.summaries.alone)}"
    rf"(?:\s+{any_of(lambda one: one.summaries.after)})?\W*$",
    re.IGNORECASE,
)


def asks_summary(text: str) -> bool:
    """Whether the message asks for a summary of anything: of the whole, of a document, or of what is said on a subject."""
    text = text[:600]
    return bool(_BARE.match(text) or _VERB.search(text))


def wants_summary(text: str) -> bool:
    """Whether the message asks to summarize a document or the collection as a whole."""
    text = text[:600]
    if _BARE.match(text):
        return True
    verb = _VERB.search(text)
    if not verb:
        return False
    if FILE_NAME.search(text):
        return True
    return any(
        not _NARROW.match(text[whole.end() :]) or verb.start() > whole.start() or whole.end() <= verb.end()
        for whole in _WHOLE.finditer(text)
    )
