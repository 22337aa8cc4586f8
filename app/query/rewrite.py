"""A follow-up becomes a question that stands alone: by rules, or by a chat model whose words are checked.

The result is what retrieval looks for: the user's words, with what they refer to in its place or behind them. Rules
carry names and words of the questions before, and of the last answer where it is what is asked about; they carry
nothing into a message that stands alone (app/query/followup.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from app.domain.plan import Intent
from app.domain.question import Turn
from app.language.identify import by_words
from app.language.text import folded_words
from app.language.tokens import content_words, message_words
from app.query.followup import reference
from app.query.intent import hard_rules
from app.query.pointing import Reference
from app.query.references import BY_LANGUAGE, LAST
from app.query.refocus import refocused
from app.query.rewritten import MAX_TEXT, Names, Rewritten, appended, distinct, inside
from app.query.topic import Topic, listed, said, topic

MAX_TURN: Final = 2000
"""Characters of a past question that are looked at."""


def rewrite(
    message: str, history: Sequence[Turn], language: str, names: Names, *, window: int | None = None
) -> Rewritten:
    """By rules. `history` is oldest first, without the message itself. `window`: how many of its last messages the message
    may lean on (None: all); what one of these leans on itself may be older."""
    if found := topic_of(history, language, names, window=window):
        return resolve(message, found, language, names)
    if not history:
        return Rewritten(message, reason="no history")
    leans = reference(message, language, names(message, language))
    return Rewritten(message, reason="nothing to carry") if leans else Rewritten(message)


def topic_of(history: Sequence[Turn], language: str, names: Names, *, window: int | None = None) -> Topic | None:
    """What the conversation is about: the last question that stands alone, and what those after it made of it."""
    current: Topic | None = None
    for text, spoken, answer, goes_on in _since_alone(history, language, names, window):
        if goes_on:
            if current and (items := listed(said(answer))):
                current = replace(current, items=items)
            continue
        resolved = resolve(text, current, spoken, names)
        if current and not content_words(resolved.text):
            continue
        current = topic(resolved.text, spoken, answer, lambda part, code=spoken: names(part, code))  # type: ignore[misc]
    return current


_Said = tuple[str, str, Turn | None, bool]


def _since_alone(history: Sequence[Turn], language: str, names: Names, window: int | None) -> list[_Said]:
    """Questions with their language, their answer and whether they only go on, oldest first; what was said before the last
    one that stands alone is not looked at."""
    found: list[_Said] = []
    leaned = False  # whether one of the window has something before it: "tell me more" has, "thanks" has not
    for place in range(len(history) - 1, -1, -1):
        if window is not None and len(history) - place > window and not leaned:
            break
        text = history[place].content.strip()[:MAX_TURN]
        if history[place].role != "user" or not text:
            continue
        spoken = by_words(text) or language
        answer = next((after for after in history[place + 1 : place + 2] if after.role == "assistant"), None)
        aside = _aside(text)
        goes_on, leaned = aside is not None, leaned or aside not in ("greeting", "gratitude", "garbage", "off_topic")
        found.append((text, spoken, answer, goes_on))
        if not goes_on and content_words(text) and reference(text, spoken, names(text, spoken)) is None:
            break
    return found[::-1]


def _aside(message: str) -> Intent | None:
    """What leaves the topic as it is: "thanks", "tell me more" and "why?"."""
    match = hard_rules(message, has_history=True)
    return match.intent if match and match.intent not in ("question", "command") else None


def resolve(message: str, about: Topic | None, language: str, names: Names) -> Rewritten:
    """The message with what it leans on, out of `about`."""
    found = reference(message, language, names(message, language)) if about else None
    if about is None or found is None:
        return Rewritten(message)
    match found.kind:
        case "focus":
            return refocused(message, found, about, language, names)
        case "whole":
            return _about_the_last(message, found, about, language)
        case "ordinal":
            return _item(message, found, about)
        case "every" | "other":
            carried = about.items or about.names or about.words[:6]
            return appended(message, carried, f"{found.cue!r}: what was listed or named")
        case "document":
            carried = about.sources[:1] or about.subject
            return appended(message, carried, f"{found.cue!r}: the source of the last answer")
    return _referent(message, found, about, language)


def _about_the_last(message: str, found: Reference, about: Topic, language: str) -> Rewritten:
    """ "why?" asks something else of the last question; "and?" nothing."""
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    asks = any(word.folded in table.questions for word in message_words(message))
    text = f"{message.strip(' ?!.¿¡')}: {about.question}" if asks else about.question
    return Rewritten(text[:MAX_TEXT], (about.question,), f"{found.cue!r} is about the last question")


def followed_up(
    message: str, history: Sequence[Turn], language: str, names: Names, *, window: int | None = None
) -> Rewritten:
    """For "tell me more" and "simpler, please", where no answer is there to work on: the question before."""
    found = topic_of(history, language, names, window=window)
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
        return appended(message, distinct(carried, message), f"{found.cue!r}: what was asked about")
    person = found.cue.casefold() in _PERSONS
    carried = distinct((*asked, *about.names[:3]), message) or distinct(about.subject, message) or about.named[:2]
    cue = repr(found.cue) if found.cue else "no subject"
    reason = f"{cue}: {'the answer' if asked else 'the subject'} of the last question"
    if not asked and len(about.names) == 1 and _is_beside(about.names[0], about, found.cue):
        return appended(message, distinct((*about.names, *about.words[:6]), message), reason)
    single = asked[0] if asked and (person or len(asked) == 1) else about.names[0] if len(about.names) == 1 else None
    if single and found.cue and language == "en" and found.kind in ("pronoun", "possessive"):
        rest = tuple(name for name in carried if name != single) if asked else ()
        written = single + ("'s" if found.kind == "possessive" else "")
        replaced = f"{message[: found.start]}{written}{message[found.end :]}"
        return appended(replaced, rest, reason, (single, *rest))
    return appended(message, carried, reason)


def _is_beside(name: str, about: Topic, cue: str) -> bool:
    """Whether the only name of a question is not what it is about: "days of leave in France" are about leave, and so are
    "they" after a name and several words more."""
    before = about.question[: max(about.question.find(name), 0)].split()
    others = [word for word in about.words if not inside(word, (name,))]
    placed = len(before) > 3 and before[-1].casefold() in _PLACED
    return placed or (cue.casefold() in _SEVERAL and len(others) > 2)


_PLACED: Final = frozenset(["in", "at", "en", "à", "au", "aux", "im", "bei"])
_SEVERAL: Final = frozenset(["they", "them", "their"])
_PERSONS: Final = folded_words("he she him her his hers lui elle il él ella er sie ihn ihm")
_NAME_ASKED: Final = re.compile(
    r"\b(?:who|whom|whose|which|where|what|qui|quel|quelle|quels|quelles|où|lequel|quién|quien|cuál|cual|qué|dónde|wer|wen|wem|"
    r"welche[rsnm]?|wo|wohin|was)\b",
    re.IGNORECASE,
)


def _asks_for_name(about: Topic) -> bool:
    """Whether the answer's name is a thing that one may ask about next."""
    if all(inside(word, about.names) for word in about.words):
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
            context = distinct(about.subject, text)
            if where == "cited" or about.items == tuple(about.names):
                context = distinct([word for word in about.words if not inside(word, about.names)], text)
            return appended(
                text, context[:4], f"{found.cue!r}: item {number} of what was {where}", (item, *context[:4])
            )
    return appended(message, distinct(about.subject, message), f"{found.cue!r}: nothing was listed; the last question")
