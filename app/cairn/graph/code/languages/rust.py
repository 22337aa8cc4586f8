"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cairn.graph.code.languages import CodeLanguage, Imported, text_of, words

QUERY = """
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(union_item name: (_) @name) @class
(trait_item name: (_) @name) @class
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(impl_item type: (_) @name) @scope
(mod_item name: (_) @name body: (_)) @scope
(impl_item trait: (_) @base)
(trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base)
(call_expression function: (_) @callee) @call
(token_tree (identifier) @callee @call @macro . (token_tree) @_arguments (#match? @_arguments "^[(]"))
(parameter pattern: (identifier) @variable type: (_) @type)
(field_declaration name: (_) @variable type: (_) @type)
(let_declaration pattern: (identifier) @variable type: (_) @type)
(let_declaration pattern: (identifier) @variable value: (struct_expression name: (_) @type))
(use_declaration) @import
"""
ENTRIES = frozenset({"mod", "lib", "main"})
_MOST_NAMES = 500
"""Names of one statement."""


def imports(node: Any, here: tuple[str, ...]) -> Iterator[Imported]:
    """`use crate::a::{b, c::d as e}`; crate, self and super stand for where the file is."""
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    here = here[:-1] if here[-1] in ENTRIES else here
    for number, (path, name) in enumerate(_names(text_of(argument), here)):
        if number > _MOST_NAMES:
            return
        if len(path) > 1:
            yield Imported("", ".".join(path[:-1]), module=True)
        if name != "*":
            yield Imported(name, ".".join(path))


def _names(text: str, here: tuple[str, ...]) -> Iterator[tuple[list[str], str]]:
    """Paths with what each is called here; braces are unfolded without recursion."""
    prefixes: list[list[str]] = [[]]
    current: list[str] = []
    for token in re.findall(r"::|[{},]|\bas\s+\w+|[\w*]+", text):
        if token == "{":
            prefixes.append([*prefixes[-1], *current])
            current = []
        elif token in (",", "}"):
            yield from _one([*prefixes[-1], *current], here)
            current = []
            if token == "}" and len(prefixes) > 1:
                prefixes.pop()
        elif token.startswith("as ") or token != "::":
            current.append(token)
    yield from _one([*prefixes[-1], *current] if current else [], here)


def _one(parts: list[str], here: tuple[str, ...]) -> Iterator[tuple[list[str], str]]:
    renamed = parts[-1][3:].strip() if parts and parts[-1].startswith("as ") else ""
    parts = [part for part in parts if not part.startswith("as ")]
    if parts and parts[-1] == "self":
        parts = parts[:-1]
    up = 0
    while parts and parts[0] in ("super", "self", "crate"):
        up += parts[0] == "super"
        relative = parts.pop(0) != "crate"
        if parts and parts[0] not in ("super", "self", "crate") and relative:
            parts = [*here[: len(here) - up], *parts]
            break
    if parts:
        yield parts, renamed or parts[-1]


_LANGUAGE = CodeLanguage(
    grammar=("tree_sitter_rust", "language"),
    query=QUERY,
    imports=imports,
    own=frozenset({"self", "Self"}),
    entries=ENTRIES,
    known=words("Some None Ok Err Box Vec String Option Result Rc Arc drop std core alloc Default From"),
)


def variant(name: str, path: str, text: str) -> CodeLanguage:
    return _LANGUAGE
