"""Questions that are answered in several passes, by their own contract: POST /qa/ask, and its sessions.

The same run as `POST /query` with `strategy: "iterative"`; only its rendering differs.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from cairn.domain.answer import Coverage
from cairn.domain.event import Answered
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.interfaces.http import problems
from cairn.interfaces.http.asking import RUN_HEADER, finish, measure
from cairn.interfaces.http.chat import SESSION_HEADER
from cairn.interfaces.http.models import Body, example
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute
from cairn.service import qa as qa_service
from cairn.service.conversations import check_session_id
from cairn.service.documents import get_collection
from cairn.service.search import check_query
from cairn.wiring import Services

router = APIRouter(prefix="/qa", tags=["compatibility"], route_class=TypedRoute)

SessionHeader = Annotated[
    str | None, Header(alias=SESSION_HEADER, description="The session, where the body names none.")
]


class QARequest(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"question": "How does verify_user check a token?", "session_id": "alice-code"}]
        },
    )

    question: str
    collection: str | None = Field(None, description="Default: the setting rag.collectionName.")
    use_graph: bool = Field(True, description="Follow symbols and entities of the knowledge graph.")
    session_id: str | None = Field(
        None,
        description="What was read is kept for its next question, for iterative.idleMinutes; none: nothing is kept.",
    )
    quick_mode: bool = Field(False, description="One pass, without looking for what is missing; `cgrag` is null then.")
    temperature: float | None = Field(None, ge=0, le=2, description="Default: the setting rag.qa.temperature.")
    run_id: UUID | None = Field(None, description="Names the run, for GET /runs/{run_id}; made if not given.")


class QACitation(BaseModel):
    path: str = Field(description="The document's id: of files the path.")
    title: str
    lines: str | None = Field(
        description="First and last line of the quote, such as 12-14; null once the document is gone."
    )
    url: str | None = Field(description="`url` of the document's metadata.")
    instead: bool = Field(False, description="The answer does not rest on it: what else may answer, or comes nearest.")


class SearchQuality(BaseModel):
    semantic_searched: bool
    fts_searched: bool
    results_found: int
    results_used: int


class CGRAGMetadata(BaseModel):
    passes_used: int
    gaps_identified: list[str]
    gaps_resolved: list[str]
    gaps_unresolved: list[str]
    session_id: str | None
    context_from_cache: bool


_RESPONSE: dict[str, Any] = {
    "answer": "It compares the token's signature [1].",
    "citations": [{"path": "auth/tokens.py", "title": "tokens.py", "lines": "40-52", "url": None}],
    "confidence": "high", "disclaimer": "Check important answers against the cited lines.",
    "search_quality": {"semantic_searched": True, "fts_searched": True, "results_found": 10, "results_used": 4},
    "cgrag": {
        "passes_used": 2, "gaps_identified": ["decode in auth/jwt.py"], "gaps_resolved": ["decode in auth/jwt.py"],
        "gaps_unresolved": [], "session_id": "alice-code", "context_from_cache": False,
    },
    "coverage": {"complete": False, "read": 10, "of": 140, "unit": "passages"},
}  # fmt: skip


class QAResponse(BaseModel):
    model_config = example(_RESPONSE)

    answer: str
    citations: list[QACitation] = Field(description="The n-th is `[n]` in the answer.")
    confidence: Literal["high", "medium", "low"]
    disclaimer: str
    search_quality: SearchQuality
    cgrag: CGRAGMetadata | None
    coverage: Coverage = Field(description="How much of what there is the answer looked at.")


@router.post(
    "/ask",
    response_model=QAResponse,
    responses=problems.declare(409, 502, 504),
    summary="Ask, and fetch what is missing",
)
async def ask_in_passes(
    body: QARequest, request: Request, services: ServicesDep, running: RunningDep, session: SessionHeader = None
) -> Response:
    """The answer of up to three passes (setting iterative.maxPasses). Leaving cancels the run."""
    question = await _question(body, services, session)
    task, record = await qa_service.start_qa(
        services, question, use_graph=body.use_graph, temperature=body.temperature, named=body.run_id is not None,
        on_end=partial(measure, running),
    )  # fmt: skip
    answered = await finish(request, task)
    response = await _response(services, answered, qa_service.summarize_searches(record, answered.answer))
    return Response(
        response.model_dump_json(), media_type="application/json", headers={RUN_HEADER: str(question.run_id)}
    )


@router.delete("/sessions/{session_id}", status_code=204, summary="Start fresh", responses=problems.declare(404))
async def delete_passes_session(session_id: str, services: ServicesDep) -> None:
    """Forgets what the session has read and looked for in vain."""
    await qa_service.delete_session(services, check_session_id(session_id))


async def _question(body: QARequest, services: Services, header: str | None) -> Question:
    settings = services.settings.current
    name = body.collection if body.collection is not None else settings.rag.collection_name
    await get_collection(services, name)
    given = body.session_id if body.session_id is not None else header
    return Question(
        text=check_query(body.question, settings),
        collection=name,
        run_id=body.run_id or new_id(),
        strategy="fast" if body.quick_mode else "iterative",
        context_session=check_session_id(given) if given is not None else None,
    )


async def _response(services: Services, answered: Answered, searched: qa_service.SearchSummary) -> QAResponse:
    answer = answered.answer
    lines = await qa_service.locate_quotes(services, answer.citations)
    urls = {source.document_id: source.metadata.get("url") for source in answer.sources}
    cgrag = answer.route.get("cgrag")
    return QAResponse(
        answer=answer.answer,
        citations=[
            QACitation(
                path=one.external_id, title=one.title, lines=line, url=_text(urls.get(one.document_id)),
                instead=one.instead,
            )
            for one, line in zip(answer.citations, lines, strict=True)
        ],
        confidence=searched.confidence,
        disclaimer=_disclaimer(answered),
        search_quality=SearchQuality(
            semantic_searched=searched.semantic, fts_searched=searched.lexical, results_found=searched.found,
            results_used=searched.used,
        ),
        cgrag=CGRAGMetadata(**cgrag) if cgrag else None,
        coverage=answer.coverage,
    )  # fmt: skip


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _disclaimer(answered: Answered) -> str:
    """What the reader must know: what is missing, what ran otherwise than asked, or that machines err."""
    answer = answered.answer
    missing = (answer.route.get("cgrag") or {}).get("gaps_unresolved", ())
    said = [f"Not found: {', '.join(missing)}."] if missing else []
    lacks = [text for text in answer.insufficiencies if not any(gap in text for gap in missing)]  # each gap once
    said += [text if text.endswith(".") else f"{text}." for text in (*lacks, *answer.remarks)]
    return " ".join([*said, "Check important answers against the cited lines."])
