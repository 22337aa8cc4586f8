"""Who may read the documents of a folder, or of a collection."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from cairn.domain.access import MOST_NAMES
from cairn.interfaces.http import problems
from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.models import ID_EXAMPLE, Body, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.language.text import normalise
from cairn.service import access

router = APIRouter(tags=["collections"], route_class=TypedRoute)

_RULE: dict[str, Any] = {"folder": "hr", "access": ["group:personnel"]}
_FOLDER = (
    "What the ids of the documents begin with, such as `hr/`, or all of one; empty: the whole collection. The rule of the "
    "nearest folder counts."
)
_ACCESS = (
    "Who may read them: `group:<name>`, `person:<subject of a token>`, `key:<id>`; nobody: everybody in the tenant."
)


class AccessRuleIn(Body):
    """Of the documents that have no access list of their own, those that come later too."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_RULE]})

    folder: str = Field("", description=_FOLDER)
    access: list[str] = Field(max_length=MOST_NAMES, description=_ACCESS)


class AccessRuleOut(BaseModel):
    model_config = example(_RULE)

    folder: str = Field(description="Without the slash at its end; empty: the whole collection.")
    access: list[str] = Field(description=_ACCESS)


class AccessRules(BaseModel):
    """By folder."""

    model_config = example({"items": [_RULE]})

    items: list[AccessRuleOut]


class AccessChanged(AccessRules):
    """The rules as they are now."""

    model_config = example(
        {"items": [_RULE], "changed": 12, "documents": 14, "collection_made": False, "job_id": ID_EXAMPLE}
    )

    changed: int = Field(description="Documents that have another access list now.")
    documents: int = Field(description="In the folder, whatever their list; 0: none yet, or its name is mistyped.")
    collection_made: bool = Field(description="Whether there was no such collection before.")
    job_id: UUID | None = Field(
        description="Brings those back into the graph that everybody may read now; null: there are none."
    )


@router.get("/collections/{name}/access", summary="List access rules")
async def list_access_rules(name: CollectionName, services: ServicesDep) -> AccessRules:
    """All of them for the scope admin; for others those that name them."""
    return AccessRules(items=await _rules(services, name))


@router.put("/collections/{name}/access", responses=problems.declare(403), summary="Say who may read a folder")
async def set_folder_access(name: CollectionName, body: AccessRuleIn, services: ServicesDep) -> AccessChanged:
    """The access lists of all its documents change at once, and what is added later has it from the beginning. The collection is
    created if need be, so that nothing is ever in it that everybody may read."""
    return await _changed(services, name, await access.set_folder_access(services, name, body.folder, body.access))


@router.delete("/collections/{name}/access", summary="Take an access rule away")
async def remove_folder_access(
    name: CollectionName,
    services: ServicesDep,
    folder: Annotated[str, Query(description=_FOLDER)] = "",
) -> AccessChanged:
    """Its documents have the access list of the folder above from then on. Where there is no such rule nothing changes."""
    return await _changed(services, name, await access.remove_folder_access(services, name, normalise(folder)))


async def _changed(services: ServicesDep, name: str, done: access.FolderAccess) -> AccessChanged:
    job_id = done.job.id if done.job else None
    return AccessChanged(
        items=await _rules(services, name), changed=done.changed, documents=done.documents, collection_made=done.made,
        job_id=job_id,
    )  # fmt: skip


async def _rules(services: ServicesDep, name: str) -> list[AccessRuleOut]:
    found = await access.list_access_rules(services, name)
    return [AccessRuleOut(folder=one.prefix, access=list(one.access)) for one in found]
