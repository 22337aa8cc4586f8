"""What .ci/run does where Chromium is there, can be had, or cannot; with programs of the machine replaced by scripts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
LOUD = "THE PAGE WAS NOT TESTED"
APT = """
echo "$*" >> "$HERE/asked"
case "$1" in
  update) echo > "$HERE/lists" ;;
  *)
    [ -e "$HERE/lists" ] || { echo "E: no package"; exit 100; }
    echo > "$HERE/bin/chromium"
    chmod +x "$HERE/bin/chromium" ;;
esac
"""
"""An apt-get whose lists are empty until they are updated."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with .ci/run, and `bin` with all that it finds on its PATH: make, and nobody who is root."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(REPO / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "cat"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    program(tmp_path, "timeout", 'shift; exec "$@"')
    program(tmp_path, "make", 'echo "made $*"')
    program(tmp_path, "id", "echo 1000")
    return tmp_path


def program(clone: Path, name: str, script: str) -> None:
    path = clone / "bin" / name
    path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
    path.chmod(0o755)


def run(clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {"PATH": str(clone / "bin"), "HERE": str(clone), **environment}
    return subprocess.run([clone / ".ci" / "run"], env=told, capture_output=True, text=True, check=False)


def test_with_chromium_nothing_is_installed_and_nothing_is_said(clone: Path) -> None:
    program(clone, "id", "echo 0")
    program(clone, "apt-get", 'touch "$HERE/asked"')
    named = run(clone, CAIRN_CHROMIUM="/opt/chrome")
    program(clone, "chromium", "")
    for done in (named, run(clone)):
        assert (done.returncode, done.stdout) == (0, "made --no-print-directory test\n")
        assert done.stderr == ""
    assert not (clone / "asked").exists()


def test_root_gets_it_from_apt_also_where_the_lists_are_empty(clone: Path) -> None:
    program(clone, "id", "echo 0")
    program(clone, "chmod", f'exec {shutil.which("chmod")} "$@"')
    program(clone, "apt-get", APT)
    done = run(clone)
    assert done.returncode == 0
    assert LOUD not in done.stderr
    assert [line.split()[0] for line in (clone / "asked").read_text().splitlines()] == ["install", "update", "install"]
    assert "--no-install-recommends chromium" in (clone / "asked").read_text()


def test_a_failure_to_install_only_warns_and_the_end_is_loud(clone: Path) -> None:
    program(clone, "id", "echo 0")
    program(clone, "apt-get", "echo one; echo 'E: there is no network'; exit 100")
    done = run(clone)
    assert done.returncode == 0
    assert "warning: Chromium could not be installed: E: there is no network" in done.stderr
    assert done.stdout.endswith("made --no-print-directory test\n")
    assert LOUD in done.stderr.split("E: there is no network")[1]


def test_without_root_or_apt_it_is_said_and_failures_of_tests_stay_failures(clone: Path) -> None:
    program(clone, "make", "exit 2")
    done = run(clone)
    assert done.returncode == 2
    assert "Installing" not in done.stdout
    assert LOUD in done.stderr
