"""Reads the tables of this folder."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Final

_NAME: Final = re.compile(r"<(\w+)>")


@cache
def table(name: str) -> dict[str, Any]:
    """`<name>.toml`, with `<word>` replaced by what its section `define` says. Raises KeyError for an unknown word in a
    file that defines any."""
    raw = tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    defined = raw.pop("define", None)
    return {key: _filled(value, defined) for key, value in raw.items()} if defined else raw


def _filled(value: Any, defined: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _NAME.sub(lambda match: defined[match.group(1)], value)
    if isinstance(value, list):
        return [_filled(item, defined) for item in value]
    return {key: _filled(item, defined) for key, item in value.items()}
