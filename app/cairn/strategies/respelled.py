"""Words of a question that no document has, but one that differs by a slip of the finger: "buget", "hedquarters"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.answer.answer_type import asking_words
from cairn.answer.missing import Subject, mentioned, seen, subjects, word_pattern
from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.language.text import fold
from cairn.language.tokens import spelled_terms, terms
from cairn.runs.context import Run

SHORTEST, LONGEST = 5, 30
"""Letters of a word in which a slip shows: of shorter ones every other word is near, and longer ones are no words."""
WRONG_LETTER: Final = 6
"""Letters from which on one may be another one: "table" is no slip for "cable"."""
WRONG_IN_NAME: Final = 9
"""The same of a name: Anderson is not Andersen."""
MOST_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Respelled:
    """The text with the words that the documents have, and these. `name`: one of them is a name."""

    text: str
    words: tuple[str, ...]
    name: bool


async def respelled(run: Run, text: str, passages: Sequence[Passage]) -> Respelled | None:
    """None where there is nothing to correct: above all where the passages that were found have all its words. A word that is one
    anyway ("reset") is never corrected. That the documents could not be looked through is reported."""
    words = {raw: word for raw, word in spelled_terms(text) if SHORTEST <= len(word) <= LONGEST and word.isalpha()}
    known = {word for passage in passages for word in terms(seen(passage))} | asking_words(text)
    words = {raw: word for raw, word in words.items() if word not in known}
    read = " ".join(known)
    words = {raw: word for raw, word in words.items() if not mentioned(_as_subject(word), read)}
    library, searcher, collection = run.deps.library, run.deps.searcher, run.question.collection
    words = {raw: word for raw, word in words.items() if not searcher.has_word(collection, raw, run.plan.words_in)}
    words = dict(list(words.items())[:MOST_WORDS])
    if not words:
        return None
    meant: dict[str, str] = {}
    try:
        # by statistics, which for most questions spares reading the collection
        inflected = await library.known_words(collection, list(words))
        words = {raw: word for raw, word in words.items() if raw not in inflected}
        if not words:
            return None
        named = {word for one in subjects(text, run.plan.words_in) if one.sure for word in terms(one.text)}
        there = await library.mentioned(collection, [word_pattern(word) for word in words.values()])
        for raw, word in words.items():
            if word_pattern(word) in there:
                continue
            found = await library.spelled_nearly(collection, slips(raw, name=word in named))
            if found and not _inflected(word, fold(found)):
                meant[raw] = found
    except CairnError as error:
        run.record.degraded.append(f"whether words are misspelled could not be checked: {error.detail}")
        return None
    for raw, word in meant.items():
        text = re.sub(rf"(?<!\w){re.escape(raw)}(?!\w)", word, text)
    return Respelled(text, tuple(meant.values()), any(words[raw] in named for raw in meant)) if meant else None


def _inflected(one: str, other: str) -> bool:
    """Whether one only ends otherwise: "verbotenen", where the documents have "verbotene"."""
    return one.startswith(other) or other.startswith(one)


def _as_subject(word: str) -> Subject:
    return Subject(word, "name", (word_pattern(word),))


def slips(word: str, *, name: bool = False) -> str:
    """A pattern over lower case for what is meant by a word with one letter too many or too few, two that changed places, or, of
    a long word, a wrong one. The first letter is right."""
    plain = word.lower()
    wrong = len(plain) >= (WRONG_IN_NAME if name else WRONG_LETTER)
    return "|".join(dict.fromkeys(_slips(plain, wrong=wrong)))


def _slips(word: str, *, wrong: bool) -> Iterator[str]:
    for at in range(1, len(word) + 1):
        yield f"{word[:at]}[[:alpha:]]{word[at:]}"
        yield word[: at - 1] + word[at:] if at > 1 else word[:1] + word[2:]
        if 1 < at < len(word):
            yield word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
        if wrong and at < len(word):
            yield f"{word[:at]}[[:alpha:]]{word[at + 1 :]}"
