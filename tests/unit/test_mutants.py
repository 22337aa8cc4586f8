"""Numbers of the rooms that decide answers: they are found and changed by scripts/mutants.py, and each says how it is watched."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from scripts.mutants import Number, all_numbers, changed_number, changed_source, find_numbers, watching_tests

REPO = Path(__file__).resolve().parent.parent.parent
SOURCE = dedent(
    '''
    """Ünïcode before a number counts in bytes."""
    LOWEST: Final = 3  # bound: tests/unit/test_a.py
    SHARES, NAMES = (0.5, -1.25), ("é", 7)

    FIRST: Final = 1
    SECOND: Final = 20
    """Of both. measured: tests/unit/test_b.py"""
    TABLE: Final = {"é": 1.5}  # fitted: scripts/fit.py
    MADE: Final = [len(word) > 4 for word in words[2]]
    VERSION = "3"
    lower = 9


    def cut(text: str, most: int = 80, least: int = 1) -> bool:
        short = len(text) < 2 or text.count(" ") == 5
        return short or least < 0.25 < most  # measured: tests/unit/test_c.py
    '''
).strip()


def test_numbers_of_constants_defaults_and_bounds_are_found() -> None:
    found = [(one.name, one.text) for one in find_numbers(SOURCE, "a.py")]
    assert found == [
        ("LOWEST", "3"), ("SHARES, NAMES", "0.5"), ("SHARES, NAMES", "1.25"), ("SHARES, NAMES", "7"), ("FIRST", "1"),
        ("SECOND", "20"), ("TABLE", "1.5"), ("<module>", "4"), ("cut", "80"), ("cut", "0.25"),
    ]  # fmt: skip


def test_marks_stand_beside_a_number_or_in_the_text_below_it() -> None:
    marks = {one.text: one.marks for one in find_numbers(SOURCE, "a.py")}
    assert marks["3"] == (("bound", "tests/unit/test_a.py"),)
    assert marks["1"] == marks["20"] == (("measured", "tests/unit/test_b.py"),)
    assert marks["1.5"] == (("fitted", "scripts/fit.py"),)
    assert marks["0.25"] == (("measured", "tests/unit/test_c.py"),)
    assert marks["80"] == marks["7"] == ()


def test_one_number_is_changed_and_nothing_else() -> None:
    for one in find_numbers(SOURCE, "a.py"):
        made = changed_source(SOURCE, one, "99")
        before, after = SOURCE.splitlines(), made.splitlines()
        assert [line for line, other in enumerate(zip(before, after, strict=True), 1) if other[0] != other[1]] == [
            one.line
        ]
        assert after[one.line - 1].count("99") == 1
        ast.parse(made)


@pytest.mark.parametrize(
    ("text", "less", "more"),
    [
        ("0.5", "0.4", "0.6"),
        ("0.0", "0.2", "0.2"),
        ("1", "0", "2"),
        ("10", "9", "11"),
        ("20", "16", "24"),
        ("2_000", "1600", "2400"),
    ],
)
def test_a_number_becomes_another_one_that_matters(text: str, less: str, more: str) -> None:
    assert (changed_number(text, up=False), changed_number(text, up=True)) == (less, more)


def test_tests_that_import_a_module_or_its_constant_watch_it_and_the_marked_one_comes_first() -> None:
    number = Number(
        "app/cairn/answer/lexrank.py", "DAMPING", 1, 0, "0.85", (("measured", "tests/unit/test_strategies.py"),)
    )
    rounds = watching_tests(number)
    assert rounds[0] == ["tests/unit/test_strategies.py"]
    assert "tests/unit/test_edges_quotation.py" in rounds[1]
    assert [path for paths in rounds for path in paths].count("tests/unit/test_strategies.py") == 1


def test_each_number_is_fitted_measured_or_a_bound() -> None:
    """And what is named for it is there, and speaks of it: a test imports its module, or says its name."""
    numbers = all_numbers()
    unmarked = [f"{one.place} {one.name} {one.text}" for one in numbers if not one.marks]
    assert not unmarked, "say beside each `fitted: <script>`, `measured: <test>` or `bound: <test>`"
    strange = [
        f"{one.place} {one.name}: {by}" for one in numbers for kind, by in one.marks if not speaks_of(one, kind, by)
    ]
    assert not strange


def speaks_of(number: Number, kind: str, by: str) -> bool:
    file = REPO / by
    if not file.is_file() or (kind == "fitted") == (by.startswith("tests/") and "/test_" in by):
        return False
    text, module = file.read_text(), number.path.removeprefix("app/").removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    return number.path in text or module in text or f"from {package} import {name}" in text or number.name in text
