"""C and C++. Calls go by name: what a header promises may be defined anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cairn.graph.code.languages import CodeLanguage, Imported, text_of, words
from cairn.language.linear import bounded

_COMMON = """
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name)))) @function
(struct_specifier name: (_) @name body: (_)) @class
(union_specifier name: (_) @name body: (_)) @class
(enum_specifier name: (_) @name body: (_)) @class
(type_definition type: (struct_specifier !name body: (_)) declarator: (type_identifier) @name) @class
(preproc_function_def name: (_) @name) @function
(preproc_function_def value: (preproc_arg) @text)
(preproc_def value: (preproc_arg) @text)
(call_expression function: (_) @callee) @call
(preproc_include) @import
"""
_CPP = """
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @function
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @scope
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(new_expression type: (_) @callee) @call
(parameter_declaration type: (_) @type declarator: (identifier) @variable)
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @variable))
(parameter_declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @variable))
(field_declaration type: (_) @type declarator: (field_identifier) @variable)
(init_declarator declarator: (identifier) @variable value: (new_expression type: (_) @type))
(declaration type: (type_identifier) @type declarator: (identifier) @variable)
"""
_HEADER = bounded(r"#\s*include\s*[<\"]([^>\"\n]+)[>\"]")
_IS_CPP = bounded(r"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w+|public:|private:)", re.MULTILINE)


def imports(node: Any, here: tuple[str, ...]) -> Iterator[Imported]:
    """`#include "a/b.h"`: the module a.b."""
    if found := _HEADER.search(text_of(node)):
        parts = [part for part in re.sub(r"\.\w+$", "", found[1]).split("/") if part not in ("", ".", "..")]
        yield Imported("", ".".join(parts), module=True)


_C = CodeLanguage(
    grammar=("tree_sitter_c", "language"),
    query=_COMMON,
    imports=imports,
    known=words(
        "printf fprintf sprintf snprintf malloc calloc realloc free memcpy memset memmove memcmp strlen strcmp "
        "strncmp strcpy strncpy strcat strchr strrchr strstr strdup assert sizeof defined exit abort fopen fclose "
        "fread fwrite isspace isdigit isalpha tolower toupper atoi va_start va_end static_assert std"
    ),
)
_LANGUAGE_CPP = replace(
    _C, grammar=("tree_sitter_cpp", "language"), query=_COMMON + _CPP, own=frozenset({"this"}), implicit=True
)


def variant(name: str, path: str, text: str) -> CodeLanguage:
    """A header of C++ is told by what stands in it."""
    header = path.lower().endswith(".h") and _IS_CPP.search(text)
    return _LANGUAGE_CPP if name == "cpp" or header else _C
