"""Symbols of Python files against Python's own parser: `python scripts/code_truth.py FOLDER...` prints recall and precision of
definitions, bases and calls, and the time.

The truth of a call is what can be told from its file alone: a name that the file defines at its top or imports and binds
nowhere else, a member of an imported name, and a method of self that the class defines.
"""

from __future__ import annotations

import ast
import builtins
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cairn.graph.code.outline import outline_of

Fact = tuple[str, ...]


class Truth(ast.NodeVisitor):
    """Definitions (name, line), bases (class, last name) and calls (source, target) of a file."""

    def __init__(self, tree: ast.Module, package: list[str]) -> None:
        self.definitions: set[Fact] = set()
        self.bases: set[Fact] = set()
        self.calls: set[Fact] = set()
        self._stack: list[tuple[str, bool, set[str]]] = []
        self._package = package
        self._names: dict[str, str] = {}
        self._bound = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        nested = {id(child) for node in tree.body for child in ast.walk(node)} - {id(node) for node in tree.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and id(node) in nested:
                self._bound.add(node.name)
        for node in ast.walk(tree):
            self._imports(node)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._names[node.name] = node.name
        self.visit(tree)

    def _imports(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for one in node.names:
                self._names.setdefault(
                    one.asname or one.name.split(".")[0], one.name if one.asname else one.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            base = self._package[: len(self._package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for one in node.names:
                self._names.setdefault(one.asname or one.name, f"{module}.{one.name}")

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        name = ".".join([*(part for part, _, _ in self._stack), node.name])
        self.definitions.add((name, str(node.lineno)))
        is_class = isinstance(node, ast.ClassDef)
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            named = base.value if isinstance(base, ast.Subscript) else base
            last = named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
            if last:
                self.bases.add((name, self._names.get(last, last).rpartition(".")[2]))
        for outside in [*node.decorator_list, *(node.bases if isinstance(node, ast.ClassDef) else [])]:
            self.visit(outside)
        members = {
            one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        self._stack.append((node.name, is_class, members))
        for child in ast.iter_child_nodes(node):
            if child not in node.decorator_list and child not in getattr(node, "bases", ()):
                self.visit(child)
        self._stack.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _define

    def visit_Call(self, node: ast.Call) -> None:
        source = ".".join(part for part, _, _ in self._stack)
        if target := self._target(node.func):
            self.calls.add((source, target))
        self.generic_visit(node)

    def _target(self, callee: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(callee, ast.Attribute):
            parts.insert(0, callee.attr)
            callee = callee.value
        if not isinstance(callee, ast.Name):
            return ""
        if callee.id == "self" and len(parts) == 1 and len(self._stack) > 1:
            *outer, (owner, is_class, members), _ = self._stack
            if is_class and parts[0] in members:
                return ".".join([*(part for part, _, _ in outer), owner, parts[0]])
        if callee.id in self._bound or callee.id not in self._names or hasattr(builtins, callee.id):
            return ""
        if parts and self._names[callee.id] == callee.id and any(name == callee.id for name, _ in self.definitions):
            return ""
        return ".".join([self._names[callee.id], *parts])


def files(folders: list[str]) -> Iterator[tuple[Path, Path]]:
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("*.py")):
            yield folder.parent, path


def main(folders: list[str]) -> None:
    facts: dict[str, list[set[Fact]]] = {kind: [set(), set()] for kind in ("definitions", "bases", "calls")}
    lines, took = 0, 0.0
    for root, path in files(folders):
        text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        name = path.relative_to(root).as_posix()
        try:
            truth = Truth(ast.parse(text), name.removesuffix(".py").split("/")[:-1])
        except SyntaxError:
            continue
        began = time.perf_counter()
        outline = outline_of(text, "python", name)
        took += time.perf_counter() - began
        assert outline
        lines += text.count("\n")
        found = {
            "definitions": {(one.name, str(text.count("\n", 0, one.start) + 1)) for one in outline.definitions},
            "bases": {
                (one.source, one.target.rpartition(".")[2]) for one in outline.references if one.relation == "inherits"
            },
            "calls": {(one.source, one.target) for one in outline.references if one.relation == "calls"},
        }
        for kind, pair in facts.items():
            pair[0] |= {(name, *fact) for fact in getattr(truth, kind)}
            pair[1] |= {(name, *fact) for fact in found[kind]}
    print(f"{lines} lines, {took / lines * 1e6:.1f} ms per 1,000 lines")
    for kind, (true, found_) in facts.items():
        both = len(true & found_)
        print(f"{kind:12} {len(true):6} true  {len(found_):6} found", end="  ")
        print(f"recall {both / len(true):.4f}  precision {both / len(found_):.4f}")
        for fact in sorted(true - found_)[:8]:
            print("   missed", fact)
        for fact in sorted(found_ - true)[:8] if kind != "calls" else ():
            print("   made up", fact)


if __name__ == "__main__":
    main(sys.argv[1:])
