"""Evaluation of strategies: ask every question of a data set, judge the answers, and read the rates out of the traces."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from cairn.domain.answer import Answer
from cairn.domain.evaluation import EvalResult, EvalRun
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import CairnError
from cairn.evals.answers import AnswerFigures, Expected, answer_text, figures, judge, ranking
from cairn.evals.datasets import RetrievalSet
from cairn.evals.metrics import summarise
from cairn.evals.retrieval import CONCURRENCY, Bench, Step, find_collection, holds_restricted, plain, timings
from cairn.providers.protocols import Embedder
from cairn.retrieve.embed import serving_model
from cairn.store import evals

Ask = Callable[[Question], Awaitable[Answer]]
Flush = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class AgentBench:
    """What questions are asked with: `ask` runs one, `flush` waits until traces are written, `model` is the chat model's
    name."""

    bench: Bench
    ask: Ask
    flush: Flush
    model: str | None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question: its run, and its answer or what it failed with."""

    query_id: str
    run_id: UUID
    answer: Answer | None
    error: CairnError | None = None


@dataclass(frozen=True, slots=True)
class AgentsRun:
    """`rates` are counted by SQL out of the traces; empty where the strategy leaves none. `answers` by query id. `figures` of
    the questions of which it is known what to answer, and of groups of them; empty where that is not known."""

    run: EvalRun
    results: Sequence[EvalResult]
    rates: Mapping[str, float | None]
    answers: Mapping[str, AskedQuestion]
    figures: Mapping[str, AnswerFigures]


async def evaluate(
    agents: AgentBench, data: RetrievalSet, expected: Mapping[str, Expected], collection: str, strategy: str,
    step: Step, *, name: str = "", group_by: str = "",
) -> AgentsRun:  # fmt: skip
    """Ask every question, judge and store in one transaction. A question whose run fails counts 0 and is told. `group_by`: a
    field of the questions by whose values figures are given too. Where documents are withheld nothing is expected.

    Raises NotFoundError for an unknown collection.
    """
    bench = agents.bench
    if data.withheld:
        expected = dict.fromkeys(expected, Expected(()))
    where = await find_collection(bench, collection)
    restricted = await holds_restricted(bench, [where.name])
    started = datetime.now(UTC)
    asked = await _ask_all(agents, data.queries, where.name, strategy, step)
    await agents.flush()
    meant = await judge_meaning(data.queries, asked, expected, bench.search_deps.judge)
    results = [_judge(data, one, expected.get(one.query_id), meant[one.query_id], bool(expected)) for one in asked]
    shown = _figures(data, results, expected, group_by)
    run_ids = [one.run_id for one in asked]
    async with bench.search_deps.database.transaction(bench.principal) as connection:
        rates = await evals.agentic_rates(connection, bench.principal, run_ids, started)
        rates |= {
            name: value
            for name, value in (await evals.agent_rates(connection, bench.principal, run_ids, started)).items()
            if value is not None
        }
        run = EvalRun(
            id=new_id(), kind="agents", name=name, data_set=data.name, data_hash=data.digest, collection_id=where.id,
            collection=where.name, epochs={where.name: where.epoch}, settings=plain(bench.settings),
            settings_revision=bench.settings.revision, code_version=bench.code_version,
            parameters={
                "mode": strategy, "strategy": strategy, "chat_model": agents.model,
                "embedding_model": serving_model(bench.search_deps, bench.principal, where.name).name,
                "concurrency": CONCURRENCY, "usage": _usage(asked), "rates": rates, "strategies_run": _strategies(asked),
                "withheld": len(data.withheld), "figures": {group: asdict(value) for group, value in shown.items()},
            },
            started_at=started, finished_at=datetime.now(UTC), query_count=len(results),
            metrics=summarise([result.metrics for result in results]),
            timings_ms=timings([result.total_ms for result in results]), degraded=tuple(_problems(asked)),
        )  # fmt: skip
        await evals.insert(connection, bench.principal, run, results, restricted=restricted)
    return AgentsRun(run, results, rates, {one.query_id: one for one in asked}, shown)


