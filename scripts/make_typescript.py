"""Writes clients/typescript/src/schemas.ts: the schemas of the OpenAPI document as types of TypeScript.

    python scripts/make_typescript.py [--check]

`make reference` runs it. `--check` writes nothing, and exits with 1 where the file is not what the document says. Only what the
document of Cairn has is known here: a keyword that would mean something else to a type is an error, and no type `unknown`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

REPO: Final = Path(__file__).resolve().parent.parent
FILE: Final = REPO / "clients" / "typescript" / "src" / "schemas.ts"
NOTE: Final = "// Made by `make reference` from the OpenAPI document; do not edit.\n"
PRIMITIVE: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
WIDTH: Final = 120


def render(document: Mapping[str, Any]) -> str:
    """All schemas of an OpenAPI document, by name."""
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    return NOTE + "".join(f"\n{_declared(name, schemas[name])}" for name in sorted(schemas))


def _declared(name: str, schema: Mapping[str, Any]) -> str:
    if "properties" not in schema:
        return f"{_comment(schema, '')}export type {name} = {type_of(schema, '')};\n"
    return f"{_comment(schema, '')}export interface {name} {_object(schema, '')}\n"


def type_of(schema: Mapping[str, Any], indent: str) -> str:
    """Raises ValueError for what no rule here reads."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            types = list(dict.fromkeys(type_of(one, indent) for one in schema[choice]))
            named = any('"' in one for one in types)  # beside which plain `string` would hide the names from editors
            return " | ".join("(string & {})" if named and one == "string" else one for one in types)
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        inner = type_of(schema["items"], indent)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        return _object(schema, indent) if "properties" in schema else f"Record<string, {_values(schema, indent)}>"
    if isinstance(kind, str) and kind in PRIMITIVE:
        return PRIMITIVE[kind]
    if kind is None and not {"allOf", "not", "prefixItems", "patternProperties"} & schema.keys():
        return "unknown"
    raise ValueError(f"no type for {json.dumps(schema)[:300]}")


def _values(schema: Mapping[str, Any], indent: str) -> str:
    more = schema.get("additionalProperties", True)
    return "unknown" if isinstance(more, bool) else type_of(more, indent)


def _object(schema: Mapping[str, Any], indent: str) -> str:
    def lines() -> Iterator[str]:
        required, inside = schema.get("required", ()), f"{indent}  "
        for name, member in schema["properties"].items():
            key = name if name.isidentifier() else json.dumps(name)
            optional = "" if name in required else "?"
            yield f"{_comment(member, inside)}{inside}{key}{optional}: {type_of(member, inside)};\n"
        if schema.get("additionalProperties") is True:
            yield f"{inside}[name: string]: unknown;\n"

    return "{\n" + "".join(lines()) + indent + "}"


def _comment(schema: Mapping[str, Any], indent: str) -> str:
    """What the document says of it, for editors."""
    words = str(schema.get("description", "")).replace("*/", "* /").split()
    if not words:
        return ""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > WIDTH - len(indent) - 7 and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def describe() -> Mapping[str, Any]:
    """The document of today, with the settings that Cairn has by itself."""
    from cairn.interfaces.server import create_app
    from cairn.settings import SettingsStore, read_environment

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_text("{}", encoding="utf-8")
        return create_app(read_environment({"CAIRN_HOME": folder}), SettingsStore(path)).openapi()


def main() -> int:
    made = render(describe())
    is_old = not FILE.exists() or FILE.read_text(encoding="utf-8") != made
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made, encoding="utf-8")
        print(f"{FILE.relative_to(REPO)}: {'changed' if is_old else 'as it was'}")
        return 0
    if is_old:
        print(f"{FILE.relative_to(REPO)} is not what the OpenAPI document says: make reference")
    return int(is_old)


if __name__ == "__main__":
    sys.exit(main())
