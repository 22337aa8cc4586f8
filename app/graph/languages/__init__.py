"""How each language writes definitions, calls, bases and imports: a tree-sitter query and a few facts per family.

Captures of a query, which app/graph/code.py reads:

    @class @function   a definition, @scope what only names what is in it (namespace, impl); with @name, and @receiver (Go)
    @call              a call, with @callee, what is called as it is written, and @object where that stands apart (Java)
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
"""Languages of app/ingest/loaders/code.py to the module here."""


class Imported(NamedTuple):
    """A name of another file: what it is called here ("" for nothing by itself), and in full, dotted."""

    local: str
    target: str
    module: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    """`grammar`: package of the parser and the function in it. `imports`: names that a statement brings, given the parts
    of the file's module. `own`: what an instance calls itself. `implicit`: members are called without it. `directory`: a
    module is the folder, not the file. `entries`: files that stand for their folder. `known`: names of the language
    itself, which lead nowhere."""

    grammar: tuple[str, str]
    query: str
    imports: Callable[[Any, tuple[str, ...]], Iterator[Imported]]
    own: frozenset[str] = frozenset()
    implicit: bool = False
    directory: bool = False
    entries: frozenset[str] = frozenset()
    known: frozenset[str] = field(default_factory=frozenset)


def language_of(name: str, path: str = "", text: str = "") -> Language | None:
    """None for a language whose symbols are not read."""
    if name not in FAMILIES:
        return None
    module = import_module(f"{__name__}.{FAMILIES[name]}")
    found: Language = module.variant(name, path, text)
    return found


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


def written(node: Any) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


UBIQUITOUS: Final = frozenset(
    "get set put add pop push append extend insert remove delete clear copy update items keys values index count sort "
    "reverse join split strip replace format encode decode startswith endswith lower upper read write close open flush "
    "seek next iter map filter reduce foreach slice concat find some every includes indexof tostring equals hashcode "
    "compareto length size isempty contains clone unwrap expect into from iter collect to_string as_ref as_str as_mut "
    "is_some is_none is_ok is_err ok err ok_or map_err and_then unwrap_or len push_str to_owned borrow lock begin end "
    "push_back emplace_back c_str str data first last empty at then catch finally apply call bind log error warn warning exception critical info debug "
    "print println printf main new init run start stop exists setdefault discard union add_all addall getorder tolist "
    "match search sub group fetch execute commit rollback send_all partition rsplit lstrip rstrip splitlines title isdigit "
    "tolowercase touppercase trim substring charat stream of asList valueof name ordinal wait notify join cancel done "
    "result put_nowait get_nowait acquire release setitem getitem".casefold().split()
)
"""Methods of everything: a call of one on an unknown object says nothing about whose it is."""
