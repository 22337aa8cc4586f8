"""What a question names: people, places, products, identifiers, quoted terms. Pure; no model, no list of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.domain.plan import Vocabulary
from app.query.patterns.lexicon import ALL_QUESTION_WORDS, ALL_STOP_WORDS, YES_NO
from app.query.patterns.names import (
    ADDRESSES,
    COMMON_OPENERS,
    CONNECTORS,
    CONNECTORS_DE,
    DETERMINERS_DE,
    NOUN_ENDINGS_DE,
    NOUNS_DE,
)
from app.query.patterns.text import fold, window

MOST: Final = 20
"""Entities of one message; more would be a list."""
_QUOTED: Final = re.compile(
    r'"([^"\n]{2,80})"|“([^”\n]{2,80})”|«\s?([^»\n]{2,80}?)\s?»|„([^“”"\n]{2,80})[“”"]|`([^`\n]{2,80})`'
)
_TOKEN: Final = re.compile(r"[^\W_](?:[\w+#]|[.\-/:&](?=\w)|['’](?=[A-Za-z]))*(?:\(\))?|_\w+")
_SENTENCE_END: Final = re.compile(r"(?:[.!?:;…]|\n|[«\"“„(¿¡\[-])\s*$")
_IDENTIFIER: Final = re.compile(
    r"(?=.*[A-Za-z])(?:\w*[A-Za-z0-9]_\w+|_\w+|\w+\(\)|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Za-z]+[+#]+|"
    r"\w+(?:::|/)\w[\w/:.]*|[A-Za-z]\w*\.[A-Za-z_]\w*(?:\.\w+)*|(?=.*\d)(?=.*[A-Z])[A-Za-z0-9]+(?:[.\-/]\w+)*|(?=.*\d)[A-Za-z]{2,}[\w.-]*)"
)
_MEASURE: Final = re.compile(r"(?i)\d[\d.,]*(?:%|[a-z]{1,3}|st|nd|rd|th|[eè]me|er)?(?:/\w+)?|(?:19|20)\d0s")
_ELISION: Final = re.compile(r"^(?:[dlmnstcjDLMNSTCJ]|[Qq]u)['’]")
_POSSESSIVE: Final = re.compile(r"['’]s$")
_RARE: Final = 0.01
"""Share of passages up to which a lower-case word of the collection may be a name."""
_MIN_PASSAGES: Final = 20


def entities(text: str, language: str, vocabulary: Vocabulary | None) -> tuple[str, ...]:
    """Entities in the order of the text, each once, as they are spelled there.

    Capitals count beyond the beginning of a sentence, and not in a message without small letters. German nouns are
    capitalised all of them: there a name is what stands without determiner or adjective and does not look like a
    noun. `vocabulary` adds, where nothing else is named, up to two words that few passages of the collection hold.
    """
    text = window(text)
    found: list[tuple[int, str]] = []
    for match in _QUOTED.finditer(text):
        found.append((match.start(), next(group for group in match.groups() if group)))
    bare = _QUOTED.sub(lambda match: " " * len(match.group()), text)
    tokens = [_Token(match.group(), match.start(), bare) for match in _TOKEN.finditer(bare)]
    found += _identifiers(tokens)
    if not _loud(bare):
        found += _names(tokens, bare, german=language == "de")
    if not found and vocabulary is not None:
        found += _rare_words(tokens, vocabulary)
    unique: dict[str, str] = {}
    for _, name in sorted(found):
        unique.setdefault(fold(name), name)
    return tuple(unique.values())[:MOST]


class _Token:
    """A word with what stands around it."""

    __slots__ = ("end", "folded", "opens", "start", "word")

    def __init__(self, raw: str, start: int, text: str) -> None:
        cut = _ELISION.match(raw)
        self.start = start + (cut.end() if cut else 0)
        self.end = start + len(raw)
        self.word = _POSSESSIVE.sub("", raw[cut.end() :] if cut else raw)
        self.folded = fold(self.word)
        before = text[max(0, start - 6) : start]
        self.opens = not text[:start].strip() or bool(_SENTENCE_END.search(before))

    @property
    def capital(self) -> bool:
        return self.word[:1].isupper()


def _loud(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return len(letters) > 8 and sum(map(str.isupper, letters)) > 0.7 * len(letters)


def _is_identifier(token: _Token) -> bool:
    return bool(len(token.word) > 1 and _IDENTIFIER.fullmatch(token.word) and not _MEASURE.fullmatch(token.word))


def _identifiers(tokens: list[_Token]) -> Iterator[tuple[int, str]]:
    """What is written as no word is: pg_stat_io, HNSWIndex, CVE-2024-1234, C++."""
    for token in tokens:
        if _is_identifier(token):
            yield token.start, token.word.removesuffix("()")


def _names(tokens: list[_Token], text: str, *, german: bool) -> Iterator[tuple[int, str]]:
    """Runs of capitalised words, joined by "of", "de" and the like."""
    at = 0
    while at < len(tokens):
        if not _may_begin(tokens, at, german=german):
            at += 1
            continue
        stop = _run_end(tokens, at, text, german=german)
        if _is_name(tokens, at, stop, german=german):
            first, last = tokens[at], tokens[stop - 1]
            yield first.start, _POSSESSIVE.sub("", text[first.start : last.end])
        at = stop


def _may_begin(tokens: list[_Token], at: int, *, german: bool) -> bool:
    token = tokens[at]
    if not token.capital or _is_identifier(token):
        return False
    if token.folded in ADDRESSES and not token.word.isupper():
        return False
    if len(token.word) == 1:
        return True
    if german and _is_german_noun(token) and not (at + 1 < len(tokens) and tokens[at + 1].capital):
        return False
    stops = token.folded in ALL_STOP_WORDS or token.folded in ALL_QUESTION_WORDS
    if stops:  # "The Beatles" counts from Beatles on; acronyms that spell a stop word count
        return token.word.isupper() and len(token.word) > 1 and not token.opens
    if token.opens:
        return token.folded not in COMMON_OPENERS and not any(token.folded in words for words in YES_NO.values())
    return True


def _run_end(tokens: list[_Token], at: int, text: str, *, german: bool) -> int:
    """Index after the run that begins at `at`: neighbours parted by one space, a connector only between two names."""
    joined = CONNECTORS
    if german:  # "Otto von Bismarck", but not "der Abschnitt von Luther"
        joined = CONNECTORS_DE - {"von"} if at and tokens[at - 1].folded in DETERMINERS_DE else CONNECTORS_DE
    stop = at + 1
    while stop < len(tokens) and stop - at < 8:
        ahead = stop
        while ahead < min(len(tokens), stop + 2) and not tokens[ahead].capital and tokens[ahead].folded in joined:
            ahead += 1
        if ahead >= len(tokens) or not _adjoins(tokens, stop - 1, ahead, text):
            break
        token = tokens[ahead]
        numbered = (ahead == stop and token.word.isdigit() and len(token.word) < 3) or _is_roman(token.word)
        if not (numbered or (token.capital and not _is_identifier(token) and token.folded not in ALL_QUESTION_WORDS)):
            break
        stop = ahead + 1
    return stop


def _is_roman(word: str) -> bool:
    return bool(re.fullmatch(r"[IVX]{1,5}", word))


def _adjoins(tokens: list[_Token], left: int, right: int, text: str) -> bool:
    return all(text[tokens[i].end : tokens[i + 1].start].strip("'’dlDL") in ("", " ", ". ") for i in range(left, right))


def _is_name(tokens: list[_Token], at: int, stop: int, *, german: bool) -> bool:
    first = tokens[at]
    if stop - at > 1:
        return not german or _is_german_name(tokens, at, stop)
    if first.word.isupper() and len(first.word) > 1:
        return True
    if len(first.word) == 1:  # X and Y, but no article, pronoun or initial of a sentence
        return (not first.opens and first.word not in "IAÀOYE") or (first.word in "AYE" and _is_slot(tokens, at))
    if first.opens:
        return False  # alone at the beginning: any word is capitalised there
    return not german or _is_german_name(tokens, at, stop)


def _is_slot(tokens: list[_Token], at: int) -> bool:
    """Whether a single letter stands in for a name: last of the text, or beside another such letter."""
    return at == len(tokens) - 1 or any(
        len(other.word) == 1 and other.word.isupper() and other.word not in "IAÀ"
        for other in tokens
        if other is not tokens[at]
    )


def _is_german_name(tokens: list[_Token], at: int, stop: int) -> bool:
    """Nouns are what has a determiner or an adjective before it, a noun's ending, or is on the list."""
    run = [token for token in tokens[at:stop] if token.capital]
    unusual = [token for token in run if not _is_german_noun(token)]
    if not unusual:
        return False
    if len(run) > 1:
        return True
    before = tokens[at - 1] if at and not tokens[at].opens else None
    if before is None:
        return True
    adjective = (
        before.word[:1].islower()
        and before.folded not in ALL_STOP_WORDS
        and before.folded.endswith(("e", "en", "er", "es", "em"))
    )
    return before.folded not in DETERMINERS_DE and not adjective


def _is_german_noun(token: _Token) -> bool:
    return (not token.word.isupper()) and (token.folded in NOUNS_DE or token.folded.endswith(NOUN_ENDINGS_DE))


def _rare_words(tokens: list[_Token], vocabulary: Vocabulary) -> list[tuple[int, str]]:
    """The rarest words that the collection holds, at most two."""
    if vocabulary.passages < _MIN_PASSAGES:
        return []
    most = max(1.0, _RARE * vocabulary.passages)
    counted = [
        (vocabulary.frequencies.get(token.word.casefold(), 0), token.start, token.word)
        for token in tokens
        if len(token.word) > 3 and token.folded not in ALL_STOP_WORDS and not token.word.isdigit()
    ]
    return [(start, word) for count, start, word in sorted(counted)[:12] if 0 < count <= most][:2]
