"""Prompts: one Markdown file each, named after its caller, with a `## system` and a `## user` part.

Further parts of a file, such as `## feedback`, are texts that the caller puts into these two where they apply.
`$name` in a file is replaced by a value (string.Template); what a value contains is never looked at again, so a
document that holds `$context` stays a document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

_PART = re.compile(r"^## (\w+)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    system: str
    user: str


@cache
def _parts(name: str) -> Mapping[str, Template]:
    text = (resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8")
    _, *rest = _PART.split(text)
    return {part: Template(body.strip()) for part, body in zip(rest[::2], rest[1::2], strict=True)}


def prompt(name: str, **values: str) -> Prompt:
    """The prompt of that name, filled. Raises FileNotFoundError for an unknown name, KeyError for a missing value."""
    parts = _parts(name)
    return Prompt(parts["system"].substitute(values), parts["user"].substitute(values))


def prompt_part(name: str, part: str, **values: str) -> str:
    """A further part of a prompt's file, filled. Raises as `prompt` does."""
    return _parts(name)[part].substitute(values)
