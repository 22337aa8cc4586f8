"""Whether a question goes through another one: "who founded the company that makes X?" Pure.

The answer to the inner question ("the company that makes X") is not said, so one search finds the inner half, the outer one,
or neither. What tells is a description in place of a name: a noun with a relative clause or a participle, one description
inside another ("the capital of the country of ..."), or two possessives in a row.
"""

from __future__ import annotations

import re
from typing import Final

from cairn.language.lexicon import DEFAULT, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold

LONGEST: Final = 600
"""Characters; longer messages are pasted texts, whose relative clauses describe nothing that is asked for."""

_PATTERNS: Final = {
    one.code: tuple(bounded(pattern, re.IGNORECASE) for pattern in one.questions.through_another) for one in languages()
}


_SPREAD: Final = {
    one.code: tuple(bounded(pattern, re.IGNORECASE) for pattern in one.questions.spread) for one in languages()
}


def spread(question: str, language: str) -> str | None:
    """What shows that the answer is spread over documents: "compare X across the Ys", "how has X evolved?". None where a single
    place may answer; so where the message has a number, which is of one place."""
    text = " ".join(question.split())
    if len(text) > LONGEST or any(map(str.isdigit, text)):
        return None
    found = (pattern.search(text) for pattern in _SPREAD.get(language, _SPREAD[DEFAULT]))
    return next((match[0].strip(" .?!¿") for match in found if match), None)


def bridge(question: str, language: str) -> str | None:
    """The description that stands in place of a name; None where the question names what it asks about."""
    text = " ".join(question.split())
    if len(text) > LONGEST:
        return None
    found = (pattern.search(text) for pattern in _PATTERNS.get(language, _PATTERNS[DEFAULT]))
    return next((_whole_words(text, *match.span()) for match in found if match), None)


def _whole_words(text: str, start: int, end: int) -> str:
    """What stands there, with the words that it begins and ends in: patterns look only at the edge of a word."""
    first = text.rfind(" ", 0, start + 1) + 1
    last = text.find(" ", end)
    return text[first : last if last >= 0 else len(text)].strip(" ,.;:?!")


_QUESTION_WORDS: Final = every(lambda one: one.questions.words - one.questions.never)


def asks(text: str) -> bool:
    """Whether it is written as a question, not as a statement: with its sign, or a question word at the beginning."""
    first = text.split(maxsplit=1)[:1]
    return "?" in text or bool(first and fold(first[0]) in _QUESTION_WORDS)
