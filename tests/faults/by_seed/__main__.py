"""`python -m tests.faults.by_seed SEEDS`: see run.py."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import structlog

from cairn.db import runtime
from cairn.db.embedded import ensure_running
from tests.conftest import Clones, temporary_home
from tests.faults.by_seed.run import Report, open_yard, read_seeds

AT_ONCE = 6
"""Schedules that run beside each other, each in a database of its own: all of them wait most of the time."""


async def main(seeds: list[int]) -> int:
    began, done, kinds, broken = time.monotonic(), 0, Counter[str](), list[int]()
    sent: defaultdict[str, list[int]] = defaultdict(list)
    with (
        temporary_home() as home,
        ensure_running(home, durable=False) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        clones = Clones(runtime.program(server.home / "postgres" / runtime.VERSION, "psql"), server.dsn("postgres"))
        waiting = iter(seeds)
        async with open_yard(server, clones, Path(folder)) as run:

            async def take() -> None:
                nonlocal done
                for seed in waiting:
                    report = await run(seed)
                    done += 1
                    count(report, kinds, sent)
                    if report.violation:
                        broken.append(seed)
                        print(report, flush=True)
                    if done % 20 == 0:
                        told = f"{done} seeds, {60 * done / (time.monotonic() - began):.0f} a minute"
                        print(f"{told}, {len(broken)} broken: {broken}", flush=True)

            await asyncio.gather(*(take() for _ in range(AT_ONCE)))
        clones.close()
    seconds = time.monotonic() - began
    print(
        f"{len(seeds)} seeds in {seconds:.0f} s, {60 * len(seeds) / seconds:.0f} a minute; violations: {broken or 'none'}"
    )
    for kind, times in sorted(kinds.items()):
        print(f"  {times:6} {kind}")
    for kind, counts in sorted(sent.items()):
        print(f"  statements of {kind}: median {sorted(counts)[len(counts) // 2]}, most {max(counts)}")
    return 1 if broken else 0


def count(report: Report, kinds: Counter[str], sent: dict[str, list[int]]) -> None:
    for one in report.struck:
        name, _, fault = one.partition(": ")
        kinds[f"{fault.rsplit(' at ', 1)[0]} in {name.rsplit(' ', 1)[0]}"] += 1
    for kind, statements in report.sent:
        sent[kind].append(statements)


if __name__ == "__main__":
    for name in [one for one in os.environ if one.startswith(("CAIRN_", "OPENAI_", "PG"))]:
        del os.environ[name]  # nothing from outside changes what the product does
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    sys.exit(asyncio.run(main(read_seeds(" ".join(sys.argv[1:])))))
