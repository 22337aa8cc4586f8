"""What the caller's key and tenant may use, and have used."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cairn.interfaces.http.models import ID_EXAMPLE, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import limits

router = APIRouter(tags=["operating"], route_class=TypedRoute)


class HoldingOut(BaseModel):
    """null: no limit."""

    documents: int | None
    bytes: int | None
    chunks: int | None


class TenantUsageOut(BaseModel):
    name: str
    kept: HoldingOut
    limits: HoldingOut


class KeyLimitsOut(BaseModel):
    """null: no limit."""

    requests_per_minute: int | None
    concurrent_runs: int | None
    tokens_per_day: int | None
    cost_per_day: float | None


class KeyUsageOut(BaseModel):
    key_id: UUID
    requests: int = Field(description="In the last sixty seconds, where they are limited; processes take some ahead.")
    runs: int = Field(description="Under way, where they are limited.")
    calls: int = Field(description="Requests to models of providers today (UTC).")
    tokens: int = Field(description="Their tokens, with those that calls under way may use yet.")
    cost: float = Field(description="What they cost, by answer.prices.")


_KEY = {"key_id": ID_EXAMPLE, "requests": 3, "runs": 0, "calls": 12, "tokens": 18230, "cost": 0.0041}


class UsageOut(BaseModel):
    model_config = example(
        {
            "tenant": {
                "name": "default", "kept": {"documents": 12, "bytes": 530000, "chunks": 610},
                "limits": {"documents": 1000, "bytes": None, "chunks": None},
            },
            "key": _KEY,
            "limits": {"requests_per_minute": 60, "concurrent_runs": None, "tokens_per_day": 100000, "cost_per_day": None},
            "keys": [_KEY],
        }
    )  # fmt: skip

    tenant: TenantUsageOut
    key: KeyUsageOut | None = Field(description="Of the caller; null where nothing is counted, such as without keys.")
    limits: KeyLimitsOut | None = Field(description="What it may use; null with `key`.")
    keys: list[KeyUsageOut] = Field(description="Of all keys in use, for callers with scope admin; else empty.")


@router.get("/usage", summary="What the caller may use, and has used")
async def get_usage(services: ServicesDep) -> UsageOut:
    """Usage of earlier days is in `analyst.key_usage`."""
    found = await limits.get_usage(services)
    tenant = TenantUsageOut(
        name=found.tenant.tenant,
        kept=HoldingOut(**asdict(found.tenant.kept)),
        limits=HoldingOut(**asdict(found.tenant.most)),
    )
    return UsageOut(
        tenant=tenant,
        key=KeyUsageOut(**asdict(found.key)) if found.key else None,
        limits=KeyLimitsOut(**asdict(found.most)) if found.most else None,
        keys=[KeyUsageOut(**asdict(one)) for one in found.keys],
    )
