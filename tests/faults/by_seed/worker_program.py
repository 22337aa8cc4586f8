"""A worker as a process of its own, that is killed: `worker_program.py DSN HOME PACKAGES` does what is due, and ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


async def main(dsn: str, home: Path) -> None:
    from tests.faults.by_seed.world import open_process

    async with open_process(dsn, home) as tenants:
        await tenants[0].worker().run_until_idle()


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[3]), sys.argv[3]]
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
