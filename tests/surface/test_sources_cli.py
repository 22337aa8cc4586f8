"""`cairn sources` of a folder: how it ends, and what it says of how it went."""

from __future__ import annotations

from pathlib import Path

from commands import Cairn


def test_a_folder_is_followed_and_what_went_wrong_is_told_and_in_the_exit_code(cairn: Cairn, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("one", "two", "three"):
        (folder / f"{name}.md").write_text(f"The paper {name} is about harbours.")
    added = cairn("sources", "add", folder)
    assert (added.code, added.out.splitlines()[-1]) == (0, "3 new"), added
    source = added.out.splitlines()[0].rpartition(" ")[2]
    for name in ("one", "two"):
        (folder / f"{name}.md").unlink()
    paused = cairn("sources", "sync", source)
    assert (paused.code, paused.out.strip()) == (1, "1 unchanged"), paused
    why, what = paused.err.strip().splitlines()[-2:]
    assert why.startswith("paused: 2 of 3 files are gone")
    assert what == f"cairn sources sync {source} --accept-deletions, or cairn sources resume {source}"
    refused = cairn("sources", "sync", source)
    assert (refused.code, "2 of 3 files are gone" in refused.err) == (1, True), refused
    assert cairn("sources", "resume", source).code == 0
    folder.rename(tmp_path / "elsewhere")
    failed = cairn("sources", "sync", source)
    assert (failed.code, "there is no folder" in failed.err) == (1, True), failed
    (tmp_path / "elsewhere").rename(folder)
    accepted = cairn("sources", "sync", source, "--accept-deletions")
    assert (accepted.code, accepted.out.strip()) == (0, "2 deleted, 1 unchanged"), accepted

    shown = cairn("sources", "show", source, "--json").json
    assert [run["state"] for run in shown["runs"]] == ["succeeded", "failed", "paused", "succeeded"]
    assert [(run["counts"] or {}).get("new") for run in shown["runs"]] == [0, None, 0, 3]
    assert ["there is no folder" in (run["error"] or "") for run in shown["runs"]] == [False, True, False, False]
    assert all(run["started_at"] < run["finished_at"] for run in shown["runs"])
    said = [line for line in cairn("sources", "show", source).out.splitlines() if line.startswith("run: ")]
    assert said[0].endswith("succeeded  2 deleted, 1 unchanged")
    assert "paused  1 unchanged  2 of 3 files are gone" in said[2]

    [listed] = cairn("sources", "list", "--json").json
    assert (listed["id"], listed["address"], listed["files"]) == (source, str(folder), 1)

    for nobody in ("", " ", "hr=", "="):  # a variable of a script that is not set
        refused = cairn("sources", "change", source, "--reader", nobody)
        assert (refused.code, "names nobody" in refused.err) == (2, True), refused
    assert cairn("sources", "change", source, "--reader", "person:YWRh=", "--rate", "0").code == 0
    shown = cairn("sources", "show", source, "--json").json
    assert (shown["access"], shown["requests_per_second"]) == ({"": ["person:YWRh="]}, None)

    both = cairn("sources", "remove", source, "--keep-documents", "--delete-documents")
    assert (both.code, "say one of them" in both.err) == (2, True), both
    removed = cairn("sources", "remove", source, "--keep-documents")
    assert (removed.code, removed.out) == (0, "Followed no more; 0 documents deleted.\n")
