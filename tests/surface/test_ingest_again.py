"""`cairn ingest` again: what was replaced, whose ids these are, and what became of files that are gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import Cairn, Done


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders of one name, with files of the same names."""
    made = tmp_path / "one" / "docs", tmp_path / "two" / "docs"
    for folder, stone in zip(made, ("granite", "basalt"), strict=True):
        folder.mkdir(parents=True)
        (folder / "readme.md").write_text(f"The house is built of {stone}.\n")
        (folder / "notes.md").write_text(f"Notes on {stone}.\n")
    return made


def counts(done: Done) -> dict[str, int]:
    """Those that are not 0."""
    return {name: count for name, count in done.json["counts"].items() if count}


def test_two_folders_of_one_name_do_not_take_each_others_place(cairn: Cairn, folders: tuple[Path, Path]) -> None:
    one, two = folders
    assert counts(cairn("ingest", one, "--json")) == {"added": 2}
    refused = cairn("ingest", two)
    assert (refused.code, refused.out) == (1, "")
    assert f"docs/notes.md is {one}/notes.md, not {two}/notes.md" in refused.err
    assert "--prefix" in refused.err
    assert "--replace" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert "granite" in cairn("ask", "What is the house built of?").out

    told_apart = cairn("ingest", two, "--prefix", "second", "--json")
    assert {one["external_id"] for one in told_apart.json["indexed"]} == {
        "second/docs/readme.md",
        "second/docs/notes.md",
    }
    assert counts(told_apart) == {"added": 2}
    assert counts(cairn("ingest", two, "--prefix", "second", "--json")) == {"unchanged": 2}
    assert counts(cairn("ingest", one, "--json")) == {"unchanged": 2}

    replaced = cairn("ingest", two, "--replace")
    assert "2 replaced" in replaced.out
    assert cairn("ingest", one).code == 1  # the ids are the other folder's now


def test_a_file_named_from_two_folders_is_not_one_document(
    cairn: Cairn, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = folders
    monkeypatch.chdir(one)
    assert cairn("ingest", "readme.md").code == 0
    monkeypatch.chdir(two)
    assert "belong to other files" in cairn("ingest", "readme.md").err


def test_a_folder_that_was_moved_keeps_its_documents(cairn: Cairn, folders: tuple[Path, Path], tmp_path: Path) -> None:
    one, _ = folders
    cairn("ingest", one)
    moved = tmp_path / "elsewhere" / "docs"
    shutil.move(one, moved)
    (moved / "readme.md").write_text("The house is built of chalk.\n")
    assert counts(cairn("ingest", moved, "--json")) == {"replaced": 1, "unchanged": 1}


def test_a_link_to_a_folder_is_that_folder(cairn: Cairn, folders: tuple[Path, Path], tmp_path: Path) -> None:
    one, _ = folders
    cairn("ingest", one)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "docs").symlink_to(one)
    assert counts(cairn("ingest", tmp_path / "link" / "docs", "--json")) == {"unchanged": 2}


def test_documents_whose_files_are_gone_are_told_and_pruned(cairn: Cairn, folders: tuple[Path, Path]) -> None:
    one, two = folders
    cairn("ingest", one)
    cairn("ingest", two, "--prefix", "second")
    (one / "readme.md").rename(one / "start.md")
    (two / "readme.md").unlink()
    again = cairn("ingest", one)
    assert "1 document added" in again.out
    assert "The files of 1 document are gone (docs/readme.md); --prune removes them." in again.out
    pruned = cairn("ingest", one, "--prune", "--json")
    assert pruned.json["removed"] == ["docs/readme.md"]
    assert counts(pruned) == {"unchanged": 2, "removed": 1}
    assert "gone" not in cairn("ingest", one).out  # and the other folder was not asked about
    assert cairn("ingest", two, "--prefix", "second", "--json").json["gone"] == ["second/docs/readme.md"]


def test_a_folder_that_is_empty_now_prunes_nothing(cairn: Cairn, folders: tuple[Path, Path]) -> None:
    """So looks a disk that is not mounted."""
    one, _ = folders
    cairn("ingest", one)
    for file in one.iterdir():
        file.unlink()
    done = cairn("ingest", one, "--prune", "--json")
    assert (done.json["removed"], done.json["gone"]) == ([], [])
    assert "granite" in cairn("ask", "What is the house built of?").out


@pytest.mark.parametrize("prefix", ["", "..", "a//b", "../x"])
def test_a_prefix_is_the_name_of_a_folder(cairn: Cairn, folders: tuple[Path, Path], prefix: str) -> None:
    done = cairn("ingest", folders[0], "--prefix", prefix)
    assert done.code == 2
    assert "cannot be a prefix" in done.err


def test_documents_are_listed_with_their_state_and_deleted_by_id(cairn: Cairn, folders: tuple[Path, Path]) -> None:
    one, _ = folders
    (one / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    cairn("ingest", one)
    lines = cairn("documents", "list").out.splitlines()
    assert [line.split("  ")[:3] for line in lines] == [
        ["docs/broken.pdf", "version 0", "failed"], ["docs/notes.md", "version 1", "indexed"],
        ["docs/readme.md", "version 1", "indexed"],
    ]  # fmt: skip
    assert [item["external_id"] for item in cairn("documents", "list", "--status", "failed", "--json").json] == [
        "docs/broken.pdf"
    ]
    missing = cairn("documents", "delete", "docs/readme.md", "nowhere.md")
    assert (missing.code, len(missing.err.splitlines())) == (1, 1)
    assert (
        cairn("documents", "delete", "docs/readme.md", "docs/broken.pdf").out
        == "deleted: docs/readme.md\ndeleted: docs/broken.pdf\n"
    )
    assert cairn("documents", "list").out == "docs/notes.md  version 1  indexed\n"
