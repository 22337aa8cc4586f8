"""Source code -> its outline: definitions, and what they call, import and inherit from (tree-sitter; languages/).

    query over the syntax tree      languages/<family>.py     errors in the source cost what they cover, nothing else
    -> definitions, named by what they stand in
    -> references, each met by a definition of the file, an import, or left as a name      names.py

Nothing here recurses over the tree, so nesting costs no stack. It is run in a process of its own
(cairn/ingest/child.py): the parsers are native code that reads what anybody uploads.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any, Final

from cairn.domain.code import BUILTIN, SEPARATOR, CodeCall, CodeReference, Definition, Outline, SymbolKind
from cairn.graph.code.languages import CodeLanguage, language_of, text_of, words
from cairn.graph.code.names import CodeScope, NameResolver, parts_of
from cairn.language.linear import bounded

MOST_DEFINITIONS: Final = 20_000
MOST_REFERENCES: Final = 100_000
DEEPEST: Final = 12
"""Definitions inside definitions; the names of deeper ones are no names."""
LONGEST_NAME: Final = 100
"""Code points of a name; what is longer was generated, or is none."""
_CLEAN: Final = re.compile(r"^(?:module\.)?exports\.|^this\.|\.prototype(?=\.)")
_RECEIVER: Final = bounded(r"\(\s*(\w+)?\s*\*?\s*(\w+)")
_CALLED: Final = re.compile(rb"(?<![\w.>])([A-Za-z_]\w{0,99})\s{0,9}\(")
_LITERALS: Final = words(
    "string concatenated_string list dictionary set tuple template_string array object string_literal"
)
"""Nodes whose members are those of the language."""
_KEYWORDS: Final = words("if for while switch return sizeof defined do else __attribute__ __typeof__ typeof alignof")
"""Of C, before a bracket."""
Match = dict[str, list[Any]]


def outline_of(text: str, language: str, path: str) -> Outline | None:
    """None for a language that is not read. `path` is that of the file in its collection."""
    known = language_of(language, path, text)
    if known is None:
        return None
    data = text.encode("utf-8", "replace")
    matches = _matches(known, data)
    scopes = _scopes(matches, known)
    starts = [scope.start for scope in scopes]
    file = file_parts(path)
    names = NameResolver(known, module_parts(path, known), scopes)
    for match in matches:
        if "import" in match:
            names.bring(known.imports(match["import"][0], file))
        elif "variable" in match:
            variable, spelled = match["variable"][0], text_of(match["type"][0])
            names.declare(_inside(variable.start_byte, scopes, starts), text_of(variable), spelled)
        elif "base" in match:
            base = match["base"][0]
            names.inherit(_inside(base.start_byte, scopes, starts), text_of(base), (base.start_byte, base.end_byte))
    calls, called = _find_calls(matches, scopes, starts, names)
    found = [*_find_containment(scopes, data), *_find_imports(matches, known, file), *names.bases(), *called]
    return _in_code_points(text, data, Outline(language, _find_definitions(scopes), tuple(found), tuple(calls)))


def file_parts(path: str) -> tuple[str, ...]:
    """The folders of a file and its name without endings."""
    pure = PurePosixPath(path.replace("\\", "/"))
    return (*(part for part in pure.parts[:-1] if part not in ("/", ".", "..")), pure.name.split(".")[0])


def module_parts(path: str, language: CodeLanguage) -> tuple[str, ...]:
    """What other files call the module of a file: its folders and its name, or its folders alone."""
    *folders, stem = file_parts(path)
    return tuple(folders) if language.directory or stem in language.entries else (*folders, stem)


@lru_cache(maxsize=16)
def _query(grammar: tuple[str, str], query: str) -> tuple[Any, Any]:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query

    made = Grammar(getattr(import_module(grammar[0]), grammar[1])())
    return Parser(made), Query(made, query)


def _matches(language: CodeLanguage, data: bytes) -> list[Match]:
    from tree_sitter import QueryCursor

    parser, query = _query(language.grammar, language.query)
    return [match for _, match in QueryCursor(query).matches(parser.parse(data).root_node)]


def _scopes(matches: Iterable[Match], language: CodeLanguage) -> list[CodeScope]:
    """Definitions and what only gives a name to what is in it, in order, with their qualified names."""
    found: list[tuple[Any, str, Match]] = []
    for match in matches:
        for what in ("class", "function", "scope"):
            if what in match and len(found) < MOST_DEFINITIONS:
                found.append((match[what][0], what, match))
    found.sort(key=lambda one: (one[0].start_byte, -one[0].end_byte))
    scopes: list[CodeScope] = []
    open_: list[int] = []
    for node, what, match in found:
        while open_ and scopes[open_[-1]].end <= node.start_byte:
            open_.pop()
        name = _name(match)
        if len(open_) >= DEEPEST or not 0 < len(name) <= LONGEST_NAME:
            continue
        if scopes and (scopes[-1].start, scopes[-1].end) == (node.start_byte, node.end_byte):
            continue  # one thing by two patterns
        parent = open_[-1] if open_ else -1
        scopes.append(_scope(node, what, name, parent, scopes, match))
        open_.append(len(scopes) - 1)
    return scopes


def _name(match: Match) -> str:
    raw = text_of(match["name"][0]) if match.get("name") else ""
    bare = _CLEAN.sub("", "".join(raw.split()))
    opened, closed = bare.find("<"), bare.rfind(">")
    if 0 <= opened < closed:  # arguments of types
        bare = bare[:opened] + bare[closed + 1 :]
    return bare.replace("::", ".").strip("\"'.[]*&")


def _scope(node: Any, what: str, name: str, parent: int, scopes: Sequence[CodeScope], match: Match) -> CodeScope:
    holder = scopes[parent] if parent >= 0 else None
    receiver = _RECEIVER.match(text_of(match["receiver"][0])) if "receiver" in match else None
    if receiver:
        name = f"{receiver[2]}.{name}"
    qualified = f"{holder.name}.{name}" if holder else name
    owner = qualified.rpartition(".")[0]
    member = bool(holder and holder.members) or (
        "." in name and (receiver is not None or owner.rpartition(".")[2][:1].isupper())
    )
    kind: SymbolKind = "class" if what == "class" else "method" if what == "function" and member else "function"
    members = what == "class" or node.type == "impl_item"
    mine = receiver[1] if receiver and receiver[1] else _first_parameter(node) if member else ""
    return CodeScope(node.start_byte, node.end_byte, qualified, kind, parent, what != "scope", members, mine)


def _first_parameter(node: Any) -> str:
    """`self` or `cls` of a method of Python: a loop may call something else `cls`."""
    parameters = node.child_by_field_name("parameters")
    first = parameters.named_children[0] if parameters is not None and parameters.named_children else None
    name = text_of(first).partition(":")[0].strip() if first is not None else ""
    return name if name in ("self", "cls") else ""


def _inside(at: int, scopes: Sequence[CodeScope], starts: Sequence[int]) -> int:
    """The innermost scope around a byte; -1 for the file."""
    found = bisect_right(starts, at) - 1
    while found >= 0 and scopes[found].end <= at:
        found = scopes[found].parent
    return found


def _find_definitions(scopes: Iterable[CodeScope]) -> tuple[Definition, ...]:
    return tuple(Definition(scope.name, scope.kind, scope.start, scope.end) for scope in scopes if scope.defined)


def _find_containment(scopes: Sequence[CodeScope], data: bytes) -> Iterator[CodeReference]:
    """Of each definition the nearest one around it, by name where that stands elsewhere (Go, Rust), else the file."""
    known = {scope.name for scope in scopes if scope.defined}
    for scope in scopes:
        if scope.defined:
            holder = scope.name.rpartition(".")[0]
            while holder and holder not in known:
                holder = holder.rpartition(".")[0]
            # its first line proves it
            end = data.find(b"\n", scope.start, scope.end)
            yield CodeReference(
                holder, "contains", scope.name, scope.start, end if end > 0 else scope.end, True, scope.kind
            )


def _find_imports(matches: Iterable[Match], language: CodeLanguage, file: tuple[str, ...]) -> Iterator[CodeReference]:
    for match in matches:
        for node in match.get("import", ()):
            for one in language.imports(node, file):
                kind: SymbolKind = "module" if one.module else "class" if _capital(one.target) else "function"
                yield CodeReference("", "imports", one.target, node.start_byte, node.end_byte, False, kind)


def _capital(target: str) -> bool:
    return target.rpartition(".")[2].lstrip("_")[:1].isupper()


def _find_calls(
    matches: Iterable[Match], scopes: Sequence[CodeScope], starts: Sequence[int], names: NameResolver
) -> tuple[list[CodeCall], list[CodeReference]]:
    """Every call by its name, and of these what leads somewhere."""
    calls: list[CodeCall] = []
    references: list[CodeReference] = []
    for parts, start, end, resolves, literal in _called(matches):
        if len(calls) >= MOST_REFERENCES:
            break
        place, name = _inside(end - 1, scopes, starts), parts[-1]
        source = names.source(place)
        if literal:
            calls.append(CodeCall(name, source, f"{BUILTIN}{name}", start, end))
            continue
        target = names.meet(parts, place) if resolves else None
        if target is None:
            calls.append(CodeCall(name, source, names.name_unmet(parts, place) if resolves else f".{name}", start, end))
            continue
        full, local = target
        calls.append(CodeCall(name, source, f"{SEPARATOR}{full}" if local else full, start, end))
        kind: SymbolKind = "class" if _capital(full) else "method" if full.startswith(".") else "function"
        references.append(CodeReference(source, "calls", full, start, end, local, kind))
    return calls, references


def _called(matches: Iterable[Match]) -> Iterator[tuple[tuple[str, ...], int, int, bool, bool]]:
    """The parts of what is called, where that stands in bytes, whether it is written as a name of the file, and whether it is a
    member of something that the language makes: `", ".join`."""
    for match in matches:
        for node in match.get("text", ()):
            for found in _CALLED.finditer(node.text or b""):
                name = found[1].decode("ascii")
                if name not in _KEYWORDS:
                    yield (name,), node.start_byte + found.start(1), node.start_byte + found.end(1), True, False
        if "call" in match:
            callee = match["callee"][0]
            parts = parts_of(_spelled(callee, match))
            if parts and 0 < len(parts[-1]) <= LONGEST_NAME:
                literal = bool(callee.named_children) and callee.named_children[0].type in _LITERALS
                yield parts, match["call"][0].start_byte, callee.end_byte, "dynamic" not in match, literal


def _spelled(callee: Any, match: Match) -> str:
    """What is called as it is written, with what stands before it."""
    spelled = text_of(callee)
    if "object" in match:
        return f"{text_of(match['object'][0])}.{spelled}"
    if "macro" in match:
        token = callee.prev_sibling
        for _ in range(2 * DEEPEST):
            if token is None or token.type not in (".", "::", "identifier", "self", "crate", "super"):
                break
            joins = token.type in (".", "::")
            if joins != (spelled[:1] not in (".", ":")):
                break
            spelled, token = f"{text_of(token)}{spelled}", token.prev_sibling
    return spelled


def _in_code_points(text: str, data: bytes, found: Outline) -> Outline:
    """The spans of bytes in code points."""
    if len(text) == len(data):
        return found
    spans = [(one.start, one.end) for one in found.definitions]
    spans += [(one.start, one.end) for one in found.references] + [(one.start, one.end) for one in found.calls]
    points, before, count = {}, 0, 0
    for at in sorted({at for span in spans for at in span}):
        count += len(data[before:at].decode("utf-8", "ignore"))
        points[at], before = count, at
    return Outline(
        found.language,
        tuple(replace(one, start=points[one.start], end=points[one.end]) for one in found.definitions),
        tuple(replace(one, start=points[one.start], end=points[one.end]) for one in found.references),
        tuple(replace(one, start=points[one.start], end=points[one.end]) for one in found.calls),
    )
