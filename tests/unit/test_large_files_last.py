"""In what order the files of a folder are read."""

from __future__ import annotations

from pathlib import Path

from cairn.service.files import LAST_BYTES, large_last, select_files


def test_a_large_file_waits_for_the_others_so_that_they_are_found_early(tmp_path: Path) -> None:
    for name, size in (
        ("a book.pdf", LAST_BYTES),
        ("b.md", 9),
        ("c archive.csv", 3 * LAST_BYTES),
        ("d.md", LAST_BYTES - 1),
    ):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    files = select_files([tmp_path]).files
    assert [found.path.name for found in large_last(files)] == ["b.md", "d.md", "a book.pdf", "c archive.csv"]


def test_a_file_that_is_gone_meanwhile_is_told_where_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A stone.")
    files = select_files([tmp_path]).files
    (tmp_path / "a.md").unlink()
    assert large_last(files) == files
