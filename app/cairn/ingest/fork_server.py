"""The process that readers of files are forked from: a start of Python and its modules costs .2 to .4 s, a fork some
milliseconds.

Run as `python -m cairn.ingest.fork_server DESCRIPTOR`. It imports what reads a format and never reads a file itself: what it
forks goes into its box first (box.py), and sees neither its sockets nor those of the others. children.py is the other side. It
needs Linux, as the box does.

Each message of the control socket orders a child, with two sockets: one is the child's input and output, one stays here. By that
one the child's process id is told, then how it ended; when the other side shuts it, the child and its group are killed. Until
then its id is nobody else's. The server ends when nobody holds the control socket, or has ordered a child for a minute, and
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
_LONGEST_ORDER: Final = 4096
"""Bytes."""
_SIGNALS: Final = 4096
"""Bytes that are read at once of those by which the system tells of signals."""


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as control:
        _Server(control).serve()


class _Server:
    """`_children`: by process id, the socket that tells of each; `_told`: those whose end is told; `_killed`: those that nobody
    wants any more and that are not reaped yet."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._wanted = True
        self._children: dict[int, socket.socket] = {}
        self._told: set[int] = set()
        self._killed: dict[int, socket.socket] = {}
        self._woken, self._wake = socket.socketpair()
        for one in (self._woken, self._wake):
            one.setblocking(False)

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ, self._take_order)
        self._selector.register(self._woken, selectors.EVENT_READ, self._look_for_ends)
        while self._wanted or self._children or self._killed:
            ready = self._selector.select(None if self._children or self._killed else _IDLE_SECONDS)
            if not ready and not self._children and not self._killed:
                return
            for key, _ in ready:
                key.data()

    def _take_order(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self._control, _LONGEST_ORDER, 2)
        if not message:  # nobody is left who orders
            self._selector.unregister(self._control)
            self._wanted = False
            return
        sockets = [socket.socket(fileno=one) for one in descriptors]
        if len(sockets) == 2 and not _is_given_up(sockets[1]):  # fewer: this process has no descriptor left
            self._fork(json.loads(message), *sockets)
        for one in sockets:
            if one not in self._children.values():
                one.close()

    def _fork(self, order: Mapping[str, Any], data: socket.socket, told: socket.socket) -> None:
        box = Box(*order["box"])._replace(parent=os.getpid())
        child.prepare(order["task"], order["media_type"])
        try:
            pid = os.fork()
        except (OSError, MemoryError) as error:
            _tell(told, str(error) or type(error).__name__)
            return
        if pid == 0:
            _become_child(data, box)
        self._children[pid] = told
        self._selector.register(told, selectors.EVENT_READ, lambda: self._kill(pid))
        _tell(told, str(pid))

    def _kill(self, pid: int) -> None:
        """A child that nobody wants any more, and what it started. It is reaped when it has ended: it may be long about it."""
        told = self._children.pop(pid)
        self._told.discard(pid)
        self._selector.unregister(told)
        for kill in (os.kill, os.killpg):  # it leads no group before it has begun one
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
        self._killed[pid] = told
        self._look_for_ends()

    def _look_for_ends(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(_SIGNALS):
                pass
        for pid, told in self._children.items():
            if pid not in self._told and (end := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                _tell(told, str(end.si_status if end.si_code == os.CLD_EXITED else -end.si_status))
                self._told.add(pid)
        for pid, told in list(self._killed.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                told.close()
                del self._killed[pid]


def _is_given_up(told: socket.socket) -> bool:
    """Whether who ordered wants the child no more."""
    try:
        return not told.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


def _tell(told: socket.socket, line: str) -> None:
    with contextlib.suppress(OSError):  # who asked is gone, and its socket says so
        told.send(line.encode() + b"\n")


def _become_child(data: socket.socket, box: Box) -> None:
    """Does not return. All descriptors are closed but its input, its output and /dev/null for what libraries say."""
    status = 1
    try:
        os.setsid()  # who leads a session cannot leave its group, in which it is killed
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
