"""What a run leaves behind, made of its question, its search and its last event. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.domain.answer import Answer, Citation
from app.domain.event import Answered, Event, Failed
from app.domain.passage import SearchResult
from app.domain.question import Question
from app.domain.trace import RunTrace
from app.retrieve.trace import cache_plan, query_plan


def run_trace(
    question: Question,
    result: SearchResult | None,
    terminal: Event | None,
    *,
    tenant_id: int,
    started_at: datetime,
    settings_revision: str,
) -> RunTrace:
    """The trace of a run. `result` is None where the search did not get that far.

    `terminal` is None where the stream was closed before its end, because its reader went away: cancelled. The answer
    is kept with ids and spans but without quotes: when a document is deleted, its text must not live on in a trace.
    """
    answer = terminal.answer if isinstance(terminal, Answered) else None
    cited = answer.citations if answer else ()
    return RunTrace(
        id=question.run_id,
        tenant_id=tenant_id,
        started_at=started_at,
        kind="query",
        collections=(question.collection,),
        question=question.text,
        settings_revision=settings_revision,
        outcome="ok" if answer else "error" if isinstance(terminal, Failed) else "cancelled",
        strategy=str(answer.route["strategy"]) if answer else None,
        plan={
            "asked_strategy": question.strategy,
            "reranker": result.reranker if result else None,
            "filters": dict(question.filters or {}),
            **query_plan(question.text, filtered=bool(question.filters)),
            **(answer.route if answer else {}),
            **(cache_plan(result) if result else {}),
            **({str(leg): how for leg, how in result.how.items()} if result else {}),
        },
        timings_ms=answer.timings_ms if answer else result.timings_ms if result else {},
        legs_used=result.legs_used if result else (),
        legs_failed={str(leg): why for leg, why in result.legs_failed.items()} if result else {},
        degraded=answer.degraded if answer else result.degraded if result else (),
        epochs=result.epochs if result else {},
        error=f"{terminal.error.code}: {terminal.error.detail}" if isinstance(terminal, Failed) else None,
        answer=_answer(answer) if answer else {},
        usage=dict(answer.usage) if answer else {},
        document_ids=tuple(dict.fromkeys(citation.document_id for citation in cited)),
        legs=result.legs if result else (),
        session_id=question.session_id,
    )


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.answer,
        "citations": [_citation(citation) for citation in answer.citations],
        "confidence": answer.confidence,
        "grounded": answer.grounded,
        "groundedness_score": answer.groundedness_score,
        "insufficiencies": list(answer.insufficiencies),
        "coverage": answer.coverage,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "n": citation.n,
        "document_id": str(citation.document_id),
        "passage_id": str(citation.passage_id),
        "chunk_id": str(citation.chunk_id) if citation.chunk_id else None,
        "version": citation.version,
        "page": citation.page,
        "start": citation.start,
        "end": citation.end,
    }
