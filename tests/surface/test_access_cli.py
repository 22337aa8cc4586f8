"""Who may read what, said by the command line."""

from __future__ import annotations

from pathlib import Path

from commands import Cairn


def test_folders_and_files_are_for_whom_the_command_names(cairn: Cairn, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.md").write_text("Bridges span rivers.")
    (tmp_path / "b.md").write_text("Rivers run.")
    said = cairn("collections", "access", "handbook", "--folder", "papers/", "--reader", "group:hr")
    assert said.out.splitlines() == [
        "0 documents changed.", "Collection handbook is new: there was none of this name.",
        "No document is there yet: the rule is for those that come.", "papers/  only for group:hr",
    ]  # fmt: skip
    cairn("ingest", str(papers), "-c", "handbook")
    cairn("ingest", str(tmp_path / "b.md"), "-c", "handbook", "--prefix", "x", "--reader", "person:ada")
    listed = {one["external_id"]: one["access"] for one in cairn("documents", "list", "-c", "handbook", "--json").json}
    [own] = set(listed) - {"papers/a.md"}
    assert listed == {"papers/a.md": ["group:hr"], own: ["person:ada"]}
    shown = cairn("documents", "list", "-c", "handbook").out
    assert "only for group:hr (as papers/)" in shown
    assert cairn("documents", "access", own, "--everybody", "-c", "handbook").out == (
        f"{own}: everybody in the tenant may read it\n"
    )
    assert "1 document changed." in cairn("collections", "access", "handbook", "--reader", "group:all").out
    assert cairn("collections", "access", "handbook").out == "all  only for group:all\npapers/  only for group:hr\n"
    opened = cairn("collections", "access", "handbook", "--folder", "papers", "--everybody").out.splitlines()
    assert [opened[0], *opened[2:]] == [
        "1 document changed.", "all  only for group:all", "papers/  everybody in the tenant",
    ]  # fmt: skip
    assert "brings them back" in opened[1]
    assert "papers/" not in cairn("collections", "access", "handbook", "--folder", "papers", "--remove").out
    assert "No access rules" in cairn("collections", "access", "handbook", "--everybody").out
    for wrong in (["--everybody", "--remove"], ["--reader", "hr"], ["--folder", "/", "--reader", "group:hr"]):
        done = cairn("collections", "access", "handbook", *wrong)
        assert (done.code, done.out) == (2, "")
    pages = cairn("ingest", "https://example.org/", "-c", "handbook", "--reader", "group:hr")
    assert pages.code == 2
    assert "cairn collections access" in pages.err
