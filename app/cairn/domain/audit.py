"""The audit log: who did what, when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One deed. `caller` is Caller.id, or `database:<login>` for what was done in SQL; `action` is `<what>.<deed>`; `target` the
    name or id of what it was done to; `detail` what else belongs to it."""

    id: UUID
    occurred_at: datetime
    caller: str
    caller_name: str
    action: str
    target: str
    detail: Mapping[str, Any]
