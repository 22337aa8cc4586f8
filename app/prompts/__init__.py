"""Prompts: one Markdown file each, named after its caller, with a `## system` and a `## user` part.

`$name` in a file is replaced by a value (string.Template); what a value contains is never looked at again, so a
document that holds `$context` stays a document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

_PART = re.compile(r"^## (system|user)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    system: str
    user: str


@cache
def _parts(name: str) -> tuple[Template, Template]:
    text = (resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8")
    _, *rest = _PART.split(text)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    return Template(parts["system"].strip()), Template(parts["user"].strip())


def prompt(name: str, **values: str) -> Prompt:
    """The prompt of that name, filled. Raises FileNotFoundError for an unknown name, KeyError for a missing value."""
    system, user = _parts(name)
    return Prompt(system.substitute(values), user.substitute(values))
