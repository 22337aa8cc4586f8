"""The planned agent by its own contract: /api/agent, with names in camelCase.

The same run as `POST /query` with `strategy: "planned"`; only its rendering differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from cairn.domain.answer import Answer, Coverage
from cairn.domain.event import Answered, Cancelled, Event, Failed, Progress
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import ConflictError, InputError
from cairn.interfaces.http import problems
from cairn.interfaces.http.asking import RUN_HEADER, begin, finish
from cairn.interfaces.http.asking import stream as stream_run
from cairn.interfaces.http.models import ID_EXAMPLE, Body, example
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute
from cairn.interfaces.http.sse import Frame, describe, error_frame
from cairn.service.documents import get_collection
from cairn.service.search import check_query
from cairn.wiring import Services

router = APIRouter(prefix="/api/agent", tags=["compatibility"], route_class=TypedRoute)


class AgentBody(Body):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True,
        json_schema_extra={"examples": [
            {"question": "What are the deployment steps? Quote the exact command.", "mode": "agent", "returnTrace": True}
        ]},
    )  # fmt: skip

    question: str = Field(description="At most planned.questionChars characters.")
    mode: Literal["agent"] = "agent"
    return_trace: bool = Field(False, description="Whether the response has the trace.")
    collection: str | None = Field(None, description="Default: the setting rag.collectionName.")
    run_id: UUID | None = Field(None, description="Names the run, for GET /runs/{run_id}; made if not given.")


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class AgentCitation(Camel):
    """The n-th is `[n]` in the answer. `snippet` stands there verbatim; `chunkId` is the chunk that it begins in, as in
    `chunk_id` of POST /query and `analyst.chunks`."""

    doc_id: UUID
    chunk_id: UUID | None = Field(description="Null of a page of the web, and where chunks could not be read.")
    snippet: str
    filename: str
    instead: bool = Field(False, description="The answer does not rest on it: what else may answer, or comes nearest.")


class AgentInsufficiency(Camel):
    section: str
    missing: str
    queries_tried: list[str]


_RESPONSE: dict[str, Any] = {
    "answer": "Run `make deploy` [1].",
    "citations": [
        {"docId": ID_EXAMPLE, "chunkId": ID_EXAMPLE, "snippet": "Run `make deploy`.", "filename": "deploy.md"}
    ],
    "insufficiencies": [],
    "trace": [{"type": "plan", "steps": ["search_docs: deployment", "open_citation: the best", "Synthesize"]}],
    "coverage": {"complete": False, "read": 4, "of": 140, "unit": "passages"},
}


class AgentResponse(Camel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, **example(_RESPONSE))

    answer: str
    citations: list[AgentCitation]
    insufficiencies: list[AgentInsufficiency]
    trace: list[dict[str, Any]] = Field(
        description="type (plan, tool_call, validation, reprompt, final, error), and what belongs to it of steps, tool, "
        "input, outputSummary, validationErrors, notes; empty unless returnTrace."
    )
    coverage: Coverage = Field(description="How much of what there is the answer looked at.")


_STREAM_EXAMPLE = (
    'event: trace\ndata: {"type": "plan", "steps": ["search_docs: deployment", "Synthesize"]}\nid: 1\n\n'
    'event: trace\ndata: {"type": "tool_call", "tool": "search_docs", "outputSummary": "Found 5 chunks"}\nid: 2\n\n'
    'event: complete\ndata: {"answer": "...", "citations": [], "insufficiencies": [], "trace": [], "coverage": {}}\nid: 3\n\n'
)


@router.post(
    "/run",
    response_model=AgentResponse,
    responses=problems.declare(409, 502, 504),
    summary="Answer by a validated plan",
)
async def run_agent(body: AgentBody, request: Request, services: ServicesDep, running: RunningDep) -> Response:
    """The answer in one piece. Leaving cancels the run."""
    question = await _question(body, services)
    task, view = await begin(running, services, question, named=body.run_id is not None), AgentView(request)
    answered = await finish(request, task, view.see)
    shown = view.response(answered.answer, trace=body.return_trace)
    return Response(
        shown.model_dump_json(by_alias=True), media_type="application/json", headers={RUN_HEADER: str(task.id)}
    )


@router.post(
    "/stream",
    response_class=Response,
    responses={
        200: {"content": describe(("trace", "complete", "error"), _STREAM_EXAMPLE)}, **problems.declare(409, 502, 504)
    },
    summary="Answer by a validated plan, and follow its steps",
)  # fmt: skip
async def stream_agent(body: AgentBody, request: Request, services: ServicesDep, running: RunningDep) -> Response:
    """`trace` for each step, then `complete`; or `error` as the last event. Leaving cancels the run."""
    question = await _question(body, services)
    task = await begin(running, services, question, named=body.run_id is not None)
    response = stream_run(request, task, AgentView(request).frames)
    response.headers[RUN_HEADER] = str(task.id)
    return response


async def _question(body: AgentBody, services: Services) -> Question:
    settings = services.settings.current
    text = check_query(body.question, settings)
    if len(text) > settings.planned.question_chars:
        most = settings.planned.question_chars
        raise InputError(
            f"the question has {len(text):,} characters; at most {most:,} are allowed here (POST /query: more)"
        )
    name = body.collection if body.collection is not None else settings.rag.collection_name
    await get_collection(services, name)
    return Question(text=text, collection=name, run_id=body.run_id or new_id(), strategy="planned")


class AgentView:
    """One run as this contract shows it: its steps as a trace, then the answer."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._trace: list[Mapping[str, Any]] = []

    def see(self, event: Event) -> None:
        """Keep a step of the agent for the answer."""
        if isinstance(event, Progress) and "type" in event.detail:
            self._trace.append(_item(event))

    def frames(self, event: Event) -> list[Frame]:
        """What is streamed of an event."""
        self.see(event)
        match event:
            case Progress() if "type" in event.detail:
                return [Frame("trace", dict(self._trace[-1]))]
            case Answered(answer):
                body = self.response(answer).model_dump(mode="json", by_alias=True)
                return [Frame("complete", body, terminal=True)]
            case Failed(error):
                return [Frame("trace", {"type": "error", "notes": error.detail}), error_frame(self._request, error)]
            case Cancelled():
                return [error_frame(self._request, ConflictError("the run was cancelled"))]
        return []

    def response(self, answer: Answer, *, trace: bool = True) -> AgentResponse:
        """The answer, with the steps that led to it."""
        return _response(answer, self._trace if trace else None)


def _item(event: Progress) -> dict[str, Any]:
    return {name: value for name, value in event.detail.items() if value not in ("", None)}


def _response(answer: Answer, trace: Sequence[Mapping[str, Any]] | None) -> AgentResponse:
    """What ran otherwise than asked stands in the trace, which is all that this contract has for it."""
    lacks = [AgentInsufficiency(**item) for item in answer.route.get("insufficiencies", ())]
    named = {f"{one.section}: {one.missing}" if one.section else one.missing for one in lacks}
    lacks += [
        AgentInsufficiency(section="", missing=text, queries_tried=[])
        for text in answer.insufficiencies if text not in named
    ]  # fmt: skip
    notes = [{"type": "final", "notes": "; ".join(answer.degraded)}] if answer.degraded else []
    return AgentResponse(
        answer=answer.answer,
        citations=[
            AgentCitation(
                doc_id=one.document_id,
                chunk_id=one.chunk_id,
                snippet=one.quote,
                filename=one.external_id,
                instead=one.instead,
            )
            for one in answer.citations
        ],
        insufficiencies=lacks,
        trace=[] if trace is None else [*map(dict, trace), *notes],
        coverage=answer.coverage,
    )
