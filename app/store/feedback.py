"""What users think of answers: row in, domain value out."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from app.db.queries import load_queries
from app.domain.event import Judgement
from app.domain.principal import Principal

SQL = load_queries("feedback")


async def put(
    connection: Any,
    principal: Principal,
    run_id: UUID,
    started_at: datetime,
    session_id: str | None,
    rating: int,
    comment: str | None,
) -> Judgement:
    """Judge a run, or replace what was said of it."""
    row = await connection.fetchrow(SQL["put"], principal.tenant_id, run_id, started_at, session_id, rating, comment)
    return Judgement(**dict(row))
