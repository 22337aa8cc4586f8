"""Chat: messages of a conversation, answered from the documents of its collection, as JSON or as a stream."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Path, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from cairn.domain.answer import AnswerStatus, Coverage
from cairn.domain.event import Answered
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import InputError
from cairn.interfaces.http import asking, problems
from cairn.interfaces.http.asking import RUN_HEADER
from cairn.interfaces.http.chat_frames import CHAT_EVENTS, SOURCE_EXAMPLE, ChatSource, chat_frames, chat_source
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, Body, WordOut, example
from cairn.interfaces.http.running import Running, RunningDep, ServicesDep, TypedRoute
from cairn.interfaces.http.sse import describe
from cairn.runs.sources import sources_of
from cairn.service import conversations as conversation_service
from cairn.service.ask import Task
from cairn.service.documents import check_collection_name
from cairn.service.search import check_query
from cairn.wiring import Services

router = APIRouter(tags=["compatibility"], route_class=TypedRoute)

SESSION_HEADER = "X-Session-ID"
_IN_HEADER = re.compile(r"[!-~]+")
ChatId = Annotated[
    str, Path(description="Id of a chat; its documents are in the collection chat_{chat_id}.", examples=["leave-2026"])
]
SessionHeader = Annotated[
    str | None, Header(alias=SESSION_HEADER, description="The session, where the body names none.")
]

_RESPONSE = {
    "message_id": ID_EXAMPLE, "answer": "Employees have 30 days of leave per year [1].", "sources": [SOURCE_EXAMPLE],
    "session_id": "9f1c2c0e-7d5a-4b39-9a55-0f6f0c7c9d11", "was_grounded": True, "answered": "yes", "confidence": 0.92,
    "confidence_word": "found",
    "processing_time_ms": 34.5, "coverage": {"complete": False, "read": 5, "of": 140, "unit": "passages"}, "degraded": [],
}  # fmt: skip


class ChatRequest(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "message": "How many days of leave do we have?",
                    "session_id": "alice-1",
                    "collection_name": COLLECTION_EXAMPLE,
                }
            ]
        },
    )

    message: str
    session_id: str | None = Field(None, description="The conversation; default: a new one, whose id is returned.")
    collection_name: str | None = Field(
        None, description="What is asked. Default: chat_{chat_id}, or chat_{session_id} where there is no chat id."
    )
    run_id: UUID | None = Field(None, description="Names the run; 409 if in use, made if not given.")
    resumable: bool = Field(
        False, description="The run goes on when its client leaves; GET /runs/{run_id}/events continues it."
    )


class ChatResponse(BaseModel):
    model_config = example(_RESPONSE)

    message_id: UUID | None = Field(description="Id of the answer in the history; null where it could not be saved.")
    answer: str
    sources: list[ChatSource]
    session_id: str
    was_grounded: bool | None = Field(description="Null where nothing was to be checked, or it could not be.")
    answered: AnswerStatus = Field(description="no: the documents do not say; unsure: a guess, shown as one.")
    confidence: float = Field(description="Of a quotation: the probability that it answers.")
    confidence_word: WordOut
    processing_time_ms: float
    coverage: Coverage = Field(description="How much of what there is the answer looked at.")
    degraded: list[str] = Field(description="What did not work as asked.")


_STREAM_EXAMPLE = (
    'event: token\ndata: {"type": "token", "content": "Employees "}\nid: 1\n\n'
    'event: sources\ndata: {"type": "sources", "sources": []}\nid: 2\n\n'
    'event: done\ndata: {"type": "done", "is_grounded": true, "answered": "yes", "confidence": 0.92, "confidence_word": "found", '
    '"iterations": 1, "query_complexity": "simple", "answer": null, "replaced": false, '
    '"is_summarization": false}\nid: 3\n\n'
)
_STREAM: dict[str, Any] = {
    "response_class": Response,  # FastAPI takes functions under EventSourceResponse for generators
    "responses": {200: {"content": describe(CHAT_EVENTS, _STREAM_EXAMPLE)}, **problems.declare(409, 502, 504)},
}


@router.post("/chat", include_in_schema=False)
@router.post("/chat/", response_model=ChatResponse, responses=problems.declare(409, 502, 504), summary="Send a message")
async def send_message(
    body: ChatRequest, request: Request, services: ServicesDep, running: RunningDep, session: SessionHeader = None
) -> Response:
    """The answer, in one piece. Leaving cancels the run."""
    began = time.perf_counter()
    question = _question(body, services, session)
    answered = await asking.finish(request, await _begin(body, running, services, question))
    response = _response(answered, question, (time.perf_counter() - began) * 1000)
    return Response(response.model_dump_json(), media_type="application/json", headers=_headers(question))


@router.post("/chat/stream", summary="Send a message to a collection, and read the answer as it is written", **_STREAM)
async def stream_message(
    body: ChatRequest, request: Request, services: ServicesDep, running: RunningDep, session: SessionHeader = None
) -> Response:
    """Needs `collection_name`. `token`, then `sources`, then `done`; or `error` as the last event."""
    if body.collection_name is None:
        raise InputError("collection_name is needed here; or send to /chat/{chat_id}/stream, or to /chat/")
    return await _streamed(body, request, running, services, _question(body, services, session))


@router.post(
    "/chat/{chat_id}/stream", summary="Send a message to a chat, and read the answer as it is written", **_STREAM
)
async def stream_chat_message(
    chat_id: ChatId,
    body: ChatRequest,
    request: Request,
    services: ServicesDep,
    running: RunningDep,
    session: SessionHeader = None,
) -> Response:
    """`token`, then `sources`, then `done`; or `error` as the last event. Leaving cancels the run."""
    collection = conversation_service.chat_collection(chat_id)
    return await _streamed(body, request, running, services, _question(body, services, session, collection))


def _question(body: ChatRequest, services: Services, header: str | None, collection: str | None = None) -> Question:
    given = body.session_id if body.session_id is not None else header
    session = conversation_service.check_session_id(given) if given is not None else conversation_service.new_session()
    if body.collection_name is not None:
        collection = check_collection_name(body.collection_name)
    return Question(
        text=check_query(body.message, services.settings.current),
        collection=collection or conversation_service.session_collection(session),
        run_id=body.run_id or new_id(),
        session_id=session,
    )


async def _begin(body: ChatRequest, running: Running, services: Services, question: Question) -> Task:
    named = body.run_id is not None
    return await asking.begin(running, services, question, "chat", resumable=body.resumable, named=named)


def _headers(question: Question) -> dict[str, str]:
    """Run and session, for clients that read no body; not a session that a header cannot say."""
    session = question.session_id or ""
    run = {RUN_HEADER: str(question.run_id)}
    return {**run, SESSION_HEADER: session} if _IN_HEADER.fullmatch(session) else run


# --- as JSON ----------------------------------------------------------------------------------------------------------


def _response(answered: Answered, question: Question, milliseconds: float) -> ChatResponse:
    answer = answered.answer
    return ChatResponse(
        message_id=answered.message_id,
        answer=answer.answer,
        sources=[chat_source(source) for source in sources_of(answer)],
        session_id=question.session_id or "",
        was_grounded=answer.grounded,
        answered=answer.answered,
        confidence=answer.confidence,
        confidence_word=answer.confidence_word,
        processing_time_ms=round(milliseconds, 1),
        coverage=answer.coverage,
        degraded=list(answer.degraded),
    )


# --- as a stream ------------------------------------------------------------------------------------------------------


async def _streamed(
    body: ChatRequest, request: Request, running: Running, services: Services, question: Question
) -> Response:
    response = asking.stream(request, await _begin(body, running, services, question), partial(chat_frames, request))
    response.headers.update(_headers(question))
    return response
