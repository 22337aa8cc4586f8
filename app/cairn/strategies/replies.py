"""Answers that need no retrieval: fixed replies and questions back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from cairn.answer.advice import join_or
from cairn.domain.answer import Draft
from cairn.domain.event import Token
from cairn.domain.plan import Intent
from cairn.language.lexicon import replies
from cairn.language.tokens import terms
from cairn.runs.context import Outcome, Run

REPLIES: Final[Mapping[Intent, str]] = {
    "greeting": "Hello! How can I help you with your documents today?",
    "gratitude": "You're welcome! Feel free to ask if you have more questions about your documents.",
    "garbage": "I didn't quite understand that. Could you rephrase your question about the documents?",
    "off_topic": "I'm designed to help with questions about your uploaded documents. What would you like to know about "
    "them?",
}
"""Word for word, in whatever language the message is."""

SHOWN: Final = 3
"""Documents that a question back names."""

LONGEST_SAID: Final = 80


async def reply(run: Run) -> Outcome:
    """The fixed reply of the intent."""
    text = REPLIES[run.plan.intent.intent]
    run.emit(Token(text))
    return Outcome(Draft(text, (), True, 1.0), "fixed", confidence=run.plan.intent.confidence)


async def clarify(run: Run) -> Outcome:
    """A question back that names what there is to ask about."""
    titles = await run.deps.library.titles(run.question.collection, SHOWN)
    text = question_back(run.question.text, run.plan.language, titles)
    run.emit(Token(text))
    confidence = run.plan.intent.confidence
    return Outcome(Draft(text, (), False, 1.0), "fixed", confidence=confidence, needs_clarification=True)


def question_back(message: str, language: str, titles: Sequence[str]) -> str:
    """What to ask somebody whose message does not say enough."""
    say = replies(language)
    said = " ".join(message.split())
    about = say.which.format(said=said) if terms(said) and len(said) <= LONGEST_SAID else say.subject
    return about + (say.for_example.format(titles=join_or(titles, language)) if titles else ".")
