"""Access lists: who may read a document that not everybody in the tenant may read. An entry is group:<name>, person:<subject of a
token> or key:<id>; empty, or no list: everybody."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from cairn.errors import InputError

KINDS: Final = ("group", "person", "key")
MOST_NAMES: Final = 100
"""Entries of a list, and groups of a key."""
LONGEST_NAME: Final = 200


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


def _bounded(names: Collection[str]) -> tuple[str, ...]:
    found = tuple(sorted(set(names)))
    if len(found) > MOST_NAMES:
        raise InputError(f"at most {MOST_NAMES} are named, not {len(found):,}: put them into a group")
    return found
