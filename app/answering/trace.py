"""What a run leaves behind: the record of what it did, and its last event, as rows. Pure.

A run may search several times. Its first search has the legs vector, lexical and fused; those of the n-th are named
vector#n, lexical#n and fused#n, and `plan.searches[n - 1]` says what was searched and why. `merged` is the list that was
made of all of them. analyst.retrieval_hits shows the number as a column of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.answering.context import Record, Searched
from app.answering.finish import planned, timings
from app.domain.answer import Answer, Citation
from app.domain.event import Answered, Event, Failed
from app.domain.trace import LegTrace, RunTrace
from app.language.text import fold
from app.retrieve.trace import cache_plan, query_plan


def run_trace(
    record: Record, terminal: Event | None, *, tenant_id: int, started_at: datetime, settings_revision: str
) -> RunTrace:
    """The trace of a run, however far it got.

    `terminal` is None where the stream was closed before its end, because its reader went away: cancelled. The answer
    is kept with ids and spans but without quotes: when a document is deleted, its text must not live on in a trace.
    """
    question, searches = record.question, record.searches
    answer = terminal.answer if isinstance(terminal, Answered) else None
    results = [item.result for item in searches]
    noted = [note for result in results for note in result.degraded]
    return RunTrace(
        id=question.run_id,
        tenant_id=tenant_id,
        started_at=started_at,
        kind="query",
        collections=(question.collection,),
        question=question.text,
        settings_revision=settings_revision,
        outcome="ok" if answer else "error" if isinstance(terminal, Failed) else "cancelled",
        strategy=record.route.strategy if record.route else None,
        plan=_plan(record, answer),
        timings_ms=answer.timings_ms if answer else timings(record),
        legs_used=tuple(dict.fromkeys(str(leg) for result in results for leg in result.legs_used)),
        legs_failed={str(leg): why for result in reversed(results) for leg, why in result.legs_failed.items()},
        degraded=answer.degraded if answer else tuple(dict.fromkeys((*record.degraded, *noted))),
        epochs={name: epoch for result in reversed(results) for name, epoch in result.epochs.items()},
        error=f"{terminal.error.code}: {terminal.error.detail}" if isinstance(terminal, Failed) else None,
        answer=_answer(answer) if answer else {},
        usage={**record.usage, "by_purpose": record.calls} if record.calls else {},
        document_ids=_documents(record, answer),
        legs=_legs(searches, record.merged),
        session_id=question.session_id,
    )


def _documents(record: Record, answer: Answer | None) -> tuple[UUID, ...]:
    """Those that are cited; of an agent all that it found, since its thoughts and queries may have words of them."""
    cited = [citation.document_id for citation in (answer.citations if answer else ())]
    found = [p.document_id for item in record.searches for p in item.result.passages] if record.steps else []
    return tuple(dict.fromkeys((*cited, *found, *(record.read if record.steps else ()))))


def _plan(record: Record, answer: Answer | None) -> dict[str, Any]:
    """Every decision. What the legs make of the query stands at the top for the first search, as in plain searches."""
    question, first = record.question, record.searches[0] if record.searches else None
    asked = {**dict(question.filters or {})}
    decided = planned(record.plan, record.route) if record.plan and record.route else {}
    plan: dict[str, Any] = {
        "asked_strategy": question.strategy,
        "reranker": first.result.reranker if first else None,
        **decided,
        **(answer.route if answer else {}),
        "filters": asked,
        "history_messages": len(question.history),
        "searches": [_search(n, item, question.text) for n, item in enumerate(record.searches, 1)],
        "attempts": [dict(attempt) for attempt in record.attempts],
    }
    if record.plan and record.plan.filters:
        plan["understood_filters"] = dict(record.plan.filters)
    if record.steps:
        plan["agent_steps"] = [dict(step) for step in record.steps]
    if first:
        plan |= query_plan(first.query, filtered=bool(asked)) | cache_plan(first.result)
        plan |= {str(leg): how for leg, how in first.result.how.items()}
        if first.query != question.text:
            plan.setdefault("lexical_query", first.query)
    return plan


def shown_query(item: Searched, question: str) -> str:
    """The query as the trace keeps it. One that was made of what was found has words of documents, which must not live on
    in a trace: only those that the question has are kept."""
    if item.purpose != "rewrite":
        return item.query
    said = fold(question)
    return " ".join(word if fold(word) in said else "…" for word in item.query.split())


def _search(n: int, item: Searched, question: str) -> dict[str, Any]:
    result = item.result
    return {
        "n": n,
        "purpose": item.purpose,
        "query": shown_query(item, question),
        "found": len(result.passages),
        "confidence": {str(leg): value for leg, value in result.confidence.items()},
        "legs_used": list(result.legs_used),
        "legs_failed": {str(leg): why for leg, why in result.legs_failed.items()},
        "reranker": result.reranker,
        "total_ms": result.timings_ms.get("total"),
        **cache_plan(result),
    }


def _legs(searches: Sequence[Searched], merged: LegTrace | None) -> tuple[LegTrace, ...]:
    legs = [
        leg if n == 1 else replace(leg, leg=f"{leg.leg}#{n}")
        for n, item in enumerate(searches, 1) for leg in item.result.legs
    ]  # fmt: skip
    return (*legs, *([merged] if merged else []))


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
        "version": citation.version,
        "page": citation.page,
        "start": citation.start,
        "end": citation.end,
    }
