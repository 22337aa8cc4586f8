"""The embedded server's folders, its user and its cluster (PGDATA): made once, checked at each start."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cairn.db import runtime
from cairn.errors import EmbeddedServerError

SUPERUSER = DATABASE = "cairn"
CLUSTER_NAME = "cairn-embedded"
"""The server's `cluster_name`, by which it is known to be the embedded one."""
Owner = tuple[int, int]
"""(uid, gid) that the server runs as when we are root."""

_SAFE_SOCKET_FOLDER = re.compile(r"[A-Za-z0-9/._+-]{1,85}", re.ASCII)
"""A socket path has at most 107 bytes; commas and spaces mean something in PostgreSQL's settings and in DSNs."""


@dataclass(frozen=True, slots=True)
class ClusterFolders:
    """Where things are under a home."""

    home: Path

    @property
    def root(self) -> Path:
        return self.home / "postgres"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def state(self) -> Path:
        """What the supervisor says is wrong."""
        return self.run / "state"


def prepare_cluster(place: ClusterFolders, binaries: Path, owner: Owner | None, durable: bool) -> None:
    """Create the cluster unless it exists; refuse one that these binaries cannot serve."""
    for remains in place.root.glob("data.new-*"):  # a start that was killed
        shutil.rmtree(remains, ignore_errors=True)  # an orphaned initdb may still write there, and fails
    if not place.data.exists():
        _create_cluster(place, binaries, owner, durable)
        return
    try:
        found = (place.data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise EmbeddedServerError(f"{place.data} exists but is no PostgreSQL data folder; move it away") from None
    if found != runtime.MAJOR:
        raise EmbeddedServerError(
            f"{place.data} was made by PostgreSQL {found}, and this is {runtime.MAJOR}: "
            f"dump it with PostgreSQL {found}, move the folder away, start again and restore the dump"
        )


def _create_cluster(place: ClusterFolders, binaries: Path, owner: Owner | None, durable: bool) -> None:
    fresh = Path(tempfile.mkdtemp(prefix="data.new-", dir=place.root))
    try:
        if owner:
            os.chown(fresh, *owner)
        sync = [] if durable else ["--no-sync"]
        initdb: list[str | Path] = [
            runtime.program(binaries, "initdb"), "-D", fresh, "-U", SUPERUSER, "--encoding=UTF8", "--locale=C",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--auth-local=trust", "--auth-host=reject",
            "--no-instructions", *sync,
        ]  # fmt: skip
        _run_as(owner, initdb)
        postgres = runtime.program(binaries, "postgres")
        single: list[str | Path] = [postgres, "--single", "-D", fresh, "-c", "exit_on_error=on", "postgres"]
        _run_as(owner, single, f"CREATE DATABASE {DATABASE};\n")
        os.rename(fresh, place.data)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _run_as(owner: Owner | None, command: list[str | Path], given: str = "") -> None:
    uid, gid = owner or (None, None)
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, cwd="/", check=False, umask=0o077,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, user=uid, group=gid, extra_groups=None if uid is None else [],
    )  # fmt: skip
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-6:])
        raise EmbeddedServerError(f"{Path(command[0]).name} failed ({done.returncode}): {said}")


def write_access_rules(place: ClusterFolders, owner: Owner | None) -> dict[str, str]:
    """Settings that name files of who may log in: only root, the user of this process and that of the server, by the kernel's
    word for who holds the other end of the socket. Whoever else gets at the socket, such as a parser (cairn/ingest/child.py) that
    was taken over, is nobody. Written at each start, for homes of earlier releases too.
    """
    users = [pwd.getpwuid(uid).pw_name for uid in sorted({0, os.geteuid(), *(owner or ())[:1]}) if _has_name(uid)]
    method = (
        "peer map=home" if _has_name(os.geteuid()) else "trust"
    )  # the kernel tells a number, PostgreSQL wants a name
    rules, names = place.root / "pg_hba.conf", place.root / "pg_ident.conf"
    _write(rules, f"# Written at each start.\nlocal all all {method}\n")
    _write(names, "# Written at each start.\n" + "".join(f'home "{user}" all\n' for user in users))
    return {"hba_file": str(rules), "ident_file": str(names)}


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:  # a full disk is no reason not to start
        return
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o644)
    fresh.rename(path)


def _has_name(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


# --- users and folders ----------------------------------------------------------------------------------------------


def server_user(place: ClusterFolders) -> Owner | None:
    """(uid, gid) that the server runs as when we are root: whose the data is, else `cairn`, else `nobody`."""
    if os.geteuid() != 0:
        return None
    if place.data.exists() and (status := place.data.stat()).st_uid != 0:
        return status.st_uid, status.st_gid
    with contextlib.suppress(KeyError):
        return _ids("cairn")
    if useradd := shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin"):
        options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
        subprocess.run([useradd, *options, "--shell", "/usr/sbin/nologin", "cairn"], capture_output=True, check=False)
    for name in ("cairn", "nobody"):  # useradd may have failed, or another process was faster
        with contextlib.suppress(KeyError):
            return _ids(name)
    return 65534, 65534


def _ids(name: str) -> Owner:
    entry = pwd.getpwnam(name)
    return entry.pw_uid, entry.pw_gid


def make_folders(place: ClusterFolders) -> None:
    """Create what is missing; modes are set on folders that this call creates, on no other."""
    passable = 0o755 if os.geteuid() == 0 else 0o700  # root's server runs as another user
    missing = [folder for folder in (place.root, *place.root.parents) if not folder.exists()]
    for folder in reversed(missing):
        _make_folder(folder, passable, None)
    _make_folder(place.run, 0o700, None)


def _make_folder(folder: Path, mode: int, owner: Owner | None) -> None:
    try:
        folder.mkdir()
    except FileExistsError:
        return
    folder.chmod(mode)
    if owner:
        os.chown(folder, *owner)


def check_reachable(place: ClusterFolders, binaries: Path, owner: Owner | None) -> None:
    try:
        _run_as(owner, [runtime.program(binaries, "postgres"), "--version"])
    except PermissionError:
        who = f"user {owner[0]} (PostgreSQL does not run as root)" if owner else "this user"
        raise EmbeddedServerError(
            f"{place.root} cannot be reached or executed from by {who}: choose a CAIRN_HOME whose parent folders "
            "everybody may pass, for example /var/lib/cairn, on a file system without noexec"
        ) from None


def socket_folder(place: ClusterFolders, owner: Owner | None) -> Path:
    """A private folder for the socket; outside the home where its path is too long or has unusual characters."""
    folder = place.root / "socket"
    if not _SAFE_SOCKET_FOLDER.fullmatch(str(folder)):
        name = hashlib.sha256(os.fsencode(place.home)).hexdigest()[:16]
        folder = Path("/tmp", f"cairn-{os.geteuid()}-{name}")
    _make_folder(folder, 0o700, owner)
    status = folder.lstat()
    expected = owner[0] if owner else os.geteuid()
    if folder.is_symlink() or status.st_uid != expected or status.st_mode & 0o077:
        raise EmbeddedServerError(f"{folder} must be a folder of user {expected} with mode 0700; remove it")
    return folder
