"""Wishes of a message against the documents of a collection: what becomes a filter, and what is only disclosed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.domain.principal import Principal
from app.query.filters import ALL_KEYS, Found, Wish, choose
from app.store import holdings
from app.store.session import Database


async def restrict(database: Database, principal: Principal, collection: str, asked: Sequence[Wish]) -> Found:
    """Filters and documents that the collection (by name) has. A wish that no document, or no single value, meets is not
    applied: `notes` say so, but only for a wish that the collection could have met. Raises CairnError."""
    files = [wish for wish in asked if wish.kind == "document"]
    others = [wish for wish in asked if wish.kind != "document"]
    async with database.transaction(principal, readonly=True, config={"statement_timeout": "2000"}) as connection:
        documents, notes = await _documents(connection, principal, collection, files)
        filters: dict[str, Any] = {}
        if others and (values := await holdings.metadata_values(connection, principal, collection, ALL_KEYS)):
            for wish in others:
                if chosen := choose(wish, values):
                    filters |= chosen
                else:
                    notes.append(
                        f"filter not applied: {wish.said!r} (no one value of the documents' metadata means it)"
                    )
        if filters and not await holdings.count_documents(connection, principal, collection, filters):
            notes.append(f"filter not applied: no document has {filters}")
            filters = {}
    return Found(filters, documents, tuple(notes))


async def _documents(
    connection: Any, principal: Principal, collection: str, asked: Sequence[Wish]
) -> tuple[tuple[str, ...], list[str]]:
    """External ids of named documents, and which names were not found. The longest name that is one counts."""
    if not asked:
        return (), []
    found = await holdings.documents_named(connection, principal, collection, [wish.value.casefold() for wish in asked])
    if not found:
        return (), [f"no document is called {asked[-1].value!r}: all were searched"]
    ids = dict.fromkeys(external_id for wish in asked for external_id in found.get(wish.value.casefold(), ()))
    if len(ids) > 1 and len(found) == 1:
        return (), [f"{len(ids)} documents are called {next(iter(found))!r}: all were searched"]
    return tuple(ids), []
