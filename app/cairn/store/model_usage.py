"""rag.extraction_usage: what jobs have cost that ask chat models, for their caps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cairn.db.queries import load_queries
from cairn.domain.job import Job
from cairn.domain.principal import Principal
from cairn.domain.trace import Spend

SQL = load_queries("model_usage")


@dataclass(frozen=True, slots=True)
class JobUsage:
    """Tokens of a model: `own` of the job that asks, `today` of all jobs of its kind since midnight (UTC)."""

    own: bool
    today: bool
    model: str
    calls: int
    input_tokens: int
    output_tokens: int


async def note_usage(connection: Any, principal: Principal, job: Job, model: str, spend: Spend) -> None:
    """One call, with all its requests."""
    arguments = (job.id, model, spend.calls, spend.input_tokens, spend.output_tokens, job.kind)
    await connection.execute(SQL["note_usage"], principal.tenant_id, *arguments)


async def usage(connection: Any, principal: Principal, job: Job) -> list[JobUsage]:
    rows = await connection.fetch(SQL["usage"], principal.tenant_id, job.id, job.kind)
    return [JobUsage(**dict(row)) for row in rows]
