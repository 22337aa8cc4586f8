"""Names as they are written: runs of capitalised words, identifiers, what stands in quotation marks. Pure; no model.

The same rules read questions (cairn/query/entities.py) and documents (cairn/graph/extract.py); what differs is given as
`NameRules`. Capitals count beyond the beginning of a sentence. German nouns are capitalised all of them: there a name is
what stands without determiner or adjective and does not look like a noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.language import lexicon
from cairn.language.identify import by_words
from cairn.language.lexicon import Nouns, every
from cairn.language.linear import bounded
from cairn.language.stretches import find_all, stretches
from cairn.language.text import fold
from cairn.language.tokens import message_words

CONNECTORS: Final = every(lambda one: one.names.connectors)
ARTICLES_OF_NAMES: Final = every(lambda one: one.names.articles)
ADDRESSES: Final = every(lambda one: one.names.addresses)
COMMON_OPENERS: Final = every(lambda one: one.names.openers)
"""Words that begin sentences and are no names, though a capitalised word may follow."""
ABBREVIATIONS: Final = every(lambda one: one.names.abbreviations)
"""A full stop after these ends no sentence."""
LONGEST: Final = 8
"""Words of a name."""
QUOTED: Final = re.compile(
    r'"([^"\n]{2,80})"|“([^”\n]{2,80})”|«\s?([^»\n]{2,80}?)\s?»|„([^“”"\n]{2,80})[“”"]|`([^`\n]{2,80})`'
)
_TOKEN: Final = re.compile(r"[^\W_](?:[\w+#]|[.\-/:&](?=\w)|['’](?=[A-Za-z]))*(?:\(\))?|_\w+")
_SENTENCE_END: Final = bounded(r"(?:[.!?:;…]\s*|\n[^\w\n]*|[«\"“„(¿¡\[|-]\s*)$")
"""The end of one, or the beginning of a line with the marks of a list or of bold type."""
_IDENTIFIER: Final = re.compile(
    r"\A(?=.*[A-Za-z])(?:\w*[A-Za-z0-9]_\w+|_\w+|\w+\(\)|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Za-z]+[+#]+|"
    r"\w+(?:::|/)\w[\w/:.]*|[A-Za-z]\w*\.[A-Za-z_]\w*(?:\.\w+)*|(?=.*\d)(?=.*[A-Z])[A-Za-z0-9]+(?:[.\-/]\w+)*|(?=.*\d)[A-Za-z]{2,}[\w.-]*)"
)
_MEASURE: Final = re.compile(r"(?i)\d[\d.,]*(?:%|[a-z]{1,3}|st|nd|rd|th|[eè]me|er)?(?:/\w+)?|(?:19|20)\d0s")
_ELISION: Final = re.compile(
    rf"^(?:{'|'.join(sorted(every(lambda one: one.words.elided), key=lambda word: (-len(word), word)))})['’](?!s(?!\w))",
    re.IGNORECASE,
)
_POSSESSIVE: Final = re.compile(r"['’]s$")
_BESIDE: Final = 40
"""Words: how far from each other two single letters stand in for names."""
_DOTTED: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
"""U.S., z.B."""
_LONGEST_WORD: Final = 1000
"""Characters: what is longer names nothing, and looking for its parts would take long."""
_SPEAKING: Final = every(lambda one: one.names.speaking)
_AUXILIARIES: Final = every(lambda one: one.questions.yes_no)
_ROMAN: Final = re.compile(r"[IVX]{1,5}")

NameSpan = tuple[int, int, str]
"""Half-open range of code points, and the name as it is spelled there."""


@dataclass(frozen=True, slots=True)
class NameRules:
    """How to read: folded words that are no names by themselves.

    `stops` never begin a name, `questions` neither begin nor continue one, `openers` are no name at the beginning of a
    sentence. `known`: words that are names even there, alone, because the rest of the text says so.
    """

    stops: frozenset[str]
    questions: frozenset[str] = frozenset()
    openers: frozenset[str] = COMMON_OPENERS
    known: frozenset[str] = frozenset()
    nouns: Nouns | None = None
    """What tells names from nouns, where nouns have capitals too."""


def nouns_of(language: str | None) -> Nouns | None:
    """What tells nouns from names in a language (ISO 639-1) that writes both with capitals; None for others."""
    return lexicon.language(language).names.nouns if language else None


def names_and_numbers(text: str) -> list[str]:
    """Words, folded, that somebody must have said: numbers, and capitalised ones that do not begin a sentence."""
    found = []
    for place, word in enumerate(message_words(text)):
        first = place == 0 or text[: word.start].rstrip()[-1:] in ".?!:\"'"
        number = any(map(str.isdigit, word.text))
        name = word.capital and not first and word.content and nouns_of(by_words(text)) is None
        if number or name:
            found.append(word.folded)
    return found


class NameToken:
    """A word with what stands around it. `opens`: first of a sentence."""

    __slots__ = ("end", "folded", "opens", "start", "word")

    def __init__(self, raw: str, start: int, text: str, first: int) -> None:
        """`first`: where the text begins, but for white space."""
        cut = _ELISION.match(raw)
        self.start = start + (cut.end() if cut else 0)
        self.end = start + len(raw)
        self.word = _POSSESSIVE.sub("", raw[cut.end() :] if cut else raw)
        self.folded = fold(self.word.replace("’", "'"))
        before = text[max(0, start - 6) : start]
        self.opens = start <= first or bool(_SENTENCE_END.search(before))

    @property
    def capital(self) -> bool:
        return self.word[:1].isupper()


def tokens_of(text: str) -> list[NameToken]:
    first = len(text) - len(text.lstrip())
    return [NameToken(match.group(), match.start(), text, first) for match in find_all(_TOKEN, text)]


def quoted(text: str) -> Iterator[NameSpan]:
    """What stands in quotation marks or back ticks, up to 80 characters."""
    for match in find_all(QUOTED, text):
        group = next(i for i, part in enumerate(match.groups(), start=1) if part)
        yield match.start(group), match.end(group), match.group(group)


def without_quoted(text: str) -> str:
    """The text with quotations blanked, so that positions stay."""
    parts = (text[start:end] for start, end in stretches(text))
    return "".join(QUOTED.sub(lambda match: " " * len(match.group()), part) for part in parts)


def loud(text: str) -> bool:
    """Written in capitals, so that capitals say nothing."""
    letters = capitals = 0
    for start, end in stretches(text):
        found = [c for c in text[start:end] if c.isalpha()]
        letters, capitals = letters + len(found), capitals + sum(map(str.isupper, found))
    return letters > 8 and capitals > 0.7 * letters


def identifiers(tokens: Sequence[NameToken]) -> Iterator[NameSpan]:
    """What is written as no word is: pg_stat_io, HNSWIndex, CVE-2024-1234, C++."""
    for token in tokens:
        if is_identifier(token):
            yield token.start, token.end, token.word.removesuffix("()")


def is_identifier(token: NameToken) -> bool:
    word = token.word
    return bool(
        1 < len(word) <= _LONGEST_WORD
        and _IDENTIFIER.fullmatch(word)
        and not _MEASURE.fullmatch(word)
        and not _DOTTED.fullmatch(word)
    )


def names(tokens: Sequence[NameToken], text: str, reading: NameRules) -> Iterator[NameSpan]:
    """Runs of capitalised words, joined by "of", "de" and the like."""
    at = 0
    while at < len(tokens):
        if not _may_begin(tokens, at, reading):
            at += 1
            continue
        stop = _run_end(tokens, at, text, reading)
        if _is_name(tokens, at, stop, reading):
            first, last = tokens[at], tokens[stop - 1]
            spelled = _POSSESSIVE.sub("", text[first.start : last.end])
            yield first.start, first.start + len(spelled), spelled
        at = stop


def _may_begin(tokens: Sequence[NameToken], at: int, reading: NameRules) -> bool:
    token = tokens[at]
    if not token.capital or is_identifier(token):
        return False
    if token.folded in ADDRESSES and not token.word.isupper():
        return False
    if len(token.word) == 1:
        return True
    if reading.nouns and _is_noun(token, reading.nouns) and not (at + 1 < len(tokens) and tokens[at + 1].capital):
        return False
    if token.folded in reading.stops or token.folded in reading.questions:
        # "The Beatles" counts from Beatles on; acronyms that spell a stop word count, and "Los Angeles"
        of_place = token.folded in ARTICLES_OF_NAMES and at + 1 < len(tokens) and tokens[at + 1].capital
        return not token.opens and (of_place or (token.word.isupper() and len(token.word) > 1))
    return not token.opens or token.folded not in reading.openers


def _run_end(tokens: Sequence[NameToken], at: int, text: str, reading: NameRules) -> int:
    """Index after the run that begins at `at`: neighbours parted by one space, a connector only between two names."""
    joined = CONNECTORS
    if nouns := reading.nouns:  # "Otto von Bismarck", but not "der Abschnitt von Luther"
        determined = at > 0 and tokens[at - 1].folded in nouns.determiners
        joined = nouns.connectors - nouns.after_determiner if determined else nouns.connectors
    stop = at + 1
    while stop < len(tokens) and stop - at < LONGEST:
        ahead = stop
        while ahead < min(len(tokens), stop + 2) and not tokens[ahead].capital and tokens[ahead].folded in joined:
            ahead += 1
        if ahead >= len(tokens) or not _adjoins(tokens, stop - 1, ahead, text):
            break
        token = tokens[ahead]
        if _is_speaker(tokens, at, ahead):
            break
        numbered = (ahead == stop and token.word.isdigit() and len(token.word) < 3) or _ROMAN.fullmatch(token.word)
        if not (numbered or (token.capital and not is_identifier(token) and token.folded not in reading.questions)):
            break
        stop = ahead + 1
    return stop


def _is_speaker(tokens: Sequence[NameToken], at: int, place: int) -> bool:
    """Whether an "I" behind a name is who speaks, and no number of it: a verb of a speaker follows, and none that asks stands
    before the name ("did World War I get its name")."""
    if tokens[place].word != "I" or place + 1 >= len(tokens) or tokens[place + 1].folded not in _SPEAKING:
        return False
    return not at or tokens[at - 1].folded not in _AUXILIARIES


def _adjoins(tokens: Sequence[NameToken], left: int, right: int, text: str) -> bool:
    for i in range(left, right):
        gap = text[tokens[i].end : tokens[i + 1].start].strip("'’dlDL")
        initial = len(tokens[i].word) == 1 or tokens[i].folded in ABBREVIATIONS  # "J. R. Tolkien", "St. Louis"
        if gap not in ("", " ", " & ") and not (gap == ". " and initial):
            return False
    return True


def _is_name(tokens: Sequence[NameToken], at: int, stop: int, reading: NameRules) -> bool:
    first = tokens[at]
    if stop - at > 1:
        return not reading.nouns or _is_name_among_nouns(tokens, at, stop, reading.nouns, reading.stops)
    if first.word.isupper() and len(first.word) > 1:
        return True
    if len(first.word) == 1:  # X and Y, but no article, pronoun or initial of a sentence
        return (not first.opens and first.word not in "IAÀOYE") or (first.word in "AYE" and _is_slot(tokens, at))
    if first.opens:
        return first.folded in reading.known  # alone at the beginning: any word is capitalised there
    return not reading.nouns or _is_name_among_nouns(tokens, at, stop, reading.nouns, reading.stops)


def _is_slot(tokens: Sequence[NameToken], at: int) -> bool:
    """Whether a single letter stands in for a name: last of the text, or beside another such letter."""
    return at == len(tokens) - 1 or any(
        len(other.word) == 1 and other.word.isupper() and other.word not in "IAÀ"
        for other in tokens[max(0, at - _BESIDE) : at + _BESIDE]
        if other is not tokens[at]
    )


def _is_name_among_nouns(tokens: Sequence[NameToken], at: int, stop: int, nouns: Nouns, stops: frozenset[str]) -> bool:
    """Nouns are what has a determiner or an adjective before it, a noun's ending, or is on the list."""
    run = [token for token in tokens[at:stop] if token.capital]
    unusual = [token for token in run if not _is_noun(token, nouns)]
    if not unusual:
        return False
    if len(run) > 1:
        return True
    before = tokens[at - 1] if at and not tokens[at].opens else None
    if before is None:
        return True
    adjective = (
        before.word[:1].islower() and before.folded not in stops and before.folded.endswith(nouns.adjective_endings)
    )
    return before.folded not in nouns.determiners and not adjective


def _is_noun(token: NameToken, nouns: Nouns) -> bool:
    return (not token.word.isupper()) and (token.folded in nouns.words or token.folded.endswith(nouns.endings))
