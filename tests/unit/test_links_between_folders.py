"""Links between the folders that one command is given."""

from __future__ import annotations

from pathlib import Path

from cairn.service.files import select_files


def test_a_link_to_what_another_named_folder_holds_is_left_out(tmp_path: Path) -> None:
    """By its own name it has its readers."""
    (tmp_path / "open").mkdir()
    (tmp_path / "hr").mkdir()
    (tmp_path / "hr" / "pay.md").write_text("Pay.")
    (tmp_path / "open" / "menu.md").write_text("Soup.")
    (tmp_path / "open" / "link.md").symlink_to(tmp_path / "hr" / "pay.md")
    both = select_files([tmp_path / "open", tmp_path / "hr"])
    assert [file.path.name for file in both.files] == ["menu.md", "pay.md"]
    assert [Path(one.path).name for one in both.skipped] == ["link.md"]
    assert [file.path.name for file in select_files([tmp_path / "open"]).files] == ["link.md", "menu.md"]
