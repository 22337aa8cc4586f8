"""What a parser that was taken over would try. Run with JSON of a box (null: none), whether root becomes an ordinary
user first, whether the kernel has Landlock, and what there is to lose; prints the deeds that succeeded.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from cairn.ingest import box

LIBC = ctypes.CDLL(None, use_errno=True)
READ_SEARCH = 2


def become_ordinary(uid: int = 1234) -> None:
    """Who may read Python wherever it lies, as users can theirs."""
    if os.geteuid() != 0:
        return
    LIBC.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    bits = 1 << READ_SEARCH
    LIBC.capset(struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", bits, bits, bits, 0, 0, 0))
    LIBC.prctl(47, 2, READ_SEARCH, 0, 0)  # PR_CAP_AMBIENT_RAISE: programs that it starts may, too


def deeds(secret: Path, victim: int, port: int, door: Path) -> dict[str, Callable[[], object]]:
    """`secret`: a file that others may read. `victim`: another process. `port` (loopback) and `door` (Unix): servers."""

    def connect_tcp() -> None:
        socket.create_connection(("127.0.0.1", port), 2).close()

    def send_udp() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"secret", ("127.0.0.1", 53))

    def knock() -> None:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(door))

    def call(number: int, *arguments: object) -> None:
        if LIBC.syscall(number, *arguments) < 0:
            raise OSError(ctypes.get_errno(), "refused")

    def clone() -> None:
        # the interpreter's lock is kept meanwhile: taken by another thread, the child would wait for it for ever
        child = ctypes.PyDLL(None).syscall(56, 0x10000000 | 17, 0, 0, 0, 0)  # CLONE_NEWUSER
        if child == 0:
            os._exit(0)
        if child < 0:
            raise OSError(ctypes.get_errno(), "refused")
        os.waitpid(child, 0)

    def start_processes() -> None:
        children = [os.fork() or os._exit(0) for _ in range(200)]
        for child in children:
            os.waitpid(child, 0)

    def start_threads() -> None:
        done = threading.Event()
        started: list[threading.Thread] = []
        try:
            for _ in range(600):
                thread = threading.Thread(target=done.wait)
                thread.start()
                started.append(thread)
        finally:
            done.set()
            for thread in started:
                thread.join()

    def open_files() -> None:
        opened = [os.dup(2) for _ in range(400)]
        for one in opened:
            os.close(one)

    return {
        "connect by TCP": connect_tcp,
        "send by UDP": send_udp,
        "connect to a Unix socket": knock,
        "make a ring that does calls": lambda: call(425, 4, ctypes.create_string_buffer(256)),
        "read a file of others": secret.read_bytes,
        "read /etc/passwd": lambda: Path("/etc/passwd").read_bytes(),
        "list a folder": lambda: os.listdir("/"),
        "read the server's environment": lambda: Path(f"/proc/{victim}/environ").read_bytes(),
        "write a file": lambda: (secret.parent / "new").write_bytes(b"x"),
        "make an empty file": lambda: os.open(secret.parent / "empty", os.O_CREAT | os.O_RDONLY),
        "truncate a file": lambda: os.truncate(secret, 0),
        "delete a file": lambda: os.unlink(secret.parent / "deletable"),
        "make a folder": lambda: os.mkdir(secret.parent / "folder"),
        "write in memory": lambda: os.memfd_create("x"),
        "signal the server": lambda: os.kill(victim, 0),
        "limit the server": lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE),
        "trace the server": lambda: call(101, 16, victim, 0, 0),
        "read the server's memory": lambda: call(310, victim, None, 0, None, 0, 0),
        "start a program": lambda: subprocess.run(["/bin/true"], check=True),
        "start 200 processes": start_processes,
        "start 600 threads": start_threads,
        "open 400 files": open_files,
        "become root": lambda: os.setresuid(0, 0, 0),
        "make a user namespace": lambda: call(272, 0x10000000),
        "make a process in a namespace": clone,
    }


def main() -> None:
    inside, ordinary, landlock, place = map(json.loads, sys.argv[1:])
    if ordinary:
        become_ordinary()
    trials = deeds(Path(place["secret"]), place["victim"], place["port"], Path(place["door"]))
    if not landlock:
        box.landlock_version = lambda: 0
    if inside:
        box.enter(box.Box(os.getppid(), *inside))
    succeeded = []
    for name, deed in trials.items():
        try:
            deed()
        except (OSError, RuntimeError, subprocess.SubprocessError):
            continue
        succeeded.append(name)
    print(json.dumps({"succeeded": succeeded, "uid": os.getuid()}), flush=True)


if __name__ == "__main__":
    main()
