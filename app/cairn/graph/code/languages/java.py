"""Java: a public class is its file, a package a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cairn.graph.code.languages import CodeLanguage, Imported, text_of, words

QUERY = """
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @class
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(method_invocation !object name: (_) @callee) @call
(method_invocation object: (_) @object name: (_) @callee) @call
(object_creation_expression type: (_) @callee) @call
(formal_parameter type: (_) @type name: (_) @variable)
(field_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable))
(import_declaration) @import
"""
_NAME = re.compile(r"import\s+(?:static\s+)?([\w.]+?)(\.\*)?\s*;")


def imports(node: Any, here: tuple[str, ...]) -> Iterator[Imported]:
    """`import a.b.C`, `import static a.b.C.d`; * brings the package alone."""
    if found := _NAME.search(text_of(node)):
        target = found[1]
        yield Imported("", target, module=True)
        if not found[2]:
            yield Imported(target.rsplit(".", 1)[-1], target)


_LANGUAGE = CodeLanguage(
    grammar=("tree_sitter_java", "language"),
    query=QUERY,
    imports=imports,
    own=frozenset({"this", "super"}),
    implicit=True,
    directory=True,
    known=words(
        "System Math String Integer Long Double Float Boolean Object Arrays List Collections Objects Optional "
        "Character StringBuilder ArrayList HashMap HashSet LinkedList LinkedHashMap Thread Exception "
        "RuntimeException IllegalArgumentException IllegalStateException NullPointerException "
        "UnsupportedOperationException Class"
    ),
)


def variant(name: str, path: str, text: str) -> CodeLanguage:
    return _LANGUAGE
