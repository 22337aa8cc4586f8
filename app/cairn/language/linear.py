"""Patterns whose time grows with the length of the text and no faster. Pure.

A pattern that begins anywhere and then runs over the rest ("\\s*,", "\\w+\\.pdf") takes the square of the text where
the text is one long run. No sentence has such runs, so a repetition without an end gets one: RUN, WORD or TEXT.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, cast

RUN: Final = 16
"""Longest run of white space, punctuation or marks; what users send has single blanks (cairn.language.text.tidy)."""
WORD: Final = 48
"""Longest run of letters and digits: longer than the words of any language here, and than most identifiers."""
TEXT: Final = 160
"""Longest run of anything."""
TIMES: Final = 16
"""Most repetitions of a group."""


def bounded(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, each repetition without an end (`*`, `+`, `{2,}`) with one; possessive ones stay as they are. It is compiled
    when it is first used, or by `compile_all`: all of them together take longer than most commands."""
    return cast("re.Pattern[str]", _Unused(pattern, flags))


def compile_all() -> None:
    """Compile now what nothing has used yet of the modules that are loaded; for a thread. .8 s of a processor and 9 MB."""
    for one in list(_unused):
        one.compile()


class _Unused:
    """A pattern that compiles itself at its first use, and has the methods of the compiled one from then on."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._made_of = pattern, flags
        _unused.add(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _ATTRIBUTES:
            raise AttributeError(name)
        self.compile()
        return self.__dict__[name]

    def compile(self) -> None:
        pattern, flags = self._made_of
        compiled = re.compile(bound(pattern, verbose=bool(flags & re.VERBOSE)), flags)
        self.__dict__.update((each, getattr(compiled, each)) for each in _ATTRIBUTES)
        _unused.discard(self)


_unused: Final[set[_Unused]] = set()
"""Held until they are used: a function that makes patterns uses them, or keeps them."""

_ATTRIBUTES: Final = frozenset(name for name in dir(re.Pattern) if not name.startswith("_"))


@lru_cache(1024)
def bound(pattern: str, *, verbose: bool = False) -> str:
    """The text of such a pattern."""
    found: list[str] = []
    opened: list[int] = []
    last = 0  # where in `found` what the next repetition repeats begins
    for token in _TOKEN.findall(pattern) if not verbose else _VERBOSE.findall(pattern):
        if token[0] == "(" and token[-1] != ")":
            opened.append(len(found))
        elif token == ")":
            last = opened.pop()
        elif most := _OPEN_END.fullmatch(token):
            least = {"*": 0, "+": 1}.get(token[0]) if most["least"] is None else int(most["least"])
            token = f"{{{least},{_most(''.join(found[last:]), least or 0)}}}{most['lazy']}"
        elif not _REPETITION.fullmatch(token) and not (verbose and _BLANK.fullmatch(token)):
            last = len(found)
        found.append(token)
    return "".join(found)


_CLASS: Final = r"\[\^?\]?(?:\\.|[^\]\\]){0,400}+\]"
_REPEAT: Final = r"[*+?][?+]?|\{\d*,\d*\}[?+]?|\{\d+\}"
_GROUP: Final = r"\((?:\?(?:P<\w+>|P=\w+\)|<?[=!]|[:>]|\(\w+\)|[a-zA-Z-]+[:)]))?"
_TOKEN: Final = re.compile(rf"(?s:\\.|{_CLASS}|{_GROUP}|{_REPEAT}|.)")
_VERBOSE: Final = re.compile(rf"(?s:\\.|{_CLASS}|{_GROUP}|{_REPEAT}|\s+|#[^\n]*|.)")
_REPETITION: Final = re.compile(_REPEAT)
_BLANK: Final = re.compile(r"(?s:\s+|#.*)")
_OPEN_END: Final = re.compile(r"(?:[*+]|\{(?P<least>\d+),\})(?P<lazy>\??)")


def _most(repeated: str, least: int) -> int:
    """How often what stands before a repetition may come."""
    if repeated[0] == "(":
        most = TIMES
    elif repeated[0] == "\\" and repeated[1].isdigit():  # what a group matched, again
        most = WORD
    elif re.fullmatch(repeated, "a") is None:
        most = RUN
    else:
        most = WORD if re.fullmatch(repeated, "\x01") is None else TEXT
    return max(most, least)


def needed_literal(pattern: str) -> str:
    """The longest run of letters and digits (a-z, 0-9) that stands in all that the pattern matches, for who looks for that first,
    since it takes less; empty where there is none, and of alternatives."""
    runs, depth = [""], 0
    for token in _TOKEN.findall(pattern):
        if token == "|" and not depth:
            return ""
        if not depth and token.isascii() and token.isalnum():
            runs[-1] += token
            continue
        if _REPETITION.fullmatch(token):  # what stands before it may be left out
            runs[-1] = runs[-1][:-1]
        runs.append("")
        depth += (token[0] == "(" and token[-1] != ")") - (token == ")")
    return max(runs, key=len)
