"""Collections: named sets of documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from cairn.domain.document import Collection
from cairn.domain.names import MAX_NAME
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, Body, example
from cairn.interfaces.http.running import Cursor, Limit, ServicesDep, TypedRoute, decode_cursor, encode_cursor
from cairn.service import documents, models

router = APIRouter(tags=["collections"], route_class=TypedRoute)

CollectionName = Annotated[str, Path(description="Name of the collection.", examples=[COLLECTION_EXAMPLE])]

_RECALL = {
    "regime": "dedicated", "model": "all-MiniLM-L6-v2:int8", "k": 10, "sample": 50, "recall": 0.988, "ef_search": 80,
    "checked_at": "2026-11-21T03:00:00Z",
}  # fmt: skip
_EXAMPLE = {
    "name": COLLECTION_EXAMPLE, "display_name": "Staff handbook",
    "document_count": 12, "passage_count": 140, "chunk_count": 610, "epoch": 14,
    "created_at": "2026-11-21T10:00:00Z", "embedding_model": "all-MiniLM-L6-v2:int8", "embedding_state": "serving",
}  # fmt: skip


_DISPLAY_NAME = "What people call it, spaces and capitals included; null: its name."


class NewCollection(Body):
    """The name: 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit; it is made of the display name where
    there is none."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": COLLECTION_EXAMPLE, "display_name": "Staff handbook", "embedding_model": "minilm"}]
        },
    )

    name: str | None = None
    display_name: str | None = Field(None, max_length=MAX_NAME, description=_DISPLAY_NAME)
    embedding_model: str | None = Field(
        None, max_length=200,
        description="Which is to serve it: minilm (code, English at half the cost), e5 (prose in many languages), or another as "
        "settings name it. Null or auto: that of the settings, or what its first documents ask for.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _is_called_something(self) -> NewCollection:
        if self.name is None and self.display_name is None:
            raise ValueError("give a name, a display_name, or both")
        return self


class CollectionPatch(Body):
    """What people call the collection. Its name stays: addresses, settings and programs have it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"display_name": "Staff handbook 2026"}]})

    display_name: str | None = Field(max_length=MAX_NAME, description=_DISPLAY_NAME)


class CollectionOut(BaseModel):
    model_config = example(_EXAMPLE)

    name: str
    display_name: str | None = Field(None, description=_DISPLAY_NAME)
    document_count: int
    passage_count: int
    chunk_count: int
    epoch: int = Field(description="Grows with every committed change of content.")
    created_at: datetime
    embedding_model: str | None = Field(
        None,
        description="Which serves it; null before its first document, unless one was chosen when it was created.",
    )
    embedding_state: Literal["empty", "serving", "changing", "reindexing"] = Field(
        "empty",
        description="changing: vectors of another model are being made; reindexing: its documents are embedded anew.",
    )


class RecallOut(BaseModel):
    """The vector leg, compared with the exact scan on a sample of stored vectors."""

    model_config = example(_RECALL)

    regime: str = Field(description="exact, dedicated (an index of its own) or shared.")
    model: str
    k: int
    sample: int
    recall: float = Field(description="Mean share of the true k neighbours that were found, 0 to 1.")
    ef_search: int = Field(description="HNSW search breadth in force.")
    checked_at: datetime


class CollectionDetail(CollectionOut):
    model_config = example({**_EXAMPLE, "recall": _RECALL})

    recall: RecallOut | None = Field(description="Null until a check; small collections need none.")


class CollectionPage(BaseModel):
    model_config = example({"items": [_EXAMPLE], "next_cursor": None})

    items: list[CollectionOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


def _out(collection: Collection, serving: Mapping[str, models.CollectionEmbedding] | None = None) -> CollectionOut:
    embedding = (serving or {}).get(collection.name, models.CollectionEmbedding())
    return CollectionOut(
        **{name: getattr(collection, name) for name in CollectionOut.model_fields if not name.startswith("embedding_")},
        embedding_model=embedding.model,
        embedding_state=embedding.state,
    )


@router.post("/collections", status_code=201, responses=problems.declare(409, 502, 504), summary="Create a collection")
async def create_collection(body: NewCollection, services: ServicesDep, response: Response) -> CollectionOut:
    """Not needed before adding documents: that creates the collection. 409 when the name is taken, 422 for an embedding model
    that cannot be had."""
    collection = await documents.create_collection(services, body.name, body.embedding_model, body.display_name)
    response.headers["Location"] = f"/collections/{collection.name}"
    return _out(collection, await models.get_embedding(services, collection.name))


@router.get("/collections", summary="List collections")
async def list_collections(services: ServicesDep, cursor: Cursor = None, limit: Limit = 50) -> CollectionPage:
    """In order of name."""
    found = await documents.list_collections(services, after=decode_cursor(cursor), limit=limit + 1)
    more = encode_cursor(found[limit - 1].name) if len(found) > limit else None
    serving = await models.get_embedding(services)
    return CollectionPage(items=[_out(collection, serving) for collection in found[:limit]], next_cursor=more)


@router.get("/collections/{name}", summary="Look at a collection")
async def get_collection(name: CollectionName, services: ServicesDep) -> CollectionDetail:
    found = await documents.get_collection(services, name)
    check = await documents.get_recall(services, found)
    recall = RecallOut(**asdict(check)) if check else None
    serving = await models.get_embedding(services, found.name)
    return CollectionDetail(**_out(found, serving).model_dump(), recall=recall)


@router.patch("/collections/{name}", summary="Change what people call a collection")
async def rename_collection(name: CollectionName, body: CollectionPatch, services: ServicesDep) -> CollectionOut:
    found = await documents.rename_collection(services, name, body.display_name)
    return _out(found, await models.get_embedding(services, found.name))


@router.delete("/collections/{name}", status_code=204, summary="Delete a collection")
async def delete_collection(name: CollectionName, services: ServicesDep) -> None:
    """With all its documents and everything derived from them, in one transaction."""
    await documents.delete_collection(services, name)
