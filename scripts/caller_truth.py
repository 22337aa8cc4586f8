"""Callers of Python functions against Python itself: `python scripts/caller_truth.py PACKAGE... [--functions N]`.

Recall: every call by the name of a function that Python's own parser sees in the package must be among the known callers, the
lines that could not be resolved, or the calls that mean something else. Precision: where the imported package tells what a
known caller calls (a global name and what hangs on it, a method of self), it must be that function.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import inspect
import random
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

from cairn.domain.code import SEPARATOR, Outline
from cairn.graph.code.callers import CONSTRUCTORS, called_name, split_calls
from cairn.graph.code.links import CodeLinks, NamedDefinition, Tie
from cairn.graph.code.outline import outline_of
from cairn.store.code_calls import PlacedCall

Site = tuple[str, int]
"""File and line."""
NO_DOCUMENT = UUID(int=0)


def read(package: str) -> tuple[dict[str, str], dict[str, Outline]]:
    """Texts and outlines of the files of a package, as they would be indexed."""
    spec = importlib.util.find_spec(package)
    assert spec
    assert spec.origin
    folder = Path(spec.origin).parent
    texts = {
        path.relative_to(folder.parent).as_posix(): path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        for path in sorted(folder.rglob("*.py"))
    }
    outlines = {path: outline_of(text, "python", path) for path, text in texts.items()}
    return texts, {path: one for path, one in outlines.items() if one}


def link(outlines: dict[str, Outline]) -> CodeLinks:
    definitions = [NamedDefinition(path, "module") for path in outlines]
    ties = []
    for path, outline in outlines.items():
        definitions += [NamedDefinition(f"{path}{SEPARATOR}{one.name}", one.kind) for one in outline.definitions]
        for one in outline.references:
            source = f"{path}{SEPARATOR}{one.source}" if one.source else path
            target = f"{path}{SEPARATOR}{one.target}" if one.local else one.target
            if one.relation == "imports" or one.relation == "inherits":
                ties.append(Tie(one.relation, source, target, one.local))
    return CodeLinks(definitions, ties)


class Sites(ast.NodeVisitor):
    """Calls and decorators of a file by the name that is called: line of the name, node, class around it."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[int, ast.expr, str, set[str]]]] = {}
        self._classes: list[str] = []
        self._bound: list[set[str]] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for one in node.decorator_list:
            self._add(one)
        self._classes.append(node.name)
        self.generic_visit(node)
        self._classes.pop()

    def visit_FunctionDef(self, node: Any) -> None:
        for one in node.decorator_list:
            self._add(one)
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self._bound.append(stored | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)})
        self.generic_visit(node)
        self._bound.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Call(self, node: ast.Call) -> None:
        self._add(node.func)
        self.generic_visit(node)

    def _add(self, callee: ast.expr) -> None:
        name = callee.attr if isinstance(callee, ast.Attribute) else callee.id if isinstance(callee, ast.Name) else ""
        if name:
            bound = set().union(*self._bound)
            self.found.setdefault(name, []).append((callee.end_lineno or 0, callee, ".".join(self._classes), bound))


def meant(module: ModuleType | None, callee: ast.expr, around: str, bound: set[str]) -> str | None:
    """File, or module where that is not known, and qualified name of what a callee is at run time; None where nothing tells."""
    parts: list[str] = []
    while isinstance(callee, ast.Attribute):
        parts.insert(0, callee.attr)
        callee = callee.value
    if module is None or not isinstance(callee, ast.Name):
        return None
    holder: Any = module
    if callee.id == "self" and around and len(parts) == 1:
        parts = [*around.split("."), *parts]
    elif callee.id in bound:
        return None
    else:
        parts = [callee.id, *parts]
    for part in parts:
        try:
            holder = inspect.getattr_static(holder, part) if inspect.isclass(holder) else getattr(holder, part)
        except AttributeError:
            return None
        holder = getattr(holder, "__func__", holder)
    with contextlib.suppress(ValueError):
        holder = inspect.unwrap(holder)
    if not (inspect.isfunction(holder) or inspect.isclass(holder)):
        return None
    return f"{source_of(holder)}{SEPARATOR}{holder.__qualname__}"


