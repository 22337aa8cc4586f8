"""What the questions of a session have in common: ids of what was read and followed, and what was not found."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.runs.context import Run
from cairn.store import qa_sessions
from cairn.store.qa_sessions import StoredSession


async def open_session(run: Run) -> StoredSession | None:
    """The session that the caller names; without one nothing is kept. Its memory is of the whole collection: with
    filters it is neither read, where it could show what they leave out, nor written: what they leave out is not missing."""
    session = run.question.context_session or run.question.session_id
    if session is None or run.question.filters:
        return None
    settings, library = run.settings.iterative, run.deps.library
    try:
        async with library.database.transaction(library.principal) as connection:
            return await qa_sessions.open_(
                connection, library.principal, run.question.collection, session,
                idle_minutes=settings.idle_minutes, nodes=settings.session_nodes,
            )  # fmt: skip
    except CairnError as error:
        run.record.degraded.append(f"the session could not be read ({error.code}: {error.detail})")
        return None


async def keep_session(
    run: Run, held: StoredSession, read: Sequence[Passage], relations: Sequence[UUID], not_found: Sequence[str]
) -> None:
    """Remember for the session's next question what was read, most important first; that this fails costs only the memory."""
    settings, library = run.settings.iterative, run.deps.library
    ids = [passage.passage_id for passage in reversed(read)]
    try:
        async with library.database.transaction(library.principal) as connection:
            await qa_sessions.keep(
                connection, library.principal, held.key, passages=ids[-settings.session_nodes :],
                relations=relations, not_found=not_found, nodes=settings.session_nodes,
            )  # fmt: skip
    except CairnError as error:
        run.record.degraded.append(f"the session could not be kept ({error.code}: {error.detail})")
