"""`cairn feedback`: what a user thinks of an answer."""

from __future__ import annotations

from uuid import UUID

from app.commands.terminal import say, services
from app.service import runs as run_service


async def feedback(run_id: UUID, rating: int, comment: str | None) -> int:
    """Raises NotFoundError, InputError."""
    async with services() as opened:
        judged = await run_service.rate_run(opened, run_id, rating, comment)
    said = {-1: "bad", 0: "neither good nor bad", 1: "good"}[judged.rating]
    say(f"run {judged.run_id}: {said}")
    return 0
