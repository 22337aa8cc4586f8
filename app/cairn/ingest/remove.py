"""How a document goes, whoever asks for it: with everything derived from it, and on record."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from cairn.domain.principal import Principal
from cairn.store import access_rules, audit, documents
from cairn.store.session import Database


async def remove_document(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    collection: str,
    document_id: UUID,
    *,
    may_return: bool = False,
) -> bool:
    """Whether it was there. `collection`: its name; `may_return`: its file was away when somebody looked, and an access list of
    its own stays with its name, as a rule."""
    readers = await documents.readers_of(connection, principal, document_id)
    removed = await documents.delete(connection, collection_id, document_id)
    if removed:  # by its id alone: a deleted document leaves no name behind
        marked = {} if readers is None else {"tells_of_restricted": True}
        detail = {"collection": collection, **marked}
        await audit.record(connection, principal, "document.delete", str(document_id), detail)
    if removed and may_return and readers is not None and readers.own:
        await access_rules.keep_for_name(
            connection, principal, collection_id, collection, readers.external_id, readers.access
        )
    return removed


async def pass_on_readers(
    database: Database, principal: Principal, collection_id: UUID, document_id: UUID, since: datetime
) -> None:
    """Before a document is removed whose file may have been read under another name since then: its access list goes along, also
    one that it was given meanwhile; below a rule for whom both name, where there is anybody. In transactions of their own, since
    one stages one change."""
    async with database.transaction(principal) as connection:
        readers = await documents.readers_of(connection, principal, document_id)
        if readers is None or not readers.own:
            return
        heirs = await documents.heirs(connection, principal, document_id, since)
    for heir, ruled in heirs.items():
        if access := [one for one in readers.access if ruled is None or one in ruled]:
            async with database.transaction(principal) as connection:
                await documents.give_access(connection, principal, collection_id, heir, access)
