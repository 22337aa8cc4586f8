"""How Cairn says that the documents do not answer, and how it recognises a model that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.domain.answer import Draft
from cairn.language.identify import by_words, likely_language
from cairn.language.lexicon import languages, replies
from cairn.language.linear import bounded
from cairn.language.text import fold

_OURS: Final = tuple(text for one in languages() for text in (one.replies.refusal, *one.replies.wordings) if text)
_NOTHING_THERE: Final = bounded("|".join(pattern for one in languages() for pattern in one.replies.says_nothing))
LONGEST_REFUSAL: Final = 320  # bound: tests/unit/test_edges_answer.py
"""Characters; in a longer text such a beginning is an introduction to what the sources do say."""


def refusal(question: str) -> str:
    """The sentence in the question's language."""
    return replies(by_words(question) or likely_language(question)).refusal


def not_mentioned(names: Sequence[str], language: str, *, elsewhere: bool = False) -> Draft:
    """The draft that says which names of the question no document mentions; `elsewhere`: they do, but not where what is asked
    could be answered."""
    say = replies(language)
    one, several = say.elsewhere if elsewhere else say.absent
    return _refused((one if len(names) == 1 else several).format(names=", ".join(names)))


def not_said_of(names: Sequence[str], words: Sequence[str], language: str) -> Draft:
    """The draft that says which words of the question stand nowhere near to the names in it."""
    say = replies(language)
    quoted = ", ".join(say.quotes.format(word) for word in dict.fromkeys(words))
    return _refused(say.not_said_of.format(names=", ".join(names), words=quoted))


def _refused(text: str) -> Draft:
    return Draft(text, (), False, 0.0, (text,))


def is_refusal(text: str, *, cited: bool = False) -> bool:
    """Whether a model's whole answer says that it does not know.

    It does where it begins with one of our own sentences, or is short and begins like other ways to say so; but an
    answer that is `cited` says something, unless it is one of our sentences and nothing else.
    """
    said = _plain(text)
    ours = [_plain(known) for known in _OURS]
    if cited:
        return any(_MARKS.sub("", said).strip(" .") == known for known in ours)
    if any(said.startswith(known) for known in ours):
        return True
    return len(said) <= LONGEST_REFUSAL and _NOTHING_THERE.match(said) is not None


_MARKS: Final = bounded(r"\s*\[\d+\]")


def _plain(text: str) -> str:
    return " ".join(fold(text.replace("’", "'")).strip("*_\"' \n").rstrip(".").split())
