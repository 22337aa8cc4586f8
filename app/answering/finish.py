"""The answer as it is handed over, with everything that was decided on the way. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.answering.choose import Route
from app.answering.context import Outcome, Record, Run
from app.domain.answer import Answer
from app.domain.plan import QueryPlan
from app.query.hops import query_class


def finished(run: Run, outcome: Outcome) -> Answer:
    """A quotation is grounded by construction; what has nothing to check (a reply, a refusal) is neither."""
    question, record, draft = run.question, run.record, outcome.draft
    verbatim = outcome.answerer == "extractive" and draft.found
    grounding = outcome.grounding if draft.found else None
    score = 1.0 if verbatim else grounding.score if grounding else None
    searched = [note for item in record.searches for note in item.result.degraded]
    return Answer(
        answer=draft.text,
        citations=draft.citations,
        sources=outcome.sources,
        confidence=round(min(outcome.confidence, draft.confidence, 1.0 if score is None else score), 4),
        grounded=True if verbatim else grounding.grounded if grounding else None,
        groundedness_score=score,
        insufficiencies=tuple(dict.fromkeys(draft.insufficiencies)),
        coverage=outcome.coverage,
        route=_route(run, outcome),
        degraded=tuple(
            dict.fromkeys(
                (
                    *run.route.degraded,
                    *record.degraded,
                    *run.plan.degraded,
                    *searched,
                    *outcome.degraded,
                    *_spent(record),
                )
            )
        ),
        session_id=question.session_id,
        run_id=question.run_id,
        timings_ms=timings(record),
        usage=record.usage,
        grounding=grounding,
    )


def _spent(record: Record) -> tuple[str, ...]:
    """That a limit of the budget ended the work early."""
    exceeded = record.budget.exceeded if record.budget else None
    return (f"the run used up {exceeded}; this is the best answer until then",) if exceeded else ()


def timings(record: Record) -> dict[str, float]:
    """Milliseconds by stage: of understanding, of the first search, and of the run."""
    understanding = record.plan.timings_ms if record.plan else {}
    search = record.searches[0].result.timings_ms if record.searches else {}
    stages = {**understanding, **search}
    return {**{stage: spent for stage, spent in stages.items() if stage != "total"}, **record.timings_ms}


def _route(run: Run, outcome: Outcome) -> dict[str, Any]:
    searches, budget = run.record.searches, run.record.budget
    return {
        **planned(run.plan, run.route),
        **outcome.more,
        "answerer": outcome.answerer,
        "found": outcome.draft.found,
        "from_cache": bool(searches) and all(item.result.from_cache for item in searches),
        "iterations": outcome.iterations,
        "needs_clarification": outcome.needs_clarification,
        **({"budget_exceeded": budget.exceeded, "budget": budget.usage()} if budget else {}),
    }


def planned(plan: QueryPlan, route: Route) -> dict[str, Any]:
    """What was understood and decided before anything was retrieved."""
    return {
        "strategy": route.strategy,
        "reason": route.reason,
        "query_class": query_class(plan),
        **_understood(plan),
        "is_summarization": route.strategy == "summarize",
    }


def _understood(plan: QueryPlan) -> Mapping[str, Any]:
    intent, kind, complexity, weights = plan.intent, plan.classification, plan.complexity, plan.weights
    return {
        "intent": intent.intent,
        "intent_confidence": round(intent.confidence, 4),
        "intent_layer": intent.layer,
        "intent_reason": intent.reason,
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
        "weights": {"text": weights.text, "graph": weights.graph, "mode": weights.mode},
        "entities": list(plan.entities),
        "rewritten_query": plan.text if plan.rewritten_by else None,
        "rewritten_by": plan.rewritten_by,
        "rewrite_reason": plan.rewrite_reason,
        "carried": list(plan.carried),
        "documents": list(plan.documents),
        "subquestions": list(plan.subquestions),
        "expansions": list(plan.expansions),
        "filters": dict(plan.filters),
        "about_collection": plan.about_collection,
    }
