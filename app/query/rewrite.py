"""A follow-up becomes a question that stands alone: by rules, or by a chat model whose words are checked.

The result is what retrieval looks for: the user's words, with what they refer to in its place or behind them. Rules
carry names and words of the questions before, and of the last answer where it is what is asked about; they carry
nothing into a message that stands alone (app/query/followup.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.conversation import Turn
from app.domain.words import folded_words
from app.query.followup import Reference, reference
from app.query.language import by_words
from app.query.references import BY_LANGUAGE, LAST
from app.query.topic import Topic, topic
from app.query.words import content_words, tokens

MAX_TURN: Final = 2000
"""Characters of a past question that are looked at."""
MAX_TEXT: Final = 600
"""Characters of a rewritten question."""

Names = Callable[[str, str], Sequence[str]]
"""Entities of a text in a language."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`carried`: what came from the conversation; empty where the message stands alone. `reason` for the trace."""

    text: str
    carried: tuple[str, ...] = ()
    reason: str = "stands alone"


def rewrite(message: str, history: Sequence[Turn], language: str, names: Names) -> Rewritten:
    """By rules. `history` is the window (5 messages, A12.01), oldest first, without the message itself."""
    found = topic_of(history, language, names)
    return resolve(message, found, language, names) if found else Rewritten(message, reason="no history")


def topic_of(history: Sequence[Turn], language: str, names: Names) -> Topic | None:
    """What the conversation is about: each question is resolved with those before it."""
    current: Topic | None = None
    for place, turn in enumerate(history):
        if turn.role != "user" or not turn.content.strip():
            continue
        text = turn.content.strip()[:MAX_TURN]
        spoken = by_words(text) or language
        answer = next((after for after in history[place + 1 : place + 2] if after.role == "assistant"), None)
        resolved = resolve(text, current, spoken, names)
        if current and not content_words(resolved.text):  # "thanks"
            continue
        current = topic(resolved.text, spoken, answer, lambda part, code=spoken: names(part, code))  # type: ignore[misc]
    return current


def resolve(message: str, about: Topic | None, language: str, names: Names) -> Rewritten:
    """The message with what it leans on, out of `about`."""
    found = reference(message, language, names(message, language)) if about else None
    if about is None or found is None:
        return Rewritten(message)
    match found.kind:
        case "focus":
            return _refocused(message, found, about, language, names)
        case "whole":
            return _about_the_last(message, found, about, language)
        case "ordinal":
            return _item(message, found, about)
        case "every" | "other":
            carried = about.items or about.names or about.words[:6]
            return _appended(message, carried, f"{found.cue!r}: what was listed or named")
        case "document":
            carried = about.sources[:1] or about.subject
            return _appended(message, carried, f"{found.cue!r}: the source of the last answer")
    return _referent(message, found, about, language)


def _about_the_last(message: str, found: Reference, about: Topic, language: str) -> Rewritten:
    """ "why?" asks something else of the last question; "and?" nothing."""
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    asks = any(word.folded in table.questions for word in tokens(message))
    text = f"{message.strip(' ?!.¿¡')}: {about.question}" if asks else about.question
    return Rewritten(text[:MAX_TEXT], (about.question,), f"{found.cue!r} is about the last question")


def followed_up(message: str, history: Sequence[Turn], language: str, names: Names) -> Rewritten:
    """For "tell me more" and "simpler, please", where no answer is there to work on: the question before."""
    found = topic_of(history, language, names)
    return Rewritten(found.question, (found.question,), "the last question again") if found else Rewritten(message)


def standing_alone(parts: Sequence[str], language: str, names: Names) -> tuple[str, ...]:
    """Sub-questions of one message, each with what it says of an earlier one: "... and who designed it?"."""
    found: list[str] = []
    about: Topic | None = None
    for part in parts:
        resolved = resolve(part, about, language, names).text
        found.append(resolved)
        about = about or topic(resolved, language, None, lambda text: names(text, language))
    return tuple(found)


# --- what is carried ----------------------------------------------------------------------------------------------------


def _referent(message: str, found: Reference, about: Topic, language: str) -> Rewritten:
    """A pronoun: the names of the question, and of the answer where the question asked for one; else its words."""
    asked = tuple(name for name in about.named if _asks_for_name(about))[:2]
    if found.kind == "demonstrative":
        carried = tuple(dict.fromkeys((*about.names[:3], *asked, *about.words[:6])))
        return _appended(message, _distinct(carried, message), f"{found.cue!r}: what was asked about")
    person = found.cue.casefold() in _PERSONS
    carried = _distinct((*asked, *about.names[:3]), message) or _distinct(about.subject, message) or about.named[:2]
    said = repr(found.cue) if found.cue else "no subject"
    reason = f"{said}: {'the answer' if asked else 'the subject'} of the last question"
    single = asked[0] if asked and (person or len(asked) == 1) else about.names[0] if len(about.names) == 1 else None
    if single and found.cue and language == "en" and found.kind in ("pronoun", "possessive"):
        rest = tuple(name for name in carried if name != single) if asked else ()
        written = single + ("'s" if found.kind == "possessive" else "")
        replaced = f"{message[: found.start]}{written}{message[found.end :]}"
        return _appended(replaced, rest, reason, (single, *rest))
    return _appended(message, carried, reason)


