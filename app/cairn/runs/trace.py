"""What a run leaves behind: the record of what it did, and its last event, as rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from cairn.answer.ground.check import CHECKED_WHOLE
from cairn.domain.answer import Answer, Citation, Grounding
from cairn.domain.event import Answered, Event, Failed
from cairn.domain.principal import Principal
from cairn.domain.proof import digest_of
from cairn.domain.trace import LegTrace, RunTrace
from cairn.language.links import known
from cairn.language.outbound import without_links_inside
from cairn.language.text import fold
from cairn.retrieve.trace import cache_plan, query_plan
from cairn.runs.context import DoneSearch, Record
from cairn.runs.finish import describe_plan, stage_timings, weights_of
from cairn.runs.outbound import texts_of


def run_trace(
    record: Record, terminal: Event | None, *, principal: Principal, started_at: datetime, settings_revision: str
) -> RunTrace:
    """The trace of a run, however far it got, with its terminal event; None: it is under way.

    A run may search several times. Its first search has the legs vector, lexical and fused; those of the n-th are named
    vector#n, lexical#n and fused#n, and `plan.searches[n - 1]` says what was searched and why. `merged` is the list that was
    made of all of them. analyst.retrieval_hits shows the number as a column of its own.

    The answer is kept with ids and spans but without quotes: when a document is deleted, its text must not live on in a
    trace.
    """
    question, searches = record.question, record.searches
    answer = terminal.answer if isinstance(terminal, Answered) else None
    results = [item.result for item in searches]
    noted = [note for result in results for note in result.degraded]
    return RunTrace(
        id=question.run_id,
        tenant_id=principal.tenant_id,
        started_at=started_at,
        kind="query",
        collections=(question.collection,),
        question=question.text,
        settings_revision=settings_revision,
        outcome=_outcome(terminal),
        strategy=record.route.strategy if record.route else None,
        plan=_shown_plan(record, answer),
        timings_ms=answer.timings_ms if answer else stage_timings(record),
        legs_used=tuple(dict.fromkeys(str(leg) for result in results for leg in result.legs_used)),
        legs_failed={str(leg): why for result in reversed(results) for leg, why in result.legs_failed.items()},
        degraded=answer.degraded if answer else tuple(dict.fromkeys((*record.degraded, *noted))),
        epochs={name: epoch for result in reversed(results) for name, epoch in result.epochs.items()},
        error=f"{terminal.error.code}: {terminal.error.detail}" if isinstance(terminal, Failed) else None,
        answer=_answer(answer) if answer else {},
        usage=record.budget.usage if record.budget else {},
        document_ids=_documents(record, answer),
        legs=_legs(searches, record.merged),
        session_id=question.session_id,
        asked_by=principal.caller.id,
        asked_as=principal.names,
        held=principal.caller.asked_as,
    )


def _outcome(terminal: Event | None) -> Literal["ok", "error", "cancelled", "running"]:
    match terminal:
        case None:
            return "running"
        case Answered():
            return "ok"
        case Failed():
            return "error"
    return "cancelled"


def _documents(record: Record, answer: Answer | None) -> tuple[UUID, ...]:
    """Those that are cited, named or drawn on; of an agent, or where there is no answer, all that was found, since thoughts,
    queries and errors may have words of them."""
    told = [*answer.drew_on] if answer else []
    told += [citation.document_id for citation in answer.citations if citation.url is None] if answer else []
    if record.steps or answer is None:
        told += [p.document_id for item in record.searches for p in item.result.passages]
        told += record.read
    return tuple(dict.fromkeys(told))


def _shown_plan(record: Record, answer: Answer | None) -> dict[str, Any]:
    """Without addresses that a model made up: thoughts and arguments of agents stand in it."""
    read = (passage for item in record.searches for passage in item.result.passages)
    shown: dict[str, Any] = without_links_inside(_plan(record, answer), known([record.question.text, *texts_of(read)]))
    return shown


def _plan(record: Record, answer: Answer | None) -> dict[str, Any]:
    """Every decision. What the legs make of the query stands at the top for the first search, as in plain searches."""
    question, first = record.question, record.searches[0] if record.searches else None
    asked = dict(question.filters or {})
    decided = describe_plan(record.plan, record.route) if record.plan and record.route else {}
    plan: dict[str, Any] = {
        "asked_strategy": question.strategy,
        "reranker": first.result.reranker if first else None,
        **decided,
        "weights": weights_of(record.searches),
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


def shown_query(item: DoneSearch, question: str) -> str:
    """The query as the trace keeps it. One that was made of what was found has words of documents, which must not live on
    in a trace: only those that the question has are kept."""
    if item.purpose != "rewrite":
        return item.query
    said = fold(question)
    return " ".join(word if fold(word) in said else "…" for word in item.query.split())


def _search(n: int, item: DoneSearch, question: str) -> dict[str, Any]:
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
        "weights": result.weights and result.weights.as_json(),
        "total_ms": result.timings_ms.get("total"),
        **cache_plan(result),
    }


def _legs(searches: Sequence[DoneSearch], merged: LegTrace | None) -> tuple[LegTrace, ...]:
    legs = [
        leg if n == 1 else replace(leg, leg=f"{leg.leg}#{n}")
        for n, item in enumerate(searches, 1) for leg in item.result.legs
    ]  # fmt: skip
    return (*legs, *([merged] if merged else []))


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.answer,
        "citations": [_citation(citation) for citation in answer.citations],
        "digests": {str(citation.n): digest_of(citation.quote) for citation in answer.citations},  # for proofs
        "confidence": answer.confidence,
        "confidence_word": answer.confidence_word,
        "answered": answer.answered,
        "grounded": answer.grounded,
        "groundedness_score": answer.groundedness_score,
        "insufficiencies": list(answer.insufficiencies),
        "coverage": asdict(answer.coverage),
        **({"grounding": _grounding(answer, answer.grounding)} if answer.grounding else {}),
        **({"selection": asdict(answer.evidence)} if answer.evidence else {}),  # numbers and terms of ours, no words
    }


def _grounding(answer: Answer, grounding: Grounding) -> dict[str, Any]:
    """The check sentence by sentence, without words: those of an issue may be a document's. Sources are passages by id, where the
    answer was held against all that it names."""
    ids = [str(one.passage_id) for one in answer.sources] if len(answer.sources) <= CHECKED_WHOLE else []
    return {
        "layer": grounding.layer,
        "sentences": [
            {
                "start": one.start,
                "end": one.end,
                "score": one.score,
                "supported": one.supported,
                "problems": list(one.kinds),
                "computed": len(one.computed),
                "passages": [ids[n - 1] for n in one.sources if n <= len(ids)],
            }
            for one in grounding.sentences
        ],
    }


def _citation(citation: Citation) -> dict[str, Any]:
    web = {} if citation.url is None else {"url": citation.url}
    return {
        **web,
        **({"instead": True} if citation.instead else {}),
        "n": citation.n,
        "document_id": str(citation.document_id),
        "passage_id": str(citation.passage_id),
        "version": citation.version,
        "page": citation.page,
        "start": citation.start,
        "end": citation.end,
    }
