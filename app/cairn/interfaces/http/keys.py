"""Keys of the caller's tenant: made, listed, given other groups, revoked. Their secrets are shown once, by what makes them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from cairn.domain.access import MOST_NAMES
from cairn.domain.key import ApiKey
from cairn.domain.names import MAX_NAME
from cairn.domain.principal import KeyLimits, Scope
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import ID_EXAMPLE, Body, example
from cairn.interfaces.http.running import (
    Cursor,
    Limit,
    RunningDep,
    ServicesDep,
    TypedRoute,
    decode_id,
    encode_cursor,
)
from cairn.service import keys as key_service
from cairn.service.keys import LONGEST

router = APIRouter(tags=["keys"], route_class=TypedRoute)

KeyId = Annotated[UUID, Path(description="Id of the key; not the key itself.", examples=[ID_EXAMPLE])]


class LimitsOfKey(BaseModel):
    """Null: as the settings say."""

    model_config = ConfigDict(extra="forbid")

    requests_per_minute: int | None = Field(None, ge=1, le=1_000_000)
    concurrent_runs: int | None = Field(None, ge=1, le=10_000)
    tokens_per_day: int | None = Field(None, ge=0, le=10**15)
    cost_per_day: float | None = Field(None, ge=0, le=10**9, allow_inf_nan=False)


class NewKey(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "search box of the intranet", "scopes": ["read", "ask"], "expires_in_days": 90}]
        },
    )

    name: str = Field(min_length=1, max_length=MAX_NAME, description="What it is for.")
    scopes: list[Scope] = Field(
        min_length=1, max_length=4, description="What it may do; not more than the key that makes it."
    )
    expires_in_days: float | None = Field(
        None, gt=0, le=LONGEST.days, allow_inf_nan=False, description="Null: it does not expire."
    )
    limits: LimitsOfKey = LimitsOfKey()
    groups: list[str] = Field(
        [], max_length=MOST_NAMES, description="Groups that its holder belongs to, by access lists of documents."
    )


class KeyPatch(Body):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"groups": ["hr"]}]})

    groups: list[str] = Field(
        max_length=MOST_NAMES,
        description="All groups that its holder belongs to from now on, by access lists of documents; empty: none.",
    )


_EXAMPLE = {
    "id": ID_EXAMPLE, "name": "search box of the intranet", "shown": "cairn_4f1c0a", "scopes": ["ask", "read"],
    "limits": {"requests_per_minute": None, "concurrent_runs": None, "tokens_per_day": None, "cost_per_day": None},
    "created_at": "2026-11-22T10:00:00Z", "created_by": "local", "expires_at": "2027-02-20T10:00:00Z", "revoked_at": None,
    "last_used_at": None, "groups": ["hr"],
}  # fmt: skip


class KeyOut(BaseModel):
    model_config = example(_EXAMPLE)

    id: UUID
    name: str
    shown: str = Field(description="The first characters of the key, to tell it from others.")
    scopes: list[Scope]
    limits: LimitsOfKey
    created_at: datetime
    created_by: str = Field(description="local, key:<id> or token:<subject>.")
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="Exact to a minute.")
    groups: list[str] = Field(description="Groups that its holder belongs to, by access lists of documents.")


class MadeKey(KeyOut):
    model_config = example(_EXAMPLE | {"key": "cairn_4f1c0a..."})

    key: str = Field(description="The key. It is shown here and never again.")


class KeyPage(BaseModel):
    model_config = example({"items": [_EXAMPLE], "next_cursor": None})

    items: list[KeyOut]
    next_cursor: str | None


def _fields(key: ApiKey) -> dict[str, object]:
    limits = LimitsOfKey(**{name: getattr(key.limits, name) for name in KeyLimits.__dataclass_fields__})
    fields = {name: getattr(key, name) for name in ApiKey.__dataclass_fields__}
    return {**fields, "limits": limits, "scopes": sorted(key.scopes), "groups": list(key.groups)}


@router.post("/keys", status_code=201, summary="Make a key", responses=problems.declare(403))
async def create_key(body: NewKey, services: ServicesDep, response: Response) -> MadeKey:
    """For the caller's tenant. The answer alone has the key itself: only its hash is stored."""
    made, secret = await key_service.create_key(
        services, body.name, body.scopes, limits=KeyLimits(**body.limits.model_dump()),
        expires_in=None if body.expires_in_days is None else timedelta(days=body.expires_in_days),
        groups=body.groups,
    )  # fmt: skip
    response.headers["Cache-Control"] = "no-store"
    return MadeKey(**_fields(made), key=secret)


@router.get("/keys", summary="List keys")
async def list_keys(services: ServicesDep, cursor: Cursor = None, limit: Limit = 50) -> KeyPage:
    """Of the caller's tenant, newest first, also those that were revoked or have expired."""
    found = await key_service.list_keys(services, before=decode_id(cursor), limit=limit + 1)
    more = encode_cursor(str(found[limit - 1].id)) if len(found) > limit else None
    return KeyPage(items=[KeyOut(**_fields(key)) for key in found[:limit]], next_cursor=more)


@router.patch("/keys/{key_id}", summary="Change the groups of a key")
async def change_key(key_id: KeyId, body: KeyPatch, services: ServicesDep, running: RunningDep) -> KeyOut:
    """They take the place of those that it had, from its next request on, on any process. What it has under way goes on with
    those that it began with: revoke the key to end that."""
    changed = await key_service.change_groups(services, key_id, body.groups)
    if running.authenticator is not None:
        running.authenticator.forget()
    return KeyOut(**_fields(changed))


@router.delete("/keys/{key_id}", summary="Revoke a key")
async def revoke_key(key_id: KeyId, services: ServicesDep, running: RunningDep) -> KeyOut:
    """It counts no more, on any process, and what it has under way there is ended. It stays in the list."""
    revoked = await key_service.revoke_key(services, key_id)
    if running.authenticator is not None:
        running.authenticator.forget()
    return KeyOut(**_fields(revoked))
