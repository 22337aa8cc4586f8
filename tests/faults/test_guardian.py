"""SIGTERM ends a process in time, also one whose interpreter is held by C code that looks at no signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.interfaces.guardian import KILL_SECONDS
from tests.waiting import patience, wait_until

_SERVING = """
import asyncio, ctypes, sys
from cairn.interfaces.guardian import GuardedProcess

async def work(ending):
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    ending.obey(lambda: loop.call_soon_threadsafe(stop.set))
    print("ready", flush=True)
    if sys.argv[1] == "held":  # in C, with the interpreter's lock: no signal handler runs, no thread does
        library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        for _ in range(2):
            library.pthread_mutex_lock(mutex)
    await stop.wait()
    print("ended", flush=True)
    if sys.argv[1] == "thread":
        asyncio.get_running_loop().run_in_executor(None, lambda: __import__("time").sleep(1000))

with GuardedProcess() as ending:
    asyncio.run(work(ending))
"""


@pytest.fixture
def serving(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", _SERVING, request.param], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("serving", ["idle"], indirect=True)
def test_asked_to_end_it_ends_by_itself(serving: subprocess.Popen[str]) -> None:
    guardian = _child_of(serving.pid)
    serving.send_signal(signal.SIGTERM)
    assert serving.communicate(timeout=patience(KILL_SECONDS))[0] == "ended\n"
    assert serving.returncode == 0
    _gone(guardian)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("serving", ["held", "thread"], indirect=True)
def test_what_cannot_end_is_ended(serving: subprocess.Popen[str]) -> None:
    guardian = _child_of(serving.pid)
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(timeout=patience(KILL_SECONDS)) == -signal.SIGKILL
    _gone(guardian)


@pytest.mark.parametrize("serving", ["idle"], indirect=True)
def test_the_guardian_goes_with_whom_it_guards(serving: subprocess.Popen[str]) -> None:
    guardian = _child_of(serving.pid)
    serving.kill()
    serving.wait()
    _gone(guardian)


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _gone(pid: int) -> None:
    wait_until(
        lambda: not Path(f"/proc/{pid}").exists() or _state(pid) == "Z", told=lambda: "the guardian is still there"
    )


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
