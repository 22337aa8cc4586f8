"""What names in code mean: of each reference of a collection the definitions that it leads to. Pure.

A definition is known by its folders, file and name: src/httpx/_client.py::Client.send is src.httpx._client.Client.send. A name
that a file refers to in full means the definition that ends alike, the longest way; else a member that a class has or
inherits; else what a file offers under a name that it imports itself (`from ._client import Client` in a package, a compat
module). What is called on something unknown means nothing here, however rare its name: that is for the answer to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, Literal

from cairn.domain.code import BUILTIN, SEPARATOR
from cairn.graph.code.languages import family_of
from cairn.graph.code.matching import Parts, qualify_name
from cairn.language.text import fold

_DEEPEST: Final = 6
"""Names that lead to names, and classes that inherit from classes."""
_BARE: Final = frozenset({"c", "rust"})
"""Families in which a name may be another file's without import."""

Certainty = Literal["sure", "ambiguous", "outside", "unknown"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means: one definition (sure), one of several (ambiguous), something that the collection does not hold
    (outside), or what cannot be told (unknown)."""

    certainty: Certainty
    definitions: tuple[str, ...] = ()


_OUTSIDE, _UNKNOWN = Meaning("outside"), Meaning("unknown")


@dataclass(frozen=True, slots=True)
class NamedDefinition:
    """A definition by its full name in the collection, "app/x.py::Class.method", with what kind it is."""

    normal: str
    kind: str


@dataclass(frozen=True, slots=True)
class Tie:
    """A file imports a name, or a class inherits from one. `defined`: the name is that of a definition."""

    relation: Literal["imports", "inherits"]
    source: str
    target: str
    defined: bool = False


class CodeLinks:
    """The names of one collection. Each is looked up once, when it is asked for."""

    def __init__(self, definitions: Iterable[NamedDefinition], ties: Iterable[Tie]) -> None:
        self._kinds = {one.normal: one.kind for one in definitions}
        self.ties = tuple(ties)
        self._imports: dict[str, list[Parts]] = {}
        self._bases: dict[str, list[Tie]] = {}
        for tie in self.ties:
            if tie.relation == "imports":
                self._imports.setdefault(tie.source, []).append(_parts(tie.target))
            else:
                self._bases.setdefault(tie.source, []).append(tie)
        self._known: dict[tuple[str, Parts], tuple[str, ...]] = {}

    def meaning(self, target: str, path: str) -> Meaning:
        """Of what a file calls, inherits from or imports; `target` as in CodeCall."""
        if target.startswith(SEPARATOR):
            local = f"{path}{target}"
            return Meaning("sure", (local,)) if local in self._kinds else _UNKNOWN
        if target.startswith(BUILTIN):
            return _OUTSIDE
        if not target or target.startswith("."):
            return _UNKNOWN
        parts, family = _parts(target), family_of(path)
        found = self._find(parts, family)
        if found:
            return Meaning("sure" if len(found) == 1 else "ambiguous", found)
        return _UNKNOWN if self._is_inside(parts, family) else _OUTSIDE

    def kind(self, normal: str) -> str:
        """Of a definition; "" for what is none."""
        return self._kinds.get(normal, "")

    def called(self, name: str) -> Sequence[str]:
        """Definitions with this last name, whatever its capitals; of modules also their file names."""
        return self._folded.get(fold(name), ())

    def inside(self, normal: str) -> list[str]:
        """What stands directly in a class or a file, in order of names."""
        begin = normal + ("." if SEPARATOR in normal else SEPARATOR)
        return sorted(one for one in self._kinds if one.startswith(begin) and "." not in one[len(begin) :])

    def full_name(self, name: str) -> tuple[str, ...]:
        """Definitions that a dotted name means, through what modules offer and classes inherit."""
        found: dict[str, None] = {}
        for family in self._by_name:
            found.update(dict.fromkeys(self._find(_parts(name), family)))
        return tuple(found)

    @property
    def names(self) -> Iterable[str]:
        """Last names of all definitions, without capitals."""
        return self._folded

    def _find(self, parts: Parts, family: str, depth: int = 0) -> tuple[str, ...]:
        """Definitions that a name in full means; several where nothing tells which."""
        key = (family, parts)
        if key not in self._known:
            self._known[key] = ()  # what leads back to itself leads nowhere
            self._known[key] = self._look_up(parts, family, depth)
        return self._known[key]

    def _look_up(self, parts: Parts, family: str, depth: int) -> tuple[str, ...]:
        if found := self._ends_alike(parts, family):
            return found
        if depth > _DEEPEST:
            return ()
        for length in range(len(parts) - 1, 0, -1):
            owners = self._find(parts[:length], family, depth + 1)
            if len(owners) == 1 and self._kinds[owners[0]] == "class":
                return self._member(owners[0], parts[length:], depth + 1)
        return self._offered(parts, family, depth)

    def _ends_alike(self, parts: Parts, family: str) -> tuple[str, ...]:
        """Definitions whose full name ends as this one does, or the other way round: those that share most."""
        best, found = 0, list[str]()
        for normal in self._by_name.get(family, {}).get(parts[-1], ()):
            full = qualify_name(normal)
            shared = _shared_end(parts, full)
            if not shared or not self._may_mean(normal, full, parts, shared, family):
                continue
            if shared > best:
                best, found = shared, []
            if shared == best:
                found.append(normal)
        return tuple(found)

    def _may_mean(self, normal: str, full: Parts, parts: Parts, shared: int, family: str) -> bool:
        if family == "python" and self._begins_in_package(normal, full, shared):
            return False
        if shared > 1 or full == parts:
            return True
        return self._kinds[normal] == "module" or (family in _BARE and self._kinds[normal] != "method")

    def _begins_in_package(self, normal: str, full: Parts, shared: int) -> bool:
        """Whether the part in common begins below a package of Python: `import types` never means fastapi/types.py."""
        folders = PurePosixPath(normal.partition(SEPARATOR)[0]).parent
        below = len(full) - shared
        if not 0 < below <= len(folders.parts):
            return False
        return f"{PurePosixPath(*folders.parts[:below])}/__init__.py" in self._kinds

    def _member(self, owner: str, rest: Parts, depth: int) -> tuple[str, ...]:
        """A member of a class, or of the nearest one that it inherits from."""
        if (member := f"{owner}{'.' if SEPARATOR in owner else SEPARATOR}{rest[0]}") in self._kinds:
            if len(rest) == 1:
                return (member,)
            return self._member(member, rest[1:], depth + 1) if self._kinds[member] == "class" else ()
        if depth <= _DEEPEST:
            for base in self.bases(owner):
                if found := self._member(base, rest, depth + 1):
                    return found
        return ()

    def bases(self, owner: str) -> Iterator[str]:
        """Classes of the collection that a class inherits from, as it names them."""
        family = family_of(owner.partition(SEPARATOR)[0])
        for tie in self._bases.get(owner, ()):
            found = (tie.target,) if tie.defined else self._find(_parts(tie.target), family)
            if len(found) == 1 and found[0] != owner:
                yield found[0]

    def _offered(self, parts: Parts, family: str, depth: int) -> tuple[str, ...]:
        """What a module imports itself and so offers under its own name."""
        if len(parts) < 2:
            return ()
        for module in self._modules(parts[:-1], family):
            imported = self._imports.get(module, ())
            for target in imported:
                if target[-1] == parts[-1] and target != parts and (found := self._find(target, family, depth + 1)):
                    return found
            for target in imported:  # all that a module holds
                if found := self._in_module((*target, parts[-1]), target, family):
                    return found
        return ()

    def _modules(self, parts: Parts, family: str) -> list[str]:
        named = self._ends_alike(parts, family)
        return [normal for normal in named if self._kinds[normal] == "module"]

    def _in_module(self, parts: Parts, module: Parts, family: str) -> tuple[str, ...]:
        if not self._modules(module, family):
            return ()
        return self._ends_alike(parts, family)

    def _is_inside(self, parts: Parts, family: str) -> bool:
        """Whether a name may be one of the collection's own: its package, or its module, is called like one of these."""
        module = parts[:-1] if len(parts) > 1 else parts
        if family == "java":
            return module[:2] in self._folder_pairs
        folders = self._folders.get(family, set[str]())
        return module[0] in folders or module[-1] in folders

    @cached_property
    def _by_name(self) -> dict[str, dict[str, list[str]]]:
        """Definitions by family and last name."""
        found: dict[str, dict[str, list[str]]] = {}
        for normal in self._kinds:
            family = family_of(normal.partition(SEPARATOR)[0])
            found.setdefault(family, {}).setdefault(qualify_name(normal)[-1], []).append(normal)
        return found

    @cached_property
    def _folded(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for normal in self._kinds:
            last = [qualify_name(normal)[-1]] if qualify_name(normal) else []
            if SEPARATOR not in normal:
                last.append(PurePosixPath(normal).name)
            for name in dict.fromkeys(map(fold, last)):
                found.setdefault(name, []).append(normal)
        return found

    @cached_property
    def _folders(self) -> dict[str, set[str]]:
        """Names of folders and modules, by family."""
        found: dict[str, set[str]] = {}
        for normal in self._kinds:
            if SEPARATOR not in normal:
                path = PurePosixPath(normal)
                found.setdefault(family_of(normal), set()).update(path.parts[:-1], [path.name.split(".")[0]])
        return found

    @cached_property
    def _folder_pairs(self) -> set[Parts]:
        """Two folders, one in the other: packages of Java begin with a domain."""
        found: set[Parts] = set()
        for normal in self._kinds:
            folders = PurePosixPath(normal).parts[:-1] if SEPARATOR not in normal else ()
            found.update(pairwise(folders))
        return found


def _parts(target: str) -> Parts:
    return tuple(target.split("."))


def _shared_end(one: Parts, other: Parts) -> int:
    """The length of the shorter where the longer ends with it, else 0."""
    length = min(len(one), len(other))
    return length if one[-length:] == other[-length:] else 0