def _figures(
    data: RetrievalSet, results: Sequence[EvalResult], expected: Mapping[str, Expected], group_by: str
) -> dict[str, AnswerFigures]:
    """By group, the whole under the empty name."""
    groups: dict[str, list[tuple[Expected, Mapping[str, float]]]] = {}
    for result in results:
        if result.query_id in expected:
            value = data.fields.get(result.query_id, {}).get(group_by) if group_by else None
            for group in ("",) if value is None else ("", value):
                groups.setdefault(group, []).append((expected[result.query_id], result.metrics))
    return {group: figures(judged) for group, judged in sorted(groups.items())}


async def _ask_all(
    agents: AgentBench, queries: Mapping[str, str], collection: str, strategy: str, step: Step
) -> list[AskedQuestion]:
    found: dict[str, AskedQuestion] = {}
    pending = iter(queries.items())

    async def work() -> None:
        for query_id, text in pending:
            found[query_id] = await _one(agents, query_id, Question(text, collection, new_id(), strategy=strategy))
            step(query_id)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(work())
    return [found[query_id] for query_id in queries]


async def _one(agents: AgentBench, query_id: str, question: Question) -> AskedQuestion:
    try:
        return AskedQuestion(query_id, question.run_id, await agents.ask(question))
    except CairnError as error:
        return AskedQuestion(query_id, question.run_id, None, error)


async def judge_meaning(
    queries: Mapping[str, str], asked: Sequence[AskedQuestion], expected: Mapping[str, Expected], embedder: Embedder
) -> dict[str, dict[str, float]]:
    """What only vectors tell of answers: `answer_relevance`, the cosine of answer and question; `semantic_similarity`, that of
    the answer and the nearest expected wording, where answers are known. 0 without an answer; a refusal is right where
    nothing is expected. Raises ProviderError."""
    said = {one.query_id: answer_text(one.answer) for one in asked}
    wanted = {key: expected[key].wordings for key in said if key in expected}
    texts = {*filter(None, said.values()), *queries.values(), *(text for each in wanted.values() for text in each)}
    order = sorted(texts)
    vectors = dict(zip(order, await embedder.embed(order), strict=True)) if order else {}

    def cosine(one: str, other: str) -> float:
        return max(0.0, float(vectors[one] @ vectors[other]))

    meant: dict[str, dict[str, float]] = {}
    for key, text in said.items():
        meant[key] = {"answer_relevance": cosine(text, queries[key]) if text else 0.0}
        if expected:
            wordings = wanted.get(key, ())
            near = max((cosine(text, wording) for wording in wordings), default=0.0) if text else float(not wordings)
            meant[key]["semantic_similarity"] = near
    return meant


def _judge(
    data: RetrievalSet, one: AskedQuestion, expected: Expected | None, meant: Mapping[str, float], has_answers: bool
) -> EvalResult:
    judgements, answer = data.judgements[one.query_id], one.answer
    wanted = expected or (Expected(()) if has_answers else None)
    return EvalResult(
        one.query_id, data.queries[one.query_id], ranking(answer) if answer else (), judgements,
        {**judge(answer, judgements, wanted), **meant}, answer.timings_ms["total"] if answer else 0.0,
    )  # fmt: skip


def _usage(asked: Sequence[AskedQuestion]) -> dict[str, float]:
    """Calls, tokens and cost of all runs."""
    total: Counter[str] = Counter()
    for one in asked:
        for key, value in (one.answer.usage if one.answer else {}).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                total[key] += value  # type: ignore[assignment]
    return dict(total)


def _strategies(asked: Sequence[AskedQuestion]) -> dict[str, int]:
    """Which strategies answered, and how often: `auto` chooses, and what is switched off runs fast."""
    return dict(Counter(str(one.answer.route["strategy"]) for one in asked if one.answer))


def _problems(asked: Sequence[AskedQuestion]) -> list[str]:
    counts = Counter(
        [f"failed: {one.error.code}" for one in asked if one.error]
        + [note.partition(" (")[0] for one in asked if one.answer for note in one.answer.degraded]
    )
    return [f"{count} of {len(asked)} questions: {problem}" for problem, count in counts.most_common()]
