"""Addresses in text: what a reader, a browser or a chat client may take for a link, in whatever disguise. Pure.

`plain` takes the disguises off (entities, escapes, percent signs, wide letters, invisible characters), `addresses` finds
the links of one word without spaces, `Known` holds those of some texts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from cairn.language.sentences import Span

STOPS: Final = '\\s<>"`\\[\\]{}|“”«»\u3001-\u303f\uff01\uff08\uff09\uff0c\uff1b\uff1f'
"""Ends of an address, as a class of a pattern: what no address holds unescaped."""
WORD: Final = re.compile(f"[^{STOPS}]+")
DESTINATION: Final = (
    r"\(\s{0,9}(?:<[^<>\n]{0,1000}>|(?:[^()\s<]|\([^()\s]*+\))(?:[^()\s]|\([^()\s]*+\))*+)?"
    r"(?:\s{1,9}(?:\"(?:[^\"\n]|\"(?!\s{0,9}\))){0,200}+\"|'(?:[^'\n]|'(?!\s{0,9}\))){0,200}+'|\([^()\n]{0,500}\)))?\s{0,9}\)"
)
"""As a pattern: what a link of Markdown has behind its words: an address, and a title that is shown to whoever points at it."""
MASK: Final = "\ue000"
"""In place of a character that is escaped, and so no markup."""

_CELL = re.compile(
    r"&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]{1,30});|%[0-9a-f]{2}|\\[!-/:-@\[-`{-~]"
    "|[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"(?:&(?:#?[0-9a-z]{0,31})|%[0-9a-f]?|\\)\Z", re.IGNORECASE)
_WIDE: Final = {0xFEE0 + code: code for code in map(ord, "./:@0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")} | {0x2044: "/", 0x2215: "/", 0x29F8: "/", 0xFE55: ":"}  # fmt: skip
_HARMLESS: Final = ":/.@?=#-_+,~&;"


@dataclass(frozen=True, slots=True)
class Plain:
    """`text` without disguises; the character `text[n]` is written at `places[n]` of the original, which ends at
    `places[-1]`."""

    text: str
    places: list[int]


def plain(text: str) -> Plain:
    """What a text says to who follows links. Characters that say nothing belong to the next one."""
    shown: list[str] = []
    places: list[int] = []
    done, silent = 0, -1
    for cell in _CELL.finditer(text):
        _plainly(text, done, cell.start(), silent, shown, places)
        silent = -1 if cell.start() > done else silent
        said, done = _meant(cell[0]), cell.end()
        if not said:
            silent = cell.start() if silent < 0 else silent
            continue
        shown.append(said)
        begins = cell.start() if silent < 0 else silent
        places.append(begins)
        places.extend(range(cell.start() + 1, cell.end()) if said == cell[0] else [cell.end()] * (len(said) - 1))
        silent = -1
    _plainly(text, done, len(text), silent, shown, places)
    places.append(silent if silent >= 0 and done == len(text) else len(text))
    return Plain("".join(shown).translate(_WIDE), places)


def _plainly(text: str, start: int, end: int, silent: int, shown: list[str], places: list[int]) -> None:
    if start == end:
        return
    shown.append(text[start:end])
    places.append(start if silent < 0 else silent)
    places.extend(range(start + 1, end))


def unfinished(text: str) -> int:
    """Where the last character begins that more text may change: an entity or an escape that is not whole yet."""
    found = _UNFINISHED.search(text, max(0, len(text) - 33))
    return found.start() if found else len(text)


def _meant(cell: str) -> str:
    if cell[0] == "\\":
        return MASK if cell[1] in "[]()`!&" else cell[1]
    if cell[0] == "%":
        char = chr(int(cell[1:], 16))
        return char if char.isascii() and (char.isalnum() or char in ":/.@-_") else cell
    if cell[0] != "&":
        return ""
    char = html.unescape(cell)
    if char == cell or (char.isascii() and (char.isalnum() or char in _HARMLESS)):
        return char
    return "" if char.isspace() else MASK * len(char)


# --- the addresses of a word ------------------------------------------------------------------------------------------

_LABELS: Final = r"(?:[^\W_](?:[\w-]{0,62})\.){1,10}"
_FILES: Final = (
    "bash|c|cc|cfg|conf|cpp|cs|css|csv|docx?|epub|env|gif|go|h|hpp|html?|ini|ipynb|java|jpe?g|jsx?|json|jsonl|kt|lock|log|lua|md|"
    "mjs|odt|pdf|php|pl|png|pptx?|py|rb|rs|rst|rtf|scala|sh|sql|svg|swift|tex|toml|tsx?|tsv|txt|vue|xlsx?|xml|ya?ml|zip"
)
"""Endings of file names: `docs/readme.md/x` is a path."""
_SITES: Final = "com|net|org|info|biz|xyz|online|site|top|click|link|shop|рф"
"""Endings that chat clients turn into links also without a path."""
_ADDRESS = re.compile(
    rf"""
      (?:https?|ftps?|sftp|wss?) : [^\s]+ | (?:https?|ftps?|sftp|wss?) : (?=//|$)          # also http:evil and http:/evil
    | [a-z][a-z0-9+.-]{{0,30}} :// [^\s]*  |  :// [^\s]+
    | (?<![a-z0-9]) (?:javascript|vbscript|mailto|view-source|blob|intent) : [^\s]+
    | (?<![a-z0-9]) data: [\w/+.-]{{0,80}} [;,] [^\s]*
    | (?<![a-z0-9]) file: /+ [^\s]*
    | (?<![:/\\\w]) [/\\]{{2,4}} (?: {_LABELS} (?:[^\W\d_]{{2,63}}|xn--[a-z0-9-]+) | \d{{1,3}}(?:\.\d{{1,3}}){{3}} ) (?!\() [^\s]*
    | (?<![\w.]) www\d{{0,3}} \. [^\s]+
    | (?<![\w.+-]) [\w.+-]{{1,64}} @ {_LABELS} [^\W\d_]{{2,63}} (?:\?[^\s]*)?
    | (?<![:/\\\w]) \\ {_LABELS} [^\W\d_]{{2,63}} \\ [^\s]*                 # \\host\share, whose first one escapes the second
    | (?<![\w-]) (?! [^\W_]{{1,20}} \. (?-i:NET) (?! [\w/?\#:-] | \.\w )) {_LABELS} (?: xn--[a-z0-9-]{{1,60}} (?![\w-]) [^\s]*
        | [^\W\d_]{{2,63}} (?: :\d{{1,5}} (?![\w]) (?:[/?\#][^\s]*)? | \?[^\s]*= [^\s]* )
        | (?!(?:{_FILES})/) [^\W\d_]{{2,63}} [/\#?] [^\s]+
        | (?:{_SITES}) (?![\w-]|\.\w) /? )
    | (?<![\w.]) \d{{1,3}}(?:\.\d{{1,3}}){{3}} (?: :\d{{1,5}} (?!\d) (?:[/?][^\s]*)? | /[^\s\d][^\s]* | \?[^\s]+ )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AFTER: Final = ".,;:!?'*_~)…’‘" + MASK
"""What stands after an address rather than in it."""
_MAY_HOLD = re.compile(r"[:/.@]")


def addresses(word: str) -> Iterator[Span]:
    """Where addresses stand in a word without STOPS."""
    if not _MAY_HOLD.search(word):
        return
    at = 0
    while found := _ADDRESS.search(word, at):
        at = _end(word, *found.span())
        yield found.start(), at


def _end(word: str, start: int, end: int) -> int:
    """Without a bracket that was opened before it, and what follows that, nor punctuation at its end."""
    depth = 0
    for place in range(start, end):
        depth += (word[place] == "(") - (word[place] == ")")
        if depth < 0:
            end = place
            break
    least = start + 1
    while end > least and word[end - 1] in _AFTER and not (word[end - 1] == ")" and "(" in word[start:end]):
        end -= 1
    return end


# --- the addresses of texts -------------------------------------------------------------------------------------------

_TARGET = re.compile(
    r"\]\(\s{0,8}<?([^\s<>()]{1,1000})|^ {0,3}\[[^\[\]\n]{1,300}\]:\s{0,8}<?([^\s<>]{1,1000})", re.MULTILINE
)


@dataclass(frozen=True)
class Known:
    """Texts, and the addresses in them, which are read when they are asked for: most answers hold none."""

    texts: tuple[str, ...] = ()

    def address(self, text: str) -> bool:
        """Whether exactly this address stands in a text."""
        return text in self._addresses

    def holds(self, text: str) -> bool:
        """Whether a text holds these characters."""
        return any(text in known for known in self.texts)

    @cached_property
    def _addresses(self) -> frozenset[str]:
        return frozenset(found for text in self.texts for found in _all(plain(text).text))


def known(texts: Iterable[str]) -> Known:
    return Known(tuple(dict.fromkeys(text for text in texts if text)))


def _all(text: str) -> Iterator[str]:
    for word in WORD.finditer(text):
        yield from (word[0][start:end] for start, end in addresses(word[0]))
    yield from (found[1] or found[2] for found in _TARGET.finditer(text))
