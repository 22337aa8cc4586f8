"""Collections as models: their list, and what the name of a model means.

`handbook` and `cairn/handbook` are the collection, asked as `auto` decides; `cairn/handbook:react` is asked by that strategy.
Names of collections have neither `/` nor `:`, so nothing means two things.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

from fastapi import APIRouter, Path
from pydantic import BaseModel

from cairn.domain.document import Collection
from cairn.errors import NotFoundError
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service.ask import strategy_names
from cairn.service.documents import get_collection, list_collections
from cairn.wiring import Services

router = APIRouter(prefix="/v1", tags=["openai"], route_class=TypedRoute)

OWNER: Final = "cairn"
PAGE: Final = 200
DEFAULT_STRATEGY: Final = "auto"


class ModelName(NamedTuple):
    """What a client calls a model."""

    collection: str
    strategy: str


_MODEL = {"id": COLLECTION_EXAMPLE, "object": "model", "created": 1763719200, "owned_by": OWNER}


class ListedModelOut(BaseModel):
    model_config = example(_MODEL)

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = OWNER


class ModelListOut(BaseModel):
    model_config = example({"object": "list", "data": [_MODEL]})

    object: Literal["list"] = "list"
    data: list[ListedModelOut]


def parse_model(name: str) -> ModelName:
    """Raises NotFoundError for a strategy that there is not."""
    collection, _, strategy = name.removeprefix(f"{OWNER}/").partition(":")
    if strategy and strategy not in strategy_names():
        raise NotFoundError(
            f"the model {name[:200]} names a strategy that there is not; there are {', '.join(strategy_names())}"
        )
    return ModelName(collection, strategy or DEFAULT_STRATEGY)


async def find_collection(services: Services, name: str) -> tuple[Collection, ModelName]:
    """The collection that is a model, and how it is asked. Raises NotFoundError."""
    model = parse_model(name)
    try:
        return await get_collection(services, model.collection), model
    except NotFoundError:
        raise NotFoundError(
            f"there is no model {name[:200]}: models are collections, and none has this name; see GET /v1/models"
        ) from None


@router.get("/models", summary="List collections as models")
async def list_openai_models(services: ServicesDep) -> ModelListOut:
    """One for each, asked as `auto` decides. `cairn/<collection>:<strategy>` is a model, too, and is not listed: a client's menu
    shows what there is to ask, and not each way of asking it."""
    data: list[ListedModelOut] = []
    after = ""
    while found := await list_collections(services, after=after, limit=PAGE):
        for collection in found:
            data.append(ListedModelOut(id=collection.name, created=int(collection.created_at.timestamp())))
        after = found[-1].name
        if len(found) < PAGE:
            break
    return ModelListOut(data=data)


ModelPath = Annotated[str, Path(description="A collection, or `collection:strategy`.", examples=[COLLECTION_EXAMPLE])]


@router.get("/models/{model}", summary="Look a model up")
async def get_openai_model(model: ModelPath, services: ServicesDep) -> ListedModelOut:
    """404 where there is no such collection."""
    found, _ = await find_collection(services, model)
    return ListedModelOut(id=model, created=int(found.created_at.timestamp()))


@router.get("/models/{owner}/{model}", summary="Look a model up by its full name")
async def get_owned_openai_model(
    owner: Annotated[str, Path(description="`cairn`.", examples=[OWNER])], model: ModelPath, services: ServicesDep
) -> ListedModelOut:
    """`cairn/<collection>:<strategy>`, whose slash clients leave in the path."""
    if owner != OWNER:
        raise NotFoundError(f"models are of {OWNER}, not of {owner[:100]}; see GET /v1/models")
    found, _ = await find_collection(services, f"{owner}/{model}")
    return ListedModelOut(id=f"{owner}/{model}", created=int(found.created_at.timestamp()))
