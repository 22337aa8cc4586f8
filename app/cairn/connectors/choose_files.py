"""Which files of a source are read: not the hidden ones, nor what tools have put or made there, and what its patterns say.

Patterns are those that people know from shells: `*` and `?` stay within a name, `**` goes through folders, `[a-z]` is one of
some characters. One without "/" is about the name of a file or folder, wherever it lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from cairn.connectors.connector import SourceRefused

SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__"})
"""What tools have put there; no documents."""
GENERATED: Final = (
    ".min.js", ".min.mjs", ".min.css", ".pack.js", ".js.map", ".mjs.map", ".css.map", ".lock", "package-lock.json",
    "pnpm-lock.yaml", ".po", ".pot",
)  # fmt: skip
"""How names of files end that programs have made for programs, and that stand among the pages of a manual; no documents.
Catalogues of translations (gettext) hold each sentence of a manual once more, and beside it in another language."""
MOST_PATTERNS: Final = 100
LONGEST_PATTERN: Final = 300
SEPARATORS: Final = re.compile(r"[,\n]")


def is_hidden(path: str) -> bool:
    """Whether a path, relative to its source, leads through what `cairn index` leaves aside in a folder."""
    return any(part.startswith(".") or part in SKIPPED_FOLDERS for part in path.split("/"))


def is_generated(path: str) -> bool:
    """Whether the name of a file says that a program made it for programs."""
    return path.lower().endswith(GENERATED)


@dataclass(frozen=True, slots=True)
class PathFilter:
    """`include`: empty means all, but for what is generated; `exclude` beats it."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, path: str) -> bool:
        """Whether a file is read; `path` is relative to the source."""
        if is_hidden(path) or not _is_text(path) or _matches_one(self.exclude, path):
            return False
        return _matches_one(self.include, path) if self.include else not is_generated(path)


def _is_text(path: str) -> bool:
    """Whether a database can keep it: old systems have names of bytes that are no UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path


def path_filter(options: Mapping[str, str]) -> PathFilter:
    """Of the options `include` and `exclude`: patterns with commas or line ends between them. Raises SourceRefused."""
    return PathFilter(_patterns("include", options), _patterns("exclude", options))


def _patterns(option: str, options: Mapping[str, str]) -> tuple[str, ...]:
    patterns = tuple(
        text.strip().strip("/") for text in SEPARATORS.split(options.get(option, "")) if text.strip().strip("/")
    )
    if len(patterns) > MOST_PATTERNS or any(len(pattern) > LONGEST_PATTERN for pattern in patterns):
        raise SourceRefused(f"option {option}: at most {MOST_PATTERNS} patterns of {LONGEST_PATTERN} characters each")
    return patterns


def _matches_one(patterns: Iterable[str], path: str) -> bool:
    parts = path.split("/")
    return any(_matches(pattern.split("/"), parts) for pattern in patterns)


def _matches(pattern: list[str], parts: list[str]) -> bool:
    """Whether the path, or a folder that it lies in, is meant. Each part of the path is compared with each of the pattern at
    most once, whatever the pattern."""
    if len(pattern) == 1 and pattern[0] != "**":
        return any(fnmatchcase(part, pattern[0]) for part in parts)
    reached = _skip_stars(pattern, {0})
    for part in parts:
        if len(pattern) in reached:
            break
        stay = {at for at in reached if pattern[at] == "**"}
        reached = _skip_stars(pattern, stay | {at + 1 for at in reached - stay if fnmatchcase(part, pattern[at])})
    return len(pattern) in reached


def _skip_stars(pattern: list[str], reached: set[int]) -> set[int]:
    """With the places behind each `**`, which may stand for no folder at all."""
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            reached.add(at)
    return reached