def source_of(thing: Any) -> str:
    """Where a function or class was written: packages give what they offer another `__module__`."""
    if inspect.isfunction(thing):
        return thing.__code__.co_filename
    inner = (getattr(one, "__func__", one) for one in vars(thing).values())
    return next((one.__code__.co_filename for one in inner if inspect.isfunction(one)), thing.__module__)


def module_of(path: str) -> ModuleType | None:
    name = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    try:
        return importlib.import_module(name)
    except BaseException:
        return None


def check(package: str, functions: int) -> None:
    texts, outlines = read(package)
    links = link(outlines)
    sites: dict[str, dict[str, list[tuple[int, ast.expr, str, set[str]]]]] = {}
    for path, text in texts.items():
        visitor = Sites()
        visitor.visit(ast.parse(text))
        sites[path] = visitor.found
    names = [
        f"{path}{SEPARATOR}{one.name}"
        for path, outline in outlines.items()
        for one in outline.definitions
        if one.kind in ("function", "method") and ".<" not in one.name
    ]
    random.Random(7).shuffle(names)
    called = {name for found in sites.values() for name in found}
    names = [one for one in names if called_name(one) in called][:functions]
    totals: Counter[str] = Counter()
    for name in names:
        bare = called_name(name)
        calls = [
            PlacedCall(NO_DOCUMENT, path, one)
            for path, outline in outlines.items()
            for one in outline.calls
            if bare in (one.name, one.target.replace(SEPARATOR, ".").rpartition(".")[2])
        ]
        split = split_calls(name, calls, links)
        totals["known"] += len(split.known)
        totals["unresolved"] += len(split.unresolved)
        totals["others"] += len(split.others)
        told = {(one.path, line(texts, one)) for part in (split.known, split.unresolved, split.others) for one in part}
        truth = [(path, at) for path, found in sites.items() for at, *_ in found.get(bare, ())]
        totals["calls by name"] += len(set(truth))
        for missed in set(truth) - told:
            totals["missed"] += 1
            print("  missed", name, missed, texts[missed[0]].splitlines()[missed[1] - 1].strip()[:100])
        judge(name, split.known, sites, texts, totals, right=True)
        judge(name, split.others, sites, texts, totals, right=False)
    print(f"{package}: {len(names)} functions, {dict(totals)}")


def judge(name: str, calls: Any, sites: Any, texts: Any, totals: Counter[str], *, right: bool) -> None:
    """Whether known callers call the function, and others do not, where the imported package can tell."""
    path, _, qualified = name.rpartition(SEPARATOR)
    bare = called_name(name)
    if qualified.rpartition(".")[2] in CONSTRUCTORS:
        qualified = qualified.rpartition(".")[0]
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    wanted = (
        f"{path}{SEPARATOR}{qualified}",
        f"{module}{SEPARATOR}{qualified}",
        f"{module.split('.')[0]}{SEPARATOR}{qualified}",
    )
    for one in calls:
        at = line(texts, one)
        nodes = [found for found in sites[one.path].get(bare, ()) if found[0] == at]
        got = {meant(module_of(one.path), callee, around, bound) for _, callee, around, bound in nodes} - {None}
        if not got:
            totals[f"{'known' if right else 'others'}, not to be told"] += 1
        elif any(one.endswith(wanted) for one in got) == right:
            totals[f"{'known' if right else 'others'}, right"] += 1
        else:
            totals[f"{'known' if right else 'others'}, wrong"] += 1
            print("  WRONG" if right else "  LOST", name, one.path, at, one.call.target, got)


def line(texts: dict[str, str], one: PlacedCall) -> int:
    return texts[one.path].count("\n", 0, max(one.call.end - 1, 0)) + 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--functions", type=int, default=100)
    arguments = parser.parse_args()
    sys.setrecursionlimit(10_000)
    for one in arguments.packages:
        check(one, arguments.functions)
