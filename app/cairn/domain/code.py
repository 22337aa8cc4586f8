"""What a file of source code defines and refers to. Spans are half-open ranges of code points in the document's text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal
from uuid import UUID

SEPARATOR: Final = "::"
"""Between file and name of a symbol."""

SymbolKind = Literal["module", "class", "function", "method"]
"""A class is whatever types are made of: struct, trait, interface, enum."""
CodeRelation = Literal["contains", "imports", "calls", "inherits"]
DeclarationAspect = Literal["defined", "returns", "takes", "raises", "does", "shown", "value"]
SPOKEN: Final[frozenset[DeclarationAspect]] = frozenset({"does", "shown", "value"})
"""Aspects that people ask about anything ("what does it do?", "show me the code", "what is it?"): nothing is said of code where
no symbol is so called."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol and where it stands. `name` is qualified within its file: "Class.method"."""

    name: str
    kind: SymbolKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CodeReference:
    """What one symbol says of another. `source` is a definition of the file, "" the file itself.

    `target` is a definition of this file where `local`, else a name to be met by other files: dotted as it is imported
    ("httpx.Client"), or ".send" where it cannot be told whose.
    """

    source: str
    relation: CodeRelation
    target: str
    start: int
    end: int
    local: bool = False
    kind: SymbolKind = "function"


BUILTIN: Final = "builtins."
"""Before names that the language brings along."""


@dataclass(frozen=True, slots=True)
class CodeCall:
    """A place where a file calls something. `name` is what is called, without what stands before it; `source` the definition
    around it, "" the file. `target` is what it means as far as the file tells:

        ::Client.send     a definition of this file
        httpx.Client      a name of another file, in full; builtins.print what the language brings along
        .send             a member of something unknown
        (empty)           a name that the file neither defines nor imports
    """

    name: str
    source: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A file of code: definitions in order, references, and every call, also those of which nothing is known."""

    language: str
    definitions: tuple[Definition, ...] = ()
    references: tuple[CodeReference, ...] = ()
    calls: tuple[CodeCall, ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A symbol that a question names. `path`: file, or "" for any. `relation` with `incoming`: "who calls it" is
    (calls, True), "what does it call" (calls, False); None where the question is about the symbol itself, or about its
    declaration: `aspect`. `marked`: it is written as nobody writes words, or called a function, so it is meant as a name."""

    name: str
    path: str = ""
    relation: CodeRelation | None = None
    incoming: bool = True
    aspect: DeclarationAspect | None = None
    marked: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """Where something stands in code: lines from 1, both inclusive."""

    passage_id: UUID
    document_id: UUID
    path: str
    start_line: int
    end_line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CodeLines:
    """Lines of a file of code, from 1, both inclusive."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The other end of a relation of a symbol. `incoming`: the relation leads to the symbol. `defined`: the collection
    holds its definition. `place`: what proves the relation, first place of the passage."""

    entity_id: UUID
    name: str
    kind: str
    relation: str
    incoming: bool
    defined: bool
    place: SymbolPlace


Match = Literal["exact", "partial"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of a collection with what surrounds it. `name` is path and name: "app/x.py::Class.method"; the definitions
    are where it stands. `complete`: no neighbour was left out by a limit."""

    entity_id: UUID
    name: str
    kind: str
    match: Match
    definitions: tuple[SymbolPlace, ...]
    neighbours: tuple[Neighbour, ...] = ()
    complete: bool = True
    unsure: int = 0


# --- What a collection says to a question about code ---


@dataclass(frozen=True, slots=True)
class CodeFact:
    """A line that answers: of what (a caller, an importer, a member), and where. `name` is "" where nothing tells."""

    name: str
    place: SymbolPlace


@dataclass(frozen=True, slots=True)
class CodeSubject:
    """A definition, or something that files only refer to, and what was asked of it. `known` is sure; `unresolved` are lines that
    may belong to it and of which nothing tells; `named` are those that pass it on or read it without a call, through which it
    may be called; `elsewhere`: so many lines by its name mean something else."""

    name: str
    kind: str
    place: SymbolPlace | None
    known: tuple[CodeFact, ...] = ()
    unresolved: tuple[CodeFact, ...] = ()
    named: tuple[CodeFact, ...] = ()
    elsewhere: int = 0
    declaration: DeclarationText | None = None


@dataclass(frozen=True, slots=True)
class DeclarationText:
    """What the source of a definition says of it, in its words; places are those of the statements."""

    signature: str
    parameters: tuple[str, ...]
    returns: str
    summary: str
    gives: tuple[CodeFact, ...]
    raises: tuple[CodeFact, ...]
    told: str = ""
    """What its documentation says, or the comment above it."""
    commented: bool = False
    """That is a comment, where its language has a string for it."""
    source: str = ""
    """Its lines, or the first ones; of these `missing` are left out."""
    missing: int = 0


@dataclass(frozen=True, slots=True)
class CodeFinding:
    """`subjects` are empty where nothing is so called: `near` are names that may have been meant, `seen` lines in which the name
    stands all the same. `left_out`: more definitions by the name than were looked at. `complete`: no limit cut anything."""

    query: SymbolQuery
    subjects: tuple[CodeSubject, ...]
    left_out: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    seen: tuple[CodeFact, ...] = ()
    complete: bool = True

    def open_lines(self) -> list[CodeFact]:
        """Lines of which nothing tells whether they belong to a subject, each once."""
        found = {one.place: one for subject in self.subjects for one in (*subject.unresolved, *subject.named)}
        return list(found.values())
