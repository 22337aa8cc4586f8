"""Go: a package is a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cairn.graph.code.languages import CodeLanguage, Imported, text_of, words

QUERY = """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list) @receiver name: (_) @name) @function
(type_spec name: (_) @name type: [(struct_type) (interface_type)]) @class
(method_elem name: (_) @name) @function
(field_declaration !name type: (_) @base)
(type_elem [(type_identifier) (qualified_type)] @base)
(call_expression function: (_) @callee) @call
(parameter_declaration name: (_) @variable type: (_) @type)
(field_declaration name: (_) @variable type: (_) @type)
(var_spec name: (_) @variable type: (_) @type)
(short_var_declaration left: (expression_list . (identifier) @variable .)
  right: (expression_list . [(composite_literal type: (_) @type)
                             (unary_expression operand: (composite_literal type: (_) @type))] .))
(import_spec) @import
"""


def imports(node: Any, here: tuple[str, ...]) -> Iterator[Imported]:
    """`import "a/b"` is called b, whatever version stands behind it; `import c "a/b"` is called c."""
    path = text_of(node.child_by_field_name("path")).strip('"`')
    parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)]
    if not parts:
        return
    name = node.child_by_field_name("name")
    target = ".".join(part.replace(".", "_") if i == 0 else part for i, part in enumerate(parts))
    yield Imported("", target, module=True)
    yield Imported(text_of(name) if name is not None else re.sub(r"^go-|[.-]go$", "", parts[-1]), target)


_LANGUAGE = CodeLanguage(
    grammar=("tree_sitter_go", "language"),
    query=QUERY,
    imports=imports,
    directory=True,
    known=words(
        "append cap clear close complex copy delete imag len make max min new panic print println real recover "
        "string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte rune float32 float64 bool error "
        "any"
    ),
)


def variant(name: str, path: str, text: str) -> CodeLanguage:
    return _LANGUAGE
