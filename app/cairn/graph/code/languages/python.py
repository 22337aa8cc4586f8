"""Python."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from typing import Any, Final

from cairn.graph.code.languages import CodeLanguage, Imported, text_of

QUERY = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
(call function: (_) @callee) @call
(decorator [(identifier) (attribute)] @callee) @call
(call function: (_) @_by_name arguments: (argument_list (string (string_content) @callee))
  (#match? @_by_name "^(getattr|(operator[.])?(methodcaller|attrgetter))$")) @call @dynamic
(call function: (_) @_importer arguments: (argument_list . (string))
  (#match? @_importer "^((importlib[.])?import_module|__import__)$")) @import
(typed_parameter . (identifier) @variable type: (type) @type)
(typed_default_parameter name: (identifier) @variable type: (type) @type)
(assignment left: [(identifier) (attribute)] @variable type: (type) @type)
(assignment left: [(identifier) (attribute)] @variable right: (call function: [(identifier) (attribute)] @type))
(parameters (dictionary_splat_pattern (identifier) @variable) @type)
(typed_parameter (dictionary_splat_pattern (identifier) @variable) @type)
(with_item value: (as_pattern (call function: [(identifier) (attribute)] @type)
  alias: (as_pattern_target (identifier) @variable)))
[(import_statement) (import_from_statement)] @import
"""
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")


def imports(node: Any, here: tuple[str, ...]) -> Iterator[Imported]:
    """`import a.b`, `import a.b as c`, `from .a import b as c`; * whatever is not known otherwise; `import_module("a.b")`."""
    if node.type == "call":
        name = text_of(node.child_by_field_name("arguments").named_children[0]).strip("rbuRBU\"'")
        if _DOTTED.fullmatch(name):
            yield Imported("", name, module=True)
        return
    if node.type == "import_statement":
        for name in node.children_by_field_name("name"):
            target, alias = _aliased(name)
            yield Imported(alias or target.split(".")[0], target if alias else target.split(".")[0])
            yield Imported("", target, module=True)
        return
    module = _module(node.child_by_field_name("module_name"), here)
    if not module:
        return
    yield Imported("", module, module=True)
    if any(child.type == "wildcard_import" for child in node.children):
        yield Imported("*", module)
    for name in node.children_by_field_name("name"):
        target, alias = _aliased(name)
        yield Imported(alias or target, f"{module}.{target}")


def _aliased(node: Any) -> tuple[str, str]:
    if node.type == "aliased_import":
        return text_of(node.child_by_field_name("name")), text_of(node.child_by_field_name("alias"))
    return text_of(node), ""


def _module(node: Any, here: tuple[str, ...]) -> str:
    """A dot is the folder of the file."""
    if node is None:
        return ""
    name = text_of(node).replace(" ", "")
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    above = here[: len(here) - dots] if dots <= len(here) else ()
    return ".".join([*above, *filter(None, name[dots:].split("."))])


_LANGUAGE = CodeLanguage(
    grammar=("tree_sitter_python", "language"),
    query=QUERY,
    imports=imports,
    own=frozenset({"self", "cls"}),
    bare=False,
    entries=frozenset({"__init__"}),
    known=frozenset(dir(builtins)),
)


def variant(name: str, path: str, text: str) -> CodeLanguage:
    return _LANGUAGE
