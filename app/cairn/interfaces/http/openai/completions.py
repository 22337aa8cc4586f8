"""POST /v1/chat/completions: a question to a collection, in one piece or as a stream of chunks."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection, Request

from cairn.domain.event import Answered, Cancelled, Event, Failed, Token
from cairn.errors import ConflictError
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, Body, Metadata, example
from cairn.interfaces.http.openai import dialogue, transcript
from cairn.interfaces.http.openai.reply import links_of, reply
from cairn.interfaces.http.query import CitationOut
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute
from cairn.interfaces.http.sse import Frame, describe, error_frame

router = APIRouter(prefix="/v1", tags=["openai"], route_class=TypedRoute)


class CompletionStreamOptions(BaseModel):
    model_config = ConfigDict(extra="allow")

    include_usage: bool | None = Field(None, description="One more chunk, before the last one, has the usage.")


class CompletionBody(Body):
    """A request of the OpenAI API. What is not named here is accepted and has no effect, as `cairn.ignored` says."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "model": COLLECTION_EXAMPLE,
                    "messages": [{"role": "user", "content": "How many days of leave do employees have?"}],
                }
            ]
        },
    )

    model: str = Field(description="A collection, or `cairn/<collection>:<strategy>`.")
    messages: list[dialogue.DialogueMessage] = Field(min_length=1, description="The last one is the question.")
    stream: bool | None = None
    stream_options: CompletionStreamOptions | None = None
    temperature: float | None = Field(None, ge=0, le=2, description="Default: the setting rag.qa.temperature.")
    n: int | None = Field(None, description="1.")
    tools: list[Any] | None = Field(None, description="None: they are refused.")
    functions: list[Any] | None = Field(None, description="None: they are refused.")
    response_format: dict[str, Any] | None = Field(None, description="`{type: text}`.")
    filters: Metadata | None = Field(
        None, description="Cairn's own: only documents whose metadata contain this object."
    )


class UrlCitation(BaseModel):
    start_index: int = Field(description="Of `[n]` in the content, in code points.")
    end_index: int
    url: str
    title: str


class CompletionAnnotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class CompletionMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: str | None = None
    annotations: list[CompletionAnnotation]


class CompletionChoice(BaseModel):
    index: int = 0
    message: CompletionMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class CompletionUsage(BaseModel):
    """Of the chat model; all 0 where the answer is a quotation, which no model wrote."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


_OUT: dict[str, Any] = {
    "id": "chatcmpl-01932f4e5c1a7b3e9f002b1c3d4e5f60", "object": "chat.completion", "created": 1763719200,
    "model": COLLECTION_EXAMPLE,
    "choices": [
        {
            "index": 0, "logprobs": None, "finish_reason": "stop",
            "message": {
                "role": "assistant", "content": "Employees have 30 days of leave per year [1].", "refusal": None,
                "annotations": [],
            },
        }
    ],
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "citations": [],
    "cairn": {
        "run_id": ID_EXAMPLE, "collection": COLLECTION_EXAMPLE, "strategy": "fast", "answered": "yes", "confidence": 0.71,
        "confidence_word": "likely", "grounded": None, "coverage": {"complete": False, "read": 5, "of": 140, "unit": "passages"},
        "insufficiencies": [], "degraded": [], "replaced": False, "ignored": [],
    },
}  # fmt: skip


class CompletionOut(BaseModel):
    model_config = example(_OUT)

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    citations: list[CitationOut] = Field(description="What `[n]` stands on, as POST /query has it.")
    cairn: dialogue.Extension


_STREAM_EXAMPLE = (
    'data: {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1763719200, "model": "handbook", '
    '"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}\n\n'
    "data: [DONE]\n\n"
)


@router.post(
    "/chat/completions",
    response_model=CompletionOut,
    responses={200: {"content": describe(("error",), _STREAM_EXAMPLE)}, **problems.declare(409, 502, 504)},
    summary="Ask a collection as a chat model",
)
async def create_chat_completion(
    body: CompletionBody, request: Request, services: ServicesDep, running: RunningDep
) -> Response:
    """The last message is answered from the documents; those before it are the conversation so far. `annotations` and `citations`
    say what the answer stands on. Leaving cancels the run."""
    dialogue.refuse_parameters(body.model_dump(include={"tools", "functions", "n", "response_format"}))
    settings = services.settings.current
    ignored = dialogue.unread(body, ())
    asked = await dialogue.read_question(
        services, settings, body.model, body.messages, "messages", filters=body.filters, ignored=ignored
    )
    writer = CompletionWriter(body, asked, links_of(request))
    frames = partial(writer.frames, request)
    return await reply(request, running, services, settings, body, asked, frames=frames, whole=writer.whole)


class CompletionWriter:
    """One answer, as it is told."""

    def __init__(self, body: CompletionBody, asked: dialogue.DialogueQuestion, links: transcript.Links) -> None:
        self._asked, self._links = asked, links
        self._usage_wanted = bool(body.stream_options and body.stream_options.include_usage)
        self._head = {
            "id": f"chatcmpl-{asked.question.run_id.hex}", "created": int(time.time()), "model": body.model
        }  # fmt: skip
        self._transcript = transcript.Transcript()
        self._begun = False

    def whole(self, ending: transcript.SentText) -> CompletionOut:
        message = CompletionMessage(content=ending.text, annotations=self._annotations(ending))
        return CompletionOut(
            **self._head, choices=[CompletionChoice(message=message)], usage=_usage(ending),
            citations=transcript.citations_out(ending), cairn=transcript.extension(ending, self._asked),
        )  # fmt: skip

    def frames(self, request: HTTPConnection, event: Event) -> list[Frame]:
        """The chunks of an event."""
        match event:
            case Token():
                self._transcript.add(event.text)
                return self._text(event.text)
            case Answered():
                return self._end(self._transcript.end(event))
            case Failed():
                return [error_frame(request, event.error)]
            case Cancelled():
                return [error_frame(request, ConflictError("the run was cancelled"))]
        return []

    def _text(self, text: str) -> list[Frame]:
        first = [] if self._begun else [self._chunk({"role": "assistant", "content": ""})]
        self._begun = True
        return [*first, self._chunk({"content": text})]

    def _end(self, ending: transcript.SentText) -> list[Frame]:
        told = {
            "citations": [one.model_dump(mode="json") for one in transcript.citations_out(ending)],
            "cairn": transcript.extension(ending, self._asked).model_dump(),
        }
        annotations = [one.model_dump() for one in self._annotations(ending)]
        last = [self._chunk({"annotations": annotations}, finish_reason="stop", **told)]
        if self._usage_wanted:
            last.append(self._frame({"choices": [], "usage": _usage(ending).model_dump()}))
        return [*(self._text(ending.rest) if ending.rest else []), *last, Frame(None, "[DONE]", terminal=True)]

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> Frame:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._frame({"choices": [choice], **({"usage": None} if self._usage_wanted else {}), **more})

    def _frame(self, content: dict[str, Any]) -> Frame:
        return Frame(None, {**self._head, "object": "chat.completion.chunk", **content})

    def _annotations(self, ending: transcript.SentText) -> list[CompletionAnnotation]:
        collection = self._asked.question.collection
        return [
            CompletionAnnotation(
                url_citation=UrlCitation(
                    start_index=mark.start, end_index=mark.end, url=self._links.to(collection, mark.citation),
                    title=transcript.title_of(mark.citation),
                )
            )
            for mark in transcript.marks(ending)
        ]  # fmt: skip


def _usage(ending: transcript.SentText) -> CompletionUsage:
    read, written = transcript.tokens_used(ending.answer)
    return CompletionUsage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)
