"""Pronouns, possessives and demonstratives of a message that point out of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from app.language.text import folded_words
from app.language.tokens import Word, message_words
from app.query.binding import bound, clause
from app.query.references import ABOUT_DOCUMENTS, BY_LANGUAGE, References

Kind = Literal[
    "pronoun", "possessive", "demonstrative", "document", "adverb", "ordinal", "every", "other", "focus", "whole"
]


@dataclass(frozen=True, slots=True)
class Reference:
    """`cue` stands at start..end of the message. `number`: of an ordinal, -1 for the last. `rest`: the new focus of an
    elliptical question."""

    kind: Kind
    cue: str
    start: int
    end: int
    number: int | None = None
    rest: str = ""


def pointing(text: str, table: References, names: Sequence[str]) -> Reference | None:
    expletive = [match.span() for match in table.expletive.finditer(text)]
    words = message_words(text)
    first_name = min((text.find(name) for name in binding_names(names, text, table)), default=len(text))
    for number, word in enumerate(words):
        if any(start <= word.start < end for start, end in expletive):
            continue
        kind = _kind(words, number, table, text)
        if kind in ("document", "demonstrative"):
            held = kind == "demonstrative" and number > 3 and clause(text, words[:number], word)
        else:
            held = bound(words[:number], word, kind == "possessive", table, text)
        if kind and word.start < first_name and not held:
            return Reference(kind, word.text, word.start, word.end)
    return _clitic(text, table, names)


def binding_names(names: Sequence[str], text: str, table: References) -> list[str]:
    """Names that a pronoun after them can mean. German writes all nouns like names: "wie viele Menschen" is none."""
    found = [name for name in names if any(map(str.isalpha, name)) and name in text]
    if table is not BY_LANGUAGE["de"]:
        return found
    return [name for name in found if " " in name or not _COUNTED.search(text[: text.find(name)])]


_COUNTED: Final = re.compile(
    r"\b(?:viele?n?|wieviele?n?|welche[rsmn]?|mehr|weniger|keine?[nmrs]?|jede[rsmn]?|was\s+für(?:\s+eine?[nmrs]?)?|an|in|für|"
    r"im|am|zum|zur)\s+$",
    re.IGNORECASE,
)


def _kind(words: Sequence[Word], number: int, table: References, text: str) -> Kind | None:
    word = words[number]
    following = words[number + 1] if number + 1 < len(words) else None
    if table is BY_LANGUAGE["de"] and word.text in {"Sie", "Ihr", "Ihre", "Ihnen", "Ihren", "Ihrem"} and number:
        return None  # polite
    if table is BY_LANGUAGE["es"] and word.text.lower() in {"él"}:
        return "pronoun"
    if word.text.isupper() and len(word.text) > 1:
        return None  # IT, US
    if word.folded in table.demonstratives:
        return _demonstrative(words, number, table)
    if word.folded in table.possessives:
        return _possessive(word, following, table)
    if word.folded in table.pronouns:
        weak = word.folded == "es" and (
            "," in text or sum(one.content for one in words) > 2
        )  # mostly refers to nothing
        return None if weak else "pronoun"
    if word.folded in table.adverbs:
        return "adverb"
    if table is BY_LANGUAGE["de"] and word.folded in {"das", "der", "die", "den", "dem"} and following is None:
        return "demonstrative"  # "wie hoch ist der?"
    return None


def _possessive(word: Word, following: Word | None, table: References) -> Kind | None:
    if following is None or not (following.content or following.folded in table.times):
        # "her" and "ihr" alone are pronouns; "leur" before a verb too
        return "pronoun" if word.folded in {"her", "ihr", "hers", "theirs", "leur"} else None
    return "possessive"


def _demonstrative(words: Sequence[Word], number: int, table: References) -> Kind | None:
    word, before = words[number], words[number - 1] if number else None
    following = words[number + 1] if number + 1 < len(words) else None
    if following and following.folded in table.times:
        return None
    if word.folded == "that" and before and before.folded not in _BEFORE_THAT | table.prepositions - {"than"}:
        return None  # a conjunction or a relative pronoun
    if word.text.lower() == "está" or (word.folded == "este" and before and before.folded == "del"):
        return None
    if following and following.folded in ABOUT_DOCUMENTS:
        return "document"
    if table is BY_LANGUAGE["es"] and following and following.folded in table.determiners:
        return None  # "está el" without its accent
    return "demonstrative"


_BEFORE_THAT: Final = folded_words("is was are were do does did can could will would should may and but all")


_CLITICS: Final = (
    re.compile(r"\b(?:qui|quand|où|comment|pourquoi)\s+(?P<cue>l['’])(?=(?:a|ont|avait|aurait)\b)", re.IGNORECASE),
    re.compile(
        r"\b(?:comment|où|peut-on|puis-je|faut-il|dois-je|doit-on)\s+(?P<cue>l['’]|les?\s|la\s)"
        r"(?=\w{2,}(?:er|ir|oir|dre|ttre|faire|lire|suivre)\b)", re.IGNORECASE,
    ),
    re.compile(r"\b(?:combien|qui|qu['’]|peut-on|puis-je)\s*(?P<cue>en)\s+(?=\w+)(?!\s*(?:france|\d|quelle?))", re.IGNORECASE),
    re.compile(
        r"(?:c[óo]mo|d[óo]nde|cu[áa]ndo|qui[ée]n|por\s+qué)\s+(?:se\s+)?(?P<cue>l[oae]s?)\s+(?=\w+\s*\?*$)",
        re.IGNORECASE,
    ),
    re.compile(r"\w(?:ar|er|ir)(?P<cue>l[oae]s?)\b(?=\s*\?)", re.IGNORECASE),
)  # fmt: skip


def _clitic(text: str, table: References, names: Sequence[str]) -> Reference | None:
    """French and Spanish object pronouns, which look like articles."""
    patterns = {"fr": _CLITICS[:3], "es": _CLITICS[3:]}
    for code, found in patterns.items():
        if table is not BY_LANGUAGE[code] or names:
            continue
        for pattern in found:
            match = pattern.search(text)
            if match and not any(word.content for word in message_words(text[: match.start()])):
                return Reference("pronoun", match["cue"].strip(), match.start("cue"), match.end("cue"))
    return None
