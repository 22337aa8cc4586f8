"""Conversations: messages in, turns out. Each function runs inside the caller's tenant transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal
from cairn.domain.question import Conversation, SavedMessage, SourceRef, Turn
from cairn.store import documents, persons

SQL = load_queries("memory")

TITLE_CHARS: Final = 80
"""Of the first message, where a conversation has no title of its own."""
_IDS = ("document_id", "passage_id", "chunk_id")


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to be saved. `notes` go into its metadata beside the sources. `drew_on`: documents whose names or words it
    may have besides those of its sources."""

    role: Literal["user", "assistant"]
    content: str
    run_id: UUID
    sources: tuple[SourceRef, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    drew_on: tuple[UUID, ...] = ()


async def add(
    connection: Any, principal: Principal, session_id: str, collection: str | None, messages: Sequence[NewMessage]
) -> list[UUID]:
    """Append messages, one after the other; their ids. Waits for whoever is writing to the conversation.

    What a source quotes from a document that is gone by now is not kept, nor is an answer that cites one. Raises ConflictError.
    """
    tenant = principal.tenant_id
    await persons.require_kept(connection, principal)
    asked_by = [principal.caller.id]
    last = await connection.fetchval(SQL["open_session"], tenant, session_id, collection, len(messages), asked_by)
    told = {document for message in messages for document in _documents(message)}
    held = await documents.hold(connection, principal, told)
    made = [
        (tenant, session_id, position, new_id(), message.role, message.content, _metadata(message),
         _documents(message), message.run_id, list(principal.caller.asked_as))
        for position, message in enumerate(messages, last - len(messages) + 1)
    ]  # fmt: skip
    ids = [row[3] for row in made]
    await connection.executemany(SQL["add"], made)
    if gone := told - held:
        await connection.execute(SQL["blank"], list(gone), ids)
    return ids


async def recent(connection: Any, principal: Principal, session_id: str, limit: int) -> list[Turn]:
    """The last `limit` messages that still say something, oldest first."""
    rows = await connection.fetch(SQL["recent"], principal.tenant_id, session_id, limit)
    return [_turn(row) for row in reversed(rows)]


async def page(connection: Any, principal: Principal, session_id: str, *, after: int, limit: int) -> list[SavedMessage]:
    """Messages in order, from the position after the given one."""
    rows = await connection.fetch(SQL["page"], principal.tenant_id, session_id, after, limit)
    return [SavedMessage(row["position"], _turn(row, row["changed"]), _notes(row["metadata"])) for row in rows]


async def list_(
    connection: Any,
    principal: Principal,
    *,
    text: str | None,
    before: tuple[datetime, str] | None,
    limit: int,
) -> list[Conversation]:
    """The one used last first. `text`: only those with it in their title or a message. `before`: when the last one of the page
    before was used, and its id."""
    moment, last = before or (None, None)
    rows = await connection.fetch(SQL["list"], principal.tenant_id, text, moment, last, limit, TITLE_CHARS)
    return [_conversation(row) for row in rows]


async def get(connection: Any, principal: Principal, session_id: str) -> Conversation | None:
    """None when unknown."""
    row = await connection.fetchrow(SQL["get"], principal.tenant_id, session_id, TITLE_CHARS)
    return _conversation(row) if row else None


async def asked_by(connection: Any, principal: Principal, session_id: str) -> list[str]:
    """Who has asked in the conversation; nobody where that is not known."""
    return await connection.fetchval(SQL["asked_by"], principal.tenant_id, session_id) or []


async def rename(connection: Any, principal: Principal, session_id: str, title: str | None) -> None:
    """Call it something; None: by what was said first."""
    await connection.execute(SQL["rename"], principal.tenant_id, session_id, title)


async def forget(connection: Any, session_id: str) -> bool:
    """Remove a conversation with all text of it, in traces and in the retrieval cache too; False when unknown."""
    return bool(await connection.fetchval(SQL["forget"], session_id))


def _conversation(row: Any) -> Conversation:
    return Conversation(**{**row, "title": " ".join(row["title"].split())})


def _documents(message: NewMessage) -> list[UUID]:
    return list(
        dict.fromkeys(
            (
                *(source.document_id for source in message.sources if source.url is None),
                *message.drew_on,
            )
        )
    )


def _metadata(message: NewMessage) -> dict[str, Any]:
    sources = [{**(made := asdict(source)), **{name: made[name] and str(made[name]) for name in _IDS}}
               for source in message.sources]  # fmt: skip
    if message.role != "assistant":
        return dict(message.notes)
    return {**message.notes, "sources": sources, "drew_on": sorted(map(str, set(message.drew_on)))}


def _turn(row: Any, changed: Sequence[int] = ()) -> Turn:
    sources = tuple(_source(stored) for stored in row["metadata"].get("sources") or ())
    sources = tuple(replace(source, changed=True) if source.n in changed else source for source in sources)
    return Turn(row["id"], row["role"], row["content"], row["created_at"], sources, row["run_id"])


def _source(stored: Mapping[str, Any]) -> SourceRef:
    return SourceRef(**{**stored, **{name: stored[name] and UUID(stored[name]) for name in _IDS}})


def _notes(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name not in ("sources", "drew_on")}
