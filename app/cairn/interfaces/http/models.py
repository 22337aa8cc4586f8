"""Shapes that several routes share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cairn.domain.answer import ConfidenceWord
from cairn.domain.job import Job
from cairn.domain.passage import Leg, Passage
from cairn.language.text import normalise

COLLECTION_EXAMPLE = "handbook"
ID_EXAMPLE = "01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f60"
Metadata = dict[str, Any]


def example(value: Mapping[str, Any]) -> ConfigDict:
    """Model configuration with one example, which OpenAPI shows."""
    return ConfigDict(json_schema_extra={"examples": [dict(value)]})


WordOut = Annotated[
    ConfidenceWord | None,
    Field(
        description="Of a quotation what its confidence is worth: found, likely or not_sure. exact: all documents were counted; "
        "computed: over the cells of a table; recognised: by rules, so that some may be missing. null: of a refusal, of small "
        "talk, of a summary and of what a model wrote."
    ),
]
MinEpoch = Annotated[
    Annotated[int, Field(ge=0)] | dict[str, Annotated[int, Field(ge=0)]] | None,
    Field(
        description="The least epoch of the collection that is to be read, as what wrote returned it (`epoch`), or an object "
        "with one for each collection. Read replicas that are behind are passed over; 409 where there is no such state.",
    ),
]


class Body(BaseModel):
    """Base of JSON bodies: cleaned before it is validated, and nothing unknown in it."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, data: Any) -> Any:
        return cleaned(data)


class Span(BaseModel):
    """A half-open range of code points in the document's text."""

    start: int
    end: int


SCORE = (
    "The fused score, 0 to 1, comparable within one result only. relative_score (the default): the sum over the legs of share "
    "times score over the leg's best; rrf: reciprocal ranks, as a share of the best sum possible."
)

PASSAGE_EXAMPLE: dict[str, Any] = {
    "passage_id": ID_EXAMPLE, "chunk_id": "01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f61",
    "document_id": "01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f62", "collection": COLLECTION_EXAMPLE,
    "external_id": "guides/leave.md", "title": "Leave", "content": "Employees have 30 days of leave per year.",
    "start": 120, "end": 161, "matched": {"start": 120, "end": 161}, "page": None, "headings": ["Leave", "Annual"],
    "score": 0.8163, "rerank_score": None, "ranks": {"vector": 1, "lexical": 2}, "metadata": {"team": "people"},
    "token_count": 10, "version": 1, "media_type": "text/markdown",
}  # fmt: skip


class PassageOut(BaseModel):
    """A passage of a document. `matched` is the span of the chunk `chunk_id` that the vector leg found."""

    model_config = example(PASSAGE_EXAMPLE)

    passage_id: UUID
    chunk_id: UUID | None
    document_id: UUID
    collection: str
    external_id: str
    title: str
    content: str
    start: int
    end: int
    matched: Span | None
    page: int | None
    headings: list[str]
    score: float = Field(description=SCORE)
    rerank_score: float | None
    ranks: dict[Leg, int] = Field(description="Rank from 1 in each leg that found the passage.")
    metadata: Metadata
    token_count: int
    version: int
    media_type: str


_SAME_OF_PASSAGE = tuple(name for name in PassageOut.model_fields if name != "matched")


def passage_fields(passage: Passage) -> dict[str, Any]:
    """The fields of PassageOut."""
    matched = Span(start=passage.matched[0], end=passage.matched[1]) if passage.matched else None
    same = {name: getattr(passage, name) for name in _SAME_OF_PASSAGE}
    return {**same, "matched": matched, "headings": list(passage.headings), "ranks": dict(passage.ranks)}


class ProgressOut(BaseModel):
    """`done` of `total` steps; `total` is null while unknown."""

    done: int
    total: int | None
    message: str
    shares: dict[str, float] = Field(
        {}, description="Of files under way, by external id: how much is read, then of a large one embedded, 0 to 1."
    )


JOB_EXAMPLE: dict[str, Any] = {
    "id": ID_EXAMPLE, "kind": "index_uploads", "collection": COLLECTION_EXAMPLE, "status": "succeeded",
    "progress": {"done": 1, "total": 1, "message": "done", "shares": {}},
    "result": {
        "uploaded": [{"id": ID_EXAMPLE, "external_id": "leave.md", "chunk_count": 4, "duplicate": False, "change": "added"}],
        "failed": [],
    },
    "error": None, "attempts": 1, "max_attempts": 3, "cancel_requested": False,
    "created_at": "2026-11-21T10:00:00Z", "started_at": "2026-11-21T10:00:00Z",
    "finished_at": "2026-11-21T10:00:01Z",
}  # fmt: skip


class JobOut(BaseModel):
    """A job. It has ended when status is succeeded, failed, parked (its worker died too often) or cancelled."""

    model_config = example(JOB_EXAMPLE)

    id: UUID
    kind: str
    collection: str | None = Field(description="What the job works on, where its order named one.")
    status: str
    progress: ProgressOut
    result: dict[str, Any] | None
    error: str | None
    attempts: int
    max_attempts: int
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


def job_out(job: Job) -> JobOut:
    progress = ProgressOut(**asdict(job.progress))
    own = {"progress": progress, "collection": job.payload.get("collection")}
    return JobOut(**{name: own[name] if name in own else getattr(job, name) for name in JobOut.model_fields})


# --- text from outside, so that PostgreSQL can store it and JSON can repeat it ------------------------------------------------

MAX_DEPTH = 50
"""Deepest nesting of a JSON value; metadata and filters need two or three levels."""
MAX_NAMES = 5000
"""Of one JSON object. Each that a model does not know is a mistake to describe, and describing 60,000 takes seconds."""
MAX_INTEGER_BITS = 1024
"""Integers beyond this (308 digits) are a mistake or an attack; PostgreSQL's numeric would take them."""


def cleaned(value: Any, depth: int = 0) -> Any:
    """A JSON value with every string normalised, keys included.

    Raises ValueError for NaN, infinities (also 1e400), huge integers, objects of more than MAX_NAMES names and nesting deeper
    than MAX_DEPTH.
    """
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("numbers must be finite: NaN, Infinity and 1e400 are not JSON")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ValueError("an integer has more than 300 digits")
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        raise ValueError(f"JSON is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        if len(value) > MAX_NAMES:
            raise ValueError(f"a JSON object has {len(value):,} names, and at most {MAX_NAMES:,} are allowed")
        return {normalise(str(key)): cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item, depth + 1) for item in value]
    return value
