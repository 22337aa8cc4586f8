"""Which calls by a name mean a definition, and which cannot be told. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from cairn.domain.code import SEPARATOR
from cairn.graph.code.links import CodeLinks
from cairn.store.code_calls import PlacedCall

CONSTRUCTORS: Final = frozenset({"__init__", "constructor"})
"""Methods that are called by the name of their class."""


@dataclass(frozen=True, slots=True)
class CallerSplit:
    """Calls by the name of a definition. `known`: they mean it. `unresolved`: they may, nothing in the files tells. `others`:
    they mean something else that is called so."""

    known: tuple[PlacedCall, ...]
    unresolved: tuple[PlacedCall, ...]
    others: tuple[PlacedCall, ...]


def called_name(definition: str) -> str:
    """The name by which a definition is called: of a constructor that of its class."""
    name = definition.rpartition(SEPARATOR)[2]
    owner, _, bare = name.rpartition(".")
    return owner.rpartition(".")[2] if owner and bare in CONSTRUCTORS else bare


def split_calls(definition: str, calls: Iterable[PlacedCall], links: CodeLinks) -> CallerSplit:
    """`calls`: all by that name."""
    path, _, name = definition.rpartition(SEPARATOR)
    meant = {definition}
    if name.rpartition(".")[2] in CONSTRUCTORS:
        meant.add(f"{path}{SEPARATOR}{name.rpartition('.')[0]}")
    known, unresolved, others = list[PlacedCall](), list[PlacedCall](), list[PlacedCall]()
    for call in calls:
        meaning = links.meaning(call.call.target, call.path)
        if meaning.certainty == "sure" and links.kind(meaning.definitions[0]) == "module":
            unresolved.append(call)  # what a module gives by default (JavaScript) is not told
        elif meaning.certainty == "sure":
            (known if meant.intersection(meaning.definitions) else others).append(call)
        elif meaning.certainty == "outside" or (meaning.definitions and not meant.intersection(meaning.definitions)):
            others.append(call)
        else:
            unresolved.append(call)
    return CallerSplit(tuple(known), tuple(unresolved), tuple(others))


def lines_that_call(name: str, text: str, most: int) -> Iterator[tuple[int, int]]:
    """Spans of a name before a bracket, in code that no parser read."""
    for number, found in enumerate(re.finditer(rf"(?<!\w){re.escape(name)}(?=[ \t]{{0,9}}\()", text)):
        if number >= most:
            return
        yield found.span()


def lines_that_name(name: str, code: str, *, member: bool, most: int) -> Iterator[tuple[int, int]]:
    """Spans of a name that is neither called nor set, imported or defined there: a function that is passed on, a property that is
    read. `code`: without comments and strings; `member`: it stands after a dot."""
    before = r"(?<=\.)" if member else r"(?<![\w.])"
    number = 0
    for found in re.finditer(rf"{before}{re.escape(name)}(?!\w)(?!\s*\()(?!\s*:?=(?!=))", code):
        line = code[code.rfind("\n", 0, found.start()) + 1 : found.start()]
        if number < most and not _INTRODUCES.search(line):
            number += 1
            yield found.span()


_INTRODUCES: Final = re.compile(
    r"^\s*(?:from|import|use|using|package|#\s*include|export\s*\{|@)|\b(?:def|class|function|func|fn|struct|interface|import)\s+$"
    r"|\bimport\s*[({]"
)
