"""JavaScript and TypeScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cairn.graph.code.languages import CodeLanguage, Imported, text_of, words

_COMMON = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression) (class)]) @function
(call_expression function: [(identifier) (member_expression)] @callee) @call
(call_expression function: (subscript_expression index: (string (string_fragment) @callee))) @call @dynamic
(new_expression constructor: (_) @callee) @call
(variable_declarator name: (identifier) @variable value: (new_expression constructor: (_) @type))
(assignment_expression left: (member_expression) @variable right: (new_expression constructor: (_) @type))
(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator value: (call_expression function: (identifier) @_require (#eq? @_require "require"))) @import
(call_expression function: (identifier) @_required arguments: (arguments (string)) (#eq? @_required "require")) @import
(call_expression function: (import) arguments: (arguments (string))) @import
"""
_ELEMENTS = """
(jsx_opening_element name: (_) @callee) @call
(jsx_self_closing_element name: (_) @callee) @call
"""
_JAVASCRIPT = """
(class_declaration name: (_) @name) @class
(class name: (_) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(field_definition property: (_) @name value: (arrow_function)) @function
(class_heritage (_) @base)
"""
_TYPESCRIPT = """
(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(internal_module name: (_) @name) @scope
(public_field_definition name: (_) @name value: (arrow_function)) @function
(method_signature name: (_) @name) @function
(abstract_method_signature name: (_) @name) @function
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)
(required_parameter pattern: (identifier) @variable type: (type_annotation (_) @type))
(optional_parameter pattern: (identifier) @variable type: (type_annotation (_) @type))
(public_field_definition name: (_) @variable type: (type_annotation (_) @type))
(variable_declarator name: (identifier) @variable type: (type_annotation (_) @type))
"""
_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$|\.vue$")


def imports(node: Any, here: tuple[str, ...]) -> Iterator[Imported]:
    """`import a, {b as c} from "./m"`, `import * as a`, `export {b} from`, `const {a, b: c} = require("./m")`."""
    statement = text_of(node)
    source = re.search(r"""(?:from|import(?:\s*\()?|require\s*\()\s*["'`]([^"'`\n]+)["'`]""", statement)
    if not source:
        return
    module = _module(source[1], here)
    yield Imported("", module, module=True)
    head = statement[: source.start()]
    if named := re.search(r"\{([^{}]*)\}", head):
        for part in named[1].split(","):
            words = re.findall(r"[\w$]+", part.replace(" type ", " "))
            if words and words[0] != "default":
                yield Imported(words[-1], f"{module}.{words[0]}")
    if whole := re.search(r"\*\s*as\s+([\w$]+)|(?:const|let|var|import)\s+(?:type\s+)?([\w$]+)|^([\w$]+)\s*=", head):
        yield Imported(whole[1] or whole[2] or whole[3], module)


def _module(source: str, here: tuple[str, ...]) -> str:
    """Relative to the folder of the file; packages keep their names, and "@/a" and "~/a" are a, wherever the sources lie."""
    parts = _ENDING.sub("", source).split("/")
    if parts[0] in ("@", "~"):
        parts = parts[1:]
    if parts[0] not in (".", ".."):
        return ".".join(part for part in parts if part)
    folder = list(here[:-1])
    for part in parts:
        if part == "..":
            folder = folder[:-1]
        elif part not in ("", "."):
            folder.append(part)
    return ".".join(folder[:-1] if folder[-1:] == ["index"] else folder)


_LANGUAGE = CodeLanguage(
    grammar=("tree_sitter_javascript", "language"),
    query=_COMMON + _JAVASCRIPT + _ELEMENTS,
    imports=imports,
    own=frozenset({"this", "super"}),
    bare=False,
    entries=frozenset({"index"}),
    known=words(
        "console Math JSON Object Array Promise Number String Boolean Symbol Date RegExp Error TypeError "
        "RangeError Map Set WeakMap WeakSet Reflect Proxy BigInt parseInt parseFloat isNaN isFinite require "
        "setTimeout clearTimeout setInterval clearInterval setImmediate queueMicrotask process window document "
        "module exports globalThis encodeURIComponent decodeURIComponent super import fetch Buffer Intl undefined"
    ),
)
_TYPED = replace(_LANGUAGE, grammar=("tree_sitter_typescript", "language_typescript"), query=_COMMON + _TYPESCRIPT)
_TSX = replace(_TYPED, grammar=("tree_sitter_typescript", "language_tsx"), query=_COMMON + _TYPESCRIPT + _ELEMENTS)


def variant(name: str, path: str, text: str) -> CodeLanguage:
    return (_TSX if path.lower().endswith(".tsx") else _TYPED) if name == "ts" else _LANGUAGE
