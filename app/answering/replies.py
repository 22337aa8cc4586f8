"""Answers that need no retrieval: fixed replies and questions back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.answer.advice import join_or, known_language
from app.answering.context import Outcome, Run
from app.domain.answer import Draft
from app.domain.event import Token
from app.domain.plan import Intent
from app.language.tokens import Language, terms

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

_SUBJECT: Final[Mapping[Language, str]] = {
    "en": "What is your question about? Please name the subject",
    "fr": "Sur quoi porte votre question ? Merci de préciser le sujet",
    "es": "¿Sobre qué trata su pregunta? Indique el tema",
    "de": "Worum geht es in Ihrer Frage? Bitte nennen Sie das Thema",
}
_WHICH: Final[Mapping[Language, str]] = {
    "en": "What exactly would you like to know about “{said}”? Please ask in a full sentence",
    "fr": "Que souhaitez-vous savoir exactement à propos de « {said} » ? Merci de poser une question complète",
    "es": "¿Qué desea saber exactamente sobre «{said}»? Formule una pregunta completa",
    "de": "Was genau möchten Sie über „{said}“ wissen? Bitte stellen Sie eine ganze Frage",
}
_FOR_EXAMPLE: Final[Mapping[Language, str]] = {
    "en": ", for example about {titles}.",
    "fr": ", par exemple à propos de {titles}.",
    "es": ", por ejemplo sobre {titles}.",
    "de": ", zum Beispiel zu {titles}.",
}
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
    spoken = known_language(language)
    said = " ".join(message.split())
    about = _WHICH[spoken].format(said=said) if terms(said) and len(said) <= LONGEST_SAID else _SUBJECT[spoken]
    return about + (_FOR_EXAMPLE[spoken].format(titles=join_or(titles, spoken)) if titles else ".")
