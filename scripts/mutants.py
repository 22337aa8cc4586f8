"""Change numbers of the rooms that decide answers, one at a time, and say which of them no test notices.

    python scripts/mutants.py --seed 1 --count 20          # make mutants SEED=1 N=20
    python scripts/mutants.py answer/extract.py --all      # every number of a file (or of a name: KEYWORDS)
    python scripts/mutants.py --list                       # where the numbers are, and how each is watched

A number is what a constant in capitals has anywhere in its value, a default of a parameter, or the bound of a comparison. None,
one and two are how many there are, and count in constants alone. A fraction becomes a fifth larger or smaller, a whole number up
to ten one more or one less, a larger one a fifth more or less. Each is changed in a copy of the tree, and the tests of its room
run until one fails: first the one that its mark names, then unit tests that import its module or say its name, then unit tests
that import what imports it, then other tests that import it. A test that fails also without the change ends the script: what
it says would be worth nothing. Exit code 1: more than `ALLOWED` changes were noticed by no test.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("app/cairn")
ROOMS = ("answer", "query", "retrieve")
COPIED = ("app", "tests", "sql", "migrations", "scripts", "docs", "examples", "deploy")
ALLOWED = 2
COUNTED = (0, 1, 2)
PATIENCE = 900.0
"""Seconds after which tests of a change are taken to hang, which is noticed, too."""

LIBRARIES = ("numpy", "pytest", "hypothesis", "pydantic", "structlog", "asyncpg", "httpx", "pytest_asyncio", "xdist")
"""Loaded once, before the process is forked for each change."""

_CAPITALS = re.compile(r"_?[A-Z][A-Z0-9_]*")
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MARK = re.compile(r"\b(fitted|measured|bound): ((?:scripts|tests)/[\w/]+\.py)")


@dataclass(frozen=True)
class Number:
    """A number in the source: `name` is the constant that has it, or the function where it stands. Lines count from 1, columns
    are bytes from 0. `marks`: how it is watched, (fitted | measured | bound, script or test)."""

    path: str
    name: str
    line: int
    column: int
    text: str
    marks: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


# --- where the numbers are ------------------------------------------------------------------------------------------


def find_numbers(source: str, path: str) -> list[Number]:
    """All numbers of a module that decide something, in the order of the text."""
    lines = source.splitlines()
    raw = [line.encode() for line in lines]
    tree = ast.parse(source)
    found = []
    for statement, name, node in _literals(tree):
        end = node.end_col_offset or node.col_offset
        text = raw[node.lineno - 1][node.col_offset : end].decode()
        first, last = (statement.lineno, statement.end_lineno) if statement else (node.lineno, node.lineno)
        near = [range(first, (last or first) + 1), _with_comments(lines, first)]
        near += [_lines_of(tree, statement)] if statement else []
        told = next((marks for part in near if (marks := _marks(lines, part))), ())
        found.append(Number(path, name, node.lineno, node.col_offset, text, told))
    return sorted(found, key=lambda one: (one.line, one.column))


def _literals(tree: ast.Module) -> Iterator[tuple[ast.stmt | None, str, ast.Constant]]:
    """(statement of the constant, its name, number); of bounds and defaults (None, function, number)."""
    for statement in tree.body:
        if name := _constant_name(statement):
            for node in _values(statement.value):  # type: ignore[attr-defined]
                yield statement, name, node
    yield from ((None, name, node) for name, node in _in_functions(tree, ""))


def _constant_name(statement: ast.stmt) -> str:
    """The constant that a statement of a module makes, or ''."""
    if isinstance(statement, ast.AnnAssign):
        targets: list[ast.expr] = [statement.target] if statement.value else []
    else:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return ", ".join(names) if names and all(map(_CAPITALS.fullmatch, names)) else ""


def _values(node: ast.AST) -> Iterator[ast.Constant]:
    """Numbers of a constant's value; what is computed by a comprehension or read by an index is none."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node
    elif not isinstance(
        node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda | ast.Subscript
    ):
        for child in ast.iter_child_nodes(node):
            yield from _values(child)


