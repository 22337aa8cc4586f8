"""What earlier releases shipped as settings.json: a file that began as a copy of one holds that release's defaults, and whoever
upgrades gets no new ones.

A copy has more than half of the keys of a release: who writes what differs writes a few. Of a copy those keys are told that hold
what that release shipped and this one does not; whether they were meant, only their owner knows, so nothing is rewritten."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "released"
"""A file for each release, as settings.json was; scripts/make_release_fixture.py puts it there."""
SHOWN: Final = 12
"""Names in a note; all are counted."""


def flatten(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its name (`retrieve.rrfK`)."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{above}{name}.")
        else:
            yield above + name, value


@cache
def read_released(folder: Path = FOLDER) -> tuple[Mapping[str, Any], ...]:
    """What each release shipped, by name."""
    return tuple(dict(flatten(json.loads(path.read_bytes()))) for path in sorted(folder.glob("*.json")))


def find_older_defaults(
    data: Mapping[str, Any], defaults: Mapping[str, Any], released: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Names in a file that hold what an earlier release shipped and this one does not; none where it is no copy. `defaults`: of
    this release, by name. Pure."""
    here, found = dict(flatten(data)), set()
    for shipped in released:
        if 2 * len(here.keys() & shipped.keys()) > len(shipped):
            found |= {
                name for name, value in here.items() if name in shipped and value == shipped[name] != defaults.get(name)
            }
    return sorted(found)


def note_older_defaults(names: list[str]) -> str:
    """What their owner is told."""
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    hold = "this key holds" if len(names) == 1 else f"these {len(names)} keys hold"
    return f"{hold} the default of an older release: {shown}; remove what is not meant, and this release's counts"
