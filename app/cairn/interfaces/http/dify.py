"""Dify's external knowledge: POST /retrieval, as Dify calls it below the endpoint that it was given (docs/dify.md)."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from cairn.interfaces.http.models import COLLECTION_EXAMPLE, Body, Metadata, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute, until_gone
from cairn.service.dify import FieldCondition, Knowledge, Operator, find_knowledge

router = APIRouter(tags=["dify"], route_class=TypedRoute)


class RetrievalSetting(BaseModel):
    model_config = ConfigDict(extra="allow")

    top_k: int = Field(5, ge=1, le=200)
    score_threshold: float | None = Field(0.0, ge=0, le=1, description="Passages of a lower score are left out.")


class MetadataConditionItem(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str | list[str] = Field(description="A field of the documents' metadata; of several, any.")
    comparison_operator: Operator
    value: str | float | list[str] | None = None


class MetadataCondition(BaseModel):
    model_config = ConfigDict(extra="allow")

    logical_operator: Literal["and", "or"] | None = "and"
    conditions: list[MetadataConditionItem] | None = Field(None, max_length=50)


class RetrievalBody(Body):
    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "knowledge_id": COLLECTION_EXAMPLE, "query": "How many days of leave?",
                    "retrieval_setting": {"top_k": 3, "score_threshold": 0.2},
                }
            ]
        },
    )  # fmt: skip

    knowledge_id: str = Field(description="A collection.")
    query: str
    retrieval_setting: RetrievalSetting = Field(default_factory=RetrievalSetting)
    metadata_condition: MetadataCondition | None = None


_RECORD: dict[str, Any] = {
    "content": "Employees have 30 days of leave per year.", "score": 0.83, "title": "Leave",
    "metadata": {"team": "people", "path": "guides/leave.md", "page": None, "start": 120, "end": 161},
}  # fmt: skip


class RetrievalRecord(BaseModel):
    model_config = example(_RECORD)

    content: str
    score: float = Field(
        description="0 to 1: of the best one the confidence of the search, of others their share of it."
    )
    title: str
    metadata: Metadata = Field(
        description="Of the document, and where the passage stands: document_id, path, page, start, end, headings."
    )


class RetrievalOut(BaseModel):
    model_config = example({"records": [_RECORD]})

    records: list[RetrievalRecord]


@router.post("/retrieval", summary="Find passages for Dify")
async def retrieve_for_dify(body: RetrievalBody, request: Request, services: ServicesDep) -> RetrievalOut:
    """Errors are `{error_code, error_msg}`."""
    wanted, condition = body.retrieval_setting, body.metadata_condition
    conditions = [_condition(one) for one in (condition.conditions if condition else None) or ()]
    found: list[Knowledge] = await until_gone(
        request,
        find_knowledge(
            services, body.knowledge_id, body.query, top_k=wanted.top_k, threshold=wanted.score_threshold or 0.0,
            conditions=conditions, every=condition is None or condition.logical_operator != "or",
        ),
    )  # fmt: skip
    return RetrievalOut(records=[_record(one) for one in found])


def _condition(item: MetadataConditionItem) -> FieldCondition:
    names = (item.name,) if isinstance(item.name, str) else tuple(item.name)
    return FieldCondition(
        names, item.comparison_operator, tuple(item.value) if isinstance(item.value, list) else item.value
    )


def _record(found: Knowledge) -> RetrievalRecord:
    passage = found.passage
    place = {
        "document_id": str(passage.document_id), "path": passage.external_id, "page": passage.page, "start": passage.start,
        "end": passage.end, "headings": list(passage.headings),
    }  # fmt: skip
    return RetrievalRecord(
        content=passage.content, score=found.score, title=passage.title or passage.external_id,
        metadata={**passage.metadata, **place},
    )  # fmt: skip