def _in_functions(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Constant]]:
    """(function, number) of bounds of comparisons and defaults of parameters."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            yield from ((function, one) for one in _values(default) if one.value not in COUNTED)
    if isinstance(node, ast.Compare) and any(isinstance(one, _ORDERS) for one in node.ops):
        for side in (node.left, *node.comparators):
            bound = side.operand if isinstance(side, ast.UnaryOp) else side
            if isinstance(bound, ast.Constant) and type(bound.value) in (int, float) and bound.value not in COUNTED:
                yield function or "<module>", bound
    for child in ast.iter_child_nodes(node):
        yield from _in_functions(child, function)


def _lines_of(tree: ast.Module, statement: ast.stmt) -> range:
    """A constant's lines with the text after it, which may be about several that stand one under another."""
    last = statement.end_lineno or statement.lineno
    for following in tree.body[tree.body.index(statement) + 1 :]:
        said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if not said and not (_constant_name(following) and following.lineno == last + 1):
            break
        last = following.end_lineno or last
        if said:
            return range(statement.lineno, last + 1)
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _marks(lines: Sequence[str], part: range) -> tuple[tuple[str, str], ...]:
    return tuple(MARK.findall("\n".join(lines[line - 1] for line in part)))


def _with_comments(lines: Sequence[str], line: int) -> range:
    """A line with the comments right above it."""
    first = line
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return range(first, line + 1)


def all_numbers(root: Path = ROOT) -> list[Number]:
    """The numbers of all rooms, in the order of paths and lines."""
    paths = [path for room in ROOMS for path in sorted((root / SOURCE / room).rglob("*.py"))]
    return [one for path in paths for one in find_numbers(path.read_text(), path.relative_to(root).as_posix())]


# --- changing one ---------------------------------------------------------------------------------------------------


def changed_number(text: str, up: bool) -> str:
    """Another number that matters, as source: a fifth more or less of a fraction, one more or less of a small whole number."""
    value = ast.literal_eval(text)
    if isinstance(value, float):
        return repr(round(value * (1.2 if up else 0.8), 12) if value else 0.2)
    step = 1 if value <= 10 else max(1, round(value / 5))
    return str(value + step if up or value == 0 else value - step)


def changed_source(source: str, number: Number, text: str) -> str:
    """The module with `text` instead of the number."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    line, end = lines[number.line - 1], number.column + len(number.text.encode())
    lines[number.line - 1] = line[: number.column] + text.encode() + line[end:]
    return b"".join(lines).decode()


# --- which tests watch it -------------------------------------------------------------------------------------------


_IMPORT = re.compile(r"^[ \t]*(?:from[ ]+([\w.]+)[ ]+import[ ]+(\([^)]*\)|[^\n]*)|import[ ]+([\w., ]+))", re.MULTILINE)


def imported_modules(source: str) -> frozenset[str]:
    """Modules of the product and of the tests that a file imports; of `from a import b` both a and a.b."""
    found: set[str] = set()
    for package, names, modules in _IMPORT.findall(source):
        found.update(re.findall(r"[\w.]+", modules))
        if package:
            found.update((package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))))
    return frozenset(one for one in found if one.startswith(("cairn", "tests")))


@cache
def _imports(root: Path) -> dict[str, frozenset[str]]:
    """What each module of the product and of the tests imports, by dotted name."""
    files = [*sorted((root / SOURCE).rglob("*.py")), *sorted((root / "tests").rglob("*.py"))]
    return {_dotted(path.relative_to(root)): imported_modules(path.read_text()) for path in files}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "app" else parts).removesuffix(".__init__")


def watching_tests(number: Number) -> list[list[str]]:
    """Test modules that may notice a change of a number, in rounds: those that are most likely to come first."""
    known, module = _imports(ROOT), _dotted(Path(number.path))
    near = {one for one, imports in known.items() if one.startswith("cairn") and module in imports}
    named = [path for _, path in number.marks if "/test_" in path]
    rounds: list[list[str]] = [named, [], [], []]
    for test, imports in known.items():
        if not test.startswith("tests.") or not test.rpartition(".")[2].startswith("test_"):
            continue
        path = test.replace(".", "/") + ".py"
        names = number.name.split(", ") if _CAPITALS.match(number.name) else []
        said = module in imports or any(f"{module}.{name}" in imports for name in names)
        if path.startswith("tests/unit/"):
            rounds[1 if said else 2].extend([path] if said or near & imports else [])
        elif said and not path.startswith("tests/faults/"):
            rounds[3].append(path)
    rounds[1:] = [[path for path in paths if path not in named] for paths in rounds[1:]]
    return [paths for paths in rounds if paths]


# --- running them ---------------------------------------------------------------------------------------------------


class _Watch:
    """A plugin of pytest: the first test that failed, or the file that could not be read."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            self.failed = self.failed or str(getattr(report, "nodeid", ""))

    pytest_collectreport = pytest_runtest_logreport


