"""`cairn prepare` and `cairn load` as their users meet them: what they print, exit codes, and answers from what was loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Cairn

from tests.bulk_environment import need_pyarrow

need_pyarrow()

LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE)
    (folder / "travel.txt").write_text("Trains are booked by the travel desk. Flights need the consent of a manager.")
    return folder


def test_documents_are_prepared_without_a_database_loaded_and_asked(
    cairn: Cairn, handbook: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    done = cairn("prepare", "handbook", "--out", "out")
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert "2 documents prepared (2 chunks), in " in first
    assert second.startswith("Load them: cairn load ")
    again = cairn("prepare", "handbook", "--out", "out")
    assert (again.code, "nothing new, 2 unchanged, in " in again.out) == (0, True)

    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    loaded = cairn("load", "out", "--collection", "handbook")
    assert (loaded.code, loaded.err) == (0, "")
    assert loaded.out.startswith("Collection handbook: 2 documents added (2 passages), in ")
    assert '\nAsk about them: cairn ask "..." --collection handbook\n' in loaded.out
    assert "30 days" in cairn("ask", "How many days of leave do employees have?", "--collection", "handbook").out
    counts = cairn("load", "out", "--collection", "handbook", "--json").json["counts"]
    assert (counts["unchanged"], counts["added"]) == (2, 0)
    # ingestion takes what was loaded for its own
    counts = cairn("ingest", "handbook", "--collection", "handbook", "--json").json["counts"]
    assert (counts["unchanged"], counts["added"], counts["replaced"]) == (2, 0, 0)


def test_what_cannot_be_read_is_told_and_the_rest_is_prepared(cairn: Cairn, handbook: Path) -> None:
    (handbook / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (handbook / "empty.md").write_text(" ")
    done = cairn("prepare", "handbook", "--out", "out", "--verbose")
    assert done.code == 1
    assert "failed: handbook/broken.pdf: " in done.err
    assert "empty.md: empty document" in done.err
    assert "2 documents prepared (2 chunks), 1 failed, 1 skipped" in done.out
    report = cairn("prepare", "handbook", "--out", "out", "--json").json
    assert [one["external_id"] for one in report["failed"]] == ["handbook/broken.pdf"]
    assert (report["documents"], report["unchanged"]) == (0, 2)


def test_nothing_to_prepare_says_what_is_read(cairn: Cairn, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    done = cairn("prepare", "none", "--out", "out")
    assert (done.code, done.out.splitlines()[0]) == (1, "Found no documents (0 items skipped; --verbose lists them).")


def test_mistakes_are_one_line(cairn: Cairn, handbook: Path, tmp_path: Path) -> None:
    assert cairn("prepare", "handbook", "--out", "out").code == 0
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    (tmp_path / "empty" / "manifest.json").write_text(json.dumps(manifest))
    for arguments, said in (
        (("prepare", "nowhere", "--out", "out"), "there is no file or folder"),
        (("prepare", "handbook", "--out", "file"), "cannot write to"),
        (("load", "nowhere"), "manifest.json cannot be read"),
        (("load", "handbook"), "manifest.json cannot be read"),
        (("load", "empty"), "there are no Parquet files (*.parquet) in empty"),
        (("load", "out", "--collection", "no/name"), "is not a collection name"),
    ):
        done = cairn(*arguments)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), (arguments, done)
        assert said in done.err, (arguments, done.err)
    assert cairn("prepare", "handbook").code == 2
