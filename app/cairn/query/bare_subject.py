"""A message, or a side of a comparison, that is a subject alone ("GeoJSON"): what it is, is asked. Pure."""

from __future__ import annotations

from typing import Final

from cairn.language.lexicon import every, language
from cairn.language.tokens import message_words

LONGEST: Final = 4  # bound: tests/unit/test_edges_query.py
"""Words of a side of a comparison that is a subject alone; longer ones say what is asked of it ("Nomad in terms of price")."""

_ASKS: Final = every(lambda one: one.questions.words)
_OPENS: Final = every(lambda one: one.questions.yes_no)


def as_question(text: str, code: str, *, side: bool = False) -> str:
    """What a subject is asked for in the language `code`: "GeoJSON" is "What is GeoJSON?". Any other text as it is. `side`: of a
    comparison, where a subject may have several words; a message of several asks more often for something of the first one.
    With a question word it is a question ("who is Ada").
    """
    bare = text.strip(" \t\n?!.,;:¿¡\"'“”„«»")
    said = message_words(bare)
    words = [word for word in said if word.content]
    asked = len(said) > 1 and (said[0].folded in _OPENS or any(word.folded in _ASKS for word in said))
    subject = bool(words) and len(said) <= LONGEST and not asked and not {*",;:?"} & {*bare}
    asks = language(code).asked.what_is
    if not (subject and asks and any(map(str.isalpha, bare))) or (not side and len(words) > 1):
        return text
    return asks.format(bare)