class Copy:
    """A copy of the tree in a temporary folder, in which a number can be changed and tests run."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name)
        for file in (one for one in ROOT.iterdir() if one.is_file()):
            shutil.copy2(file, folder / file.name)
        self._written = int(time.time())
        self._sound: set[str] = set()

    def write(self, path: str, source: str) -> None:
        """Bytecode is told from source by seconds and size, which may stay the same: each text has a second of its own."""
        self._written += 2
        (self.root / path).write_text(source)
        os.utime(self.root / path, (self._written, self._written))

    def notices(self, number: Number, text: str) -> tuple[str, list[str]]:
        """(the test that fails with `text` instead of the number, or '', test modules that ran)."""
        source, ran = (self.root / number.path).read_text(), []
        for paths in watching_tests(number):
            self.write(number.path, changed_source(source, number, text))
            try:
                failed = self.first_failure(paths)
            finally:
                self.write(number.path, source)
            ran += paths
            if failed:
                self._check_sound(failed)
                return failed, ran
        return "", ran

    def _check_sound(self, failed: str) -> None:
        if failed != HANGS and failed not in self._sound and self.first_failure([failed]):
            raise SystemExit(f"{failed} fails also where nothing is changed: mend it first.")
        self._sound.add(failed)

    def first_failure(self, tests: Sequence[str]) -> str:
        """The first of these that fails, by its id; '' where all pass. In a process of its own, which this one is forked to."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.setsid()  # with all that the tests start
            told = _run_pytest(self.root, tests)
            os.write(writer, told.encode())
            os._exit(0)
        os.close(writer)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        with open(reader, "rb") as pipe:
            told = pipe.read().decode()
        signal.setitimer(signal.ITIMER_REAL, 0)
        _, status = os.waitpid(child, 0)
        return told.removeprefix(PASSED) if told else HANGS if os.WIFSIGNALED(status) else "(the tests did not end)"


PASSED, HANGS = "passed", "(hangs)"


def _run_pytest(root: Path, tests: Sequence[str]) -> str:
    """'passed', or what failed. What is printed is of no use to anybody."""
    import pytest

    os.chdir(root)
    sys.path[:0] = [str(root / "app"), str(root)]
    os.environ.update(
        PYTHONPATH=str(root / "app"), CAIRN_SHARED=os.environ.get("CAIRN_SHARED") or str(ROOT.parent / "shared")
    )
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    watch = _Watch()
    with contextlib.redirect_stdout(io.StringIO()):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--numprocesses", "0", *tests], plugins=[watch])
    return watch.failed or (
        PASSED if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else f"(pytest: {code!r})"
    )


# --- the command ----------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wanted", nargs="*", help="files or names of constants; all of the three rooms without")
    parser.add_argument("--seed", type=int, default=1, help="draws the numbers and whether each becomes more or less")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--all", action="store_true", help="all numbers instead of drawn ones")
    parser.add_argument("--list", action="store_true", help="print the numbers and change none")
    arguments = parser.parse_args()
    numbers = [
        one for one in all_numbers()
        if not arguments.wanted or any(want in one.path or want in one.name.split(", ") for want in arguments.wanted)
    ]  # fmt: skip
    if arguments.list:
        for one in numbers:
            print(f"{one.place}\t{one.name}\t{one.text}\t{' '.join(f'{kind}: {by}' for kind, by in one.marks) or '-'}")
        return
    draw = random.Random(arguments.seed)
    drawn = numbers if arguments.all else draw.sample(numbers, min(arguments.count, len(numbers)))
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            __import__(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder))
        survivors = [one for one in drawn if not _noticed(copy, one, draw.random() < 0.5)]
    print(f"\n{len(survivors)} of {len(drawn)} changes were noticed by no test (seed {arguments.seed}).")
    for one in survivors:
        print(f"  {one.place} {one.name}")
    sys.exit(len(survivors) > ALLOWED)


def _noticed(copy: Copy, number: Number, up: bool) -> bool:
    text, begun = changed_number(number.text, up), time.monotonic()
    by, ran = copy.notices(number, text)
    print(
        f"{'noticed ' if by else 'SURVIVES'} {number.place} {number.name}: {number.text} -> {text}  "
        f"{time.monotonic() - begun:.0f} s  {by or 'ran: ' + (' '.join(ran) or 'none')}",
        flush=True,
    )
    return bool(by)


if __name__ == "__main__":
    main()
