"""Changing what is said about a document, and deleting many."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from cairn.domain.access import MOST_NAMES
from cairn.interfaces.http import problems
from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.document_addresses import DocumentId, Wanted
from cairn.interfaces.http.documents import ACCESS, EPOCH, EPOCH_HEADER, DocumentOut, document_out
from cairn.interfaces.http.models import Body, Metadata, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import editing
from cairn.service.documents import MAX_TITLE
from cairn.service.epochs import epoch_of

router = APIRouter(tags=["documents"], route_class=TypedRoute)


class DocumentPatch(Body):
    """What is left out stays as it is."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"title": "Leave 2026", "metadata": {"team": "people", "draft": None}}]},
    )

    title: Annotated[str | None, Field(max_length=MAX_TITLE, description="By which it is then found.")] = None
    metadata: Annotated[
        Metadata | None, Field(description="Merged into what is there; null removes a member (RFC 7396).")
    ] = None

    access: Annotated[
        list[str] | None, Field(max_length=MOST_NAMES, description=f"{ACCESS} From now on; needs the scope admin.")
    ] = None

    @model_validator(mode="after")
    def _says_something(self) -> DocumentPatch:
        if self.title is None and self.metadata is None and self.access is None:
            raise ValueError("give a title, metadata or access")
        return self


class DeletionOut(BaseModel):
    """How many documents were deleted."""

    model_config = example({"deleted": 12, "more": False, "epoch": 14})

    deleted: int
    more: bool = Field(
        description=f"There are others that were meant, since one request deletes {editing.MOST_DELETED:,}: repeat it."
    )
    epoch: int = EPOCH


@router.patch(
    "/collections/{name}/documents/{document_id}",
    responses=problems.declare(403, 409, 502, 504),
    summary="Change title, metadata or who may read it",
)
async def change_document(
    name: CollectionName, document_id: DocumentId, body: DocumentPatch, services: ServicesDep, response: Response
) -> DocumentOut:
    """Answers when searches follow: filters by the new metadata, words of the new title. The version stays. When the document is
    handed over again, its metadata are those that come with it, and with new content so is its title. 409 while it is not
    indexed and a title is given. `X-Collection-Epoch`: `min_epoch` of requests that must see it."""
    changed = await editing.change_document(
        services, name, document_id, title=body.title, metadata=body.metadata, access=body.access
    )
    response.headers[EPOCH_HEADER] = str(await epoch_of(services, name))
    return document_out(changed)


@router.delete("/collections/{name}/documents", summary="Delete documents by id or filter")
async def delete_documents(name: CollectionName, wanted: Wanted, services: ServicesDep) -> DeletionOut:
    """Those that the list shows under the same filters, with everything derived from them. 422 without any: delete the collection
    for that."""
    done = await editing.delete_documents(services, name, wanted)
    return DeletionOut(deleted=done.deleted, more=done.more, epoch=await epoch_of(services, name))
