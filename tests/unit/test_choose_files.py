"""Which files of a source are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.connectors.choose_files import PathFilter, path_filter
from cairn.connectors.connector import SourceRefused
from cairn.service.files import select_files
from tests.growth import repeated, takes_linear_time


@pytest.mark.parametrize(
    ("pattern", "taken", "left"),
    [
        ("*.md", ["a.md", "x/y/a.md"], ["a.mdx", "md"]),
        ("hr", ["hr/a.md", "x/hr/b/c.md", "hr"], ["hrx/a.md"]),
        ("hr/*.md", ["hr/a.md"], ["hr/x/a.md", "x/hr/a.md"]),
        ("hr/**", ["hr/a.md", "hr/x/a.md"], ["x/hr/a.md"]),
        ("hr/**/*.md", ["hr/a.md", "hr/x/y/a.md"], ["hr/a.txt"]),
        ("**/old/*", ["old/a", "x/y/old/a"], ["old", "older/a"]),
        ("/hr/", ["hr/a.md"], ["a.md"]),
        ("a?[0-9].md", ["ab1.md"], ["ab.md", "abc.md"]),
        ("**", ["a", "b/c"], []),
    ],
)
def test_patterns_mean_what_they_mean_in_shells(pattern: str, taken: list[str], left: list[str]) -> None:
    assert [path for path in taken + left if path_filter({"include": pattern}).takes(path)] == taken
    assert [path for path in taken + left if path_filter({"exclude": pattern}).takes(path)] == left


def test_excluded_beats_included_and_hidden_files_are_left_out() -> None:
    chosen = path_filter({"include": "*.md, *.txt\n*.pdf", "exclude": "draft*"})
    given = ["a.md", "b.txt", "c.pdf", "d.docx", "draft.md", ".git/a.md", "x/.b.md", "node_modules/a.md", "drafts/a.md"]
    assert [path for path in given if chosen.takes(path)] == ["a.md", "b.txt", "c.pdf"]


GENERATED = [
    "highlight.pack.js",
    "x/site.min.css",
    "Chart.MIN.js",
    "site.js.map",
    "package-lock.json",
    "poetry.lock",
    "de.po",
]


def test_what_programs_made_for_programs_is_left_out_of_a_folder_but_not_when_it_is_named(tmp_path: Path) -> None:
    read = ["lock.md", "map.md", "min.js", "package.json", "x/locks.json"]
    assert [path for path in sorted(GENERATED + read) if PathFilter().takes(path)] == read
    (tmp_path / "x").mkdir()
    for path in GENERATED + read:
        (tmp_path / path).write_text("a")
    selection = select_files([tmp_path])
    assert sorted(file.external_id.partition("/")[2] for file in selection.files) == read
    assert [one.reason for one in selection.skipped] == ["generated"] * len(GENERATED)
    assert [file.path.name for file in select_files([tmp_path / "poetry.lock"]).files] == ["poetry.lock"]


def test_names_that_no_database_keeps_are_left_out() -> None:
    assert [PathFilter().takes(path) for path in ("ü.md", b"\xff.md".decode(errors="surrogateescape"), "a\0.md")] == [
        True, False, False,
    ]  # fmt: skip


def test_patterns_have_bounds() -> None:
    with pytest.raises(SourceRefused, match="include: at most 100 patterns of 300"):
        path_filter({"include": ",".join("a" for _ in range(101))})
    with pytest.raises(SourceRefused, match="exclude"):
        path_filter({"exclude": "a" * 301})
    path_filter({"include": ",".join("a" for _ in range(100)), "exclude": "a" * 300})


@pytest.mark.parametrize("pattern", ["*a" * 100 + "b", "**/a/" * 50 + "b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    hostile = PathFilter(include=(pattern,))
    assert takes_linear_time(hostile.takes, repeated("a/" if "/" in pattern else "a"), 1_000)
