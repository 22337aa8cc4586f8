"""rag.idempotency_keys: requests that are made once, with the answers that their repetitions get too."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.idempotency import StoredAnswer, StoredRequest
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal

SQL = load_queries("idempotency")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Names a request of a caller. `claim` tells this attempt from another one."""

    principal: Principal
    key: str
    claim: UUID = field(default_factory=new_id)

    @property
    def arguments(self) -> tuple[int, str, str]:
        # what was answered to somebody with other groups or rights is not answered again
        caller = self.principal.caller
        named = json.dumps([caller.id, sorted(caller.groups), *(["*"] if caller.reads_all else [])])
        return self.principal.tenant_id, named, self.key


async def claim(connection: Any, request: RequestKey, fingerprint: bytes, *, seconds: float, keep_hours: int) -> bool:
    """Whether the request is this attempt's to carry out, for so many seconds unless it renews that."""
    arguments = (*request.arguments, fingerprint, request.claim, seconds, keep_hours)
    return bool(await connection.fetchval(SQL["claim"], *arguments))


async def get(connection: Any, request: RequestKey) -> StoredRequest | None:
    row = await connection.fetchrow(SQL["get"], *request.arguments)
    if row is None:
        return None
    answer = None if row["status"] is None else StoredAnswer(row["status"], row["headers"], row["body"])
    return StoredRequest(row["fingerprint"], answer)


async def renew(connection: Any, request: RequestKey, seconds: float) -> None:
    await connection.execute(SQL["renew"], *request.arguments, request.claim, seconds)


async def keep_answer(connection: Any, request: RequestKey, answer: StoredAnswer) -> None:
    """Nothing happens where another attempt has taken over meanwhile."""
    arguments = (*request.arguments, request.claim, answer.status, dict(answer.headers), answer.body)
    await connection.execute(SQL["answer"], *arguments)


async def release(connection: Any, request: RequestKey) -> None:
    """Nothing was done: the key may be used again."""
    await connection.execute(SQL["release"], *request.arguments, request.claim)


async def expire(connection: Any, keep_hours: int) -> int:
    """Forget what is older, of all tenants; how many."""
    return int(await connection.fetchval(SQL["expire"], keep_hours))
