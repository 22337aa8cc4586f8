"""What `make release` needs besides a wheel: whether this tree may become a release, and the files that go with it.

    python scripts/release.py check             # refuses with one line, or prints the version
    python scripts/release.py epoch             # SOURCE_DATE_EPOCH: when the commit was made
    python scripts/release.py files DIST        # notes, the image's context and SHA256SUMS, into DIST

The version stands in pyproject.toml alone. Everything here is made of the commit, so two machines make the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).resolve().parent.parent
DATED: Final = re.compile(r"\d{4}-\d\d-\d\d")
HEADING: Final = re.compile(r"^## \[([^\]]+)\](?: - (.*))?$", re.MULTILINE)
IMAGE_FILES: Final = ("Dockerfile", ".dockerignore", "docker-compose.yml", "deploy")
"""Of the image's context, besides what the Dockerfile copies."""
OTHERS: Final = ("CHANGELOG.md", "pyproject.toml", "requirements/", "tests/data/")
"""Where versions stand that are not looked for: their history, the one itself, those of other packages, old releases."""


class NotReadyError(Exception):
    """The tree may not become a release; the message is one line that says what to do."""


def read_version(repo: Path = REPO) -> str:
    with (repo / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def find_section(changelog: str, version: str) -> str:
    """What the changelog says of a version. Raises NotReadyError where it has no section of it with a day."""
    found = list(HEADING.finditer(changelog))
    for place, heading in enumerate(found):
        if heading[1] != version:
            continue
        if not DATED.fullmatch(heading[2] or ""):
            raise NotReadyError(f"CHANGELOG.md has no day for {version}: write '## [{version}] - YYYY-MM-DD'")
        end = found[place + 1].start() if place + 1 < len(found) else len(changelog)
        return changelog[heading.end() : end].strip() + "\n"
    raise NotReadyError(
        f"CHANGELOG.md has no section of {version}: write '## [{version}] - YYYY-MM-DD' above what is new in it"
    )


def find_versions(version: str, files: Iterable[tuple[str, str]]) -> list[str]:
    """`path:line` wherever else the version of this product stands. `files`: path and text."""
    saying = re.compile(rf"(?<![\w.]){re.escape(version)}(?![\w.]*\d)")
    return [
        f"{path}:{number}"
        for path, text in files
        if version in text and not path.startswith(OTHERS)
        for number, line in enumerate(text.splitlines(), 1)
        if saying.search(line) and re.search("cairn|version", line, re.IGNORECASE)
    ]


def list_texts(repo: Path = REPO) -> Iterator[tuple[str, str]]:
    """Path and text of what git has."""
    for path in _git(repo, "ls-files", "-z").split("\0"):
        if path and (repo / path).is_file():
            try:
                yield path, (repo / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def check_tree(repo: Path = REPO) -> str:
    """The version. Raises NotReadyError."""
    if dirty := _git(repo, "status", "--porcelain").splitlines():
        raise NotReadyError(
            f"the tree is not what is committed ({len(dirty)} files, such as {dirty[0][3:]}): commit or remove them"
        )
    version = read_version(repo)
    find_section((repo / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    for kept in (f"tests/data/releases/{version}.dump.gz", f"app/cairn/settings/released/{version}.json"):
        if not (repo / kept).is_file():
            raise NotReadyError(f"there is no {kept}: run scripts/make_release_fixture.py")
    if (repo / kept).read_bytes() != (repo / "settings.json").read_bytes():
        raise NotReadyError(f"{kept} is not settings.json: run scripts/make_release_fixture.py")
    if elsewhere := find_versions(version, list_texts(repo)):
        raise NotReadyError(f"{version} stands at {', '.join(elsewhere[:3])} too: it belongs into pyproject.toml alone")
    return version


def write_files(folder: Path, repo: Path = REPO) -> list[Path]:
    """Notes, the image's context and the sums of all files of the folder. What `docker build - < FILE` is given."""
    version = read_version(repo)
    notes = folder / f"pgcairn-{version}-notes.md"
    notes.write_text(find_section((repo / "CHANGELOG.md").read_text(encoding="utf-8"), version), encoding="utf-8")
    context = folder / f"pgcairn-{version}-image.tar"
    of_nobody = ["-c", "tar.umask=0022", "-c", "core.autocrlf=false"]  # not as whoever builds it has them
    command = ["git", "-C", str(repo), *of_nobody, "archive", "--format=tar", "HEAD", "--"]
    command += [*IMAGE_FILES, *copied_files(repo)]
    context.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    sums = folder / "SHA256SUMS"
    made = sorted(path for path in folder.iterdir() if path.is_file() and path != sums)
    sums.write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made))
    return [*made, sums]


def copied_files(repo: Path = REPO) -> list[str]:
    """What the Dockerfile copies out of its context."""
    lines = (repo / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    return sorted({path for paths in copies for path in paths})


def _git(repo: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, check=True, text=True).stdout


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["check"]:
            print(check_tree())
        case ["epoch"]:
            print(_git(REPO, "log", "-1", "--format=%ct").strip())
        case ["files", folder]:
            for path in write_files(Path(folder)):
                print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except NotReadyError as error:
        sys.exit(f"no release: {error}")
