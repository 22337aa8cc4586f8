"""The box that a process puts itself into before it reads what strangers wrote (child.py), should a parser be taken over.

    limits      memory, CPU, files, processes; nothing is written
    user        root becomes a user of its own, whose nothing is but this process
    Landlock    files: only Python, Cairn's code and the system's libraries can be read; no signal and no TCP leaves the box
    seccomp     no sockets, no changes of files, no look into other processes, no other programs than the one it needs

Each works alone, and as an ordinary user too, but for the second. Where the kernel lacks one, the others hold; `missing` says
in words what is left open. Lean: the standard library alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cairn.ingest import syscalls

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LINUX: Final = sys.platform == "linux"


class Box(NamedTuple):
    """What the process may use. `programs`: it may start Tesseract. `cpu_seconds` 0: as much time as it is given by the clock."""

    parent: int
    memory_bytes: int
    cpu_seconds: int
    programs: bool


def enter(box: Box) -> None:
    """From here on the process is confined, and dies with its parent. Ends it where the parent is dead already."""
    _limit(box)
    readable = [path for path in _readable(box.programs) if path.exists()]
    uid = _become_nobody_else(readable)
    if _LINUX:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of the user, which forgets it
    if os.getppid() != box.parent:  # it died before the line above
        sys.exit(1)
    _limit_processes(_PROCESSES if uid else _PROCESSES_OF_A_USER + _tasks_of_this_user())
    if _LINUX:
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _restrict_files(readable, box.programs)
        _filter_calls(box.programs)


def missing() -> list[str]:
    """What this system cannot keep a parser from, in words; empty on a usual Linux."""
    if not _LINUX:
        return ["parsers have limits but no box on this system: run Cairn on Linux where strangers send files"]
    left = []
    own_user = os.geteuid() == 0 and all(_open_to_all(path) for path in _readable(programs=True) if path.exists())
    if landlock_version() == 0 and not own_user:
        left.append(
            "parsers may read every file that this user may, and with Tesseract signal its processes: the kernel has no Landlock"
        )
    if _architecture() is None or _LIBC.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) < 0:
        left.append("parsers may use the network: the kernel has no seccomp filters")
    return left


# --- limits -----------------------------------------------------------------------------------------------------------

_FILES: Final = 128
_PROCESSES: Final = 16
"""Threads and processes at once, of a user of its own: the reader, and Tesseract on one thread."""
_PROCESSES_OF_A_USER: Final = 128
"""More than the user has at the start: the kernel counts all that the user runs."""


def _limit(box: Box) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (box.memory_bytes, box.memory_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # answers go through a pipe
    if box.cpu_seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (box.cpu_seconds, box.cpu_seconds + 1))


def _limit_processes(most: int) -> None:
    """At `most`; or four times that, and so on, where the user has more than can be seen from here (in other containers)."""
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    while hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
        if _can_fork():
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            return
        most *= 4
        if most > 1 << 22:  # more than Linux has
            return


def _can_fork() -> bool:
    try:
        child = os.fork()
    except BlockingIOError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def _tasks_of_this_user() -> int:
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid == os.getuid():
                count += len(os.listdir(entry / "task"))
        except OSError:
            continue  # ended meanwhile
    return count


# --- a user of its own ------------------------------------------------------------------------------------------------

_FIRST_UID: Final = 60706
_UIDS: Final = 478
"""Numbers that distributions give to nobody, and that are mapped in containers with 65,536 users."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_KEEPCAPS: Final = 8
_PR_GET_SECCOMP: Final = 21
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_CAP_DAC_READ_SEARCH: Final = 1 << 2
_CAPABILITY_VERSION: Final = 0x20080522


def _become_nobody_else(readable: Iterable[Path]) -> int | None:
    """Root gives up everything; the new user id, None for another user.

    Root's Python may lie where nobody else can read (/root). Then the right to read is kept, if Landlock narrows it to that
    place; else root stays root, without any capability.
    """
    if os.geteuid() != 0:
        return None
    uid = _FIRST_UID + os.getpid() % _UIDS
    open_to_all = all(_open_to_all(path) for path in readable)
    try:
        os.setgroups([])
        if open_to_all or landlock_version():
            _LIBC.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        else:
            uid = 0
    except OSError:  # root of a container that has no such user, or may not change
        uid = 0
    _keep_capabilities(0 if open_to_all or not uid else _CAP_DAC_READ_SEARCH)
    return uid or None


def _open_to_all(path: Path) -> bool:
    folders = (path, *path.resolve().parents)
    return all(folder.stat().st_mode & 0o005 == 0o005 or not folder.is_dir() for folder in folders)


def _keep_capabilities(kept: int) -> None:
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _LIBC.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0))


# --- Landlock ---------------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_RIGHTS: Final = (None, 13, 14, 15, 15, 16, 16)
"""How many rights on files each version knows (the sixth and later: as the fifth)."""


