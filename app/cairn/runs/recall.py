"""What was said before, and how much of it each step may see."""

from __future__ import annotations

from cairn.domain.principal import Principal
from cairn.domain.question import Turn
from cairn.settings import MemorySettings
from cairn.store import audit, memory
from cairn.store.session import Database


async def recall(database: Database, principal: Principal, session_id: str, limit: int) -> tuple[Turn, ...]:
    """The last `limit` messages of a conversation, oldest first; () for an unknown one. Answers that lost their text with
    a deleted document are not recalled. Who goes on with a conversation of others by the scope admin leaves a record: the answer
    may say what these have asked."""
    if limit < 1:
        return ()
    async with database.primary.transaction(principal, readonly=True) as connection:
        found = tuple(await memory.recent(connection, principal, session_id, limit))
        watched = bool(found) and audit.leaves_record(principal)
        askers = await memory.asked_by(connection, principal, session_id) if watched else []
    if watched:
        await audit.record_read_of_others(database, principal, "continued", session_id, askers)
    return found


def widest(settings: MemorySettings) -> int:
    """Messages to recall once for all steps of a run."""
    return max(settings.router, settings.rewrite, settings.chain, settings.generation, settings.context)


def window(history: tuple[Turn, ...], limit: int) -> tuple[Turn, ...]:
    """The last `limit` messages of what was recalled."""
    return history[-limit:] if limit > 0 else ()
