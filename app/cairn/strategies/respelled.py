"""Words of a question that no document has, but one that differs by a slip of the finger: "buget", "hedquarters"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from cairn.answer.missing import word_pattern
from cairn.errors import CairnError
from cairn.language.tokens import spelled_terms
from cairn.runs.context import Run

SHORTEST, LONGEST = 5, 30
"""Letters of a word in which a slip shows: of shorter ones every other word is near, and longer ones are no words."""
WRONG_LETTER: Final = 6
"""Letters from which on one may be another one: "table" is no slip for "cable"."""
MOST_WORDS: Final = 4


async def respelled(run: Run, text: str) -> tuple[str, tuple[str, ...]] | None:
    """The text with the words that the documents have, and these; None where there is nothing to correct. That the documents
    could not be looked through is reported."""
    words = {raw: word for raw, word in spelled_terms(text) if SHORTEST <= len(word) <= LONGEST and word.isalpha()}
    words = dict(list(words.items())[:MOST_WORDS])
    if not words:
        return None
    library, collection = run.deps.library, run.question.collection
    meant: dict[str, str] = {}
    try:
        there = await library.mentioned(collection, [word_pattern(word) for word in words.values()])
        for raw, word in words.items():
            if word_pattern(word) not in there and (found := await library.spelled_nearly(collection, slips(raw))):
                meant[raw] = found
    except CairnError as error:
        run.record.degraded.append(f"whether words are misspelled could not be checked: {error.detail}")
        return None
    for raw, word in meant.items():
        text = re.sub(rf"(?<!\w){re.escape(raw)}(?!\w)", word, text)
    return (text, tuple(meant.values())) if meant else None


def slips(word: str) -> str:
    """A pattern over lower case for what is meant by a word with one letter too many or too few, two that changed places, or, of
    a long word that is no name, a wrong one. The first letter is right."""
    plain = word.lower()
    return "|".join(dict.fromkeys(_slips(plain, wrong=word == plain and len(plain) >= WRONG_LETTER)))


def _slips(word: str, *, wrong: bool) -> Iterator[str]:
    for at in range(1, len(word) + 1):
        yield f"{word[:at]}[[:alpha:]]{word[at:]}"
        yield word[: at - 1] + word[at:] if at > 1 else word[:1] + word[2:]
        if 1 < at < len(word):
            yield word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
        if wrong and at < len(word):
            yield f"{word[:at]}[[:alpha:]]{word[at + 1 :]}"
