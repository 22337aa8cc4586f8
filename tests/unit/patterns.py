"""Every regular expression of the code, however it is made, and texts that are hostile to it.

Run as a script, in a process that has imported nothing of ours: patterns are recorded as they are compiled while all modules
are imported and what they make lazily is made, and those that functions write out are read from the source.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
_CALLS = {"compile", "search", "match", "sub", "subn", "finditer", "fullmatch", "split", "findall"}
_OURS = ("bounded", "bound")
_NAMED = re.compile(rf"(?m)(?:^[ \t].*|\blambda\b.*)(?:\bre\.|\b(?:{'|'.join(_OURS)})\()")
"""In every module that `_regex_call` finds one in within a function, whose lines are indented."""
_ELSEWHERE = ("langchain", "llama_index")
"""Modules that need a framework which is not installed here; they have no patterns."""

FRAGMENTS = (
    *" \n\t\u00a0aAé10_.,;:!?'\"`()[]{}<>/\\|-*+=#$%&@~^€«“’–…•",
    "\r\n", " \n", "\n\n", "a ", "A ", "1 ", "a\n", "a,", "a, ", "a.", "a. ", "A. ", "Aa ", "Aa, ", "aA", "a1", "1a", "1,", "1.",
    "1, ", "1-", "1/", "a-", "a_", "a'", "a/", "a:", "a=", "a(", "a)", "(a", "(a)", "[1]", "[1] ", "[1](", "[a](", "- ", "- a\n",
    "* ", "# ", "| ", "|a|\n", "> ", "**a", "```", "```\n", "<a", "<a>", "</a>", "\"a", "'a ", "“a", '{"a":', '\\"', "and ",
    ", and ",
    "a and ", "of ", "the ", "who is ", "what ", "is ", "in 2020 ", "2020-01-", "10 %", "$1", "a@b.", "http://a", "::a", "->",
    "not ", "et ", "und ", "de la ", "A of ", "1) ", "def a(", "import a, ", "/*", "\x00", "a'a", "FY 20", "tagged ", ".pdf",
    "source ",
)  # fmt: skip
"""Of which texts are made by repetition."""


_BETWEEN = ("/re/__init__.py", "/language/linear.py", "/unit/patterns.py")
"""Files between a pattern and who made it."""


def record() -> dict[re.Pattern[str], str]:
    """The patterns over text, and the place (file and line) that each is made at."""
    found: dict[re.Pattern[str], str] = {}
    plain: Any = re._compile  # type: ignore[attr-defined]

    def note(pattern: Any, flags: int) -> Any:
        made = plain(pattern, flags)
        frame: Any = sys._getframe(1)
        while frame and frame.f_code.co_filename.endswith(_BETWEEN):
            frame = frame.f_back
        where = Path(frame.f_code.co_filename) if frame else Path("/")
        if isinstance(made.pattern, str) and where.is_relative_to(ROOT / "app"):
            found.setdefault(made, f"{where.relative_to(ROOT)}:{frame.f_lineno}")
        return made

    re._compile = note  # type: ignore[attr-defined]
    _compile_at_once()
    try:
        modules = list(_modules())
        _make_lazy(modules)
    finally:
        re._compile = plain  # type: ignore[attr-defined]
    for module in modules:
        for where, pattern, flags in _in_functions(module):
            made = plain(pattern, flags)
            found.setdefault(made, where)
    return found


def _compile_at_once() -> None:
    """What would be compiled when it is first used, where nobody may see it."""
    unused: Any = importlib.import_module("cairn.language.linear")._Unused
    keep = unused.__init__

    def begin(self: Any, pattern: str, flags: int) -> None:
        keep(self, pattern, flags)
        assert self.flags is not None

    unused.__init__ = begin


def _modules() -> Iterator[ModuleType]:
    import cairn

    for info in pkgutil.walk_packages(cairn.__path__, "cairn."):
        if info.name.rpartition(".")[2] not in _ELSEWHERE:
            yield importlib.import_module(info.name)


def _make_lazy(modules: list[ModuleType]) -> None:
    """Call what keeps its results: with nothing, with each code, with each language."""
    from cairn.language.lexicon import languages

    arguments: list[tuple[Any, ...]] = [(), *((one.code,) for one in languages()), *((one,) for one in languages())]
    for module in modules:
        for kept in [value for value in vars(module).values() if hasattr(value, "cache_info")]:
            for given in arguments if kept.__module__ == module.__name__ else ():
                with suppress(Exception):
                    kept(*given)


def _in_functions(module: ModuleType) -> Iterator[tuple[str, str, int]]:
    """Patterns written out where they are used. What is put into one at run time is a name there: "alice"."""
    path = Path(module.__file__ or "")
    source = path.read_text(encoding="utf-8")
    if not _NAMED.search(source):
        return
    for function in _functions(ast.parse(source)):
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and call.args and (name := _regex_call(call)):
                pattern = _written(call.args[0], vars(module))
                if isinstance(pattern, str):
                    if name in _OURS:
                        pattern = importlib.import_module("cairn.language.linear").bound(pattern)
                    yield f"{path.relative_to(ROOT)}:{call.lineno}", pattern, _flags(call)


def _functions(node: ast.AST) -> Iterator[ast.AST]:
    """Each with those within it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
        else:
            yield from _functions(child)


def _regex_call(call: ast.Call) -> str | None:
    function = call.func
    if isinstance(function, ast.Name) and function.id in _OURS:
        return function.id
    if isinstance(function, ast.Attribute) and function.attr in _CALLS and ast.unparse(function.value) == "re":
        return function.attr
    return None


def _written(node: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Call) and _regex_call(node):
        return None  # a call within a call is seen by itself
    if isinstance(node, ast.JoinedStr):
        return "".join(str(_written(part, names)) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        try:
            return str(eval(ast.unparse(node.value), dict(names)))
        except Exception:
            return "alice"
    try:
        return eval(ast.unparse(node), dict(names))
    except Exception:
        return None


def _flags(call: ast.Call) -> int:
    flags = 0
    for node in (*call.args[1:], *(keyword.value for keyword in call.keywords)):
        if "re." in ast.unparse(node):
            with suppress(Exception):
                flags |= int(eval(ast.unparse(node), {"re": re}))
    return flags
