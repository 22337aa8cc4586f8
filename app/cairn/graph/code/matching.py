"""Which references mean a definition: by their names alone. Pure.

A definition is known by its folders, file and name: src/httpx/_client.py::Client.send is src.httpx._client.Client.send. A
reference means it where one of the two ends with the other, in two parts at least: "httpx._client.Client.send", or
"Client.send" of a language that does not import names. One part alone, and a member of something unknown (".send"), mean
it only where no other definition of the collection has the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from cairn.domain.code import SEPARATOR, SymbolQuery
from cairn.language.text import fold
from cairn.store.graph_code import NamedSymbol

_ENTRIES: Final = frozenset({"__init__", "index", "mod", "lib"})
"""Files that stand for their folder."""
_FOLDERS: Final = frozenset({".go", ".java"})
"""Files whose folder is the module."""

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """References that mean a definition. `unsure`: others by its name that may mean another one."""

    met: tuple[NamedSymbol, ...]
    unsure: tuple[NamedSymbol, ...] = ()

    @classmethod
    def of(cls, definition: NamedSymbol, named: Iterable[NamedSymbol], offered: Sequence[Parts] = ()) -> Meeting:
        """`named`: everything by the same name; `offered`: other full names of the definition."""
        named = list(named)
        others = {one.id for one in named if one.family == "code"} - {definition.id}
        names = [qualify_name(definition.normal), *offered]
        met, unsure = [], []
        for one in {one.id: one for one in named if one.family == "reference"}.values():
            how = _means(one.normal, names, definition.kind)
            if how == "sure" or (how == "maybe" and not others):
                met.append(one)
            elif how == "maybe":
                unsure.append(one)
        return cls(tuple(met), tuple(unsure))


def _means(reference: str, names: Sequence[Parts], kind: str) -> str:
    """sure, maybe, or no."""
    if reference.startswith("."):
        return "maybe" if kind == "method" and names[0][-1] == reference[1:] else "no"
    parts = tuple(reference.split("."))
    best = max(_common_end(parts, name) for name in names)
    if best > 1:
        return "sure"
    return "maybe" if best == 1 and kind != "method" else "no"


def _common_end(one: Parts, other: Parts) -> int:
    """The length of the shorter where the longer ends with it, else 0."""
    length = min(len(one), len(other))
    return length if one[-length:] == other[-length:] else 0


@lru_cache(maxsize=8192)
def qualify_name(normal: str) -> Parts:
    """The full name of a definition, or of a file."""
    path, separator, name = normal.rpartition(SEPARATOR)
    pure = PurePosixPath((path if separator else normal).replace("\\", "/"))
    stem = pure.name.split(".")[0]
    folders = tuple(part for part in pure.parts[:-1] if part not in ("/", ".", ".."))
    folder = pure.suffix in _FOLDERS or stem in _ENTRIES
    module = folders if folder and (folders or separator) else (*folders, stem)
    return (*module, *name.split(".")) if separator else module


def is_entry(path: str) -> bool:
    """Whether a file stands for its folder, and so offers what it imports."""
    return SEPARATOR not in path and PurePosixPath(path).name.split(".")[0] in _ENTRIES


def fits(normal: str, query: SymbolQuery) -> bool:
    """Whether a definition is what a query names, in its path; capitals do not count."""
    path, separator, _ = normal.rpartition(SEPARATOR)
    path = fold(path if separator else normal)
    if query.path and not f"/{path}".endswith(f"/{fold(query.path)}"):
        return False
    if not query.name:
        return True
    if f"/{path}".endswith(f"/{fold(query.name)}"):
        return not separator
    wanted = tuple(fold(query.name).split("."))
    have = tuple(fold(part) for part in qualify_name(normal))
    common = _common_end(wanted, have)
    return common == len(wanted) or common > 1
