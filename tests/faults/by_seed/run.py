"""Running schedules in one process and one cluster, and asking what must hold after each.

python -m tests.faults.by_seed 1..200 17 900..950
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import asyncpg

from cairn.db.embedded import EmbeddedServer
from cairn.plugins import forget_extensions
from cairn.providers import onnx_model
from tests.conftest import Clones, write_package
from tests.faults.by_seed.fresh import compare_with_fresh
from tests.faults.by_seed.plan import Schedule, make_schedule
from tests.faults.by_seed.rim import rim
from tests.faults.by_seed.world import MODELS, PACKAGES, Violation, World, fill_template, open_world
from tests.faults.recounts import RECOUNTS

TEMPLATE: Final = "seeds_template"
"""Database that schedules begin with a copy of."""
PACKAGE: Final = "seeded_for_cairn"
PROVIDER: Final = '''
import hashlib
import numpy as np
from cairn.providers.protocols import Provider

class Words:
    name = "words"
    def count(self, text):
        return len(text.split())
    def count_batch(self, texts):
        return [self.count(text) for text in texts]

class Hashed:
    """Vectors that follow from each text alone."""
    max_tokens, tokens = 10_000, Words()
    def __init__(self, model):
        self.name, self.dimensions = f"hashed:{model}", 32 if model == "one" else 48
    async def embed(self, texts):
        seeds = [int.from_bytes(hashlib.sha256((self.name + text).encode()).digest()[:4], "big") for text in texts]
        made = np.stack([np.random.default_rng(seed).standard_normal(self.dimensions) for seed in seeds])
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    async def close(self):
        pass

HASHED = Provider("hashed", embedder=Hashed)
'''


@dataclass
class Report:
    """Of a schedule: what struck, what it broke, and how long it took."""

    schedule: Schedule
    struck: list[str] = field(default_factory=list)
    sent: list[tuple[str, int]] = field(default_factory=list)
    turned_down: Mapping[str, int] = field(default_factory=dict)
    violation: Violation | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        lines = [str(self.schedule), *(f"  struck: {one}" for one in self.struck)]
        if self.violation:
            lines.append(f"VIOLATION of {self.violation.invariant!r}: {self.violation.told}")
            lines.append(f"again: make faults SEEDS={self.schedule.seed}")
        return "\n".join(lines)


@cache
def load_invariants() -> Mapping[str, str]:
    """By name, statements that return rows where it is broken."""
    source = Path(__file__).with_name("invariants.sql").read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- name: (.+)$", source, flags=re.MULTILINE)
    own = dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
    return {**{f"recount: {name}": sql.strip() for name, sql in RECOUNTS.items()}, **own}


async def ask_invariants(owner: asyncpg.Connection, names: Collection[str] | None = None) -> dict[str, list[Any]]:
    """Those of these names, or of all, that are broken, with the first rows that show it."""
    broken = {}
    for name in load_invariants() if names is None else names:
        if rows := await owner.fetch(f"SELECT * FROM ({load_invariants()[name]}) AS broken LIMIT 5"):
            broken[name] = [dict(row) for row in rows]
    return broken


async def run_schedule(schedule: Schedule, dsn: str, home: Path) -> Report:
    """On a copy of the template. What is wrong stands in the report."""
    report, began = Report(schedule), time.monotonic()
    async with open_world(schedule, dsn, home) as world:
        try:
            await world.run()
            await world.rest()
            await world.settle()
            await world.check_conversations()
            await check_invariants(world)
            await compare_with_fresh(world)
        except Violation as violation:
            report.violation = violation
        except Exception as error:
            report.violation = Violation(
                "it comes to rest, and serves", f"{error!r} {''.join(traceback.format_exception(error))}"
            )
        report.struck, report.sent, report.turned_down = world.struck, world.sent, world.memory.turned_down
    report.seconds = time.monotonic() - began
    return report


async def check_invariants(world: World) -> None:
    """Raises Violation that names the first one that is broken."""
    for name, rows in (await ask_invariants(world.owner)).items():
        raise Violation(name, rows)


@contextlib.asynccontextmanager
async def open_yard(
    server: EmbeddedServer, clones: Clones, folder: Path
) -> AsyncIterator[Callable[[int], Awaitable[Report]]]:
    """What runs the schedule of a seed in a database of its own; several may run at the same time."""
    held: set[object] = set()  # local models, which would be loaded again by each schedule
    with hashed_models(folder / PACKAGES):
        clones.make(TEMPLATE)
        await fill_template(server.dsn(TEMPLATE), folder)

        async def run(seed: int) -> Report:
            name = f"seed_{seed}"
            clones.make(name, TEMPLATE)
            try:
                return await run_schedule(make_schedule(seed), server.dsn(name), folder)
            finally:
                held.update(model for one in onnx_model._loaded.valuerefs() if (model := one()) is not None)
                clones.drop(name)

        with rim():
            yield run
        clones.drop(TEMPLATE)


@contextlib.contextmanager
def hashed_models(folder: Path) -> Iterator[None]:
    """Two embedding models whose vectors follow from each text; the first one is that of the settings."""
    write_package(folder, PACKAGE, PROVIDER, providers={"hashed": f"{PACKAGE}:HASHED"})
    before = os.environ.get("CAIRN_EMBEDDING_MODEL")
    sys.path.insert(0, str(folder))
    os.environ["CAIRN_EMBEDDING_MODEL"] = MODELS[0]
    forget_extensions()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        os.environ.pop("CAIRN_EMBEDDING_MODEL")
        if before is not None:
            os.environ["CAIRN_EMBEDDING_MODEL"] = before
        sys.modules.pop(PACKAGE, None)
        forget_extensions()


def read_seeds(text: str) -> list[int]:
    """`3`, `1..200`, or several of these, parted by commas or spaces. Raises ValueError."""
    seeds: list[int] = []
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("..")
        seeds += range(int(first), int(last or first) + 1)
    return seeds
