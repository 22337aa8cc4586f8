"""Whether a message stands alone, and if not, what it leans on. Pure.

The worst error is to carry history into a question about something else, so a word counts as a reference only where
nothing in the message itself can be meant: "How does PostgreSQL store its data?" stands alone, "How does it store its
data?" does not, "What is the capital budget of Berlin?" certainly does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from app.language.text import folded_words
from app.language.tokens import Word, message_words
from app.query.binding import clause
from app.query.pointing import Reference, binding_names, pointing
from app.query.references import BY_LANGUAGE, References

MAX_CHARS: Final = 400
"""Longer messages bring their own subject."""
MAX_CONTENT: Final = 9
"""And so do messages with more words that say something."""
FRAGMENT_WORDS: Final = 7
"""After "and" or "what about": more words, or a verb among them, are a question of its own."""


def reference(message: str, language: str, names: Sequence[str]) -> Reference | None:
    """What the message leans on; None when it stands alone. `names`: the entities of the message."""
    text = message.strip()
    if not text or len(text) > MAX_CHARS:
        return None
    table = BY_LANGUAGE.get(language, BY_LANGUAGE["en"])
    offset = message.index(text)
    if sum(word.content for word in message_words(text)) > MAX_CONTENT:
        return None
    found = (
        _whole(text, table) or _focus(text, table, names) or _listed(text, table, names) or pointing(text, table, names)
    )
    found = found or _bare(text, table, names)
    if found is None:
        return None
    return Reference(found.kind, found.cue, found.start + offset, found.end + offset, found.number, found.rest)


# --- messages that are nothing without history ------------------------------------------------------------------------


def _whole(text: str, table: References) -> Reference | None:
    """ "why?", "since when?"; and messages without a single word that says something."""
    bare = text.strip(" ?!.¿¡…")
    if table.whole.fullmatch(bare):
        return Reference("whole", bare, 0, len(text))
    return None


def _bare(text: str, table: References, names: Sequence[str]) -> Reference | None:
    """Questions without a subject: "what year?", "how many employees?", "¿cuándo se fundó?"."""
    words = message_words(text)
    asks = [word for word in words if word.folded in table.questions]
    said = [word for word in words if word.content and word.folded not in table.questions]
    if not names and words and not said:
        return Reference("whole", text, 0, len(text))
    if not asks or binding_names(names, text, table):
        return None
    joint = table.joints.match(text)
    first = [word for word in words if word.start >= (joint.end() if joint else 0)][:1]
    nouns = [word for word in said if word.folded not in table.verbs]
    verbs = [word for word in words if word.folded in table.verbs]
    if len(nouns) == 1 and not verbs and len(words) <= 3 and first and first[0].folded in _COUNTING:
        return Reference("focus", text, 0, len(text), rest=text)
    if _drops_subject(text, words, table):
        return Reference("pronoun", "", len(text), len(text))
    return None


_COUNTING: Final = folded_words("how which in combien cuantos cuantas cuanto wie wieviel wieviele quelle quel")


def _drops_subject(text: str, words: Sequence[Word], table: References) -> bool:
    """Spanish says no pronoun: "¿cuándo se fundó?", "¿cuántos empleados tiene?" have nothing after the verb."""
    if table is not BY_LANGUAGE["es"]:
        return False
    body = [word for word in words if word.folded not in {"y", "e", "pero", "entonces", "se", "lo", "le", "en", "que"}]
    determined = any(word.folded in table.determiners for word in body)
    last = body[-1].folded if body else ""
    ends = last in table.verbs - {"hay", "es", "son"} or bool(
        re.search(r"(?:ó|aron|ieron|ió|aba|ía|ara|era)$", words[-1].text)
    )
    asks = (body[:1] and body[0].folded in table.questions) or (
        body[:1] and body[0].folded in {"por", "a", "de", "con"}
    )
    return bool(asks) and ends and not determined and len(body) <= 4


# --- a new focus for the question before -------------------------------------------------------------------------------


def _focus(text: str, table: References, names: Sequence[str]) -> Reference | None:
    """ "what about Germany?", "and in 2015?", "no, I meant the blue one"."""
    for pattern in (table.corrections, table.openers):
        match = pattern.match(text)
        rest = text[match.end() :].strip(" ?!.¿¡…") if match else ""
        if match and rest and _is_fragment(rest, table):
            if any(pattern.search(rest) for pattern in (table.ordinal, table.every, table.other)):
                return None  # a reference to what was listed is more precise
            if any(word.folded in table.possessives | table.demonstratives for word in message_words(rest)):
                return None  # as is a possessive: "and its price?"
            return Reference("focus", match.group().strip(), 0, match.end(), rest=rest)
    return None


def _is_fragment(rest: str, table: References) -> bool:
    """No sentence of its own: few words, no verb, no question word, and not only a pronoun."""
    words = message_words(rest)
    if not words or len(words) > FRAGMENT_WORDS or words[0].folded in table.questions | table.verbs:
        return False
    if any(word.folded in table.verbs | table.questions for word in words):
        return False
    return any(word.content for word in words) and words[0].folded not in table.pronouns


# --- what was listed ----------------------------------------------------------------------------------------------------


def _listed(text: str, table: References, names: Sequence[str]) -> Reference | None:
    words = message_words(text)
    if match := table.ordinal.search(text):
        named = match["word"]
        number = int(match["number"]) if match["number"] else table.ordinals.get(_folded(named), 0)
        before = [word for word in words if word.end <= match.start()]
        if (
            number
            and (named or len(words) <= 8)
            and not (before and clause(text, [*before, words[len(before)]], before[-1]))
        ):
            return Reference("ordinal", match.group(), match.start(), match.end(), number)
    if match := table.other.search(text):
        return Reference("other", match.group(), match.start(), match.end())
    match = table.every.search(text) or table.pick.search(text)
    if match and not _names_some(text[: match.start()], names) and not _own_subject(text, match.end(), table):
        return Reference("every", match.group(), match.start(), match.end())
    return None


def _names_some(before: str, names: Sequence[str]) -> bool:
    """ "are cats and dogs both mammals?" says which."""
    return any(name in before for name in names) or sum(word.content for word in message_words(before)) > 1


def _own_subject(text: str, end: int, table: References) -> bool:
    """What the message itself lists or names after "both": "are both cats and dogs mammals?"."""
    following = message_words(text[end:])
    if not following or following[0].folded in table.verbs:
        return False
    own = table.determiners | {"of", "de", "von", "des", "du"}
    return following[0].folded in own or any(word.folded in {"and", "et", "y", "e", "und"} for word in following)


def _folded(text: str) -> str:
    found = message_words(text)
    return found[0].folded if found else ""
