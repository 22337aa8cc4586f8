"""The answer as it is handed over, with everything that was decided on the way. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from cairn.answer.confidence import GUESS, decide, word_of
from cairn.answer.ground.check import CHECKED_WHOLE
from cairn.answer.model_failure import Instead, describe_failure
from cairn.domain.answer import Answer, AnswerStatus, Citation, ConfidenceWord, Draft, Grounding, ModelFailure
from cairn.domain.event import Answered, Event, Failed
from cairn.domain.plan import QueryPlan
from cairn.domain.principal import Principal
from cairn.domain.proof import digest_of
from cairn.domain.trace import LegTrace, RunTrace
from cairn.language.links import known
from cairn.language.outbound import without_links_inside
from cairn.language.text import fold
from cairn.query.multi_hop import query_class
from cairn.retrieve.trace import cache_plan, query_plan
from cairn.runs.budget import ANSWERING
from cairn.runs.choose import Route
from cairn.runs.context import DoneSearch, Outcome, Record, Run
from cairn.runs.outbound import NO_MODEL, texts_of
from cairn.runs.provenance import drawn_on

INTENT_CLASSIFIERS: Final[Mapping[int | None, str]] = {None: "rules", 0: "rules", 1: "exemplars", 2: "model"}
"""Who said what a message wants, by the layer that matched; where none did, a rule takes it for a question."""


def make_answer(run: Run, outcome: Outcome) -> Answer:
    """Only what a model wrote can be grounded or not. The confidence of a quotation is its own; a model's answer is no
    surer than its search, and than its sources support it."""
    question, record, draft = run.question, run.record, outcome.draft
    verbatim = outcome.answerer == "extractive" and draft.evidence is not None
    grounding = outcome.grounding if draft.found else None
    score = grounding.score if grounding else None
    confidence = draft.confidence if verbatim else _of_model(outcome, draft, score)
    searched = [note for item in record.searches for note in item.result.degraded]
    found = (*run.route.degraded, *record.degraded, *run.plan.degraded, *searched, *outcome.degraded, *_spent(record))
    degraded = tuple(dict.fromkeys(found))
    failure = _model_failure(run, outcome, degraded)
    return Answer(
        answer=draft.text,
        citations=draft.citations,
        sources=outcome.sources,
        confidence=round(confidence, 4),
        answered=_answered(draft, verbatim or outcome.answerer == "graph", grounding, astray=outcome.astray),
        grounded=grounding.grounded if grounding else None,
        groundedness_score=score,
        insufficiencies=tuple(dict.fromkeys(draft.insufficiencies)),
        coverage=outcome.coverage,
        route=_route(run, outcome),
        degraded=(failure.sentence, *degraded) if failure else degraded,
        session_id=question.session_id,
        run_id=question.run_id,
        timings_ms=stage_timings(record),
        usage=record.budget.usage if record.budget else {},
        grounding=grounding,
        evidence=draft.evidence if verbatim else None,
        drew_on=drawn_on(run, outcome, _route(run, outcome)),
        confidence_word=_word(outcome, verbatim=verbatim),
        model_failure=failure,
    )


def _model_failure(run: Run, outcome: Outcome, degraded: Sequence[str]) -> ModelFailure | None:
    """Of the run's calls of the chat model."""
    budget = run.record.budget
    instead: Instead = "partly"
    if outcome.answerer in NO_MODEL:
        instead = "quotation" if outcome.answerer == "extractive" and outcome.draft.found else "without"
    failures = budget.failures if budget else ()
    return describe_failure(failures, degraded, instead, run.plan.language, ANSWERING)


def _answered(draft: Draft, knows_how_sure: bool, grounding: Grounding | None, *, astray: bool) -> AnswerStatus:
    """A refusal is no, a quotation and what symbols of code tell are as sure as their probability; what a model wrote is unsure
    where its sources refute it, or are about something else than what is asked."""
    if not draft.found:
        return "no"
    if knows_how_sure:
        return decide(draft.confidence)
    return "unsure" if astray or (grounding and grounding.grounded is False) else "yes"


def _of_model(outcome: Outcome, draft: Draft, score: float | None) -> float:
    most = GUESS if outcome.astray else 1.0
    return min(outcome.confidence, draft.confidence, most if score is None else min(score, most))


def _word(outcome: Outcome, *, verbatim: bool) -> ConfidenceWord | None:
    """None where nothing is answered, and where no number says how probably it is right: of small talk, of summaries, and of what
    a model wrote, of which `grounded` speaks."""
    draft = outcome.draft
    if not draft.found or outcome.needs_clarification:
        return None
    if outcome.origin:
        return outcome.origin if decide(draft.confidence) == "yes" else "not_sure"
    if not verbatim:
        return None
    read = draft.evidence is not None and draft.evidence.read is not None
    return word_of(draft.confidence, read=read, whole=not draft.insufficiencies)


