"""Embedding models of collections, and reindexing: changes without downtime, as jobs (docs/adr/0013)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from cairn.errors import InputError
from cairn.interfaces.http import problems
from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, Body, JobOut, example, job_out
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import models as model_service

router = APIRouter(tags=["models"], route_class=TypedRoute)

_MODEL = {"name": "all-MiniLM-L6-v2:int8", "dimensions": 384}
_IN_COLLECTION = {
    "collection": COLLECTION_EXAMPLE, "model": "all-MiniLM-L6-v2:int8", "state": "serving", "changed_at": None,
}  # fmt: skip


class ModelOut(BaseModel):
    model_config = example(_MODEL)

    name: str
    dimensions: int


class CollectionModelOut(BaseModel):
    """What a collection does with a model: backfilling, ready (may be flipped to), serving, retired (rolled back to)."""

    model_config = example(_IN_COLLECTION)

    collection: str
    model: str
    state: Literal["backfilling", "stopped", "ready", "serving", "retired"]
    changed_at: datetime | None


class ModelsOut(BaseModel):
    model_config = example({"models": [_MODEL], "collections": [_IN_COLLECTION]})

    models: list[ModelOut]
    collections: list[CollectionModelOut]


class ModelChange(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"action": "backfill", "model": "text-embedding-3-small"}, {"action": "rollback"}]
        },
    )

    action: Literal["backfill", "flip", "rollback", "forget"]
    model: str | None = Field(None, description="Not for rollback, which goes back to the model before.")


class ModelChanged(BaseModel):
    """What the collection does with each model now."""

    model_config = example({"collections": [_IN_COLLECTION]})

    collections: list[CollectionModelOut]


class Reindex(Body):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"force": False}]})

    force: bool = Field(False, description="Also documents that would come out as they are.")


@router.get("/models", summary="List embedding models")
async def list_models(services: ServicesDep) -> ModelsOut:
    """Those that have vectors here, and what each collection does with them."""
    found = await model_service.list_models(services)
    return ModelsOut(
        models=[ModelOut(name=model.name, dimensions=model.dimensions) for model in found.models],
        collections=_collections(found),
    )


@router.post(
    "/collections/{name}/models", response_model=ModelChanged,
    responses={202: {"model": JobOut}, **problems.declare(409, 502, 504)}, summary="Change the embedding model of a collection",
)  # fmt: skip
async def change_model(name: CollectionName, body: ModelChange, services: ServicesDep) -> ModelChanged | JSONResponse:
    """`backfill` (202, a job) makes the vectors of another model while the old one serves; `flip` lets it serve once no
    chunk lacks one; `rollback` goes back at once; `forget` deletes the vectors of a model that does not serve."""
    if body.action == "rollback":
        await model_service.rollback_model(services, name)
    elif body.model is None:
        raise InputError(f"{body.action} needs the name of a `model`")
    elif body.action == "backfill":
        job = job_out(await model_service.start_backfill(services, name, body.model))
        return JSONResponse(job.model_dump(mode="json"), 202, {"Location": f"/jobs/{job.id}"})
    elif body.action == "flip":
        await model_service.flip_model(services, name, body.model)
    else:
        await model_service.forget_model(services, name, body.model)
    return ModelChanged(collections=_collections(await model_service.list_models(services, name)))


@router.post("/collections/{name}/reindex", status_code=202, summary="Cut and embed all documents anew")
async def reindex_collection(name: CollectionName, body: Reindex, services: ServicesDep, response: Response) -> JobOut:
    """With the settings in force, from the stored text, document by document; the old index serves until each swap.
    Documents that would come out as they are cost nothing unless `force` is set. Versions do not change."""
    job = await model_service.start_reindex(services, name, force=body.force)
    response.headers["Location"] = f"/jobs/{job.id}"
    return job_out(job)


OneDocument = Annotated[UUID | None, Query(description="Only this one of them.")]


@router.post("/collections/{name}/reread", status_code=202, summary="Read documents of an earlier release anew")
async def reread_collection(
    name: CollectionName, services: ServicesDep, response: Response, document_id: OneDocument = None
) -> JobOut:
    """Those that loaders of an earlier release read, from their kept files: where today's read another text, it becomes a new
    version. The rest costs nothing, and what cannot be read any more stays; the job's result tells of it by name."""
    job = await model_service.start_reread(services, name, document_id)
    response.headers["Location"] = f"/jobs/{job.id}"
    return job_out(job)


def _collections(found: model_service.Models) -> list[CollectionModelOut]:
    return [
        CollectionModelOut(collection=item.collection, model=item.model, state=item.state, changed_at=item.changed_at)
        for item in found.collections
    ]
