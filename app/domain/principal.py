"""Who is asking: the tenant that every row, statement and cache entry belongs to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller. Until keys exist one process serves one tenant (`CAIRN_TENANT`)."""

    tenant_id: int
    tenant: str
