"""Another query after the passages found were not good enough, by rules. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.domain.passage import Passage
from cairn.language.tokens import content_words
from cairn.query.followup import MAX_TEXT


def rewrite_after(
    question: str, relevant: Sequence[Passage], irrelevant: Sequence[Passage], tried: Sequence[str]
) -> str:
    """Another query after the passages found for `question` were not good enough, by rules.

    What was retrieved tells: terms of the titles and headings of the relevant ones lead on; words that only the irrelevant
    ones have matched led astray and lose their weight by being left out, unless nothing would remain. Queries `tried`
    before are not given again; the question itself is returned when there is nothing new to try.
    """
    words = content_words(question)
    astray = _share(words, irrelevant)
    helpful = _share(words, relevant)
    # measured: tests/unit/test_edges_query.py
    kept = [word for word in words if astray[word] < 0.8 or helpful[word] > 0 or word[0].isupper()]
    led = _headwords(relevant, question)
    for terms in ((*words, *led), kept, words):  # the last: the question without its scaffolding
        text = " ".join(terms)[:MAX_TEXT].strip()
        if text and text not in (question, *tried):
            return text
    return question


def _share(words: Sequence[str], passages: Sequence[Passage]) -> dict[str, float]:
    """Share of the passages that hold each word."""
    texts = [f"{passage.title} {passage.content}".casefold() for passage in passages]
    return {word: sum(word.casefold() in text for text in texts) / (len(texts) or 1) for word in words}


def _headwords(passages: Sequence[Passage], question: str) -> tuple[str, ...]:
    """Words of titles and headings of the passages that the question does not have."""
    found = [
        word for passage in passages[:3] for head in (passage.title, *passage.headings) for word in content_words(head)
    ]
    return tuple(dict.fromkeys(word for word in found if len(word) > 2 and word.casefold() not in question.casefold()))[
        :4
    ]
