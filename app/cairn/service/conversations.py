"""What a user can do with conversations, once for all surfaces."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from cairn.domain.ids import new_id
from cairn.domain.names import clean_title
from cairn.domain.principal import Caller
from cairn.domain.question import Conversation, SavedMessage
from cairn.errors import InputError, NotFoundError
from cairn.language.text import normalise
from cairn.store import audit, memory
from cairn.wiring import Services

CHAT_ID = re.compile(r"[A-Za-z0-9._-]{1,123}")
"""What makes `chat_{id}` a collection name."""
SESSION_ID = re.compile(r"[^/\n]{1,128}")
MAX_TITLE: Final = 200
"""Characters of the title of a conversation, and of what is looked for in them."""
RESERVED = frozenset({"history", "sessions", "stream"})
"""Chat ids that would be other routes: /chat/history/..., /chat/sessions/..., /chat/stream."""

ANYBODY: Final = Caller("nobody", "", frozenset())
"""Somebody whom no access list names: what they see of a tenant, everybody in it does."""


def new_session() -> str:
    """The id of a conversation whose client named none."""
    return str(new_id())


def check_session_id(session_id: str) -> str:
    """The id of a conversation, which is the client's own: any text that can stand in a path, cleaned. Raises InputError."""
    session_id = normalise(session_id)
    if not SESSION_ID.fullmatch(session_id) or session_id.strip(" .") == "":
        raise InputError(
            f"{session_id[:140]!r} is not a session id: 1 to 128 characters on one line, without '/', and not only dots or "
            "spaces"
        )
    return session_id


def check_chat_id(chat_id: str) -> str:
    """Raises InputError."""
    if not CHAT_ID.fullmatch(chat_id) or chat_id in RESERVED:
        raise InputError(
            f"{chat_id[:140]!r} is not a chat id: 1 to 123 letters, digits, '.', '_' or '-', and neither "
            f"{' nor '.join(sorted(RESERVED))}, which are routes"
        )
    return chat_id


def chat_collection(chat_id: str) -> str:
    """The collection that holds the documents of one chat, apart from all others. Raises InputError."""
    return f"chat_{check_chat_id(chat_id)}"


def session_collection(session_id: str) -> str:
    """The collection of a conversation that names none. Raises InputError where its id cannot be part of a name."""
    if not CHAT_ID.fullmatch(session_id):
        raise InputError(
            f"name the collection (collection_name): the session id {session_id[:140]!r} cannot be part of a name, which "
            "has letters, digits, '.', '_' and '-' only, 128 of them with 'chat_'"
        )
    return f"chat_{session_id}"


async def list_conversations(
    services: Services, *, text: str | None = None, before: tuple[datetime, str] | None = None, limit: int = 50
) -> list[Conversation]:
    """Of the tenant, the one used last first. `text`: only those with it in their title or a message, in any case. `before`:
    `last_used_at` and `session_id` of the last one of the page before. Raises InputError."""
    wanted = _one_line(text or "", "the text to look for") or None
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await memory.list_(connection, services.principal, text=wanted, before=before, limit=limit)


async def get_conversation(services: Services, session_id: str) -> Conversation:
    """Raises InputError, NotFoundError."""
    session_id = check_session_id(session_id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await memory.get(connection, services.principal, session_id)
    return _known(found, session_id)


async def rename_conversation(services: Services, session_id: str, title: str) -> Conversation:
    """Give it a title; an empty one: it is shown by what was said first again. Raises InputError, NotFoundError."""
    session_id, title = check_session_id(session_id), _one_line(clean_title(title), "the title")
    async with services.database.transaction(services.principal) as connection:
        await memory.rename(connection, services.principal, session_id, title or None)
        return _known(await memory.get(connection, services.principal, session_id), session_id)


def _known(found: Conversation | None, session_id: str) -> Conversation:
    if found is None:
        raise _unknown(session_id)
    return found


def _unknown(session_id: str) -> NotFoundError:
    return NotFoundError(f"no conversation {session_id}; see GET /chat/sessions")


def _one_line(text: str, what: str) -> str:
    text = " ".join(normalise(text).split())
    if len(text) > MAX_TITLE:
        raise InputError(f"{what} has {len(text):,} characters, and at most {MAX_TITLE} are allowed")
    return text


async def get_history(services: Services, session_id: str, *, after: int = 0, limit: int = 50) -> list[SavedMessage]:
    """Messages in order, after a position; none for an unknown conversation. That of others is recorded of who reads it by
    the scope admin. Raises InputError."""
    session_id, principal = check_session_id(session_id), services.principal
    async with services.database.transaction(principal, readonly=True) as connection:
        found = await memory.page(connection, principal, session_id, after=after, limit=limit)
        watched = bool(found) and audit.leaves_record(principal)
        askers = await memory.asked_by(connection, principal, session_id) if watched else []
    if watched:
        await audit.record_read_of_others(services.database, principal, "messages", session_id, askers)
    return found


async def delete_conversation(services: Services, session_id: str) -> None:
    """As `delete_history`. Raises InputError, NotFoundError."""
    if not await delete_history(services, session_id):
        raise _unknown(check_session_id(session_id))


async def delete_history(services: Services, session_id: str) -> bool:
    """Remove a conversation: its messages, the text of its runs in traces, and cached results of what it asked. False for
    an unknown one, and for one that is withheld from the caller, which stays. What is being answered meanwhile begins it anew.
    Raises InputError."""
    session_id = check_session_id(session_id)
    await services.traces.flush()
    # asked before: the record stands in the transaction that removes what would say so
    marked = {"tells_of_restricted": True} if await _is_withheld(services, session_id) else {}
    async with services.database.transaction(services.principal) as connection:
        if known := await memory.forget(connection, session_id):
            await audit.record(connection, services.principal, "conversation.delete", session_id, marked)
        return known


async def _is_withheld(services: Services, session_id: str) -> bool:
    """Whether somebody in the tenant does not see the conversation, or nobody does: it is looked for as one whom no access list
    names. On the primary, which has the last question."""
    anybody = replace(services.principal, caller=ANYBODY)
    async with services.database.primary.transaction(anybody, readonly=True) as connection:
        return await memory.get(connection, anybody, session_id) is None
