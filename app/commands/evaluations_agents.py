"""What `cairn eval agents` does: the questions of data sets, answered by one strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from app.commands import evaluation_tables as tables
from app.commands.evaluations import Corpora, bench_of, load_sets, prepare, write_json
from app.commands.terminal import note, progress, services
from app.domain.question import Strategy
from app.evals import report
from app.evals.agents import AgentBench, AgentsRun, evaluate
from app.evals.answers import load_answers
from app.service.ask import ask
from app.wiring import Services


async def agents(corpora: Corpora, strategy: str, name: str, json: Path | None) -> int:
    """Exit code 1 when the run of some question failed: the figures are not what they seem."""
    sets = [(data, load_answers(data.folder), collection) for data, collection in load_sets(corpora)]
    measured: list[AgentsRun] = []
    async with services() as opened:
        if strategy == "corrective":
            _switch_on(opened)
        bench, chat = bench_of(opened), opened.chat_for(opened.settings.current)
        asking = AgentBench(
            bench, lambda question: ask(opened, question), opened.traces.flush, chat.name if chat else None
        )
        for data, expected, collection in sets:
            await prepare(opened, bench, data, collection, corpora)
            if not expected:
                note(f"{data.name}: no answers.jsonl; what answers say is not judged, only what they stand on.")
            with progress(f"{data.name}, {strategy}", len(data.queries)) as step:
                done = await evaluate(asking, data, expected, collection, cast("Strategy", strategy), step, name=name)
            measured.append(done)
    if json:
        write_json(json, {"runs": [_as_json(one) for one in measured]})
    if str(json) != "-":
        tables.agents(measured)
    for one in measured:
        for problem in one.run.degraded:
            note(f"{one.run.data_set}: {problem}")
    return 1 if any(asked.error for one in measured for asked in one.answers.values()) else 0


def _switch_on(opened: Services) -> None:
    """The corrective strategy, for this process: it is named in so many words."""
    settings = opened.settings.current
    if settings.rag.agentic_retrieval.enabled:
        return
    on = settings.rag.agentic_retrieval.model_copy(update={"enabled": True})
    rag = settings.rag.model_copy(update={"agentic_retrieval": on})
    opened.settings.current = settings.model_copy(update={"rag": rag})
    note("rag.agenticRetrieval.enabled is off; it is on for this evaluation.")


def _as_json(one: AgentsRun) -> dict[str, Any]:
    return {
        **report.run_json(one.run, one.results),
        "rates": dict(one.rates),
        "answers": {
            query_id: {
                "run_id": asked.run_id,
                "answer": asked.answer and asked.answer.answer,
                "error": asked.error and f"{asked.error.code}: {asked.error.detail}",
                "confidence": asked.answer and asked.answer.confidence,
                "strategy": asked.answer and asked.answer.route["strategy"],
                "usage": dict(asked.answer.usage) if asked.answer else {},
            }
            for query_id, asked in one.answers.items()
        },
    }
