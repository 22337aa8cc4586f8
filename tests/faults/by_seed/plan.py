"""A schedule made from a seed: which operations run beside each other, and what goes wrong at which of their steps. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STATEMENTS: Final[Mapping[str, int]] = {
    "ingest": 51, "replace": 51, "delete": 18, "upload": 13, "work": 120, "reindex": 7, "reread": 7, "backfill": 11, "flip": 8,
    "forget": 8, "search": 16, "ask": 41, "resumable": 108, "cancel run": 63, "cancel job": 6, "communities": 23, "upkeep": 9,
    "clear": 4, "forget conversation": 5, "migrate": 150, "killed worker": 400,
}  # fmt: skip
"""Operations, and about how many statements each sends, among which faults are placed. `work`: a worker that does what is due."""

WEIGHTS: Final[Mapping[str, int]] = {
    "ingest": 5, "replace": 7, "delete": 4, "upload": 4, "work": 8, "reindex": 3, "reread": 2, "backfill": 2, "flip": 2,
    "forget": 1, "search": 4, "ask": 3, "resumable": 4, "cancel run": 2, "cancel job": 1, "communities": 2, "upkeep": 1,
    "clear": 1, "forget conversation": 1, "migrate": 1, "killed worker": 1,
}  # fmt: skip

FAULTS: Final[Mapping[str, int]] = {
    "kill": 4, "kill after": 4, "cancel": 4, "cancel at await": 4, "hang": 2, "freeze": 1, "cut": 2, "cut before": 2,
    "cut after": 3, "terminate": 2, "lock": 2, "lock time-out": 2, "serialisation failure": 2, "deadlock": 1,
    "full disk": 2, "no memory": 1, "query cancelled": 1, "clock ahead": 2, "clock back": 1,
}  # fmt: skip
"""What may go wrong, and how often in relation. `after`: the server has done the statement, and nobody hears of it."""

MIGRATION_FAULTS: Final = ("cut", "cancel", "hang")
"""Of `migrate` the numbers count messages to and from the server, as they do of `killed worker`, a process of its own."""

DOCUMENTS: Final = 5
"""Names of documents in a collection that operations choose from, besides files that are handed over."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Strikes at the statement of that number of its operation, from 1; `cancel at await` at that await instead."""

    kind: str
    at: int

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}"


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of a tenant (0 or 1) in a process (0 or 1). `names`: documents it is about; `turn` makes its texts its own."""

    kind: str
    tenant: int
    process: int
    names: tuple[str, ...]
    turn: int
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        told = f"{self.kind} {' '.join(self.names)}".strip() + f" (tenant {self.tenant}, process {self.process})"
        return told + "".join(f" ! {fault}" for fault in self.faults)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rounds follow each other; the steps of a round run at the same time."""

    seed: int
    rounds: tuple[tuple[Step, ...], ...]

    def __str__(self) -> str:
        lines = [f"  {number}. {step}" for number, steps in enumerate(self.rounds, 1) for step in steps]
        return "\n".join([f"seed {self.seed}", *lines])


def make_schedule(seed: int) -> Schedule:
    """Two to four rounds of 5 to 15 operations in all, of which a third meet a fault or two."""
    chance = random.Random(seed)
    turns = iter(range(1, 100))
    left, rounds = chance.randint(5, 15), []
    while left:
        size = min(left, chance.randint(1, 5))
        rounds.append(tuple(_step(chance, next(turns)) for _ in range(size)))
        left -= size
    return Schedule(seed, tuple(rounds))


def _step(chance: random.Random, turn: int) -> Step:
    [kind] = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
    names: tuple[str, ...] = ()
    if kind in ("ingest", "replace"):
        names = tuple(f"d{n}" for n in chance.sample(range(DOCUMENTS), chance.randint(1, 3)))
    elif kind == "delete":
        names = (f"d{chance.randrange(DOCUMENTS)}",)
    elif kind == "upload":
        names = tuple(f"u{turn}-{n}" for n in range(chance.randint(1, 2)))
    wanted = 1 if kind == "killed worker" else chance.choice([0, 0, 0, 1, 1, 2])
    faults = tuple(_fault(chance, kind) for _ in range(wanted))
    return Step(kind, int(chance.random() < 0.25), chance.randrange(2), names, turn, faults)


def _fault(chance: random.Random, kind: str) -> Fault:
    if kind == "migrate":  # it has connections of its own: what strikes stands between them and the server
        return Fault(chance.choice(MIGRATION_FAULTS), chance.randint(1, STATEMENTS[kind]))
    if kind == "killed worker":
        return Fault("kill -9", chance.randint(1, STATEMENTS[kind]))
    [what] = chance.choices(list(FAULTS), list(FAULTS.values()))
    return Fault(what, chance.randint(1, STATEMENTS[kind]))