def landlock_version() -> int:
    """0: the kernel has none, or it is switched off."""
    return max(0, _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)) if _LINUX else 0


def _readable(programs: bool) -> Iterator[Path]:
    """Folders and files that interpreter, libraries and code lie in; what is no code of ours beside ours is not among them."""
    ours = Path(__file__).resolve().parents[1]
    for entry in sys.path:
        if entry and Path(entry).resolve() != ours.parent:
            yield Path(entry)
    yield ours
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
        yield Path(prefix, "lib")
    system = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
    yield from map(Path, (*system, "/etc/localtime", "/dev/null", "/dev/urandom"))
    if programs:
        import shutil

        yield from map(Path, ("/usr/share", "/usr/local/share", "/bin", "/usr/bin", "/usr/local/bin"))
        if found := shutil.which("tesseract"):
            prefix = str(Path(found).resolve().parents[1])
            yield from (Path(prefix, part) for part in ("bin", "lib", "share"))


def _restrict_files(readable: Iterable[Path], programs: bool) -> None:
    version = landlock_version()
    if not version:
        return
    rights = (1 << (_RIGHTS[min(version, len(_RIGHTS) - 1)] or 0)) - 1
    # refused unless a rule allows it: files; TCP (version 4); signals and abstract sockets that lead out (version 6)
    fields = (rights, 3, 3)[: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _LIBC.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return
    for path in readable:
        _allow(ruleset, path, (_EXECUTE if programs else 0) | _READ_FILE)
    _LIBC.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if path.is_dir():
        rights |= _READ_DIR
    if path == Path("/dev/null"):
        rights |= _WRITE_FILE
    _LIBC.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, place), 0)
    os.close(place)


# --- seccomp: a program of the kernel's packet filter that looks at each call --------------------------------------------

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32: Final = 0x40000000
"""Calls with this bit are those of a second set of numbers on x86-64."""
_TO_WRITE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CLONE_THREAD: Final = 0x00010000
_CLONE_NAMESPACES: Final = 0x7E020000
_Instruction = tuple[int, int, int, int]
"""Code, how many to skip if true, how many if not, operand."""


def _architecture() -> tuple[int, int] | None:
    """The kernel's number of this processor, and which column of syscalls.py holds; None for others."""
    return {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}.get(platform.machine())


def _filter_calls(programs: bool) -> None:
    if (architecture := _architecture()) is None or sys.byteorder != "little":
        return
    program = list(_program(*architecture, programs))
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    _LIBC.prctl(_PR_SET_SECCOMP, 2, struct.pack("@HP", len(program), ctypes.addressof(buffer)), 0, 0)


def _program(architecture: int, column: int, programs: bool) -> Iterator[_Instruction]:
    refused, absent = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    yield from [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL)]
    yield from [(_LOAD, 0, 0, _NUMBER_AT), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for table, answer in ((syscalls.REFUSED, refused), (syscalls.UNKNOWN, absent)):
        for numbers in table.values():
            yield from _if_called(numbers[column], [(_RETURN, 0, 0, answer)])
    for numbers, argument in ((syscalls.OPEN, 1), (syscalls.OPENAT, 2)):
        yield from _if_called(numbers[column], _refuse(argument, _ANY_BIT, _TO_WRITE, refused))
    if programs:
        yield from _if_called(syscalls.CLONE[column], _refuse(0, _ANY_BIT, _CLONE_NAMESPACES, refused))
    else:
        for numbers in syscalls.PROGRAMS.values():
            yield from _if_called(numbers[column], [(_RETURN, 0, 0, refused)])
        yield from _if_called(syscalls.CLONE[column], _refuse(0, _ANY_BIT, _CLONE_THREAD, refused, unless=True))
        for numbers in (
            syscalls.KILL,
            syscalls.TGKILL,
        ):  # else it ends Tesseract, and Landlock keeps signals in the box
            yield from _if_called(numbers[column], _refuse(0, _EQUAL, os.getpid(), refused, unless=True))
    yield from _if_called(syscalls.PRLIMIT[column], _refuse(0, _EQUAL, 0, refused, unless=True))
    yield (_RETURN, 0, 0, _ALLOW)


def _if_called(number: int | None, then: list[_Instruction]) -> list[_Instruction]:
    """`then` has to return."""
    return [] if number is None else [(_EQUAL, 0, len(then), number), *then]


def _refuse(argument: int, test: int, operand: int, answer: int, *, unless: bool = False) -> list[_Instruction]:
    """Refuse a call whose argument (its lower half) passes the test, or unless it does; allow it else."""
    yes, no = (_ALLOW, answer) if unless else (answer, _ALLOW)
    return [
        (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
        (test, 0, 1, operand),
        (_RETURN, 0, 0, yes),
        (_RETURN, 0, 0, no),
    ]
