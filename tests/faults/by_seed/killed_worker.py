"""kill -9 of a worker process at a message between it and the server."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

from tests.faults.database_proxy import database_proxy
from tests.waiting import until

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("contract", "surface")]

from serving import starter  # noqa: E402

PROGRAM = str(Path(__file__).with_name("worker_program.py"))


async def kill_worker(dsn: str, home: Path, packages: Path, at: int) -> bool:
    """Let a worker process do what is due, and kill it at that message; whether it lived so long."""
    passed, killed = 0, False
    with tempfile.TemporaryDirectory(prefix="cairn-") as folder:
        async with database_proxy(dsn, Path(folder)) as proxy:
            log = Path(folder) / "log"
            process = starter().start({**os.environ}, log, PROGRAM, proxy.dsn, str(home), str(packages))

            def each() -> float:
                nonlocal passed, killed
                passed += 1
                if passed == at and process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
                    killed = True
                return 0.0

            proxy.trouble(each)
            await until(lambda: process.poll() is not None, 60)
            if not killed and process.returncode != 0:
                raise AssertionError(f"the worker ended with {process.returncode}: {log.read_text()[-2000:]}")
    return killed