_PERSONS: Final = folded_words("he she him her his hers lui elle il él ella er sie ihn ihm")
_NAME_ASKED: Final = re.compile(
    r"\b(?:who|whom|whose|which|where|what|qui|quel|quelle|quels|quelles|où|lequel|quién|quien|cuál|cual|qué|dónde|wer|wen|wem|"
    r"welche[rsnm]?|wo|wohin|was)\b",
    re.IGNORECASE,
)


def _asks_for_name(about: Topic) -> bool:
    """Whether the answer's name is a thing that one may ask about next."""
    if all(_inside(word, about.names) for word in about.words):
        return False  # "what is Siemens?": the next question is about Siemens
    return bool(_NAME_ASKED.search(about.question)) and not re.search(
        r"\bwhat\s+(?:year|date|time|percentage|number)\b|\bquelle\s+(?:année|date)\b", about.question, re.IGNORECASE
    )


def _item(message: str, found: Reference, about: Topic) -> Rewritten:
    """ "the second one": of what the last answer lists, of what the question named, or of the sources."""
    for items, where in ((about.items, "listed"), (about.named, "named in the answer"), (about.sources, "cited")):
        number = len(items) if found.number == LAST else found.number or 0
        if 1 <= number <= len(items):
            item = items[number - 1]
            text = f"{message[: found.start]}{item}{message[found.end :]}"
            context = _distinct(about.subject, text)
            if where == "cited" or about.items == tuple(about.names):
                context = _distinct([word for word in about.words if not _inside(word, about.names)], text)
            return _appended(
                text, context[:4], f"{found.cue!r}: item {number} of what was {where}", (item, *context[:4])
            )
    return _appended(
        message, _distinct(about.subject, message), f"{found.cue!r}: nothing was listed; the last question"
    )


# --- a new focus ----------------------------------------------------------------------------------------------------------


def _refocused(message: str, found: Reference, about: Topic, language: str, names: Names) -> Rewritten:
    """ "and Germany?" after "What is the capital of France?": the question before, about Germany."""
    rest = found.rest.strip(" ?!.¿¡")
    question = about.question.strip()
    reason = f"{found.cue!r}: the last question with {rest!r} in it"
    old = _counterpart(rest, about, language, names)
    if old and (place := question.find(old)) >= 0:
        text = _replaced(question, place, old, rest, language)
        carried = tuple(word for word in about.words if not _inside(word, (old,)))
        return Rewritten(text, carried, reason)
    if found.rest == message.strip() and old is None:  # "how many employees?"
        return _appended(message, _distinct(about.subject, message), "no subject: that of the last question")
    return _appended(question, _distinct((rest,), question), reason, tuple(about.words[:6]))


def _replaced(question: str, place: int, old: str, rest: str, language: str) -> str:
    """The new focus in the place of the old, without a preposition or article said twice."""
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    before, words = question[:place], rest.split()
    last = before.split()[-1].casefold() if before.split() else ""
    if len(words) > 1 and last and tokens(words[0])[:1] and tokens(words[0])[0].folded in table.prepositions:
        words = words[1:]
    elif (
        len(words) > 1
        and last in table.determiners
        and tokens(words[0])[:1]
        and tokens(words[0])[0].folded in table.determiners
    ):
        before = before.rstrip()[: -len(last)]
    return f"{before}{' '.join(words)}{question[place + len(old) :]}"[:MAX_TEXT]


def _counterpart(rest: str, about: Topic, language: str, names: Names) -> str | None:
    """The part of the last question that the new focus takes the place of: a year for a year, a name for a name."""
    if years := _YEAR.search(rest):
        old = _YEAR.search(about.question)
        return old.group() if old and rest.strip(" ").endswith(years.group()) else None
    if not about.names:
        return None
    if names(rest, language) or all(word.capital for word in tokens(rest) if word.content):
        return (
            about.names[0]
            if len(about.names) == 1
            else _after_same_preposition(rest, about, language) or about.names[0]
        )
    return None


_YEAR: Final = re.compile(r"\b(?:1[0-9]|20)\d{2}\b")


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
    return words[0] if words and tokens(words[0]) and tokens(words[0])[0].folded in table.prepositions else ""


# --- text ---------------------------------------------------------------------------------------------------------------


def _distinct(terms: Sequence[str], text: str) -> tuple[str, ...]:
    """Terms that the text does not have yet, each once."""
    have = text.casefold()
    return tuple(dict.fromkeys(term for term in terms if term and term.casefold() not in have))


def _inside(word: str, names: Sequence[str]) -> bool:
    return any(word.casefold() in name.casefold() for name in names)


def _appended(text: str, terms: Sequence[str], reason: str, carried: Sequence[str] | None = None) -> Rewritten:
    """The terms stand before the question mark."""
    said = carried if carried is not None else terms
    if not terms:
        return Rewritten(text[:MAX_TEXT], tuple(said), reason if said else "nothing to carry")
    body = text.strip()
    mark = re.search(r"[\s?!.]*$", body)
    end = mark.start() if mark else len(body)
    return Rewritten(f"{body[:end]} {' '.join(terms)}{body[end:]}"[:MAX_TEXT].strip(), tuple(said), reason)
