"""Answers that need no retrieval: fixed replies and questions back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.answer.advice import join_or
from cairn.domain.answer import Draft
from cairn.domain.event import Token
from cairn.language.lexicon import replies
from cairn.language.tokens import terms
from cairn.runs.context import Outcome, Run

SHOWN: Final = 3
"""Documents that a question back names."""

LONGEST_SAID: Final = 80


async def reply(run: Run) -> Outcome:
    """The fixed reply of the intent, in the language of the message."""
    text = replies(run.plan.language).fixed[run.plan.intent.intent]
    run.emit(Token(text))
    unread = run.plan.intent.intent == "garbage"  # it asks to say it otherwise, which answers nothing
    draft = Draft(text, (), not unread, 0.0)
    return Outcome(draft, "fixed", confidence=0.0, needs_clarification=unread)  # there is nothing to be sure of


async def clarify(run: Run) -> Outcome:
    """A question back that names what there is to ask about."""
    titles = await run.deps.library.titles(run.question.collection, SHOWN)
    text = question_back(run.question.text, run.plan.language, titles)
    run.emit(Token(text))
    return Outcome(Draft(text, (), False, 0.0), "fixed", confidence=0.0, needs_clarification=True)


def question_back(message: str, language: str, titles: Sequence[str]) -> str:
    """What to ask somebody whose message does not say enough."""
    say = replies(language)
    said = " ".join(message.split())
    about = say.which.format(said=said) if terms(said) and len(said) <= LONGEST_SAID else say.subject
    return about + (say.for_example.format(titles=join_or(titles, language)) if titles else ".")
