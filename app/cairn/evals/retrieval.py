"""Evaluation of retrieval: index the corpus of a data set, search all its queries, judge and store what was found.

Searches are the product's own, with the settings in force; they leave results in rag.eval_results instead of traces.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cairn.domain.document import Collection, Outcome, Rejected, Source
from cairn.domain.evaluation import EvalResult, EvalRun
from cairn.domain.ids import new_id
from cairn.domain.passage import Leg, Mode, SearchRequest, SearchResult
from cairn.domain.principal import Principal
from cairn.errors import NotFoundError
from cairn.evals.datasets import RetrievalSet
from cairn.evals.metrics import score, summarise
from cairn.ingest.loaders import REVISION
from cairn.ingest.model_choice import ChooseModel
from cairn.ingest.pipeline import Target, ingest
from cairn.ingest.prepare import source_hash
from cairn.retrieve.context import SearchDeps
from cairn.retrieve.embed import serving_model
from cairn.retrieve.plan import legs_of
from cairn.retrieve.search import search
from cairn.settings import Settings
from cairn.store import collections, evals

ALL: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
TOP_K = 100
"""Documents per query, as recall@100 needs them."""
CONCURRENCY = 2
"""Searches at a time: evaluation shares the machine with serving."""

# What an index is made with: settings that change these leave an older index as it was.
INDEX_SETTINGS = (
    "chunking", "graph.enabled", "ingest.detectLanguage", "ingest.language", "rag.chunkSize", "rag.chunkOverlap",
    "rag.embeddingModel", "vector.precision",
)  # fmt: skip

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bench:
    """What evaluations work with; `code_version` is stored with their runs."""

    search_deps: SearchDeps
    principal: Principal
    settings: Settings
    code_version: str
    choose: ChooseModel | None = None
    """Which model serves a new collection, where its documents decide."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A collection that holds a data set. `fresh` documents were indexed now; `rejected` ones cannot be found."""

    collection: Collection
    fresh: int
    rejected: tuple[Rejected, ...] = ()


# --- the corpus -------------------------------------------------------------------------------------------------------


async def index_corpus(bench: Bench, data: RetrievalSet, collection: str, step: Step) -> Corpus:
    """Make the collection hold the corpus; what is there already is skipped without reading or embedding it again.

    `step` is called with each document's id. Raises what ingestion raises when it cannot go on.
    """
    async with bench.search_deps.database.transaction(bench.principal) as connection:
        found, _ = await collections.ensure(connection, bench.principal, collection)
        known = await evals.content_hashes(connection, bench.principal, found.id, REVISION)

    def missing() -> Iterator[Source]:
        for source in data.documents():
            if known.get(source.external_id) == source_hash(source):
                step(source.external_id)
            else:
                yield source

    def reached(outcome: Outcome) -> None:
        step(outcome.external_id)

    search_deps = bench.search_deps
    target = Target(
        bench.principal, found.id, search_deps.embedder, search_deps.model, bench.settings, search_deps.embedders,
        choose=bench.choose,
    )  # fmt: skip
    outcomes = await ingest(search_deps.database, target, missing(), on_outcome=reached)
    rejected = tuple(outcome for outcome in outcomes if isinstance(outcome, Rejected))
    return Corpus(await find_collection(bench, collection), len(outcomes) - len(rejected), rejected)


async def find_collection(bench: Bench, name: str) -> Collection:
    """Raises NotFoundError."""
    async with bench.search_deps.database.transaction(bench.principal, readonly=True) as connection:
        found = await collections.by_name(connection, bench.principal, name)
    if found is None:
        raise NotFoundError(f"no collection named {name}")
    return found


async def holds_restricted(bench: Bench, names: Sequence[str]) -> bool:
    """Whether there is a document in these collections that only some may read: asked before they are measured."""
    async with bench.search_deps.database.transaction(bench.principal, readonly=True) as connection:
        return await evals.holds_restricted(connection, bench.principal, names)


async def stale_settings(bench: Bench, collection: Collection) -> list[str]:
    """Settings that the index was made with and that have changed since, as far as earlier runs tell."""
    async with bench.search_deps.database.transaction(bench.principal, readonly=True) as connection:
        epochs = {collection.name: collection.epoch}
        before = await evals.first_settings(connection, bench.principal, collection.id, epochs)
    if before is None:
        return []
    now = plain(bench.settings)
    return [name for name in INDEX_SETTINGS if _setting(before, name) != _setting(now, name)]


def plain(settings: Settings) -> dict[str, Any]:
    """Settings as they stand in settings.json."""
    return settings.model_dump(by_alias=True, mode="json")


def _setting(settings: Mapping[str, Any], name: str) -> Any:
    section, _, key = name.partition(".")
    values = settings.get(section, {})
    return values.get(key) if key else values


