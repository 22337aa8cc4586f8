"""A worker as a process of its own, with handlers that misbehave: `worker_process.py DSN JOURNAL SETTINGS`.

Each handler notes what it does in the journal, one JSON line per event; lines of several processes do not mix.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from typing import Any

from cairn.db.pool import Database
from cairn.jobs.context import JobContext
from cairn.jobs.worker import Worker
from cairn.settings import JobsSettings


def note(event: str, context: JobContext) -> None:
    line = {"event": event, "job": str(context.job.id), "pid": os.getpid(), "at": time.monotonic()}
    with open(sys.argv[2], "ab", buffering=0) as journal:
        journal.write(json.dumps(line).encode() + b"\n")


async def work(context: JobContext) -> dict[str, Any]:
    """Takes payload.seconds."""
    note("start", context)
    try:
        await asyncio.sleep(context.job.payload["seconds"])
    except asyncio.CancelledError:
        note("interrupted", context)
        raise
    note("end", context)
    return {"pid": os.getpid()}


async def poison(context: JobContext) -> dict[str, Any]:
    """Takes the process down, as a document does that makes a parser run out of memory."""
    note("start", context)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


async def main() -> None:
    settings = JobsSettings.model_validate(json.loads(sys.argv[3]))
    database = await Database.open(sys.argv[1])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    worker = Worker(database, {"work": work, "poison": poison}, lambda: settings, grace_seconds=0.2)
    await worker.run(stop)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main())
