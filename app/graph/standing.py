"""The entity that a caller names by its id or its name, and an error that helps where there is none."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from app.domain.document import Collection
from app.domain.graph_view import Standing
from app.domain.principal import Principal
from app.errors import NotFoundError
from app.graph.lookup import lookup, near_names
from app.language.text import normalise
from app.store import collections, graph_view


async def standing_of(
    connection: Any, principal: Principal, entity: str, collection: str | None, default: str
) -> Standing:
    """By id in any collection, or in the one that is named; by name in that or the default one. One that was merged into
    another is that other one. Raises NotFoundError, with names that may have been meant (`did_you_mean`)."""
    if (entity_id := _as_id(entity)) and (known := await graph_view.standing(connection, principal, entity_id)):
        if collection is None or known.collection == collection:
            return known
        raise NotFoundError(f"no entity {entity} in collection {collection[:140]}")
    found = await collection_of(connection, principal, collection or default)
    name = normalise(entity).strip()
    if one := await lookup(connection, principal, found.id, name):
        return Standing(one, found.id, found.name)
    raise await _unknown(connection, principal, found, name)


async def collection_of(connection: Any, principal: Principal, name: str) -> Collection:
    """Raises NotFoundError."""
    found = await collections.by_name(connection, principal, normalise(name))
    if found is None:
        raise NotFoundError(f"no collection named {name[:140]}; see GET /collections")
    return found


async def _unknown(connection: Any, principal: Principal, collection: Collection, name: str) -> NotFoundError:
    shown = name if len(name) <= 140 else name[:139] + "…"
    near = await near_names(connection, principal, collection.id, name)
    if near:
        detail = f"no entity {shown!r} in {collection.name}; did you mean {', '.join(near)}?"
    elif collection.document_count and not await graph_view.entities(connection, principal, collection.id, limit=1):
        detail = (
            f"collection {collection.name} has no graph: it is older than graphs are, or graph.enabled is off; "
            f"make it with `cairn reindex {collection.name}`"
        )
    else:
        detail = f"no entity {shown!r} in collection {collection.name}"
    return NotFoundError(detail, did_you_mean=near)


def _as_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
