"""What a soak notes while it runs, and the page that it makes of it. Pure."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

RECOVERING_SECONDS: Final = 15.0
"""After a kill: what fails then is told apart from what fails at any other time."""
EXPECTED: Final = frozenset({"ok", "lost", "429", "503"})
"""Outcomes that a client is told how to bear: it tries again. Any other is a fault of the product."""


@dataclass(frozen=True)
class Request:
    """`at`: seconds since the beginning, when it was sent. `outcome`: ok, lost (no or half an answer), or the status."""

    at: float
    kind: str
    milliseconds: float
    outcome: str
    told: str = ""


@dataclass(frozen=True)
class Kill:
    at: float
    target: str


@dataclass(frozen=True)
class Sample:
    """Megabytes by process that was there from the beginning, of all of PostgreSQL, and its connections."""

    at: float
    megabytes: dict[str, float]
    connections: int


@dataclass
class Journal:
    requests: list[Request] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    sizes: list[dict[str, int]] = field(default_factory=list)
    """Bytes of tables, at a third of the time, at two thirds and at the end."""
    ends: list[str] = field(default_factory=list)
    """Processes that ended though nobody killed them."""
    broken: dict[str, Any] = field(default_factory=dict)
    """Invariants, with rows that show it."""
    wrong: list[str] = field(default_factory=list)
    """What clients saw that was never acknowledged, and what was acknowledged and is not there."""

    def unexpected(self) -> list[Request]:
        return [one for one in self.requests if one.outcome not in EXPECTED]

    @property
    def passed(self) -> bool:
        return not (self.broken or self.wrong or self.ends or self.unexpected())


def describe(journal: Journal, seconds: float, title: str) -> str:
    """A page of Markdown."""
    good = [one for one in journal.requests if one.outcome == "ok"]
    minutes = Counter(int(one.at // 60) for one in good)
    whole = [minutes[minute] for minute in range(int(seconds // 60))] or [len(good)]
    lines = [
        f"# {title}", "",
        f"{seconds / 60:.0f} minutes, {len(journal.kills)} kills ({_counts(one.target for one in journal.kills)}); "
        f"{len(good):,} of {len(journal.requests):,} requests succeeded, {len(good) / seconds:.1f} a second: "
        f"in a minute at least {min(whole)}, median {statistics.median(whole):.0f}, at most {max(whole)}.", "",
        "| request | succeeded | p50, ms | p95 | p99 | refused or lost after a kill | at other times | unexpected |",
        "|---|---|---|---|---|---|---|---|",
        *_kinds(journal), "",
        f"From a kill to the next success of anything: {_gaps(journal)}.", "",
        "| megabytes | after a fifth | at half | at the end | last to second fifth |", "|---|---|---|---|---|",
        *_memory(journal.samples, seconds), "",
        "| the largest tables, MB | at a third | at two thirds | at the end |", "|---|---|---|---|",
        *_tables(journal.sizes), "",
    ]  # fmt: skip
    lines += ["Broken:" if not journal.passed else "Nothing is lost, doubled, mixed, foreign or left over."]
    lines += [f"- {name}: {rows}" for name, rows in journal.broken.items()]
    lines += [f"- {one}" for one in (*journal.wrong[:20], *journal.ends)]
    lines += [f"- {one.kind} at {one.at:.0f} s: {one.outcome} {one.told}" for one in journal.unexpected()[:20]]
    return "\n".join(lines) + "\n"


def _counts(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(Counter(names).items())) or "none"


def _kinds(journal: Journal) -> list[str]:
    kinds: defaultdict[str, list[Request]] = defaultdict(list)
    for one in journal.requests:
        kinds[one.kind].append(one)
    lines = []
    for kind, requests in sorted(kinds.items()):
        took = sorted(one.milliseconds for one in requests if one.outcome == "ok")
        parts = [_share(took, share) for share in (0.5, 0.95, 0.99)]
        failed = [one for one in requests if one.outcome in EXPECTED - {"ok"}]
        after = [one for one in failed if recovering(journal.kills, one)]
        unexpected = len(requests) - len(took) - len(failed)
        told = f"{len(after)} | {_counts(one.outcome for one in failed if one not in after)}"
        lines.append(f"| {kind} | {len(took):,} | {' | '.join(parts)} | {told} | {unexpected} |")
    return lines


def recovering(kills: Sequence[Kill], request: Request) -> bool:
    """Whether it ended within RECOVERING_SECONDS of a kill, or one came while it ran."""
    ended = request.at + request.milliseconds / 1000
    return any(request.at - RECOVERING_SECONDS <= kill.at <= ended for kill in kills)


def _share(took: Sequence[float], share: float) -> str:
    return f"{took[min(int(share * len(took)), len(took) - 1)]:.0f}" if took else "-"


def _gaps(journal: Journal) -> str:
    ended = sorted(one.at + one.milliseconds / 1000 for one in journal.requests if one.outcome == "ok")
    gaps: defaultdict[str, list[float]] = defaultdict(list)
    for kill in journal.kills:
        if (after := next((at for at in ended if at > kill.at), None)) is not None:
            gaps[kill.target].append(after - kill.at)
    told = [f"{name} {statistics.median(some):.1f} s (at most {max(some):.1f})" for name, some in sorted(gaps.items())]
    return ", ".join(told) or "no kill"


def _memory(samples: Sequence[Sample], seconds: float) -> list[str]:
    """Medians over a tenth of the time; flat is a ratio near 1 of the last and the second fifth."""

    def between(name: str, first: float, last: float) -> float:
        found = [
            one.megabytes[name]
            for one in samples
            if first * seconds <= one.at <= last * seconds and name in one.megabytes
        ]
        return statistics.median(found) if found else float("nan")

    names = sorted({name for one in samples for name in one.megabytes})
    return [
        f"| {name} | {between(name, 0.15, 0.25):.0f} | {between(name, 0.45, 0.55):.0f} | {between(name, 0.9, 1):.0f} "
        f"| {between(name, 0.8, 1) / between(name, 0.2, 0.4):.2f} |"
        for name in names
    ]  # fmt: skip


def _tables(sizes: Sequence[dict[str, int]]) -> list[str]:
    if not sizes:
        return []
    largest = sorted(sizes[-1], key=lambda name: -sizes[-1][name])[:12]
    return [f"| {name} | {' | '.join(f'{one.get(name, 0) / 1e6:.1f}' for one in sizes)} |" for name in largest]
