"""What a Markdown file states about itself above its text: YAML between lines of `---`, TOML between lines of `+++`.

It is written for the program that makes a site of the file, so it is no text: its title is that of the document, its plain
values are metadata. Pure.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Final

from cairn.language.text import normalise

LONGEST: Final = 64_000
"""Characters of a block; behind a longer one stands text that happens to have two rules."""
MOST_KEYS: Final = 50
_LONGEST_KEY: Final = 100
_LONGEST_VALUE: Final = 2000
_MOST_ITEMS: Final = 50
_MOST_EVENTS: Final = 20_000
_DEEPEST: Final = 12
"""Nesting of lists and mappings; PyYAML takes the square of it."""

_ENDS: Final = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*+$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*+$", re.MULTILINE),
}
_KEY_LINE: Final = re.compile(r"\A[\"']?[\w$@][\w .$@/-]{0,100}[\"']?[ \t]{0,100}[:=](?=\s|[^:/=]|$)")
"""How the first line of a block begins that is one, though it does not parse; between two rules may stand a paragraph as well."""
_TITLE_LINE: Final = re.compile(r"^title[ \t]{0,9}[:=][ \t]{0,99}(\S[^\n]{0,1000}+)$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`end`: where the text begins that follows. `title` and `metadata`: what is stated, as far as it can be kept."""

    end: int = 0
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


NOTHING_STATED: Final = FrontMatter()


def read_front_matter(text: str) -> FrontMatter:
    """That of a text with LF at the ends of its lines. What does not parse is left out. Raises nothing."""
    mark = text[:3]
    first = text.find("\n", 0, LONGEST)
    if mark not in _ENDS or first < 0 or text[3:first].strip(" \t"):
        return NOTHING_STATED
    # the line end before the closing marks belongs to the search, so that an empty block has an end as well
    closed = _ENDS[mark].search(text, first + 1, first + 1 + LONGEST)
    if not closed or (closed.end() < len(text) and text[closed.end()] != "\n"):
        return NOTHING_STATED
    block = text[first + 1 : closed.start()]
    values = _parse_yaml(block) if mark == "---" else _parse_toml(block)
    if values is None and block.strip() and not _begins_with_key(block):
        return NOTHING_STATED
    values = values or {}
    named = next((value for key, value in values.items() if key.lower() == "title"), None)
    title = _plain(named)
    if not isinstance(title, str | int | float) and (line := _TITLE_LINE.search(block)):
        title = line[1].strip().strip("\"'").strip()
    kept = {key: value for key, value in _kept(values) if key.lower() != "title"}
    return FrontMatter(
        min(closed.end() + 1, len(text)), str(title).strip() or None if title is not None else None, kept
    )


def _begins_with_key(block: str) -> bool:
    lines = (line.strip() for line in block.split("\n"))
    return bool(_KEY_LINE.match(next((line for line in lines if line and not line.startswith("#")), "")))


def _parse_yaml(block: str) -> dict[str, Any] | None:
    """The mapping of a block; None where it is none. Anchors are refused: a few lines of them make gigabytes."""
    import yaml

    depth = 0
    try:
        for number, event in enumerate(yaml.parse(block, Loader=yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if number > _MOST_EVENTS or depth > _DEEPEST or getattr(event, "anchor", None) is not None:
                return None
        values = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError):  # no date is 2024-13-45
        return None
    return {key: value for key, value in values.items() if isinstance(key, str)} if isinstance(values, dict) else None


def _parse_toml(block: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(block)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _kept(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Those that metadata can have: plain values and lists of them."""
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = normalise(key).strip()
        plain = (
            [one for item in value[:_MOST_ITEMS] if (one := _plain(item)) is not None]
            if isinstance(value, list)
            else _plain(value)
        )
        if name and len(name) <= _LONGEST_KEY and plain is not None and plain != []:
            found.append((name, plain))
        if len(found) == MOST_KEYS:
            break
    return found


def _plain(value: Any) -> str | int | float | None:
    """A value as JSON has it, dates as ISO 8601; None for what it has no word for."""
    if isinstance(value, str):
        text = normalise(value).strip()
        return text if text and len(text) <= _LONGEST_VALUE else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    return value if isinstance(value, float) and math.isfinite(value) else None