# --- the queries ------------------------------------------------------------------------------------------------------


async def evaluate(
    bench: Bench, data: RetrievalSet, collection: str, mode: Mode, step: Step, *, name: str = ""
) -> tuple[EvalRun, list[EvalResult]]:
    """Search every query of the set, judge what was found, and store run and results in one transaction.

    `step` is called with the id of each query that was answered. Raises NotFoundError for an unknown collection,
    DatabaseUnavailableError when no leg can answer; nothing is stored then.
    """
    where = await find_collection(bench, collection)
    restricted = await holds_restricted(bench, [where.name])
    started = datetime.now(UTC)
    found = await search_all(bench, data.queries, collection, legs_of(mode, bench.settings), TOP_K, step)
    results = [_judge(data, query_id, result) for query_id, result in found.items()]
    problems = tuple(_problems(list(found.values())))
    run = _run(bench, data, mode, started, results, problems, name=name, where=where, epoch=_epoch(found.values()))
    async with bench.search_deps.database.transaction(bench.principal) as connection:
        await evals.insert(connection, bench.principal, run, results, restricted=restricted)
    return run, results


def _run(
    bench: Bench, data: RetrievalSet, mode: Mode, started: datetime, results: Sequence[EvalResult],
    problems: tuple[str, ...], *, name: str, where: Collection, epoch: int,
) -> EvalRun:  # fmt: skip
    return EvalRun(
        id=new_id(),
        kind="retrieval",
        name=name,
        data_set=data.name,
        data_hash=data.digest,
        collection_id=where.id,
        collection=where.name,
        epochs={where.name: epoch},
        settings=plain(bench.settings),
        settings_revision=bench.settings.revision,
        code_version=bench.code_version,
        parameters=_parameters(bench, mode, where.name),
        started_at=started,
        finished_at=datetime.now(UTC),
        query_count=len(results),
        metrics=summarise([result.metrics for result in results]),
        timings_ms=timings([result.total_ms for result in results]),
        degraded=problems,
    )


def _epoch(results: Iterable[SearchResult]) -> int:
    """The last one seen; that there were several is reported as a problem."""
    return max(epoch for result in results for epoch in result.epochs.values())


async def search_all(
    bench: Bench, queries: Mapping[str, str], collection: str, legs: tuple[Leg, ...], top_k: int, step: Step,
    *, rerank: bool | None = None, concurrency: int = CONCURRENCY,
) -> dict[str, SearchResult]:  # fmt: skip
    """Results by query id, in the order of the queries."""
    found: dict[str, SearchResult] = {}
    pending = iter(queries.items())

    async def work() -> None:
        for query_id, text in pending:
            request = SearchRequest(
                query=text, collections=(collection,), top_k=top_k, legs=legs, rerank=rerank, group_by="document",
                cache=False, explicit=legs == ("graph",),
            )  # fmt: skip
            found[query_id] = await search(bench.search_deps, bench.principal, request, bench.settings)
            step(query_id)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {query_id: found[query_id] for query_id in queries}


def ranking(result: SearchResult) -> tuple[str, ...]:
    """External ids of the documents found, best first."""
    return tuple(passage.external_id for passage in result.passages)


def timings(milliseconds: Sequence[float]) -> dict[str, float]:
    """Mean, median and 95th percentile, in milliseconds."""
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return {"mean": round(statistics.fmean(milliseconds), 3), "p50": round(float(p50), 3), "p95": round(float(p95), 3)}


def _judge(data: RetrievalSet, query_id: str, result: SearchResult) -> EvalResult:
    judgements = data.judgements[query_id]
    documents = ranking(result)
    return EvalResult(
        query_id,
        data.queries[query_id],
        documents,
        judgements,
        score(documents, judgements),
        result.timings_ms["total"],
    )


def _parameters(bench: Bench, mode: Mode, collection: str) -> dict[str, Any]:
    choice = bench.search_deps.reranker.get(bench.settings)
    used = bench.settings.rag.reranking_enabled and not choice.on_request
    return {
        "mode": mode, "legs": list(legs_of(mode, bench.settings)), "top_k": TOP_K, "group_by": "document",
        "reranker": choice.reranker.name if choice.reranker and used else None,
        "embedding_model": serving_model(bench.search_deps, bench.principal, collection).name,
        "concurrency": CONCURRENCY,
    }  # fmt: skip


def _problems(results: Sequence[SearchResult]) -> Iterator[str]:
    counts = Counter(problem for result in results for problem in result.degraded)
    for problem, count in counts.most_common():
        yield f"{count} of {len(results)} queries: {problem}"
    epochs = {epoch for result in results for epoch in result.epochs.values()}
    if len(epochs) > 1:
        yield f"the collection changed while it was searched (epochs {min(epochs)} to {max(epochs)})"
