"""Texts that look like keys: what is logged, answered as a problem or left in a trace has none of them.

What a key looks like is all that can be known of it: those of Cairn, tokens (JWT), those of providers that begin in a way of
their own, what follows "Bearer", and private keys (PEM).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from cairn.domain.key import PREFIX

_MARKS: Final = (
    PREFIX, "eyJ", "sk-", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AIza",
    "hf_", "gsk_", "sk_", "rk_", "earer", "EARER", "PRIVATE KEY",
)  # fmt: skip
"""One of them is in every text that the pattern finds something in; looking for them is much faster."""
_SECRETS: Final = re.compile(
    rf"""
    {PREFIX}[0-9a-f]{{16,}}+                                # also parts of keys that could be completed by guessing
    | (?<![\w-]) eyJ[\w-]++ \. [\w-]++ \. [\w-]*+           # JWT
    | (?<![\w-]) sk- (?=[\w-]*\d) [\w-]{{20,}}+             # OpenAI, Anthropic and whoever speaks like them
    | (?<![A-Za-z0-9]) (?: AKIA | ASIA ) [A-Z0-9]{{16}} (?![A-Za-z0-9])
    | (?<![A-Za-z0-9]) (?: gh[oprsu]_ | github_pat_ | gsk_ | hf_ | [rs]k_(?:live|test)_ ) [A-Za-z0-9_]{{16,}}+
    | (?<![A-Za-z0-9]) (?: glpat- | xox[a-z]- | AIza ) [\w-]{{16,}}+
    | -----BEGIN[ ] [A-Z ]{{0,20}} PRIVATE[ ]KEY----- (?: [^-] | -(?!----) )*+
    | (?P<before> (?<!\w) (?i:bearer) [ \t]{{1,4}} ) (?=[\w.~+/-]*\d) [\w.~+/-]{{16,}}+ =*+
    """,
    re.ASCII | re.VERBOSE,
)
_KEPT: Final = 4
"""Characters that say whose key it was."""


def strike_secrets(text: str) -> str:
    """Without keys and tokens: for what is logged, and for answers that quote what was sent."""
    return _SECRETS.sub(_struck, text) if may_have_secrets(text) else text


def has_secrets(text: str) -> bool:
    """Whether something in it looks like a key."""
    return may_have_secrets(text) and _SECRETS.search(text) is not None


def may_have_secrets(text: str) -> bool:
    """Fast, and never False where there are some, also in texts within JSON."""
    return any(mark in text for mark in _MARKS)


def _struck(found: re.Match[str]) -> str:
    if (before := found["before"]) is not None:
        return f"{before}[struck out]"
    return f"{found[0][: len(PREFIX) if found[0].startswith(PREFIX) else _KEPT]}[struck out]"


_DOT: Final = "\u2022"
_PIECE: Final = re.compile(r"[^\W_]{2,}+")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def strike_all(value: Any) -> Any:
    """The same of all texts in a value made of mappings and lists."""
    if isinstance(value, str):
        return strike_secrets(value)
    if isinstance(value, Mapping):
        return {strike_all(key): strike_all(item) for key, item in value.items()}
    return type(value)(map(strike_all, value)) if type(value) in (list, tuple, set, frozenset) else value


class Mask:
    """Covers the keys of some texts by dots, wherever they come up, so that everything keeps its place.

    What is made of a question (the words that are looked up, the names in it) has its keys in other forms: in small letters,
    with other signs between their parts, in pieces.
    """

    def __init__(self, secrets: frozenset[str]) -> None:
        self._secrets = sorted({_letters(secret) for secret in secrets}, key=len, reverse=True)
        self._all = "\n".join(self._secrets)

    @classmethod
    def of(cls, *texts: str) -> Mask | None:
        """None where no text has a key, as nearly always."""
        found = {
            found[0].removeprefix(found["before"] or "")
            for text in texts
            if may_have_secrets(text)
            for found in _SECRETS.finditer(text)
        }
        return cls(frozenset(found)) if found else None

    def text(self, text: str, *, derived: bool = False) -> str:
        """As long as before. `derived`: it was made of a question by programs, so that also small pieces of a key are covered
        beside a whole one."""
        if _UUID.fullmatch(text):
            return text
        shown = list(text)
        whole = False
        places = [place for place, sign in enumerate(text) if sign.isalnum()]
        letters = _letters(text)
        for secret in self._secrets:
            start = letters.find(secret)
            while start >= 0:
                whole = True
                first, last = places[start], places[start + len(secret) - 1]
                shown[first : last + 1] = _DOT * (last + 1 - first)
                start = letters.find(secret, start + len(secret))
        least = 2 if whole and derived else 4
        for found in _PIECE.finditer("".join(shown)):
            piece = found[0].lower()
            telling = len(piece) >= 8 or (len(piece) >= least and any(sign.isdigit() for sign in piece))
            if telling and piece in self._all:
                shown[found.start() : found.end()] = _DOT * len(found[0])
        return "".join(shown)

    def value(self, value: Any, *, derived: bool = False) -> Any:
        """The same of all texts in a JSON value, names of fields too."""
        if isinstance(value, str):
            return self.text(value, derived=derived)
        if isinstance(value, Mapping):
            return {
                self.text(key, derived=derived) if isinstance(key, str) else key: self.value(item, derived=derived)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(item, derived=derived) for item in value]
        return value


def _letters(text: str) -> str:
    """Letters and digits alone, each as small as it gets without becoming two."""
    return "".join(low if len(low := sign.lower()) == 1 else sign for sign in text if sign.isalnum())
