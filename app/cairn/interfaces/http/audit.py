"""The audit log of the caller's tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, Field

from cairn.domain.audit import AuditEvent
from cairn.errors import InputError
from cairn.interfaces.http.models import ID_EXAMPLE, example
from cairn.interfaces.http.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor, encode_cursor
from cairn.service import audit as audit_service

router = APIRouter(tags=["operating"], route_class=TypedRoute)

_EVENT = {
    "id": ID_EXAMPLE, "occurred_at": "2026-11-21T10:00:00Z", "caller": f"key:{ID_EXAMPLE}", "caller_name": "ingestion",
    "action": "collection.delete", "target": "handbook", "detail": {"documents": 12, "chunks": 340},
}  # fmt: skip


class AuditEventOut(BaseModel):
    model_config = example(_EVENT)

    id: UUID
    occurred_at: datetime
    caller: str = Field(description="local, key:<id>, token:<subject>, or database:<login> for what was done in SQL.")
    caller_name: str = Field(description="The name of that caller at that time.")
    action: str = Field(description="What was done, as <what>.<deed>.")
    target: str = Field(description="Name or id of what it was done to.")
    detail: dict[str, Any]


class AuditPage(BaseModel):
    model_config = example({"items": [_EVENT], "next_cursor": None})

    items: list[AuditEventOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


@router.get("/audit", summary="Who did what, when")
async def list_audit_events(
    services: ServicesDep,
    action: Annotated[
        str | None,
        Query(max_length=100, description="One, or all of a kind (`collection`).", examples=["collection.delete"]),
    ] = None,
    caller: Annotated[
        str | None, Query(max_length=300, description="Only what this one did.", examples=["local"])
    ] = None,
    since: Annotated[
        AwareDatetime | None,
        Query(description="Not before it; with its offset from UTC.", examples=["2026-11-21T00:00:00Z"]),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> AuditPage:
    """Newest first, of the caller's tenant. Events are kept for `audit.retentionDays` days and cannot be changed."""
    found = await audit_service.list_events(
        services, action=action, caller=caller, since=since, before=_before(cursor), limit=limit + 1
    )
    more = _cursor_after(found[limit - 1]) if len(found) > limit else None
    return AuditPage(items=[_event_out(event) for event in found[:limit]], next_cursor=more)


def _event_out(event: AuditEvent) -> AuditEventOut:
    return AuditEventOut(**{name: getattr(event, name) for name in AuditEventOut.model_fields})


def _cursor_after(event: AuditEvent) -> str:
    return encode_cursor(f"{event.occurred_at.isoformat()} {event.id}")


def _before(cursor: str | None) -> tuple[datetime, UUID] | None:
    key = decode_cursor(cursor)
    if not key:
        return None
    moment, _, last = key.partition(" ")
    try:
        when = datetime.fromisoformat(moment)
        if when.tzinfo is None:
            raise ValueError
        return when, UUID(last)
    except ValueError:
        raise InputError("the cursor is not one that this list gave out; start again without it") from None
