"""Named SQL: `sql/queries/<store>.sql` holds statements headed by `-- name: <statement>`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from cairn.distribution.resources import resource_path

_HEADER = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def load_queries(store: str) -> Mapping[str, str]:
    """Statements of one file by name. Raises FileNotFoundError or ValueError: both are programming errors."""
    source = (resource_path("sql") / "queries" / f"{store}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADER.split(source)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"duplicate statement name in {store}.sql")
    return {name: body.strip() for name, body in zip(names, bodies, strict=True)}
