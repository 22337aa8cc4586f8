"""What a terminal shows while a command works."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from cairn.interfaces.cli import terminal


def test_a_large_file_on_its_way_is_named_with_its_share_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr(terminal, "STDERR", console)
    with terminal.progress("Indexing", 3) as step:
        step("notes.md")
        step("book.pdf", 0.4)
    assert "book.pdf 40%" in shown.getvalue()
    assert "1/3" in shown.getvalue()
    assert "2/3" not in shown.getvalue()
