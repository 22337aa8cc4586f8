"""A release is made of a commit: `make release` refuses what is none, and its files are the same on every machine."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "scripts"))

import release  # noqa: E402

CHANGES = (
    "# Changelog\n\n## [Unreleased]\n\n## [3.1.4] - 2026-11-27\n\n### Added\n\n- A door.\n\n"
    "## [3.1.3] - 2026-01-01\n\n- A wall.\n"
)
FILES = {
    "pyproject.toml": '[project]\nname = "pgcairn"\nversion = "3.1.4"\n',
    "CHANGELOG.md": CHANGES,
    "Dockerfile": "FROM a AS build\nCOPY app settings.json ./\nFROM a\nCOPY --from=build /x /x\n",
    ".dockerignore": "*\n!app\n", "docker-compose.yml": "services: {}\n", "deploy/rules.yml": "groups: []\n",
    "app/x.py": "X = 1\n", "settings.json": "{}\n", "tests/test_x.py": "pass\n", ".gitignore": "dist/\n",
    "tests/data/releases/3.1.4.dump.gz": "", "app/cairn/settings/released/3.1.4.json": "{}\n",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "All")
    return folder


def test_a_committed_tree_with_a_dated_section_may_be_released(tree: Path) -> None:
    assert release.check_tree(tree) == "3.1.4"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("app/x.py", "X = 2\n", "the tree is not what is committed (1 files, such as app/x.py)"),
        ("new.txt", "", "such as new.txt"),
    ],
)
def test_what_is_not_committed_is_not_released(tree: Path, name: str, text: str, why: str) -> None:
    (tree / name).write_text(text)
    with pytest.raises(release.NotReadyError, match=re.escape(why)):
        release.check_tree(tree)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("CHANGELOG.md", CHANGES.replace("[3.1.4] - 2026-11-27", "[3.1.4] - unreleased"), "has no day for 3.1.4"),
        ("CHANGELOG.md", CHANGES.replace("3.1.4", "3.1.5"), "has no section of 3.1.4"),
        ("app/x.py", 'VERSION = "3.1.4"\n', "3.1.4 stands at app/x.py:1 too"),
        (
            "settings.json",
            '{"a": 1}\n',
            "app/cairn/settings/released/3.1.4.json is not settings.json: run scripts/make",
        ),
        ("README.md", "\npip install dist/pgcairn-3.1.4-py3-none-any.whl\n", "3.1.4 stands at README.md:2 too"),
    ],
)
def test_a_tree_that_says_it_otherwise_is_refused_in_one_line(tree: Path, name: str, text: str, why: str) -> None:
    (tree / name).write_text(text)
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "More")
    with pytest.raises(release.NotReadyError, match=re.escape(why)) as refused:
        release.check_tree(tree)
    assert "\n" not in str(refused.value)


def test_versions_of_others_are_theirs() -> None:
    files = [
        ("a.md", "gt-model 3.1.4 of somebody"),
        ("b.md", "Cairn answers at 13.1.4 and 3.1.45"),
        ("c.md", "version 3.1.4"),
    ]
    assert release.find_versions("3.1.4", files) == ["c.md:1"]


def test_the_version_of_this_release_stands_in_one_place() -> None:
    if not (REPO / ".git").exists():
        pytest.skip("no clone: git knows which files are the project's")
    assert release.find_versions(release.read_version(), release.list_texts()) == []


def test_notes_context_and_sums_are_of_the_commit_alone(tree: Path, tmp_path: Path) -> None:
    made = []
    for name, umask in (("one", "0002"), ("two", "0077")):  # of whoever builds it
        subprocess.run(["git", "-C", str(tree), "config", "tar.umask", umask], check=True)
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pgcairn-3.1.4.whl").write_bytes(b"wheel")
        release.write_files(folder, tree)
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1]
    assert made[0]["pgcairn-3.1.4-notes.md"] == b"### Added\n\n- A door.\n"
    with tarfile.open(fileobj=io.BytesIO(made[0]["pgcairn-3.1.4-image.tar"])) as context:
        names = [member.name for member in context if member.isfile()]
    assert names == [
        ".dockerignore",
        "Dockerfile",
        "app/cairn/settings/released/3.1.4.json",
        "app/x.py",
        "deploy/rules.yml",
        "docker-compose.yml",
        "settings.json",
    ]
    sums = dict(line.split("  ")[::-1] for line in made[0]["SHA256SUMS"].decode().splitlines())
    assert sums == {name: hashlib.sha256(made[0][name]).hexdigest() for name in sorted(made[0]) if name != "SHA256SUMS"}


def test_the_image_can_be_built_of_its_context() -> None:
    """All that the Dockerfile copies is there, and git has it."""
    assert {"app", "docs", "migrations", "requirements", "sql", "pyproject.toml"} <= set(release.copied_files())
    assert all((REPO / name).exists() for name in (*release.IMAGE_FILES, *release.copied_files()))


def test_the_guide_names_the_commands_that_there_are() -> None:
    guide, makefile = (REPO / "RELEASING.md").read_text(), (REPO / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z-]+)", guide):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for script in re.findall(r"scripts/\w+\.py", guide):
        assert (REPO / script).is_file(), script
