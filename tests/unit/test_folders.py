"""Folders of tests in memory do not outlive who made them by long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import folders
from tests.conftest import REPO

MAKE = """
import sys, time
from pathlib import Path
from tests import folders

folders.quick_folder = lambda: Path(sys.argv[1])
with folders.temporary_folder() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_folder_is_removed_after_its_maker_was_killed_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "FIRST_MOMENTS", -1)
    other = tmp_path / "other"
    other.mkdir()
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKE, str(tmp_path)], cwd=REPO, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert maker.stdout is not None
    with maker.stdout:
        folder = Path(maker.stdout.readline().strip())
    folders._remove_left(tmp_path)
    assert folder.is_dir()
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    folders._remove_left(tmp_path)
    assert list(tmp_path.iterdir()) == [other]


def test_a_folder_ends_with_its_context() -> None:
    with folders.temporary_folder(quick=False) as folder:
        (folder / "file").touch()
    assert not folder.exists()
