"""Acronyms that a question writes and a text spells out, or the other way round: "CEO", "Chief Executive Officer". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cairn.language.names import loud
from cairn.language.text import fold
from cairn.language.tokens import is_stop_word

SHORTEST, LONGEST = 3, 6  # measured: tests/unit/test_acronyms.py
"""Letters of an acronym: two begin any two words."""
_ACRONYM: Final = re.compile(rf"(?<![\w-])[A-Z]{{{SHORTEST},{LONGEST}}}(?![\w-])")
_WORD: Final = re.compile(r"[^\W\d_]+")
_BETWEEN: Final = re.compile(r"[ \t\n-]{1,2}")
"""What may stand between two words of a phrase."""


def spell_out(question: str, texts: Iterable[str]) -> str:
    """The question, with words in the place of an acronym that texts spell out, and an acronym in the place of words for
    which they write one, where they do not have what the question writes: "Who is the Chief Executive Officer?"."""
    acronyms = [] if loud(question) else list(dict.fromkeys(_ACRONYM.findall(question)))
    whole = "\n\n".join(texts)
    written = set(_ACRONYM.findall(whole))
    for acronym in acronyms:
        if acronym not in written and (phrase := next(phrases_of(acronym, whole), None)):
            question = re.sub(rf"(?<!\w){acronym}(?!\w)", phrase, question, count=1)
    for acronym in sorted(written - {*acronyms}):
        phrase = next(phrases_of(acronym, question), None)
        if phrase and fold(phrase) not in fold(whole):
            question = question.replace(phrase, acronym, 1)
    return question


def phrases_of(acronym: str, text: str) -> Iterator[str]:
    """Words in a row whose initials, small words aside, are these letters: "chief executive officer"."""
    letters = acronym.casefold()
    words = [*_WORD.finditer(text)]
    for at, word in enumerate(words):
        if fold(word[0])[:1] != letters[0] or is_stop_word(fold(word[0])):
            continue
        last, taken = word, 1
        for following in words[at + 1 : at + 2 * len(letters)]:
            if taken == len(letters) or not _BETWEEN.fullmatch(text, last.end(), following.start()):
                break
            small = is_stop_word(fold(following[0]))
            if not small and fold(following[0])[:1] != letters[taken]:
                break
            last, taken = following, taken + (not small)
        if taken == len(letters) and not is_stop_word(fold(last[0])):
            yield " ".join(text[word.start() : last.end()].split())
