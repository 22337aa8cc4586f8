"""What a tool is: a name, what it takes and gives, what its caller must be allowed, and what it works on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import GenerateJsonSchema

from cairn.domain.principal import Scope
from cairn.errors import NotFoundError
from cairn.interfaces.http.models import cleaned
from cairn.service.documents import get_collection, list_collections
from cairn.wiring import Services

Kind = Literal["light", "search", "answer", "ingest"]
"""With what a call competes for a place (cairn/runs/limits/admission.py); an answer takes its own where its run begins."""
Report = Callable[[float, str], Awaitable[None]]
"""Tells the client how far a call has come: percent, and what is being done."""
NAMES_TOLD = 20


class ToolInput(BaseModel):
    """Base of what tools take: cleaned before it is validated, and nothing unknown in it."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, data: Any) -> Any:
        return cleaned(data)


class InCollection(ToolInput):
    collection: str | None = Field(
        None, description="Name of the collection; default: the configured one, or the only one there is."
    )


@dataclass(frozen=True, slots=True)
class ToolWork:
    """One call: the services, working for the caller, and how to tell how far it is."""

    services: Services
    report: Report


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """`result` for programs, in the shape that the tool declares; `text` the same for a model to read."""

    result: BaseModel
    text: str


@dataclass(frozen=True, slots=True)
class McpTool:
    """`description` is what a model chooses by; `scopes` are all asked for. `work` raises CairnError."""

    name: str
    title: str
    description: str
    scopes: tuple[Scope, ...]
    kind: Kind
    takes: type[ToolInput]
    gives: type[BaseModel]
    work: Callable[[ToolWork, Any], Awaitable[ToolAnswer]]
    repeatable: bool = True
    """Whether a second call with the same arguments changes nothing more."""


class _Plain(GenerateJsonSchema):
    """Names say it already: no titles, which models would read at each call."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """JSON Schema of what a tool takes or gives."""
    return model.model_json_schema(schema_generator=_Plain)


async def choose_collection(services: Services, named: str | None) -> str:
    """The collection that is meant: the one named, the configured one, or the only one. Raises NotFoundError with the names that
    there are."""
    wanted = named if named is not None else services.settings.current.rag.collection_name
    try:
        return (await get_collection(services, wanted)).name
    except NotFoundError:
        names = [one.name for one in await list_collections(services, limit=NAMES_TOLD)]
    if named is None and len(names) == 1:
        return names[0]
    there = f"there are: {', '.join(names)}" if names else "there is none yet; index_document makes one"
    raise NotFoundError(f"no collection named {wanted[:140]}; {there}")
