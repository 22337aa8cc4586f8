"""Traces: what a search or an answer did, read back."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import datetime
from itertools import zip_longest
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from cairn.domain.access import MOST_NAMES
from cairn.domain.trace import LegTrace, RunTrace
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import search as search_service

router = APIRouter(tags=["traces"], route_class=TypedRoute)

TraceId = Annotated[UUID, Path(description="`trace_id` of a search, `run_id` of a question.", examples=[ID_EXAMPLE])]
_STAGE = {"stage": "vector", "verdict": "found at rank 3 of 50", "rank": 3, "score": 0.71}


class CandidateOut(BaseModel):
    rank: int
    passage_id: UUID
    chunk_id: UUID | None
    score: float | None = Field(description="The leg's own score; for `fused` the fused one.")
    share: float | None = Field(description="Part in the fused score; for `fused` the reranker's score, if any.")
    fate: str | None = Field(description="For `fused`: kept, or why it was dropped.")


class LegOut(BaseModel):
    leg: str = Field(description="vector, lexical, fused; merged: the list that was made of several searches.")
    search: int | None = Field(description="Which search of the run, from 1 (see plan.searches); null for merged.")
    candidates: list[CandidateOut]


class TraceOut(BaseModel):
    model_config = example(
        {
            "id": ID_EXAMPLE, "started_at": "2026-11-21T10:00:00Z", "kind": "search",
            "collections": [COLLECTION_EXAMPLE], "question": "how many days of leave?", "strategy": None,
            "outcome": "ok", "error": None, "plan": {"legs": ["vector", "lexical"], "top_k": 5},
            "timings_ms": {"total": 14.2}, "legs_used": ["vector", "lexical"], "legs_failed": {}, "degraded": [],
            "settings_revision": "1f0c9a7be402", "epochs": {COLLECTION_EXAMPLE: 14}, "answer": {}, "usage": {},
            "document_ids": [], "session_id": None,
            "legs": [{"leg": "fused", "search": 1, "candidates": [
                {"rank": 1, "passage_id": ID_EXAMPLE, "chunk_id": None, "score": 0.0163, "share": None, "fate": "kept"}
            ]}],
        }
    )  # fmt: skip

    id: UUID
    started_at: datetime
    kind: str
    collections: list[str]
    question: str
    strategy: str | None
    outcome: str
    error: str | None
    plan: dict[str, Any]
    timings_ms: dict[str, float]
    legs_used: list[str]
    legs_failed: dict[str, str]
    degraded: list[str]
    settings_revision: str
    epochs: dict[str, int]
    answer: dict[str, Any]
    usage: dict[str, Any]
    document_ids: list[UUID]
    session_id: str | None
    legs: list[LegOut]


@router.get("/traces/{trace_id}", summary="Read a run back")
async def get_trace(
    trace_id: TraceId,
    services: ServicesDep,
) -> TraceOut:
    """The run with every candidate of every leg and why it was kept or not. Waits until the trace is written."""
    return _out(await search_service.get_trace(services, trace_id))


class StageOut(BaseModel):
    """What a stage of a run made of a passage."""

    model_config = example(_STAGE)

    stage: str = Field(
        description="collection, access, conditions, one for each leg, fusion, result; of a run of several searches also "
        "`search 2` and merged."
    )
    verdict: str
    rank: int | None = Field(description="From 1; null where it has none.")
    score: float | None


class ExplanationOut(BaseModel):
    model_config = example({"stages": [_STAGE]})

    stages: list[StageOut]


@router.get(
    "/traces/{trace_id}/passages/{passage_id}",
    responses=problems.declare(403),
    summary="Why a run returned a passage or not",
)
async def explain_passage(
    trace_id: TraceId,
    passage_id: Annotated[UUID, Path(description="Id of the passage.", examples=[ID_EXAMPLE])],
    services: ServicesDep,
    readable_by: Annotated[
        list[str] | None,
        Query(
            max_length=MOST_NAMES,
            description="Ask on behalf of who has these principals, `person:ada`, `group:hr`; repeat it: a stage `access` says "
            "where its document is withheld from them. Needs the scope admin.",
        ),
    ] = None,
) -> ExplanationOut:
    """Stage by stage, in words. A passage that the caller may not read is explained as one that is not there."""
    told = await search_service.explain_passage(services, trace_id, passage_id, readable_by or ())
    return ExplanationOut(stages=[StageOut(**asdict(one) | {"score": _number(one.score)}) for one in told])


def _out(trace: RunTrace) -> TraceOut:
    same = {name: getattr(trace, name) for name in TraceOut.model_fields if name != "legs"}
    return TraceOut(**same, legs=[_leg(leg) for leg in trace.legs])


def _leg(leg: LegTrace) -> LegOut:
    """Legs of the n-th search are stored as vector#n."""
    name, _, search = leg.leg.partition("#")
    return LegOut(leg=name, search=None if name == "merged" else int(search or 1), candidates=_candidates(leg))


def _candidates(leg: LegTrace) -> list[CandidateOut]:
    columns = zip_longest(leg.passage_ids, leg.chunk_ids, leg.scores, leg.shares, leg.fates)
    return [
        CandidateOut(
            rank=rank, passage_id=passage, chunk_id=chunk, score=_number(score), share=_number(share), fate=fate or None
        )
        for rank, (passage, chunk, score, share, fate) in enumerate(columns, 1)
    ]


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
