"""How a request says which document, or which documents, it means."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Depends, Path, Query
from pydantic import AwareDatetime, WithJsonSchema

from cairn.domain.access import MOST_NAMES, check_access
from cairn.domain.document import Status, check_metadata
from cairn.domain.document_list import DocumentFilter
from cairn.domain.names import MAX_EXTERNAL_ID
from cairn.errors import InputError, NotFoundError
from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.models import ID_EXAMPLE, cleaned
from cairn.interfaces.http.running import ServicesDep
from cairn.language.text import normalise
from cairn.service import documents

BY_EXTERNAL_ID: Final = "by-external-id"
"""Stands in an address in the place of the id of the document that `external_id` names."""
_MOST_NAMED: Final = 200
"""Ids in one request."""

_Address = Annotated[
    str,
    Path(
        description=f"Id that Cairn gave to the document; or `{BY_EXTERNAL_ID}`, with the caller's own as `?external_id=`.",
        examples=[ID_EXAMPLE],
    ),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "uuid"}, {"const": BY_EXTERNAL_ID}]}),
]
_ExternalId = Annotated[
    str | None,
    Query(
        max_length=MAX_EXTERNAL_ID,
        description=f"The caller's id of the document, where the path says `{BY_EXTERNAL_ID}`.",
    ),
]


async def _document_id(
    name: CollectionName, document_id: _Address, services: ServicesDep, external_id: _ExternalId = None
) -> UUID:
    if document_id == BY_EXTERNAL_ID:
        if not external_id:
            raise InputError(f"{BY_EXTERNAL_ID} needs the id: ?external_id=...")
        return await documents.find_document_id(services, name, normalise(external_id))
    try:
        found = UUID(document_id)
    except ValueError:
        raise InputError(
            f"{document_id[:100]!r} is no id of a document; with an id of your own ask for "
            f"/collections/{name[:140]}/documents/{BY_EXTERNAL_ID}?external_id=..."
        ) from None
    if external_id is not None and await documents.find_document_id(services, name, normalise(external_id)) != found:
        raise NotFoundError(f"no document {document_id} with the external id {external_id[:140]} in {name[:140]}")
    return found


DocumentId = Annotated[UUID, Depends(_document_id)]
"""Of the document that the path of a route means, with `{document_id}` in it."""


async def _wanted(
    id: Annotated[
        list[UUID] | None, Query(max_length=_MOST_NAMED, description="Only these; repeat it for several.")
    ] = None,
    external_id: Annotated[
        list[str] | None, Query(max_length=_MOST_NAMED, description="Only those of these external ids; repeat it.")
    ] = None,
    q: Annotated[
        str | None,
        Query(max_length=500, description="Only those whose title or external id contains this, in any case."),
    ] = None,
    status: Annotated[list[Status] | None, Query(max_length=5, description="Only in these states; repeat it.")] = None,
    media_type: Annotated[str | None, Query(max_length=200, examples=["application/pdf"])] = None,
    metadata: Annotated[
        str | None,
        Query(
            description="A JSON object that the metadata contain, as in `filters` of a search.",
            examples=['{"team": "people"}'],
        ),
    ] = None,
    updated_since: Annotated[AwareDatetime | None, Query(description="Only those that changed then or later.")] = None,
    mentions: Annotated[
        str | None,
        Query(
            max_length=500,
            description="Only indexed ones in which these words stand one after the other, in any inflection, title and headings "
            "included.",
        ),
    ] = None,
    readable_by: Annotated[
        list[str] | None,
        Query(
            max_length=MOST_NAMES,
            description="Only those that one of these may read, by their access lists: `group:hr`, `person:ada`; repeat it.",
        ),
    ] = None,
) -> DocumentFilter:
    return DocumentFilter(
        ids=id or None,
        external_ids=[normalise(one) for one in external_id] if external_id else None,
        contains=normalise(q) if q else None,
        statuses=status or None,
        media_type=normalise(media_type) if media_type else None,
        metadata=_object(metadata) or None if metadata else None,
        updated_since=_instant(updated_since) if updated_since else None,
        mentions=normalise(mentions) if mentions else None,
        readable_by=check_access(readable_by) if readable_by else None,
    )


Wanted = Annotated[DocumentFilter, Depends(_wanted)]
"""The documents that the query of a request means; with nothing, all of them."""


def _object(text: str) -> dict[str, Any]:
    try:
        found = cleaned(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"metadata is not usable JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"metadata must be a JSON object, not {type(found).__name__}")
    check_metadata(found)
    return found


def _instant(moment: datetime) -> datetime:
    """In UTC. Raises InputError for one that has no such time."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InputError("updated_since is no instant of the years 1 to 9999") from None
