"""How each language writes definitions, calls, bases and imports: a tree-sitter query and a few facts per family.

Captures of a query, which cairn/graph/code/outline.py reads:

    @class @function   a definition, @scope what only names what is in it (namespace, impl); with @name, and @receiver (Go)
    @call              a call, with @callee, what is called as it is written, and @object where that stands apart (Java);
                       @dynamic: the name stands in quotes, @macro: among tokens that are not parsed (Rust)
    @text              code that the parser leaves as it is (C): what looks like a call in it is one
    @base              what the class around it inherits from
    @variable @type    a variable (parameter, field) and its type
    @import            a statement for `imports`

A new language is one module here with a LANGUAGE and a line in FAMILIES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, NamedTuple

FAMILIES: Final = {
    "python": "python",
    "js": "javascript",
    "ts": "javascript",
    "go": "go",
    "java": "java",
    "rust": "rust",
    "c": "c",
    "cpp": "c",
}
"""Languages of cairn/ingest/loaders/code.py to the module here."""

_SUFFIXES: Final = {
    "python": "py pyi",
    "javascript": "js jsx mjs cjs ts tsx mts cts",
    "go": "go",
    "java": "java",
    "rust": "rs",
    "c": "c h cc cpp cxx hh hpp",
}
_FAMILY_OF: Final = {suffix: family for family, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def family_of(path: str) -> str:
    """The family of languages of a file, by its suffix: names of one never mean definitions of another; "" where none is read."""
    return _FAMILY_OF.get(path.rpartition(".")[2].lower(), "")


class Imported(NamedTuple):
    """A name of another file: what it is called here ("" for nothing by itself), and in full, dotted."""

    local: str
    target: str
    module: bool = False


@dataclass(frozen=True, slots=True)
class CodeLanguage:
    """`grammar`: package of the parser and the function in it. `imports`: names that a statement brings, given the
    folders and the name of the file. `own`: what an instance calls itself. `implicit`: members are called without it.
    `directory`: a module is the folder, not the file. `bare`: a name may be another file's without import.
    `entries`: files that stand for their folder. `known`: names of the
    language itself, which lead nowhere."""

    grammar: tuple[str, str]
    query: str
    imports: Callable[[Any, tuple[str, ...]], Iterator[Imported]]
    own: frozenset[str] = frozenset()
    implicit: bool = False
    directory: bool = False
    bare: bool = True
    entries: frozenset[str] = frozenset()
    known: frozenset[str] = field(default_factory=frozenset)


def language_of(name: str, path: str = "", text: str = "") -> CodeLanguage | None:
    """None for a language whose symbols are not read."""
    if name not in FAMILIES:
        return None
    module = import_module(f"{__name__}.{FAMILIES[name]}")
    found: CodeLanguage = module.variant(name, path, text)
    return found


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


def text_of(node: Any) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


UBIQUITOUS: Final = words(
    "acquire add add_all addall and_then append apply as_mut as_ref as_str aslist at begin bind borrow c_str call "
    "cancel catch charat clear clone close collect commit compareto concat contains copy count critical data "
    "debug decode delete discard done emplace_back empty encode end endswith equals err error every exception "
    "execute exists expect extend fetch filter finally find first flush foreach format from get get_nowait "
    "getitem getorder group hashcode includes index indexof info init insert into is_err is_none is_ok is_some "
    "isdigit isempty items iter join keys last len length lock log lower lstrip main map map_err match name new "
    "next notify of ok ok_or open ordinal partition pop print printf println push push_back push_str put "
    "put_nowait read reduce release remove replace result reverse rollback rsplit rstrip run search seek send_all "
    "set setdefault setitem size slice some sort split splitlines start startswith stop str stream strip sub "
    "substring then title to_owned to_string tolist tolowercase tostring touppercase trim union unwrap unwrap_or "
    "update upper valueof values wait warn warning write"
)
"""Methods of everything: a call of one on an unknown object says nothing about whose it is."""
