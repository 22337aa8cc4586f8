"""Text as characters: what the database may hold, and one way to compare. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_LINE_ENDS: Final = ("\r\n", "\r", "\u2028", "\u2029", "\x0c")
_SURROGATES = re.compile("[\ud800-\udfff]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "–": "-", "—": "-", "\u00a0": " "})
_SOFT_HYPHEN = re.compile("\u00ad(?:[ \\t]*\\n[ \\t]*(?=[^\\W\\d_]))?")
_LAYOUT: Final[dict[int, str | None]] = {
    **dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " "),
}
_SPACES = re.compile(r"\s+")

MAX_INDENT: Final = 8
MAX_CHARS: Final = 2000
"""Longer messages are read at both ends: what they ask stands before or after what was pasted."""
_HEAD, _TAIL = 1500, 490


def normalise(text: str) -> str:
    """LF line ends, NUL and lone surrogates to U+FFFD, no byte order mark. PostgreSQL can store the result.

    What the database stores is what every span counts in.
    """
    text = text.removeprefix("\ufeff")
    for end in _LINE_ENDS:
        text = text.replace(
            end, "\n"
        )  # a pattern would take a second for the largest body, with the interpreter to itself
    return storable(text)


def tidy(text: str) -> str:
    """What a user typed or pasted with its white space in order: single blanks within a line, at most 8 before it, no more
    than one empty line in a row. The limits that patterns have for runs of white space (cairn.language.linear) rest on this."""
    lines: list[str] = []
    for line in normalise(text).splitlines():
        words = line.split()
        if words or (lines and lines[-1]):
            indent = min(len(line) - len(line.lstrip()), MAX_INDENT) if words and lines else 0
            lines.append(" " * indent + " ".join(words))
    return "\n".join(lines).rstrip()


def plain_characters(text: str) -> str:
    """Without characters that are there for the layout and hide words from whoever looks for them: soft hyphens (with the line
    end behind them), zero-width spaces, marks of direction and byte order; no-break spaces become spaces. Joiners stay:
    Persian, Indic scripts and emoji need them."""
    if text.isascii():
        return text
    return _SOFT_HYPHEN.sub("", text).translate(_LAYOUT)


def storable(text: str) -> str:
    """NUL and lone surrogates to U+FFFD: what JSON can hold, and neither PostgreSQL nor UTF-8 can."""
    text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return "\ufffd".join(_SURROGATES.split(text))
    return text


def fold(text: str) -> str:
    """Lower case, without accents, one kind of apostrophe and dash; spaces stay: "L’Été" is "l'ete"."""
    if text.isascii() and text.isalnum():
        return text.lower()  # most words
    text = text.translate(_QUOTES).casefold()
    if not text.isascii():
        bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = unicodedata.normalize("NFC", bare)  # joins what is no accent, such as Hangul
    return text


def fold_line(text: str) -> str:
    """Folded, with single spaces: how rules see a message. "Où  ça ?" is "ou ca ?"."""
    return _SPACES.sub(" ", fold(text)).strip()


def folded_words(text: str) -> frozenset[str]:
    """The words of a table, folded."""
    return frozenset(fold(word) for word in text.split())


def window(text: str) -> str:
    """The text, or its beginning and its end where it is longer than MAX_CHARS."""
    return text if len(text) <= MAX_CHARS else f"{text[:_HEAD]} … {text[-_TAIL:]}"
