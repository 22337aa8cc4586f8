"""The process that readers of files are forked from: a start of Python and its modules costs .2 to .4 s, a fork some
milliseconds.

Run as `python -m cairn.ingest.fork_server DESCRIPTOR`. It imports what reads a format and never reads a file itself: what it
forks goes into its box first (box.py), and sees neither its sockets nor those of the others. children.py is the other side. It
needs Linux, as the box does.

Each message of the control socket orders a child, with two sockets: one is the child's input and output, one stays here. By that
one the child's process id is told, then how it ended; when the other side shuts it, the child is killed with all that it started.
Until then its id is nobody else's. The server ends when nobody holds the control socket, or has ordered a child for a minute, and
no child is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any, Final

from cairn.ingest import child
from cairn.ingest.box import Box

_IDLE_SECONDS: Final = 60.0
LONGEST_ORDER: Final = 4096
"""Bytes."""


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as control:
        _Server(control).serve()


class _Server:
    """`_children`: by process id, the socket that tells of each, and whether its end is told."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._wanted = True
        self._children: dict[int, socket.socket] = {}
        self._told: set[int] = set()
        self._woken, wake = socket.socketpair()
        self._wake = wake
        for one in (self._woken, wake):
            one.setblocking(False)

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ, self._take_order)
        self._selector.register(self._woken, selectors.EVENT_READ, self._tell_ends)
        while self._wanted or self._children:
            ready = self._selector.select(None if self._children else _IDLE_SECONDS)
            if not ready:
                return
            for key, _ in ready:
                key.data()

    def _take_order(self) -> None:
        message, sockets, _, _ = socket.recv_fds(self._control, LONGEST_ORDER, 2)
        if not message:  # nobody is left who orders
            self._selector.unregister(self._control)
            self._wanted = False
            return
        data, told = (socket.socket(fileno=one) for one in sockets)
        with data:
            self._fork(json.loads(message), data, told)

    def _fork(self, order: Mapping[str, Any], data: socket.socket, told: socket.socket) -> None:
        box = Box(*order["box"])._replace(parent=os.getpid())
        try:
            child.prepare(order["task"], order["media_type"])
            pid = os.fork()
        except (OSError, MemoryError) as error:
            _tell(told, f"{error}")
            told.close()
            return
        if pid == 0:
            _become_child(data, box)
        with contextlib.suppress(OSError):  # it did so itself
            os.setpgid(pid, pid)
        self._children[pid] = told
        self._selector.register(told, selectors.EVENT_READ, lambda: self._end(pid))
        _tell(told, str(pid))

    def _tell_ends(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(LONGEST_ORDER):
                pass
        for pid, told in self._children.items():
            if pid not in self._told and (end := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                _tell(told, str(end.si_status if end.si_code == os.CLD_EXITED else -end.si_status))
                self._told.add(pid)

    def _end(self, pid: int) -> None:
        """Kill a child that nobody wants any more, and what it started."""
        told = self._children.pop(pid)
        self._told.discard(pid)
        self._selector.unregister(told)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        told.close()


def _tell(told: socket.socket, line: str) -> None:
    with contextlib.suppress(OSError):  # who asked is gone, and its socket says so
        told.send(line.encode() + b"\n")


def _become_child(data: socket.socket, box: Box) -> None:
    """Does not return. All descriptors but those of its input, its output and nothing are closed."""
    status = 1
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(data.fileno(), 0)
        os.dup2(data.fileno(), 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        child.answer_requests(box)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
