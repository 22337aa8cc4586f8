"""How chat clients see what a run says: sources, and the frames of a stream."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field
from starlette.requests import HTTPConnection

from cairn.domain.answer import Answer
from cairn.domain.event import Answered, Cancelled, Event, Failed, Token
from cairn.domain.question import SourceRef
from cairn.errors import ConflictError
from cairn.interfaces.http.models import ID_EXAMPLE, example
from cairn.interfaces.http.sse import Frame, error_frame
from cairn.runs.sources import sources_of

CHAT_EVENTS = ("token", "sources", "done", "error")
"""All that chat_frames gives."""

SOURCE_EXAMPLE = {
    "filename": "guides/leave.md", "chunk_id": ID_EXAMPLE, "relevance_score": 0.89,
    "content_preview": "Employees have 30 days of leave per year.", "page": None,
}  # fmt: skip


class ChatSource(BaseModel):
    """A source of an answer; the n-th of the list is `[n]` in it. Uncited ones come last."""

    model_config = example(SOURCE_EXAMPLE)

    filename: str = Field(description="Name of the file, or address of a web page; empty once the document is deleted.")
    chunk_id: str = Field(description="Id of the chunk, or of the passage where no chunk of it was found.")
    relevance_score: float
    content_preview: str = Field(description="At most 200 characters, from the cited sentence on.")
    page: int | None


def chat_source(source: SourceRef) -> ChatSource:
    """As chat clients see a source, in answers and in history."""
    return ChatSource(
        filename=source.filename,
        chunk_id=str(source.chunk_id or source.passage_id),
        relevance_score=source.score,
        content_preview=source.preview,
        page=source.page,
    )


def chat_frames(request: HTTPConnection, event: Event) -> list[Frame]:
    """What /chat streams of an event."""
    match event:
        case Token():
            return [Frame("token", {"type": "token", "content": event.text})]
        case Answered():
            found = [chat_source(source).model_dump() for source in sources_of(event.answer)]
            sources = Frame("sources", {"type": "sources", "sources": found})
            return [sources, Frame("done", _done(event), terminal=True)]
        case Failed():
            return [error_frame(request, event.error)]
        case Cancelled():
            return [error_frame(request, ConflictError("the run was cancelled"))]
    return []


def _done(event: Answered) -> dict[str, Any]:
    """The answer, and what a client needs to go on. `answer`: the checked text where it is not what was streamed, which
    `replaced` says as well, else null."""
    answer = event.answer
    return {
        "type": "done",
        "is_grounded": answer.grounded,
        "answered": answer.answered,
        "confidence": answer.confidence,
        "confidence_word": answer.confidence_word,
        "iterations": answer.route.get("iterations", 1),
        "query_complexity": query_complexity(answer),
        "is_summarization": bool(answer.route.get("is_summarization", False)),
        "answer": answer.answer if event.replaced else None,
        "replaced": event.replaced,
        "coverage": asdict(answer.coverage),
        "degraded": list(answer.degraded),
        "message_id": str(event.message_id) if event.message_id else None,
        "session_id": answer.session_id,
        "run_id": str(answer.run_id),
    }


def query_complexity(answer: Answer) -> str:
    """The class of a message: summarize, garbage, conversational, or how complex the question is."""
    route = answer.route
    intent = route.get("intent")
    if route.get("is_summarization"):
        return "summarize"
    if intent == "garbage":
        return "garbage"
    if intent in ("followup", "simplify", "deepen"):
        return "conversational"
    return str((route.get("complexity") or {}).get("level") or "simple").lower()
