"""Elliptical questions: "and Germany?" is the question before, about Germany. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from app.language.tokens import message_words
from app.query.pointing import Reference
from app.query.references import BY_LANGUAGE
from app.query.rewritten import MAX_TEXT, Names, Rewritten, appended, distinct, inside
from app.query.topic import Topic


def refocused(message: str, found: Reference, about: Topic, language: str, names: Names) -> Rewritten:
    """ "and Germany?" after "What is the capital of France?": the question before, about Germany."""
    rest = found.rest.strip(" ?!.¿¡")
    question = about.question.strip()
    reason = f"{found.cue!r}: the last question with {rest!r} in it"
    old = _counterpart(rest, about, language, names)
    if old and old.isdigit():
        rest = rest.split()[-1]
    if old and (place := question.find(old)) >= 0:
        text = _replaced(question, place, old, rest, language)
        carried = tuple(word for word in about.words if not inside(word, (old,)))
        return Rewritten(text, carried, reason)
    if found.rest == message.strip() and old is None:  # "how many employees?"
        return appended(message, distinct(about.subject, message), "no subject: that of the last question")
    return appended(question, distinct((rest,), question), reason, tuple(about.words[:6]))


def _replaced(question: str, place: int, old: str, rest: str, language: str) -> str:
    """The new focus in the place of the old, without a preposition or article said twice."""
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    before, words = question[:place], rest.split()
    last = before.split()[-1].casefold() if before.split() else ""
    if (
        len(words) > 1
        and last
        and message_words(words[0])[:1]
        and message_words(words[0])[0].folded in table.prepositions
    ):
        words = words[1:]
    elif (
        len(words) > 1
        and last in table.determiners
        and message_words(words[0])[:1]
        and message_words(words[0])[0].folded in table.determiners
    ):
        before = before.rstrip()[: -len(last)]
    return f"{before}{' '.join(words)}{question[place + len(old) :]}"[:MAX_TEXT]


def _counterpart(rest: str, about: Topic, language: str, names: Names) -> str | None:
    """The part of the last question that the new focus takes the place of: a year for a year, a name for a name."""
    if years := _YEAR.search(rest):
        old = _YEAR.search(about.question)
        return old.group() if old and rest.strip(" ").endswith(years.group()) else None
    if (number := _NUMBERED.fullmatch(rest)) and number["number"] not in about.question:
        numbers = _NUMBER.findall(about.question)
        return str(numbers[0]) if len(numbers) == 1 else None
    if not about.names:
        return _last_noun(rest, about.question, language)
    if names(rest, language) or all(word.capital for word in message_words(rest) if word.content):
        return (
            about.names[0]
            if len(about.names) == 1
            else _after_same_preposition(rest, about, language) or about.names[0]
        )
    return None


_YEAR: Final = re.compile(r"\b(?:1[0-9]|20)\d{2}\b")


_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?![\w.,]*\w)")
_NUMBERED: Final = re.compile(r"(?:\w{1,4}\s+)?(?P<number>\d+)")
""" "the 500"."""


def _last_noun(rest: str, question: str, language: str) -> str | None:
    """ "and the mileage?" takes the place of the noun at the end of "How high is the daily allowance?". Not where something
    else of the question may be meant: "How do customers pay the invoice?" "And the suppliers?"."""
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    new, words = message_words(rest), message_words(question)
    start = max((place for place, word in enumerate(words) if word.folded in table.determiners), default=0)
    noun, before = words[start + 1 :], words[:start]
    phrase = 2 <= len(new) <= 3 and new[0].folded in table.determiners and all(word.content for word in new[1:])
    if not (phrase and before and 1 <= len(noun) <= 2 and all(word.content for word in noun)):
        return None
    alone = sum(word.content for word in before) <= 1 and before[-1].folded not in table.prepositions
    return question[words[start].start : noun[-1].end] if alone else None


def _after_same_preposition(rest: str, about: Topic, language: str) -> str | None:
    """ "and in Germany?" takes the place of what stands after "in"."""
    lead = _preposition(rest, language)
    for name in about.names:
        if lead and about.question[: about.question.find(name)].rstrip().casefold().endswith(" " + lead.casefold()):
            return name
    return None


def _preposition(text: str | Sequence[str], language: str) -> str:
    """The preposition that a text begins with."""
    words = text.split() if isinstance(text, str) else list(text)
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    return (
        words[0]
        if words and message_words(words[0]) and message_words(words[0])[0].folded in table.prepositions
        else ""
    )
