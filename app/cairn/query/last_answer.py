"""What a message wants of the last answer, besides more of it: an example, the reason, where it is said, the shortest of what it
lists, or the same in another language. Pure.

Each is a whole message ("give me an example", "which of them is the shortest?", "in French please"); one that says more is a
question of its own (docs/adr/0107-wishes-about-the-last-answer.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from cairn.domain.plan import LastAnswerWish
from cairn.domain.question import Turn
from cairn.language.identify import languages_of
from cairn.language.lexicon import DEFAULT, Language, language, languages
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.query.intent import ONLY_STOP_WORDS, hard_rules
from cairn.query.listing import tongues

LONGEST: Final = 120  # bound: tests/unit/test_last_answer.py
"""Characters of such a message."""


def wish_of(message: str, spoken: str = DEFAULT) -> LastAnswerWish | None:
    """None for every other message. `spoken`: the language, where the message does not tell its own."""
    text = _loose(message)
    for one in languages_of(message, spoken) if text else ():
        if _examples(one.code).fullmatch(text):
            return LastAnswerWish("example")
        if _reasons(one.code).fullmatch(text):
            return LastAnswerWish("reason")
        if _sources(one.code).fullmatch(text):
            return LastAnswerWish("source")
        if match := _extremes(one.code).fullmatch(text):
            return _extreme(one, next(filter(None, match.groups())))
    return None


def _extreme(one: Language, word: str) -> LastAnswerWish:
    """What is measured, and which end of it is wanted: "shortest" is the least length, or the least time."""
    said = one.last_answer
    for least, table in ((True, said.least), (False, said.most)):
        for measures, words in table.items():
            if one.compiled(*words).fullmatch(word):
                return LastAnswerWish("extreme", tuple(measures.split()), least=least, word=word)
    raise AssertionError(word)  # it was matched by one of them


def language_wished(message: str, spoken: str = DEFAULT) -> str | None:
    """The code of the language in which the last answer is wanted; None for every other message, and for languages that Cairn
    does not speak."""
    text, asks = _loose(message), message.rstrip().endswith("?")
    for one in languages_of(message, spoken) if text else ():
        if match := _in_language(one.code, alone=not asks).fullmatch(text):
            return tongues()[next(filter(None, match.groups()))]
    return None


def question_again(history: Sequence[Turn]) -> tuple[str, tuple[Turn, ...]] | None:
    """The last message that asks something by itself, and what was said before it; None where there is none."""
    for at in range(len(history) - 1, -1, -1):
        turn = history[at]
        if turn.role != "user" or not turn.content.strip() or language_wished(turn.content):
            continue
        match = hard_rules(turn.content, has_history=at > 0)
        # "how much is that?" asks, in words that all refer back
        if match is None or match.intent in ("question", "command") or match.reason == ONLY_STOP_WORDS:
            return turn.content, tuple(history[:at])
    return None


def is_about_the_answer(message: str) -> bool:
    """Whether it asks nothing by itself, though it has words of its own: "in French please", "where does it say that?"."""
    wish = wish_of(message)
    return bool(language_wished(message)) or (wish is not None and wish.wants == "source")


def gives(wish: LastAnswerWish, code: str, sentence: str) -> bool:
    """Whether a sentence in this language gives what is wanted: an example, or a reason. By the words of no other language: in
    an English one a "car" is no French "because"."""
    return bool(_marks(wish.wants, code).search(fold(sentence.replace("’", "'"))))


def titles_examples(heading: str) -> bool:
    """Whether it is the heading of examples, in any language: "Examples", "Usage example"."""
    text = _loose(heading)
    return bool(text) and any(_headings(one.code).fullmatch(text) for one in languages())


# --- patterns ------------------------------------------------------------------------------------------------------------


def _loose(message: str) -> str:
    """Folded, without punctuation; "" for a long one."""
    return "" if len(message) > LONGEST else " ".join(_PUNCTUATION.sub(" ", fold(message.replace("’", "'"))).split())


_PUNCTUATION: Final = bounded(r"[^\w\s'-]")


@cache
def _examples(code: str) -> re.Pattern[str]:
    return language(code).compiled(*language(code).last_answer.examples)


@cache
def _headings(code: str) -> re.Pattern[str]:
    return language(code).compiled(*language(code).last_answer.example_headings)


@cache
def _reasons(code: str) -> re.Pattern[str]:
    return language(code).compiled(*language(code).last_answer.reasons)


@cache
def _sources(code: str) -> re.Pattern[str]:
    return language(code).compiled(*language(code).last_answer.sources)


@cache
def _extremes(code: str) -> re.Pattern[str]:
    said = language(code).last_answer
    words = [word for table in (said.least, said.most) for words in table.values() for word in words]
    return _framed(code, said.extremes, "<x>", words)


@cache
def _in_language(code: str, *, alone: bool) -> re.Pattern[str]:
    """`alone`: also without a word that asks for it, as in "in French"."""
    said, spoken = language(code).last_answer, {one.code for one in languages()}
    names = [name for name, of in tongues().items() if of in spoken]
    return _framed(code, (*said.in_language, *(said.in_language_alone if alone else ())), "<tongue>", names)


def _framed(code: str, frames: Sequence[str], name: str, words: Sequence[str]) -> re.Pattern[str]:
    """The frames, each with a group of these words in it, the longest first."""
    group = f"({'|'.join(sorted(words, key=len, reverse=True))})"
    return language(code).compiled(*(frame.replace(name, group) for frame in frames))


@cache
def _marks(wants: str, code: str) -> re.Pattern[str]:
    known = language(code)
    return known.compiled(*(known.last_answer.example_marks if wants == "example" else known.asked.reasons))
