"""Evaluation runs: rows in, values out. Each function runs inside the caller's tenant transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.evaluation import Estimate, EvalResult, EvalRun
from cairn.domain.principal import Principal

SQL = load_queries("evals")


async def insert(
    connection: Any, principal: Principal, run: EvalRun, results: Sequence[EvalResult], *, restricted: bool
) -> None:
    """`restricted`: what was measured held something restricted when the run began. It may be gone by now, and with it what
    would withhold the run, so the run is for who reads everything from the start."""
    marked = {"tells_of_restricted": True} if restricted else {}
    await connection.execute(
        SQL["insert_run"], principal.tenant_id, run.id, run.kind, run.name, run.data_set, run.data_hash,
        run.collection_id, run.collection, dict(run.epochs), dict(run.settings), run.settings_revision,
        run.code_version, {**run.parameters, **marked}, run.started_at, run.finished_at, run.query_count,
        {name: asdict(value) for name, value in run.metrics.items()}, dict(run.timings_ms), list(run.degraded),
    )  # fmt: skip
    await connection.executemany(
        SQL["insert_result"],
        [
            (principal.tenant_id, run.id, result.query_id, result.query, list(result.ranking),
             dict(result.judgements), dict(result.metrics), result.total_ms)
            for result in results
        ],
    )  # fmt: skip


async def page(connection: Any, principal: Principal, *, limit: int) -> list[EvalRun]:
    """Newest first."""
    return [_run(row) for row in await connection.fetch(SQL["page"], principal.tenant_id, limit)]


async def by_ending(connection: Any, principal: Principal, ending: str) -> list[EvalRun]:
    """Runs whose id ends so; at most two, which is enough to see that it is ambiguous."""
    return [_run(row) for row in await connection.fetch(SQL["by_ending"], principal.tenant_id, ending)]


async def results(connection: Any, principal: Principal, run_id: UUID) -> list[EvalResult]:
    """By query id."""
    rows = await connection.fetch(SQL["results"], principal.tenant_id, run_id)
    return [EvalResult(**{**dict(row), "ranking": tuple(row["ranking"])}) for row in rows]


async def agentic_rates(
    connection: Any, principal: Principal, run_ids: Sequence[UUID], since: datetime
) -> dict[str, float | None]:
    """How often the runs, all begun `since`, corrected themselves; empty where none of them tells."""
    row = await connection.fetchrow(SQL["agentic_rates"], principal.tenant_id, list(run_ids), since)
    return dict(row) if row else {}


async def agent_rates(
    connection: Any, principal: Principal, run_ids: Sequence[UUID], since: datetime
) -> dict[str, float | None]:
    """The passes, gaps, steps and tools of the runs, all begun `since`; empty where none of them is an agent's."""
    row = await connection.fetchrow(SQL["agent_rates"], principal.tenant_id, list(run_ids), since)
    return dict(row) if row else {}


async def first_settings(
    connection: Any, principal: Principal, collection_id: UUID, epochs: Mapping[str, int]
) -> dict[str, Any] | None:
    """Settings of the oldest run over this state of the collection; None where there was none."""
    found: dict[str, Any] | None = await connection.fetchval(
        SQL["first_settings"], principal.tenant_id, collection_id, dict(epochs)
    )
    return found


async def is_restricted(connection: Any, principal: Principal, collection_id: UUID) -> bool:
    """Whether it has been said of the collection, or of something in it, who may read it; whoever asks."""
    return bool(await connection.fetchval(SQL["is_restricted"], principal.tenant_id, collection_id))


async def holds_restricted(connection: Any, principal: Principal, names: Sequence[str]) -> bool:
    """Whether the collections of these names have a document that only some may read; whoever asks."""
    return bool(await connection.fetchval(SQL["holds_restricted"], principal.tenant_id, list(names)))


async def content_hashes(
    connection: Any, principal: Principal, collection_id: UUID, loader_revision: int
) -> dict[str, bytes]:
    """External id of each indexed document to the hash of its content."""
    rows = await connection.fetch(SQL["content_hashes"], principal.tenant_id, collection_id, loader_revision)
    return {row["external_id"]: bytes(row["content_hash"]) for row in rows}


async def external_ids(connection: Any, principal: Principal, collection_id: UUID) -> dict[UUID, str]:
    """Document id of each indexed document to its external id."""
    rows = await connection.fetch(SQL["external_ids"], principal.tenant_id, collection_id)
    return {row["id"]: row["external_id"] for row in rows}


async def judged_runs(connection: Any, principal: Principal, collection: str | None, limit: int) -> list[Any]:
    """Answered questions that were rated up or down, newest first: run_id, rating, question, collection, strategy, plan,
    citations, settings_revision. None of those whose text was deleted."""
    return list(await connection.fetch(SQL["judged_runs"], principal.tenant_id, collection, limit))


async def collection_epochs(connection: Any, principal: Principal, names: Sequence[str]) -> dict[str, tuple[UUID, int]]:
    """Id and epoch of the collections of these names."""
    rows = await connection.fetch(SQL["collection_epochs"], principal.tenant_id, list(names))
    return {row["name"]: (row["id"], row["epoch"]) for row in rows}


def _run(row: Any) -> EvalRun:
    values = dict(row)
    values["metrics"] = {name: Estimate(**value) for name, value in values["metrics"].items()}
    values["degraded"] = tuple(values["degraded"])
    return EvalRun(**values)
