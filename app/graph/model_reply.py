"""JSON as chat models write it: fenced, with words around it, a comma too many, or cut off in the middle. Pure.

What is complete is kept. Of an object that is cut off nothing is kept but the lists in it, as far as they go: half an
entity is none, but the entities before it are whole.
"""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final

_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_GAP: Final = re.compile(r"[\s,]*")
_COLON: Final = re.compile(r"\s*:\s*")
_PLAIN: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_OPENING: Final = re.compile(r"[{\[]")
_DEEPEST: Final = 8
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


class _Broken(Exception):
    """The value ends here, before its end; `kept` is what is whole of it, None for nothing."""

    def __init__(self, at: int, kept: Any = None) -> None:
        self.at, self.kept = at, kept


def read_json_values(reply: str) -> tuple[list[Any], int]:
    """Objects and arrays of a reply, outermost first, and how many of them are broken."""
    text, at, broken = _THOUGHT.sub("", reply), 0, 0
    found = []
    while match := _OPENING.search(text, at):
        try:
            value, at = _value(text, match.start(), 0)
        except _Broken as error:
            value, broken = error.kept, broken + 1
            following = text.find("\n", max(error.at, match.end()))  # JSON lines: the next one may be whole
            at = len(text) if following < 0 else following
        if value is not None:
            found.append(value)
    return found, broken


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST or at >= len(text):
        raise _Broken(at)
    match text[at]:
        case "{":
            return _object(text, at + 1, depth)
        case "[":
            return _array(text, at + 1, depth)
        case '"':
            return _string(text, at)
    if plain := _PLAIN.match(text, at):
        word = plain.group()
        return _CONSTANTS[word] if word in _CONSTANTS else float(word), plain.end()
    raise _Broken(at)


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        found, end = scanstring(text, at + 1, False)
    except ValueError:
        raise _Broken(at) from None
    return str(found), int(end)


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    made: list[Any] = []
    while True:
        at = _past_gap(text, at)
        if text[at : at + 1] == "]":
            return made, at + 1
        try:
            value, at = _value(text, at, depth + 1)
        except _Broken as error:
            raise _Broken(error.at, made if error.kept is None else [*made, error.kept]) from None
        made.append(value)


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    made: dict[str, Any] = {}
    try:
        while True:
            at = _past_gap(text, at)
            if text[at : at + 1] == "}":
                return made, at + 1
            if text[at : at + 1] != '"':
                raise _Broken(at)
            key, at = _string(text, at)
            colon = _COLON.match(text, at)
            if colon is None:
                raise _Broken(at)
            at = colon.end()
            try:
                made[key], at = _value(text, at, depth + 1)
            except _Broken as error:
                if error.kept is not None:
                    made[key] = error.kept
                raise
    except _Broken as error:
        whole = {key: value for key, value in made.items() if isinstance(value, list) or key == "passage"}
        raise _Broken(error.at, whole if any(map(len, _lists(whole))) else None) from None


def _lists(made: dict[str, Any]) -> list[list[Any]]:
    return [value for value in made.values() if isinstance(value, list)]


def _past_gap(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found else at
