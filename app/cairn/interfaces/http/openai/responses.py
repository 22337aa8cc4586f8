"""POST /v1/responses: a question to a collection by the newer API of OpenAI, in one piece or as a stream of events."""

from __future__ import annotations

import time
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from cairn.domain.event import Answered, Cancelled, Event, Failed, RunStarted, Token
from cairn.errors import CairnError, ConflictError
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, Body, Metadata, example
from cairn.interfaces.http.openai import dialogue, transcript
from cairn.interfaces.http.openai.reply import links_of, reply
from cairn.interfaces.http.query import CitationOut
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute
from cairn.interfaces.http.sse import Frame, describe

router = APIRouter(prefix="/v1", tags=["openai"], route_class=TypedRoute)


class ResponseBody(Body):
    """A request of the OpenAI API. What is not named here is accepted and has no effect, as `cairn.ignored` says."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [{"model": COLLECTION_EXAMPLE, "input": "How many days of leave do employees have?"}]
        },
    )

    model: str = Field(description="A collection, or `cairn/<collection>:<strategy>`.")
    input: str | list[dialogue.DialogueMessage] = Field(
        description="The question, or messages of which the last one is it."
    )
    instructions: str | None = Field(None, description="Has no effect.")
    stream: bool | None = None
    temperature: float | None = Field(None, ge=0, le=2, description="Default: the setting rag.qa.temperature.")
    tools: list[Any] | None = Field(None, description="None: they are refused.")
    text: dict[str, Any] | None = Field(None, description="`{format: {type: text}}`.")
    previous_response_id: str | None = Field(None, description="Refused: send the messages so far.")
    conversation: Any = Field(None, description="Refused: send the messages so far.")
    background: bool | None = Field(None, description="false.")
    metadata: dict[str, str] | None = Field(None, description="Comes back with the answer.")
    filters: Metadata | None = Field(
        None, description="Cairn's own: only documents whose metadata contain this object."
    )


class ResponseAnnotation(BaseModel):
    """A `file_citation` has `file_id`, `filename` and `index`, the place of `[n]` in the text; a `url_citation`, of a page of the
    web, `url`, `title`, `start_index` and `end_index`."""

    model_config = ConfigDict(extra="allow")

    type: Literal["file_citation", "url_citation"]


class ResponseText(BaseModel):
    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[ResponseAnnotation]
    logprobs: list[Any] = []


class ResponseMessage(BaseModel):
    type: Literal["message"] = "message"
    id: str
    status: Literal["in_progress", "completed"]
    role: Literal["assistant"] = "assistant"
    content: list[ResponseText]


class ResponseUsage(BaseModel):
    """Of the chat model; all 0 where the answer is a quotation, which no model wrote."""

    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


_OUT: dict[str, Any] = {
    "id": "resp_01932f4e5c1a7b3e9f002b1c3d4e5f60", "object": "response", "created_at": 1763719200,
    "status": "completed", "model": COLLECTION_EXAMPLE, "error": None, "incomplete_details": None,
    "instructions": None, "metadata": {}, "parallel_tool_calls": False, "previous_response_id": None, "store": False,
    "temperature": None, "tool_choice": "none", "tools": [], "top_p": None,
    "output": [
        {
            "type": "message", "id": "msg_01932f4e5c1a7b3e9f002b1c3d4e5f60", "status": "completed", "role": "assistant",
            "content": [
                {
                    "type": "output_text", "text": "Employees have 30 days of leave per year [1].", "logprobs": [],
                    "annotations": [{"type": "file_citation", "file_id": ID_EXAMPLE, "filename": "leave.md", "index": 41}],
                }
            ],
        }
    ],
    "usage": {
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    },
    "citations": [], "cairn": None,
}  # fmt: skip


class ResponseOut(BaseModel):
    model_config = example(_OUT)

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["in_progress", "completed", "failed"]
    model: str
    output: list[ResponseMessage] = []
    error: dict[str, str] | None = None
    incomplete_details: None = None
    instructions: None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: bool = False
    previous_response_id: None = None
    store: Literal[False] = False
    temperature: float | None = None
    tool_choice: Literal["none"] = "none"
    tools: list[Any] = []
    top_p: None = None
    usage: ResponseUsage | None = None
    citations: list[CitationOut] = Field([], description="What `[n]` stands on, as POST /query has it.")
    cairn: dialogue.Extension | None = Field(None, description="Once it is completed.")


EVENTS = (
    "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    "response.output_text.delta", "response.output_text.annotation.added", "response.output_text.done",
    "response.content_part.done", "response.output_item.done", "response.completed", "response.failed", "error",
)  # fmt: skip
_STREAM_EXAMPLE = (
    'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "sequence_number": 4, '
    '"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Employees ", "logprobs": []}\n\n'
)


@router.post(
    "/responses",
    response_model=ResponseOut,
    responses={200: {"content": describe(EVENTS, _STREAM_EXAMPLE)}, **problems.declare(409, 502, 504)},
    summary="Ask a collection for a response",
)
async def create_response(body: ResponseBody, request: Request, services: ServicesDep, running: RunningDep) -> Response:
    """The last message is answered from the documents; those before it are the conversation so far. Nothing is kept: send it
    again with the next question. Leaving cancels the run."""
    dialogue.refuse_parameters(body.model_dump(exclude={"input"}))
    settings = services.settings.current
    messages = (
        [dialogue.DialogueMessage(role="user", content=body.input)] if isinstance(body.input, str) else body.input
    )
    asked = await dialogue.read_question(
        services,
        settings,
        body.model,
        messages,
        "input",
        filters=body.filters,
        ignored=dialogue.unread(body, ("instructions",)),
    )
    telling = Telling(body, asked, links_of(request))
    return await reply(
        request, running, services, settings, body, asked, frames=telling.frames, whole=telling.completed
    )


class Telling:
    """One response, as it is told: the events of its one message."""

    def __init__(self, body: ResponseBody, asked: dialogue.DialogueQuestion, links: transcript.Links) -> None:
        self._asked, self._links = asked, links
        run = asked.question.run_id.hex
        self._item = f"msg_{run}"
        self._out = ResponseOut(
            id=f"resp_{run}", created_at=int(time.time()), status="in_progress", model=body.model,
            metadata=body.metadata or {}, temperature=body.temperature,
        )  # fmt: skip
        self._transcript = transcript.Transcript()
        self._number = -1
        self._begun = False

    def completed(self, ending: transcript.SentText) -> ResponseOut:
        read, written = transcript.tokens_used(ending.answer)
        usage = ResponseUsage(
            input_tokens=read, input_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            output_tokens=written, output_tokens_details={"reasoning_tokens": 0}, total_tokens=read + written,
        )  # fmt: skip
        message = ResponseMessage(id=self._item, status="completed", content=[self._part(ending)])
        return self._out.model_copy(
            update={
                "status": "completed", "output": [message], "usage": usage, "citations": transcript.citations_out(ending),
                "cairn": transcript.extension(ending, self._asked),
            }
        )  # fmt: skip

    def frames(self, event: Event) -> list[Frame]:
        """The events of OpenAI for one of a run."""
        match event:
            case RunStarted():
                told = self._out.model_dump(mode="json")
                return [
                    self._frame("response.created", response=told),
                    self._frame("response.in_progress", response=told),
                ]
            case Token():
                self._transcript.add(event.text)
                return self._text(event.text)
            case Answered():
                return self._end(self._transcript.end(event))
            case Failed():
                return [self._failed(event.error)]
            case Cancelled():
                return [self._failed(ConflictError("the run was cancelled"))]
        return []

    def _text(self, text: str) -> list[Frame]:
        frames = []
        if not self._begun:
            self._begun = True
            message = ResponseMessage(id=self._item, status="in_progress", content=[])
            empty = ResponseText(text="", annotations=[])
            frames = [
                self._frame("response.output_item.added", output_index=0, item=message.model_dump()),
                self._in_part("response.content_part.added", part=empty.model_dump()),
            ]
        return [*frames, self._in_part("response.output_text.delta", delta=text, logprobs=[])]

    def _end(self, ending: transcript.SentText) -> list[Frame]:
        frames = self._text(ending.rest) if ending.rest or not self._begun else []
        out = self.completed(ending)
        message = out.output[0]
        part = message.content[0]
        frames += [
            self._in_part("response.output_text.annotation.added", annotation_index=n, annotation=one.model_dump())
            for n, one in enumerate(part.annotations)
        ]
        return [
            *frames,
            self._in_part("response.output_text.done", text=part.text, logprobs=[]),
            self._in_part("response.content_part.done", part=part.model_dump()),
            self._frame("response.output_item.done", output_index=0, item=message.model_dump()),
            self._frame("response.completed", terminal=True, response=out.model_dump(mode="json")),
        ]

    def _failed(self, error: CairnError) -> Frame:
        told = {"code": "rate_limit_exceeded" if error.status == 429 else "server_error", "message": error.detail}
        out = self._out.model_copy(update={"status": "failed", "error": told})
        return self._frame("response.failed", terminal=True, response=out.model_dump(mode="json"))

    def _in_part(self, kind: str, **content: Any) -> Frame:
        return self._frame(kind, item_id=self._item, output_index=0, content_index=0, **content)

    def _frame(self, kind: str, *, terminal: bool = False, **content: Any) -> Frame:
        self._number += 1
        return Frame(kind, {"type": kind, "sequence_number": self._number, **content}, terminal=terminal)

    def _part(self, ending: transcript.SentText) -> ResponseText:
        return ResponseText(text=ending.text, annotations=self._annotations(ending))

    def _annotations(self, ending: transcript.SentText) -> list[ResponseAnnotation]:
        made = []
        for mark in transcript.marks(ending):
            one = mark.citation
            if one.url is None:
                own = {"file_id": str(one.document_id), "filename": one.external_id, "index": mark.start}
                made.append(ResponseAnnotation.model_validate({"type": "file_citation", **own}))
            else:
                place = {"start_index": mark.start, "end_index": mark.end}
                url = self._links.to(self._asked.question.collection, one)
                own = {"url": url, "title": transcript.title_of(one), **place}
                made.append(ResponseAnnotation.model_validate({"type": "url_citation", **own}))
        return made
