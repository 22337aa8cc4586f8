"""The tasks, and what others have published of them (published.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("published.toml")


@dataclass(frozen=True, slots=True)
class Published:
    """A figure that somebody else has published; `model`: which language model it takes, empty where it takes none."""

    system: str
    year: int
    figures: Mapping[str, float]
    model: str
    where: str


@dataclass(frozen=True, slots=True)
class Task:
    """`form`: how the set is laid out; `folder`: below that of all sets; `source`: where it is had; `note`: what has to be known
    to compare."""

    name: str
    title: str
    form: str
    folder: str
    metrics: tuple[str, ...]
    source: str
    note: str
    others: tuple[Published, ...]


def tasks() -> dict[str, Task]:
    """By name, in the order of the table."""
    return {
        name: Task(
            name,
            one["title"],
            one["form"],
            one.get("folder", name),
            tuple(one["metrics"]),
            one["source"],
            one.get("note", ""),
            tuple(Published(**{"model": "", **other}) for other in one.get("others", ())),
        )
        for name, one in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    }
