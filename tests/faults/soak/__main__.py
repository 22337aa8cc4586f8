"""Mixed load with kills: `python -m tests.faults.soak [MINUTES] [SEED] [FOLDER]`, 120 minutes of seed 1 unless told otherwise.

Prints a page of figures, and leaves it in FOLDER with the journal. Ends with 1 where something that must hold does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.conftest import temporary_home
from tests.faults.by_seed.run import ask_invariants
from tests.faults.known_texts import Library
from tests.faults.soak.clients import Clients
from tests.faults.soak.journal import Journal, describe
from tests.faults.soak.system import TENANTS, System
from tests.waiting import until

QUIET_SECONDS = 60.0
"""Before the end nothing is killed any more, so that all can come to rest."""
REST = """
SELECT (SELECT count(*) FROM rag.jobs WHERE status IN ('queued', 'running'))
     + (SELECT count(*) FROM rag.resumable_runs WHERE status = 'running')
"""
STORED = """
SELECT tenant.name AS tenant, d.external_id, t.text FROM rag.documents d
JOIN rag.tenants tenant ON tenant.id = d.tenant_id
LEFT JOIN rag.document_texts t ON t.document_id = d.id AND t.version = d.version
"""


async def run_soak(home: Path, minutes: float, seed: int, pace: float = 1.0) -> tuple[Journal, float]:
    """The journal, and how many seconds clients were at work. `pace`: how much faster they are than people."""
    journal = Journal()
    system = System(home, journal)
    await system.start()
    seconds = 60 * minutes
    minding = [asyncio.create_task(one) for one in (
        system.keep_up(), system.watch(), system.kill_now_and_then(random.Random(seed), seconds - QUIET_SECONDS),
    )]  # fmt: skip
    try:
        clients = [Clients(system, tenant, str(seed), pace) for tenant in TENANTS]
        for _ in range(3):
            await asyncio.sleep(seconds / 3)
            await system.note_sizes()
            print(
                f"{system.now / 60:.0f} minutes, {len(journal.requests)} requests, {len(journal.kills)} kills",
                flush=True,
            )
        await asyncio.gather(*(one.stop() for one in clients))
        worked = system.now
        await _check(system, {one.tenant: one.library for one in clients})
    finally:
        for task in minding:
            task.cancel()
        await asyncio.gather(*minding, return_exceptions=True)
        system.end()
    return journal, worked


async def _check(system: System, libraries: dict[str, Library]) -> None:
    owner = await system.connect()
    try:

        async def rests() -> bool:
            return not await owner.fetchval(REST)

        await until(rests, 120)
        system.journal.broken = await ask_invariants(owner)
        stored = {(row["tenant"], row["external_id"]): row["text"] for row in await owner.fetch(STORED)}
    finally:
        await owner.close()
    for tenant, library in libraries.items():
        system.journal.wrong += library.wrong
        system.journal.wrong += differences(tenant, library, stored)


def differences(tenant: str, library: Library, stored: dict[tuple[str, str], str]) -> list[str]:
    """Between what was acknowledged and what is stored, in words."""
    found = [
        f"{tenant}: {name} is there, and nobody wrote it"
        for of, name in stored
        if of == tenant and name not in library.states
    ]
    for name, state in library.states.items():
        text = stored.get((tenant, name))
        if text not in state.may_be:
            may_be = [one and one[:60] for one in state.may_be]
            found.append(f"{tenant}: {name} is {text and text[:60]!r} where it may be {may_be}")
    return found  # fmt: skip


def main(arguments: list[str]) -> int:
    minutes, seed = float((arguments[:1] or ["120"])[0]), int((arguments[1:2] or ["1"])[0])
    folder = Path(arguments[2]) if len(arguments) > 2 else Path(tempfile.mkdtemp(prefix="cairn-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    for name in [one for one in os.environ if one.startswith(("CAIRN_", "OPENAI_", "PG"))]:
        del os.environ[name]  # nothing from outside changes what the product does
    with temporary_home(quick=False) as home:
        try:
            journal, seconds = asyncio.run(run_soak(home, minutes, seed))
        finally:
            for log in home.parent.glob("*.log"):
                with contextlib.suppress(OSError):
                    (folder / log.name).write_bytes(log.read_bytes())
    page = describe(journal, seconds, f"A soak of {minutes:g} minutes, seed {seed}, {time.strftime('%Y-%m-%d')}")
    (folder / "soak.md").write_text(page)
    (folder / "soak.json").write_text(json.dumps(_plain(journal)))
    print(f"{page}\nThe journal and the logs are in {folder}")
    return 0 if journal.passed else 1


def _plain(journal: Journal) -> dict[str, Any]:
    plain = asdict(journal)
    plain["broken"] = {name: str(rows) for name, rows in journal.broken.items()}
    return plain


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
