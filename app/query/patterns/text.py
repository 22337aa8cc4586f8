"""How rules see a message: bounded, without case and accents, in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

MAX_CHARS: Final = 2000
"""Longer messages are read at both ends: what they ask stands before or after what was pasted."""
_HEAD, _TAIL = 1500, 490
_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "–": "-", "—": "-", "\u00a0": " "})
_SPACES = re.compile(r"\s+")
WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
"""A word as people count them; `don't` is one."""
_UMLAUTS: Final = {"ä": "(?:a|ae)", "ö": "(?:o|oe)", "ü": "(?:u|ue)"}


def window(text: str) -> str:
    """The text, or its beginning and its end where it is longer than MAX_CHARS."""
    return text if len(text) <= MAX_CHARS else f"{text[:_HEAD]} … {text[-_TAIL:]}"


def fold(text: str) -> str:
    """Lower case, without accents, one kind of apostrophe and dash, single spaces: "Où ça ?" is "ou ca ?"."""
    text = text.translate(_QUOTES).casefold()
    if not text.isascii():
        bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = unicodedata.normalize("NFC", bare)  # joins what is no accent, such as Hangul
    return _SPACES.sub(" ", text).strip()


def words(text: str) -> list[str]:
    """Words of a folded text; elided articles and pronouns come off: "l'impact" is "l" and "impact"."""
    found: list[str] = []
    for match in WORD.finditer(text):
        word = match.group()
        head, apostrophe, tail = word.partition("'")
        found += [head, tail] if apostrophe and (len(head) == 1 or head in _ELIDED) and len(tail) > 1 else [word]
    return found


_ELIDED: Final = frozenset(["qu", "jusqu", "lorsqu", "puisqu", "quelqu", "aujourd"])


def compiled(*patterns: str, german: bool = False) -> re.Pattern[str]:
    """One pattern over folded text out of alternatives written with accents. Whole words: a boundary is put around.

    German umlauts may be written as two letters in the text.
    """
    return re.compile("|".join(f"(?:{_bounded(pattern, german)})" for pattern in patterns))


def _bounded(pattern: str, german: bool) -> str:
    pattern = pattern.replace("ß", "ss")
    if german:
        for umlaut, spellings in _UMLAUTS.items():
            pattern = pattern.replace(umlaut, spellings)
    bare = "".join(c for c in unicodedata.normalize("NFKD", pattern) if not unicodedata.combining(c))
    before = "" if bare.startswith("^") else r"(?<!\w)"
    after = "" if bare.endswith("$") else r"(?!\w)"
    return f"{before}{bare}{after}"


def folded_set(lines: Iterable[str] | str) -> frozenset[str]:
    """Words of a table, folded."""
    return frozenset(fold(word) for word in (lines.split() if isinstance(lines, str) else lines))


def first(patterns: Sequence[tuple[str, re.Pattern[str]]], text: str) -> str | None:
    """Name of the first pattern that stands in `text`, with what it found."""
    for name, pattern in patterns:
        if match := pattern.search(text):
            return f"{name}: {match.group().strip()!r}"
    return None
