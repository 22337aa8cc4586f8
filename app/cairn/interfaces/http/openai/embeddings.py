"""POST /v1/embeddings: vectors of texts by the model that serves a collection."""

from __future__ import annotations

import base64
from typing import Annotated, Final, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError
from starlette.requests import Request

from cairn.errors import InputError, UnsupportedParameterError
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, Body, example
from cairn.interfaces.http.openai.models import OWNER
from cairn.interfaces.http.running import ServicesDep, TypedRoute, until_gone
from cairn.service.embeddings import EmbeddedTexts, embed

router = APIRouter(prefix="/v1", tags=["openai"], route_class=TypedRoute)

MOST_TEXTS = 2048
"""Of one request, as in the OpenAI API."""


_TOKENS: Final = (
    "send texts: tokens are not taken, since each model has its own (LangChain: check_embedding_ctx_length=False)"
)


class EmbeddingBody(Body):
    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"model": COLLECTION_EXAMPLE, "input": ["How many days of leave?"]}]},
    )

    model: str = Field(description="An embedding model, or a collection: the model that serves it.")
    input: str | Annotated[list[str], Field(min_length=1, max_length=MOST_TEXTS)] = Field(
        description="A text or several; tokens are refused, since each model has its own."
    )

    @field_validator("input", mode="before")
    @classmethod
    def _refuse_tokens(cls, given: object) -> object:
        if isinstance(given, list) and given and all(isinstance(one, (int, list)) for one in given):
            raise PydanticCustomError("tokens", _TOKENS)
        return given

    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(None, description="Those of the model; others are refused.")


class EmbeddingOut(BaseModel):
    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str = Field(description="base64: little-endian float32.")


class EmbeddingUsage(BaseModel):
    prompt_tokens: int
    total_tokens: int


class EmbeddingListOut(BaseModel):
    model_config = example(
        {
            "object": "list", "model": "all-MiniLM-L6-v2:int8",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.1, -0.2]}],
            "usage": {"prompt_tokens": 7, "total_tokens": 7},
        }
    )  # fmt: skip

    object: Literal["list"] = "list"
    model: str
    data: list[EmbeddingOut]
    usage: EmbeddingUsage


@router.post("/embeddings", summary="Embed texts", responses=problems.declare(502, 504))
async def create_embeddings(body: EmbeddingBody, request: Request, services: ServicesDep) -> EmbeddingListOut:
    """L2-normalised vectors, in the order of the texts."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not all(text.strip() for text in texts):
        raise InputError("a text to embed is empty", param="input")
    found: EmbeddedTexts = await until_gone(request, embed(services, body.model.removeprefix(f"{OWNER}/"), texts))
    size = len(found.vectors[0])
    if body.dimensions not in (None, size):
        raise UnsupportedParameterError(f"{found.model} makes vectors of {size} dimensions", param="dimensions")
    data = [
        EmbeddingOut(index=n, embedding=_packed(one) if body.encoding_format == "base64" else one)
        for n, one in enumerate(found.vectors)
    ]
    usage = EmbeddingUsage(prompt_tokens=found.tokens, total_tokens=found.tokens)
    return EmbeddingListOut(model=found.model, data=data, usage=usage)


def _packed(vector: list[float]) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
