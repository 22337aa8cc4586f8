"""The answer as it is handed over, with everything that was decided on the way. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cairn.answer.computed import CONFIDENCE as COMPUTED
from cairn.answer.confidence import GUESS, decide, word_of
from cairn.answer.model_failure import Instead, describe_failure
from cairn.domain.answer import Answer, AnswerStatus, ConfidenceWord, Draft, Grounding, ModelFailure
from cairn.domain.plan import QueryPlan
from cairn.query.multi_hop import query_class
from cairn.runs.budget import ANSWERING
from cairn.runs.choose import Route
from cairn.runs.context import DoneSearch, Outcome, Record, Run
from cairn.runs.outbound import NO_MODEL
from cairn.runs.provenance import drawn_on

INTENT_CLASSIFIERS: Final[Mapping[int | None, str]] = {None: "rules", 0: "rules", 1: "exemplars", 2: "model"}
"""Who said what a message wants, by the layer that matched; where none did, a rule takes it for a question."""


def make_answer(run: Run, outcome: Outcome) -> Answer:
    """Only what a model wrote can be grounded or not. The confidence of a quotation is its own; a model's answer is no
    surer than its search, and than its sources support it."""
    question, record, draft = run.question, run.record, outcome.draft
    verbatim = outcome.answerer == "extractive" and (draft.evidence is not None or draft.named)
    grounding = outcome.grounding if draft.found else None
    score = grounding.score if grounding else None
    confidence = draft.confidence if verbatim else _of_model(outcome, draft, score)
    searched = [note for item in record.searches for note in item.result.degraded]
    found = (*run.route.degraded, *record.degraded, *run.plan.degraded, *searched, *outcome.degraded, *_spent(record))
    degraded = tuple(dict.fromkeys(found))
    failure = _model_failure(run, outcome, degraded)
    route = _route(run, outcome)
    return Answer(
        answer=draft.text,
        citations=draft.citations,
        sources=outcome.sources,
        confidence=round(confidence, 4),
        answered=_answered(
            draft,
            verbatim or outcome.answerer == "graph" or outcome.origin == "computed",
            grounding,
            astray=outcome.astray,
        ),
        grounded=grounding.grounded if grounding else None,
        groundedness_score=score,
        insufficiencies=tuple(dict.fromkeys(draft.insufficiencies)),
        coverage=outcome.coverage,
        route=route,
        degraded=(failure.sentence, *degraded) if failure else degraded,
        session_id=question.session_id,
        run_id=question.run_id,
        timings_ms=stage_timings(record),
        usage=record.budget.usage if record.budget else {},
        grounding=grounding,
        evidence=draft.evidence if verbatim else None,
        drew_on=drawn_on(run, outcome, route),
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
        if decide(draft.confidence) != "yes":
            return "not_sure"
        return "likely" if outcome.origin == "computed" and draft.confidence < COMPUTED else outcome.origin
    if not verbatim:
        return None
    read = draft.named or (draft.evidence is not None and draft.evidence.read is not None)
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
        "weights": weights_of(searches),
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


def weights_of(searches: Sequence[DoneSearch]) -> dict[str, Any] | None:
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