def _spent(record: Record) -> tuple[str, ...]:
    """That a limit of the budget ended the work early."""
    exceeded = record.budget.exceeded if record.budget else None
    return (f"the run used up {exceeded}; this is the best answer until then",) if exceeded else ()


def stage_timings(record: Record) -> dict[str, float]:
    """Milliseconds by stage: of understanding, of the first search, and of the run."""
    understanding = record.plan.timings_ms if record.plan else {}
    search = record.searches[0].result.timings_ms if record.searches else {}
    stages = {**understanding, **search}
    return {**{stage: spent for stage, spent in stages.items() if stage != "total"}, **record.timings_ms}


def _route(run: Run, outcome: Outcome) -> dict[str, Any]:
    searches, budget = run.record.searches, run.record.budget
    return {
        **describe_plan(run.plan, run.route),
        "weights": _weights(searches),
        **outcome.more,
        "answerer": outcome.answerer,
        "found": outcome.draft.found,
        "from_cache": bool(searches) and all(item.result.from_cache for item in searches),
        "iterations": outcome.iterations,
        "needs_clarification": outcome.needs_clarification,
        **_state(run, outcome),
        **({"budget_exceeded": budget.exceeded, "budget": budget.describe()} if budget and budget.used else {}),
    }


def _state(run: Run, outcome: Outcome) -> dict[str, Any]:
    """Whether there was anything to search, and how often the query was written anew: before the first search, and after
    ones that were not good enough. `should_rewrite`: the last one was not either, and no more were allowed or possible."""
    searches, refuted = run.record.searches, outcome.grounding is not None and outcome.grounding.grounded is False
    rewritten = int(run.plan.rewritten_by is not None)
    return {
        "collection_empty": bool(searches) and not any(item.result.visible_passages for item in searches),
        "skip_rewrite": not rewritten,
        "should_rewrite": bool(searches) and (refuted or not outcome.draft.found),
        "rewrite_count": rewritten + outcome.more.get("agentic", {}).get("rewrites", 0),
    }


def _weights(searches: Sequence[DoneSearch]) -> dict[str, Any] | None:
    """What was in force in the first search; the trace has them of each. None where nothing was searched."""
    used = searches[0].result.weights if searches else None
    return used.as_json() if used else None


def describe_plan(plan: QueryPlan, route: Route) -> dict[str, Any]:
    """What was understood and decided before anything was retrieved."""
    return {
        "strategy": route.strategy,
        "reason": route.reason,
        "query_class": query_class(plan),
        **_understood(plan),
        "is_summarization": route.strategy == "summarize",
    }


def _understood(plan: QueryPlan) -> Mapping[str, Any]:
    intent, kind, complexity = plan.intent, plan.classification, plan.complexity
    return {
        "intent": intent.intent,
        "intent_confidence": round(intent.confidence, 4),
        "intent_layer": intent.layer,
        "intent_reason": intent.reason,
        "intent_by": INTENT_CLASSIFIERS[intent.layer],
        "language": plan.language,
        "query_type": kind.type,
        "query_type_confidence": round(kind.confidence, 4),
        "query_type_reason": kind.reason,
        "query_type_by": kind.by,
        "complexity": {
            "score": round(complexity.score, 4),
            "level": complexity.level,
            "factors": {name: round(value, 4) for name, value in complexity.factors.items()},
            "override": complexity.override,
            "reasoning": complexity.reasoning,
        },
        "entities": list(plan.entities),
        "rewritten_query": plan.text if plan.rewritten_by else None,
        "rewritten_by": plan.rewritten_by,
        "rewrite_reason": plan.rewrite_reason,
        "carried": list(plan.carried),
        "documents": list(plan.documents),
        "subquestions": list(plan.subquestions),
        "expansions": list(plan.expansions),
        "filters": dict(plan.filters),
        "about_collection": plan.listing is not None,
    }


# --- What a run leaves behind: the record of what it did, and its last event, as rows. Pure ---


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
    told = list(answer.drew_on) if answer else []
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
    asked = {**dict(question.filters or {})}
    decided = describe_plan(record.plan, record.route) if record.plan and record.route else {}
    plan: dict[str, Any] = {
        "asked_strategy": question.strategy,
        "reranker": first.result.reranker if first else None,
        **decided,
        "weights": _weights(record.searches),
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
