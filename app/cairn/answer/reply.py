"""A model's reply, made readable: thoughts, fences, junk characters, loops and half sentences taken out. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from cairn.language.linear import bounded
from cairn.language.sentences import Unit, split_units
from cairn.language.text import normalise

_OPEN = re.compile(r"<\s*(think|thinking|thought|reasoning)\s*>", re.IGNORECASE)
_CLOSE = re.compile(r"<\s*/\s*(?:think|thinking|thought|reasoning)\s*>", re.IGNORECASE)
LONGEST_TAG: Final = 16  # bound: tests/unit/test_edges_ground.py
"""Characters of the longest tag, with room for white space: so much of a piece's end may be the beginning of one."""


class Spoken:
    """What a streamed reply says aloud: reasoning between `<think>` and `</think>` is left out, also where pieces split
    the tags. `thoughts` counts its characters."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = False
        self.thoughts = 0

    @property
    def thinking(self) -> bool:
        """Whether a thought has begun and not ended."""
        return self._thinking

    def hear(self, piece: str) -> str:
        """What can be said after this piece; the beginning of what may become a tag is held back."""
        self._held += piece
        return self._aloud(self._read())

    def end(self) -> str:
        """What was held back; nothing where the reply ends within a thought."""
        held, self._held = self._held, ""
        if self._thinking:
            self.thoughts += len(held)
            return ""
        return self._aloud(held)

    def _read(self) -> str:
        said = ""
        while True:
            found = (_CLOSE if self._thinking else _OPEN).search(self._held)
            if found is None:
                break
            said += self._passed(found.start())
            self._held = self._held[found.end() - found.start() :]
            self._thinking = not self._thinking
        return said + self._passed(_safe(self._held))

    def _passed(self, length: int) -> str:
        """Take so much from the front: said, or thought."""
        taken, self._held = self._held[:length], self._held[length:]
        if self._thinking:
            self.thoughts += length
            return ""
        return taken

    def _aloud(self, text: str) -> str:
        """Without white space before the first word: models put blank lines after their thoughts."""
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text


_BEGUN = bounded(r"<\s*/?\s*([a-z]*)\s*\Z", re.IGNORECASE)
_NAMES: Final = ("think", "thinking", "thought", "reasoning")


def _safe(text: str) -> int:
    """How much of `text` cannot be the beginning of a tag."""
    begun = _BEGUN.search(text, max(0, len(text) - LONGEST_TAG))
    return begun.start() if begun and any(name.startswith(begun[1].lower()) for name in _NAMES) else len(text)


# --- the whole reply ------------------------------------------------------------------------------------------------

_FENCED = re.compile(
    r"(?<!\s)\s*+```[ \t]{0,16}(?:markdown|md|text|txt|plaintext)?[ \t]{0,16}\n(.*?)\n?[ \t]{0,16}```\s*+", re.DOTALL
)
_KEPT_FORMATS: Final = frozenset("\u200c\u200d")
"""Joiners are letters' business in Persian, Hindi and emoji."""


def tidy(text: str) -> str:
    """Without a thought that was never opened, a fence around the whole, and characters that nobody sees (controls, byte
    order marks, zero-width spaces, unpaired surrogates)."""
    *_, spoken = _CLOSE.split(text)
    whole = _FENCED.fullmatch(spoken)
    if whole and "```" not in whole[1]:
        spoken = whole[1]
    return "".join(c for c in normalise(spoken) if not _unseen(c)).strip()


def _unseen(c: str) -> bool:
    if c.isascii():
        return (c < " " and c not in "\n\t") or c == "\x7f"
    return c == "\ufffd" or (unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") and c not in _KEPT_FORMATS)


_ENDED = re.compile(r"[.!?…。！？][\"'”’“»)\]*_】\d\s]*(?:[\[【][^\[\]【】]*[\]】]\s*)*\Z")


_MARKS_AFTER = bounded(r"(?:[ \t]*[\[【][^\[\]【】\n]{1,40}[\]】])*")


def complete_part(text: str) -> str:
    """The complete sentences of a reply that was cut off; all of it where not even one is complete."""
    return complete_sentences(text) or text


def complete_sentences(text: str) -> str:
    """The same, or "" where not even one is complete. A heading that nothing follows is not a sentence."""
    units = split_units(text)
    while units and (units[-1].kind == "heading" or not _stands(text, units[-1])):
        units.pop()
    return text[: _MARKS_AFTER.match(text, units[-1].end).end()] if units else ""  # type: ignore[union-attr]


def _stands(text: str, unit: Unit) -> bool:
    return unit.kind not in ("prose", "item", "row") or bool(_ENDED.search(text[: unit.end]))


LEAST_REPEATED: Final = 4  # measured: tests/unit/test_edges_answer.py
LEAST_LOOP: Final = 400  # measured: tests/unit/test_edges_answer.py
"""Characters. Shorter repetitions occur in lists, tables and songs."""
LONGEST_PERIOD: Final = 600  # bound: tests/unit/test_edges_answer.py


def loop_start(text: str) -> int | None:
    """Where a reply that goes round in circles may be cut: after the first time that it says what it then repeats, at
    least LEAST_REPEATED times over LEAST_LOOP characters up to its end. None where it does not."""
    tail = text[-LONGEST_PERIOD * LEAST_REPEATED :]
    for period in _periods(tail):
        length = max(LEAST_LOOP, period * LEAST_REPEATED)
        if len(tail) < length or not any(c.isalpha() for c in tail[-period:]):
            continue
        if tail[-length:-period] == tail[-length + period :]:
            return _first_time(text, period)
    return None


def _periods(tail: str) -> list[int]:
    """Distances at which the last characters of the text stand before: the only possible periods."""
    found: list[int] = []
    last, at = tail[-12:], len(tail) - 12
    # measured: tests/unit/test_edges_answer.py
    while len(found) < 60 and (at := tail.rfind(last, 0, at + len(last) - 1)) >= 0:
        if (period := len(tail) - len(last) - at) > LONGEST_PERIOD:
            break
        found.append(period)
    return found


def _first_time(text: str, period: int) -> int:
    at = len(text) - period
    while at > 0 and text[at - 1] == text[at - 1 + period]:
        at -= 1
    end = _SENTENCE_END.search(text, at + period, at + 2 * period)
    return end.end() if end else at + period


_SENTENCE_END = re.compile(r"[.!?…。！？]+|(?=\n)")
