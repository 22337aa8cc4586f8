"""Access lists: who may read a document that not everybody in the tenant may read. An entry is group:<name>, person:<subject of a
token> or key:<id>; empty, or no list: everybody.

A document has a list of its own, or that of the rule about the nearest folder above it; the whole collection is the farthest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.domain.names import check_external_id
from cairn.errors import InputError
from cairn.language.text import normalise

KINDS: Final = ("group", "person", "key")
MOST_NAMES: Final = 100
"""Entries of a list, and groups of a key."""
LONGEST_NAME: Final = 200
MOST_RULES: Final = 10_000
"""Of a collection, with those that keep the list of a file while it is away: each new document is held against all of them."""


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Who may read the documents of a folder that have no list of their own; nobody: everybody in the tenant. `prefix`: of their
    external ids, without a slash at its end; empty: the whole collection."""

    prefix: str
    access: Sequence[str]


_NAMES_A_FOLDER: Final = re.compile(r"[^\s./\\?]")
"""Blanks, dots and slashes say nothing (rag.folder_name)."""


def check_prefix(prefix: str) -> str:
    """The folder as rules have it: what external ids begin with, without a slash at its end. Raises InputError."""
    if not prefix:
        return ""
    bare = prefix.rstrip("/")
    if not _NAMES_A_FOLDER.search(unicodedata.normalize("NFKC", bare)):
        raise InputError(
            "a folder is what ids of documents begin with, such as hr/; leave it out for the whole collection"
        )
    return check_external_id(normalise(bare))


def is_name(text: str) -> bool:
    """Whether a group or person can be called so: one line of printable characters without white space at its ends."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


def check_access(access: Collection[str]) -> tuple[str, ...]:
    """The same, each once, in order. Raises InputError."""
    for entry in access:
        kind, colon, name = entry.partition(":")
        if not colon or kind not in KINDS or not is_name(name):
            raise InputError(
                f"{entry[:100]!r} is nobody who may read: write group:<name>, person:<subject> or key:<id>; names have up to "
                f"{LONGEST_NAME} printable characters"
            )
    return _bounded(access)


def check_groups(groups: Collection[str]) -> tuple[str, ...]:
    """Names of groups, each once, in order. Raises InputError."""
    if wrong := [name for name in groups if not is_name(name)]:
        raise InputError(f"{wrong[0][:100]!r} is no name of a group: 1 to {LONGEST_NAME} printable characters")
    return _bounded(groups)


def parse_readers(lines: Iterable[str]) -> dict[str, list[str]]:
    """Access lists by folder, as people write them: WHO, or FOLDER=WHO for a folder; "" is all of it, which "=WHO" says, too.
    With nobody behind the sign ("hr=") everybody reads that folder, whoever reads what is above it. Empty lines say nothing."""
    found: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, lines)):
        folder, who = _cut_reader(line)
        names = found.setdefault(folder, [])
        if who:
            names.append(who)
    return found


def _cut_reader(line: str) -> tuple[str, str]:
    """Folder and name. Subjects of tokens have equals signs, too, at their end and between the parts of a name."""
    if line.startswith(tuple(f"{kind}:" for kind in KINDS)):
        return "", line
    named = [at for kind in KINDS if (at := line.find(f"={kind}:")) >= 0]
    at = min(named) if named else line.rfind("=")
    return (line[:at].strip(), line[at + 1 :].strip()) if at >= 0 else ("", line)


def write_readers(access: Mapping[str, Sequence[str]]) -> list[str]:
    """The lines that parse_readers reads, by folder."""
    return [
        f"{folder}={who}" if folder or not who else who
        for folder, names in sorted(access.items())
        for who in names or ("",)
    ]


def _bounded(names: Collection[str]) -> tuple[str, ...]:
    found = tuple(sorted(set(names)))
    if len(found) > MOST_NAMES:
        raise InputError(f"at most {MOST_NAMES} are named, not {len(found):,}: put them into a group")
    return found
