"""JSON in what a model wrote: thought aloud before it, fenced, or with words around it. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from app.language.text import normalise

MOST_TRIES: Final = 50
"""Brackets at which a value is looked for; a reply with more of them before its value is none."""
DEEPEST: Final = 6
"""Levels of lists and objects in a value; deeper ones are emptied."""
_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_DECODER: Final = json.JSONDecoder()


def without_thought(reply: str) -> str:
    """The reply without what a model thought aloud in <think> tags."""
    return _THOUGHT.sub("", reply).strip()


def json_object(reply: str) -> dict[str, Any] | None:
    """The first JSON object in a reply that has a key; None where there is none, or it is broken off."""
    return next((value for value in _values(without_thought(reply), "{") if isinstance(value, dict) and value), None)


def json_array(reply: str) -> list[Any] | None:
    """The first JSON array in a reply that is not empty, else an empty one; None where there is none."""
    found = [value for value in _values(without_thought(reply), "[") if isinstance(value, list)]
    return next((value for value in found if value), found[0] if found else None)


def _values(text: str, opening: str) -> list[Any]:
    """Values that begin at `opening` and are whole; what is inside of one is not looked at again."""
    found: list[Any] = []
    at = text.find(opening)
    for _ in range(MOST_TRIES):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(storable_json(value))
        at = text.find(opening, end)
    return found


def storable_json(value: Any, depth: int = DEEPEST) -> Any:
    """Without what JSON may hold and nothing else can: NUL and lone surrogates in texts, and nesting without end."""
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, dict):
        return {normalise(str(key)): storable_json(item, depth - 1) for key, item in value.items()} if depth else {}
    if isinstance(value, list):
        return [storable_json(item, depth - 1) for item in value] if depth else []
    return value
