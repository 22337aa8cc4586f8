"""The next query after a round that was not good enough, out of what it did find: by the chat model, else by rules."""

from __future__ import annotations

from collections.abc import Sequence

from app.answering.context import Run
from app.domain.passage import Passage
from app.errors import ProviderError
from app.language.tokens import content_words
from app.query.by_model import requery_by_model
from app.query.carry import MAX_TEXT
from app.retrieve.operators import parse_operators


async def requery(
    run: Run, relevant: Sequence[Passage], irrelevant: Sequence[Passage], tried: Sequence[str]
) -> str | None:
    """A query that was not tried; None where there is nothing new to try. A model that fails is reported."""
    question = parse_operators(run.plan.text).text  # what the message excludes is not looked for
    if run.deps.chat is not None and run.settings.rewrite.model:
        chat = run.record.metered("requery", run.deps.chat, run.settings)
        try:
            return await requery_by_model(question, relevant, irrelevant, tried, chat, run.settings.rewrite)
        except ProviderError as error:
            run.record.degraded.append(
                f"rewriting by the model failed ({error.code}: {error.detail}): rewritten by rules"
            )
    found = query_after(question, relevant, irrelevant, tried)
    return None if found in (question, *tried) else found


def query_after(question: str, relevant: Sequence[Passage], irrelevant: Sequence[Passage], tried: Sequence[str]) -> str:
    """Another query after the passages found for `question` were not good enough, by rules.

    What was retrieved tells: terms of the titles and headings of the relevant ones lead on; words that only the irrelevant
    ones have matched led astray and lose their weight by being left out, unless nothing would remain. Queries `tried`
    before are not given again; the question itself is returned when there is nothing new to try.
    """
    words = content_words(question)
    astray = _share(words, irrelevant)
    helpful = _share(words, relevant)
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
