"""How the standbys are that answer reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """For health and metrics. `reads` and `failed_over` count from the start; lag is None while it is not known. `problem`: why
    the replica is not used."""

    name: str
    problem: str | None
    lag_bytes: int | None
    lag_seconds: float | None
    reads: int
    failed_over: int


@dataclass(frozen=True, slots=True)
class ReplicasState:
    """`primary_reads`: reads that could have been a replica's and went to the primary."""

    replicas: tuple[ReplicaState, ...]
    primary_reads: int
