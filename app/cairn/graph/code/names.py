"""Whose name a call means: a definition of the file, an import, or a name that other files may meet. Pure.

What is known of a receiver is what the file says: self, an annotated variable, one that was made of a class. The rest
stays a name of its own (".send"), which the collection meets only where a single definition has it (symbols.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.domain.code import BUILTIN, CodeReference, SymbolKind
from cairn.graph.code.languages import UBIQUITOUS, CodeLanguage, Imported, words

_CHAIN: Final = 5
"""Bases looked through for a member."""

Target = tuple[str, bool]
"""A name, and whether the file defines it."""


@dataclass(frozen=True, slots=True)
class CodeScope:
    """Something with a name and an extent in bytes. `parent` is an index, -1 the file. `members`: what is in it belongs to
    it as methods do. `mine`: what a method calls its own object, where it says so (Go, Python)."""

    start: int
    end: int
    name: str
    kind: SymbolKind
    parent: int
    defined: bool
    members: bool
    mine: str = ""


class NameResolver:
    """The names of one file."""

    def __init__(self, language: CodeLanguage, here: tuple[str, ...], scopes: Sequence[CodeScope]) -> None:
        self.here = here
        self._language = language
        self._scopes = scopes
        self._kinds = {scope.name: scope.kind for scope in scopes if scope.defined}
        self._imports: dict[str, str] = {}
        self._types: dict[tuple[int, str], str] = {}
        self._plain: set[tuple[int, str]] = set()
        self._fields: dict[tuple[str, str], str] = {}
        self._bases: dict[str, list[tuple[str, int, tuple[int, int]]]] = {}

    def bring(self, imported: Iterable[Imported]) -> None:
        for one in imported:
            if one.local:
                self._imports.setdefault(one.local, one.target)

    def declare(self, place: int, variable: str, spelled: str) -> None:
        """A variable of a scope, a field of its class, with its type."""
        if spelled.startswith("**"):  # what a function takes by name
            self._plain.add((place, variable))
            return
        name = type_of(spelled)
        if not name:
            if (
                (plain := spelled.strip().lstrip(":").strip())
                and _HEAD.split(plain)[0] in self._language.known
                and "|" not in plain
            ):
                self._plain.add((place, variable))
            return
        owner, _, field = variable.replace("->", ".").rpartition(".")
        if owner in self._language.own or (not owner and place >= 0 and self._scopes[place].members):
            self._fields.setdefault((self._class(place), field), name)
        elif not owner:
            self._types.setdefault((place, variable), name)

    def inherit(self, place: int, spelled: str, span: tuple[int, int]) -> None:
        if place >= 0 and self._scopes[place].members and (base := base_of(spelled)):
            self._bases.setdefault(self._scopes[place].name, []).append((base, self._scopes[place].parent, span))

    def bases(self) -> Iterator[CodeReference]:
        for holder, found in self._bases.items():
            for base, place, span in found:
                target = self._class_name(base, place) or (base, False)
                if holder in self._kinds and target != (holder, True):
                    yield CodeReference(holder, "inherits", target[0], *span, target[1], "class")

    def source(self, place: int) -> str:
        """The definition around a place; "" for the file. What stands in an impl of another file's type is the file's."""
        while place >= 0 and not self._scopes[place].defined:
            place = self._scopes[place].parent
        return self._scopes[place].name if place >= 0 else ""

    def meet(self, parts: tuple[str, ...], place: int) -> Target | None:
        """What a call means; None for names of the language and what says nothing."""
        if len(parts) == 1:
            made = self._class(place) if self._own(parts[0], place) else ""
            return (made, True) if made in self._kinds else self._name(parts, place)
        first, rest = parts[0], parts[1:]
        if first in self._language.known and (place, first) not in self._types and first not in self._imports:
            return None if first != "super" else self._member_of(self._class(place), rest, above=True)
        if self._own(first, place):
            return self._member_of(self._class(place), rest, above=first == "super")
        if first and (kind := self._type(first, place)):
            return self._typed(kind, rest, place)
        if first in ("crate", "super"):  # a module of Rust
            return self._class_name(".".join(rest), -1)
        target = self._name(parts, place)
        return target if target else _whoever(parts[-1])

    def is_plain(self, variable: str, place: int) -> bool:
        """Whether a variable is said to be of a type that the language brings along."""
        while place >= 0:
            if (place, variable) in self._plain:
                return True
            if (place, variable) in self._types:
                return False
            place = self._scopes[place].parent
        return False

    def name_unmet(self, parts: tuple[str, ...], place: int) -> str:
        """What is written for a call that `meet` knows no meaning of: what the language brings along, a member of something
        unknown, or nothing."""
        first = parts[0]
        if len(parts) == 2 and self.is_plain(first, place):
            return f"{BUILTIN}{parts[-1]}"
        if first in self._language.known and first not in self._imports and not self._type(first, place):
            return BUILTIN + ".".join(parts)
        return f".{parts[-1]}" if len(parts) > 1 else ""

    def _name(self, parts: tuple[str, ...], place: int) -> Target | None:
        """A name as it stands: from the inside out, then imports, then what a file need not import."""
        first, rest = parts[0], parts[1:]
        if first:
            if local := self._local(first, place):
                if not rest:
                    return local, True
                return self._member_of(local, rest) if self._kinds[local] == "class" else _whoever(parts[-1])
            if first in self._imports:
                return ".".join([self._imports[first], *rest]), False
            if first in self._language.known:
                return None
        if not rest:
            if self._language.implicit and (owner := self._class(place)) and owner in self._bases:
                return self._member_of(owner, parts, above=True)
            return self._elsewhere(first)
        if first[:1].isupper():
            return ".".join([*self.here, *parts] if self._language.directory else parts), False
        return _whoever(parts[-1])

    def _elsewhere(self, name: str) -> Target | None:
        """A name that is neither defined here nor imported by itself."""
        if self._language.directory:
            return ".".join([*self.here, name]), False
        if everything := self._imports.get("*"):
            return f"{everything}.{name}", False
        return (name, False) if self._language.bare else None

    def _class_name(self, name: str, place: int) -> Target | None:
        """What a type means: never a member of something unknown."""
        first, _, rest = name.partition(".")
        local = self._local(first, place)
        if local and (whole := f"{local}.{rest}" if rest else local) in self._kinds:
            return whole, True
        if local or first in self._imports:
            return ".".join(filter(None, [local or self._imports[first], rest])), False
        if first in self._language.known:
            return None
        return ".".join([*self.here, name] if self._language.directory else [name]), False

    def _local(self, name: str, place: int) -> str:
        """From the inside out; a class is looked into only where members are called by their name alone."""
        around = self._scopes[place].name if place >= 0 else ""
        while around:
            looked_into = self._language.implicit or self._kinds.get(around) != "class"
            if looked_into and (found := f"{around}.{name}") in self._kinds:
                return found
            around = around.rpartition(".")[0]
        return name if name in self._kinds else ""

    def _class(self, place: int) -> str:
        """Whose members a place may call without saying so."""
        while place >= 0:
            scope = self._scopes[place]
            if scope.members:
                return scope.name
            if scope.kind == "method" and (scope.parent < 0 or not self._scopes[scope.parent].members):
                return scope.name.rpartition(".")[0]  # written outside of its class
            place = scope.parent
        return ""

    def _place(self, owner: str) -> int:
        return next((at for at, scope in enumerate(self._scopes) if scope.name == owner), -1)

    def _own(self, name: str, place: int) -> bool:
        """Whether a name means the object, or the class, that the code around it belongs to."""
        if name == "cls" or name not in self._language.own:
            return bool(name) and name == self._mine(place)
        return True

    def _mine(self, place: int) -> str:
        while place >= 0:
            if self._scopes[place].mine:
                return self._scopes[place].mine
            place = self._scopes[place].parent
        return ""

    def _type(self, variable: str, place: int) -> str:
        inner = place
        while True:
            if found := self._types.get((inner, variable)):
                return found
            if inner < 0:
                break
            inner = self._scopes[inner].parent
        return self._fields.get((self._class(place), variable), "") if self._language.implicit else ""

    def _typed(self, name: str, rest: tuple[str, ...], place: int) -> Target | None:
        """A member of something of this type; what a function returned has none that is known."""
        target = self._class_name(name, place)
        if target is None:
            return _whoever(rest[-1])
        found, local = target
        if local:
            return self._member_of(found, rest) if self._kinds[found] == "class" else _whoever(rest[-1])
        last = found.rpartition(".")[2].lstrip("_")
        if len(rest) > 1 or not last[:1].isupper() or (len(last) > 1 and last.isupper()):  # or a constant
            return _whoever(rest[-1])
        return f"{found}.{rest[0]}", False

    def _member_of(self, owner: str, rest: tuple[str, ...], *, above: bool = False, depth: int = 0) -> Target | None:
        """A member of a class of this file, or of one that it inherits from."""
        if not owner or depth > _CHAIN:
            return _whoever(rest[-1])
        if not above and (found := f"{owner}.{rest[0]}") in self._kinds:
            return (found, True) if len(rest) == 1 else _whoever(rest[-1])
        if not above and len(rest) > 1:
            kind = self._fields.get((owner, rest[0]))
            return self._typed(kind, rest[1:], self._place(owner)) if kind else _whoever(rest[-1])
        for base, place, _ in self._bases.get(owner, ()):
            target = self._class_name(base, place)
            if target and target[1]:
                if target[0] != owner and (met := self._member_of(target[0], rest, depth=depth + 1)):
                    return met
            elif target:
                return f"{target[0]}.{rest[0]}", False
        if owner not in self._kinds and owner:  # its class stands in another file
            return f"{owner}.{rest[0]}", False
        return _whoever(rest[-1])


def _whoever(name: str) -> Target | None:
    """A member of something unknown; None for those that everything has."""
    return None if name.casefold() in UBIQUITOUS or name.startswith("__") else (f".{name}", False)


# --- Names as source code writes them, without what stands around them. Pure ---

_HEAD: Final = re.compile(r"\W")
_GENERICS: Final = re.compile(r"(?:::)?<[^<>()]*>")
_PLAIN: Final = re.compile(r"[\w$#]+(?:\.[\w$#]+)*")
_LAST: Final = re.compile(r"\.([\w$#]+)$")
_TYPE: Final = re.compile(r"[\w$]+(?:(?:\.|::)[\w$]+)*")
_WRAPPERS: Final = words(
    "Optional Annotated Final ClassVar Type type Box Arc Rc Option RefCell unique_ptr shared_ptr "
    "std::unique_ptr std::shared_ptr Readonly Promise Awaitable const mut dyn impl struct class typename None "
    "null undefined ref a"
)  # fmt: skip
"""What stands around a type without making it another."""
_ANYTHING: Final = words(
    "Any object Object any unknown auto var let T void never bool int str float bytes string number boolean"
)
"""Types that say nothing about members of the collection."""
_MOST_PARTS: Final = 8


def parts_of(spelled: str) -> tuple[str, ...]:
    """ "a.b" of `a.b`, `a::b::<T>`, `a->b`, `super().b`; ("", "b") of `f(x).b`; () of what has no name."""
    if len(spelled) > 2000:
        spelled = spelled[-200:]
    text = "".join(spelled.split()).replace("super()", "super")
    for _ in range(3):
        text = _GENERICS.sub("", text)
    text = text.replace("?.", ".").replace("!.", ".").replace("->", ".").replace("::", ".")
    if _PLAIN.fullmatch(text):
        parts = tuple(text.split("."))
        return parts if len(parts) <= _MOST_PARTS else ("", parts[-1])
    found = _LAST.search(text)
    return ("", found[1]) if found else ()


def type_of(spelled: str) -> str:
    """The class that a type names, "" for containers and what cannot be told: "Client | None" is a Client."""
    for found in _TYPE.finditer(spelled.strip().lstrip(":")[:200]):
        name = found.group()
        if name in _WRAPPERS:
            continue
        if name in _ANYTHING:
            return ""
        after = spelled.strip().lstrip(":")[found.end() : found.end() + 1]
        return "" if after in ("[", "<") and not name.endswith("<") else name.replace("::", ".")
    return ""


def base_of(spelled: str) -> str:
    """The class of `Base[int]`, `pkg::Base<T>`; "" where it has no name."""
    found = _TYPE.match(spelled.lstrip("*&"))
    return found.group().replace("::", ".") if found else ""
