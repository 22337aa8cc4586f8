"""How what was asked about is undone: "how do I undo that?" after "How do I enable mirrors?" asks how to disable them. Pure.

The last question again would give the same steps once more. Where nothing says what undoes it, the message stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from cairn.language.lexicon import language
from cairn.language.linear import bounded
from cairn.language.text import fold

LONGEST: Final = 80  # bound: tests/unit/test_carry.py
"""Characters of a message that asks for this alone."""
_PUNCTUATION: Final = bounded(r"[^\w\s'-]")
_GAP: Final = "<x>"


def asks_to_undo(message: str, code: str) -> bool:
    """Whether it is all that a message asks: "can I undo that?"; "how do I undo a commit?" says of what."""
    if len(message) > LONGEST:
        return False
    loose = " ".join(_PUNCTUATION.sub(" ", fold(message.replace("’", "'"))).split())
    return bool(_undoes(code).fullmatch(loose))


def undoing(question: str, code: str) -> str:
    """The same question of what undoes it; "" where it has no word whose opposite is known."""
    found = _first_act(question, code)
    if found is None:
        return ""
    match, other = found
    told = other.replace(_GAP, question[slice(*match.span("gap"))] if "gap" in match.groupdict() else "")
    start, end = match.span("act")
    if question[start].isupper():
        told = told[0].upper() + told[1:]
    return f"{question[:start]}{told}{question[end:]}"


def without_act(question: str, names: Iterable[str], code: str) -> tuple[str, tuple[str, ...]]:
    """The question and its names without what it asks how to do, for a message that asks how to do something else with the same
    thing: "how do I disable it?" is not about enabling."""
    found = _first_act(question, code)
    if found is None:
        return question, tuple(names)
    match, _ = found
    gap = question[slice(*match.span("gap"))] if "gap" in match.groupdict() else ""
    act = match["act"].split()[0]
    left = (name[len(act) :] if fold(name).startswith(f"{act} ") else name for name in names)
    start, end = match.span("act")
    text = " ".join(f"{question[:start]}{gap}{question[end:]}".split())
    return text, tuple(name.strip() for name in left if fold(name) != act)


def says_act(message: str, code: str) -> bool:
    """Whether it says what to do with a thing, in words that have an opposite."""
    text = _letters(message)
    return any(pattern.search(text) for pattern, _ in _acts(code))


def _first_act(question: str, code: str) -> tuple[re.Match[str], str] | None:
    """Where a question names what is done, and the opposite of it. None where it asks which thing does it: of "what removes the
    cache?" no opposite is asked."""
    text = _letters(question)
    found = [(match, other) for pattern, other in _acts(code) if (match := pattern.search(text))]
    if not found or _asks_which(text, code):
        return None
    return min(found, key=lambda one: (one[0].start("act"), one[0].start("act") - one[0].end("act")))


def _asks_which(text: str, code: str) -> bool:
    carry = language(code).carry
    first = next(iter(re.findall(r"[\w'-]+", text)), "")
    return first in carry.things | carry.who


def _letters(text: str) -> str:
    """Folded letter by letter, so that places stay."""
    return "".join(folded if len(folded := fold(letter)) == 1 else letter for letter in text.replace("’", "'"))


@cache
def _undoes(code: str) -> re.Pattern[str]:
    return language(code).compiled(*language(code).carry.undoes)


@cache
def _acts(code: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    carry = language(code).carry
    before = rf"(?:\A\W*|(?<!\w)(?:{'|'.join(carry.before_acts)})\s+)" if carry.before_acts else r"(?<!\w)"
    return tuple(
        (bounded(rf"{before}(?P<act>{fold(one).replace(_GAP, '(?P<gap>[^?!.]{1,80}?)')})(?!\w)"), other)
        for one, _, other in (pair.partition("/") for pair in carry.opposites)
    )
