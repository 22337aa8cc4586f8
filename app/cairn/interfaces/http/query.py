"""Questions: one stream of domain events, rendered as JSON (its last event) or as server-sent events (all of them)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final, Literal, get_args
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from starlette.requests import HTTPConnection, Request

from cairn.domain.answer import Answer, AnswerStatus, Citation, CitedContext, Coverage, Grounding, ModelFailure
from cairn.domain.event import Answered, Cancelled, Event, Failed, Progress, RunStarted, SourcesFound, Token
from cairn.domain.ids import new_id
from cairn.domain.question import BuiltInStrategy, Question
from cairn.errors import InputError
from cairn.interfaces.http import problems
from cairn.interfaces.http.asking import begin, finish, stream
from cairn.interfaces.http.models import (
    COLLECTION_EXAMPLE,
    ID_EXAMPLE,
    PASSAGE_EXAMPLE,
    Body,
    Metadata,
    MinEpoch,
    PassageOut,
    WordOut,
    example,
    passage_fields,
)
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute
from cairn.interfaces.http.sse import Frame, describe, error_frame
from cairn.service.ask import check_strategy
from cairn.service.conversations import check_session_id
from cairn.service.documents import get_collection
from cairn.service.epochs import check_reached, least_epochs, of_one_state
from cairn.service.search import check_query
from cairn.wiring import Services

router = APIRouter(tags=["questions"], route_class=TypedRoute)


def _known(name: str) -> str:
    try:
        return check_strategy(name)
    except InputError as error:
        raise ValueError(error.detail) from None


StrategyName = Annotated[
    str,
    AfterValidator(_known),
    WithJsonSchema({"anyOf": [{"type": "string", "enum": list(get_args(BuiltInStrategy))}, {"type": "string"}]}),
]


class QueryBody(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"question": "How many days of leave do employees have?", "collection": COLLECTION_EXAMPLE},
                {"question": "How many days of leave?", "collection": COLLECTION_EXAMPLE, "stream": True},
            ]
        },
    )

    question: str
    collection: str | None = Field(None, description="Default: the setting rag.collectionName.")
    strategy: StrategyName = Field(
        "auto",
        description="How to answer; auto chooses by the message, a named strategy always retrieves. Installed packages may add "
        "others.",
    )
    stream: bool = Field(False, description="Server-sent events; so does Accept: text/event-stream.")
    filters: Metadata | None = Field(None, description="Only documents whose metadata contain this object.")
    session_id: str | None = Field(None, description="The conversation that the question belongs to.")
    min_epoch: MinEpoch = None
    run_id: UUID | None = Field(
        None,
        description="Names the run, for GET /runs/{run_id} and /traces/{run_id}; 409 if in use, made if not given.",
    )
    resumable: bool = Field(
        False, description="The run goes on when its client leaves; GET /runs/{run_id}/events continues it."
    )


Part = Literal["sources", "route", "grounding", "timings_ms"]
PARTS: Final[frozenset[str]] = frozenset(get_args(Part))
"""Of an answer: what most callers do without, and the larger part of its bytes."""
ALL: Final = "all"
_PART: Final = "|".join((*get_args(Part), ALL))

Include = Annotated[
    str | None,
    Query(
        max_length=200,
        description=f"What an answer has besides its text, citations and what they are worth: {', '.join(get_args(Part))}, "
        f"separated by commas, or {ALL}. `sources` are the passages it was made of, also as an event of the stream.",
        json_schema_extra={"pattern": rf"^(({_PART})(,({_PART})){{0,4}})?$"},
        examples=["sources"],
    ),
]
Kind = Literal["document", "web"]


class CitationOut(BaseModel):
    """`[n]` in the answer; `quote` stands verbatim at start..end of the document's text. One of kind `web` is a page outside the
    documents (`rag.agenticRetrieval.webSearchFallbackEnabled`): it has a `url` and no ids, and the quote is of its excerpt."""

    kind: Kind = "document"
    n: int
    document_id: UUID | None
    external_id: str
    passage_id: UUID | None
    chunk_id: UUID | None
    title: str
    headings: list[str]
    page: int | None
    quote: str
    start: int
    end: int
    version: int
    url: str | None = None
    context: CitedContext | None = Field(
        None,
        description="What an answer that is a quotation shows around it, as Markdown, and where that stands in the document's "
        "text; the quote lies inside. null where it shows the quote alone, of further places, and of what a model wrote.",
    )
    instead: bool = Field(
        False,
        description="The answer does not rest on it: it is not sure, and names this as what else may answer, or it is "
        "a refusal, and this is what comes nearest.",
    )


class SourceOut(PassageOut):
    """A passage that the answer is made of; of kind `web` an excerpt of a page, whose ids stand for its `url` alone."""

    kind: Kind = "document"
    n: int = Field(description="Number of the source, from 1.")
    url: str | None = None


_CITATION = {
    "kind": "document", "n": 1, "document_id": PASSAGE_EXAMPLE["document_id"], "external_id": "guides/leave.md",
    "passage_id": PASSAGE_EXAMPLE["passage_id"], "chunk_id": PASSAGE_EXAMPLE["chunk_id"], "title": "Leave",
    "headings": ["Leave", "Annual"], "page": None, "quote": "Employees have 30 days of leave per year.",
    "start": 120, "end": 161, "version": 1, "url": None,
    "context": {"text": "Employees have 30 days of leave per year. Part-time staff have their share.", "start": 120, "end": 196},
}  # fmt: skip
_ANSWER = {
    "answer": "Employees have 30 days of leave per year. [1] Part-time staff have their share.", "citations": [_CITATION],
    "sources": [{**PASSAGE_EXAMPLE, "n": 1, "kind": "document", "url": None}],
    "confidence": 0.71, "confidence_word": "likely", "answered": "yes", "grounded": None, "groundedness_score": None,
    "insufficiencies": [], "coverage": {"complete": False, "read": 5, "of": 140, "unit": "passages"},
    "route": {"strategy": "fast"}, "degraded": [],
    "session_id": None, "run_id": ID_EXAMPLE, "timings_ms": {"retrieve": 14.2, "total": 31.0},
    "written_by": None, "usage": {}, "model_failure": None, "grounding": None,
    "replaced": False,
}  # fmt: skip


class AnswerOut(BaseModel):
    model_config = example(_ANSWER)

    answer: str
    citations: list[CitationOut]
    sources: list[SourceOut] = Field(
        [],
        description="The passages that the answer is made of. Named by `include`, as are route, grounding and timings_ms; else "
        "left out.",
    )
    confidence: float = Field(description="Of a quotation: the calibrated probability that it answers.")
    confidence_word: WordOut
    answered: AnswerStatus = Field(
        description="Follows from the confidence. no: the documents do not say; unsure: a guess, shown as one."
    )
    grounded: bool | None = Field(description="Whether its sources support what a model wrote; null of a quotation.")
    groundedness_score: float | None
    insufficiencies: list[str]
    coverage: Coverage = Field(
        description="How much of what there is the answer looked at: `read` of `of`; complete: nothing was left out."
    )
    route: dict[str, Any] = {}
    degraded: list[str]
    session_id: str | None
    run_id: UUID
    timings_ms: dict[str, float] = {}
    written_by: str | None = Field(None, description="The chat model that wrote the answer; null: none did.")
    usage: dict[str, Any] = Field(
        {},
        description="What its calls of chat models cost, and in `by_purpose` hosted embedding and reranking as well; empty where "
        "none was called.",
    )
    model_failure: ModelFailure | None = Field(
        None,
        description="The chat model failed, and the answer came all the same: why, and what was done instead (`sentence`, in "
        "the language of the answer), with what `degraded` has of it (`details`).",
    )
    grounding: Grounding | None = Field(
        None, description="The check behind `grounded`, sentence by sentence; null: none."
    )
    replaced: bool = Field(
        False, description="Whether `answer` is not the text of the run's `token` events: show it instead of them."
    )


EVENTS = ("run", "progress", "sources", "token", "answer", "error", "cancelled")
STREAM_EXAMPLE = (
    f'event: run\ndata: {{"run_id": "{ID_EXAMPLE}", "strategy": "fast"}}\nid: 1\n\n'
    'event: progress\ndata: {"step": "retrieve", "percent": 40}\nid: 2\n\n'
    'event: sources\ndata: {"sources": []}\nid: 3\n\n'
    'event: token\ndata: {"text": "Employees "}\nid: 4\n\n'
    'event: answer\ndata: {"answer": "Employees have 30 days of leave per year [1]."}\nid: 5\n\n'
)


@router.post(
    "/query",
    response_model=AnswerOut,
    responses={200: {"content": describe(EVENTS, STREAM_EXAMPLE)}, **problems.declare(409, 502, 504)},
    summary="Ask a question",
)
async def ask_question(
    body: QueryBody, request: Request, services: ServicesDep, running: RunningDep, include: Include = None
) -> Response:
    """An answer whose citations stand in the documents. Leaving cancels the run, unless it is `resumable`.

    As a stream: `run`, then `progress`, `sources` and `token`, then exactly one of `answer` (the body of the JSON
    answer), `error` (a problem) or `cancelled`. Its text counts: where `replaced` is true, what the tokens said is not the
    answer."""
    question, without = _question(body, services), left_out(include)
    named, least = body.run_id is not None, least_epochs(body.min_epoch, [question.collection])
    with of_one_state():
        await check_reached(services, least)
        await get_collection(services, question.collection)  # while the status can still say 404
        task = await begin(running, services, question, resumable=body.resumable, named=named)
    if body.stream or "text/event-stream" in request.headers.get("accept", ""):
        return stream(request, task, partial(query_frames, request, without=without))
    answered = await finish(request, task)
    shown = answer_out(answered.answer, replaced=answered.replaced)
    return Response(shown.model_dump_json(exclude=set(without)), media_type="application/json")


def left_out(include: str | None) -> frozenset[str]:
    """Parts that the caller does not ask for. Raises InputError."""
    named = {name.strip() for name in (include or "").split(",")} - {""}
    if unknown := named - PARTS - {ALL}:
        raise InputError(
            f"include has {', '.join(sorted(unknown))}, and takes {', '.join(get_args(Part))}, separated by commas, or {ALL}; "
            "text, citations and confidence are always there"
        )
    return frozenset() if ALL in named else PARTS - named


def _question(body: QueryBody, services: Services) -> Question:
    settings = services.settings.current
    return Question(
        text=check_query(body.question, settings),
        collection=body.collection if body.collection is not None else settings.rag.collection_name,
        run_id=body.run_id or new_id(),
        strategy=body.strategy,
        filters=body.filters,
        session_id=check_session_id(body.session_id) if body.session_id is not None else None,
    )


# --- as JSON ----------------------------------------------------------------------------------------------------------


OF_THE_SURFACE = ("citations", "sources", "replaced")
"""Fields that an answer has in another shape, or not at all."""


def answer_out(answer: Answer, *, replaced: bool = False) -> AnswerOut:
    """`replaced`: its text is not what was streamed."""
    same = {name: getattr(answer, name) for name in AnswerOut.model_fields if name not in OF_THE_SURFACE}
    citations = [*map(_citation, answer.citations)]
    return AnswerOut(**same, citations=citations, sources=sources_out(answer.sources), replaced=replaced)


def _citation(item: Citation) -> CitationOut:
    same = {name: getattr(item, name) for name in CitationOut.model_fields if name != "kind"}
    if item.url is None:
        return CitationOut(**same)
    return CitationOut(**{**same, "kind": "web", "document_id": None, "passage_id": None, "chunk_id": None})


def sources_out(passages: Any) -> list[SourceOut]:
    """Numbered from 1, as the answer cites them."""
    return [
        SourceOut(**passage_fields(one), n=n, url=one.url, kind="document" if one.url is None else "web")
        for n, one in enumerate(passages, 1)
    ]


# --- as a stream ------------------------------------------------------------------------------------------------------


def query_frames(request: HTTPConnection, event: Event, *, without: frozenset[str]) -> list[Frame]:
    """What /query streams of an event; nothing of sources where the caller does without them."""
    if isinstance(event, SourcesFound) and "sources" in without:
        return []
    return [_frame(request, event, without)]


def _frame(request: HTTPConnection, event: Event, without: frozenset[str]) -> Frame:
    match event:
        case RunStarted():
            return Frame("run", {"run_id": str(event.run_id), "strategy": event.strategy})
        case Progress():
            said = {"message": event.message, "numbers": dict(event.numbers), "detail": dict(event.detail)}
            told = {name: value for name, value in said.items() if value}
            return Frame("progress", {"step": event.step, "percent": event.percent, **told})
        case SourcesFound():
            found = [source.model_dump(mode="json") for source in sources_out(event.passages)]
            return Frame("sources", {"sources": found})
        case Token():
            return Frame("token", {"text": event.text})
        case Answered():
            shown = answer_out(event.answer, replaced=event.replaced)
            return Frame("answer", shown.model_dump(mode="json", exclude=set(without)), terminal=True)
        case Failed():
            return error_frame(request, event.error)
        case Cancelled():
            return Frame("cancelled", {"run_id": str(event.run_id)}, terminal=True)
