"""Measuring quality on labelled data, once for all surfaces: searches, fusions, strategies, routing, groundedness.

Data sets are folders in the form of BEIR (docs/quality.md). Runs are stored and can be compared. `step` is called with what has
just been done, to show progress.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from cairn.answer.confidence import Calibration
from cairn.answer.ground.check import ground
from cairn.distribution import release
from cairn.domain.document import Rejected
from cairn.domain.evaluation import EvalResult, EvalRun
from cairn.domain.passage import Mode, SearchResult
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.evals import agents, answers, datasets, groundedness, optimize, questions, report, retrieval, routing
from cairn.evals import calibrate as calibration
from cairn.providers.protocols import ChatModel, Embedder
from cairn.service.ask import ask
from cairn.service.documents import check_collection_name, delete_collection, get_collection
from cairn.service.search import make_request, run_search
from cairn.settings import Settings
from cairn.store import collections, evals
from cairn.wiring import Services

Step = Callable[[str], None]
NamedSet = tuple[datasets.RetrievalSet, str]
"""A data set and the name of its collection."""


@dataclass(frozen=True, slots=True)
class Corpora:
    """Which data sets to measure on, and what becomes of their collections: `index` brings them up to date, `fresh` empties
    them first.

    `limit` takes only the first queries of each set, `where` those whose fields have one of the values, `sample` so many
    at random, the same ones for a `seed`. `withhold` leaves out of the corpus what answers them; such a corpus has a
    collection of its own. `template`: how the questions of a folder of files are asked.
    """

    paths: Sequence[Path]
    collection: str | None = None
    split: str | None = None
    limit: int | None = None
    index: bool = True
    fresh: bool = False
    where: Mapping[str, Collection[str]] = field(default_factory=dict)
    sample: int | None = None
    seed: int = 0
    withhold: bool = False
    template: str = questions.PLAIN


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """`indexed` documents are new; `stale_settings` have changed since the others were indexed; the collection has `extra`
    documents that the data set does not have. `restricted`: it says who may read it, so it is never emptied."""

    indexed: int
    rejected: Sequence[Rejected]
    stale_settings: Sequence[str]
    extra: int
    restricted: bool


# --- data sets and their collections ------------------------------------------------------------------------------------


def load_sets(corpora: Corpora) -> list[NamedSet]:
    """Raises InputError."""
    if corpora.collection and len(corpora.paths) > 1:
        raise InputError("--collection takes one data set: documents of several would replace each other")
    if corpora.fresh and not corpora.index:
        raise InputError("--fresh empties the collection and --no-index leaves it so; give one of them")
    sets = [_load_set(path, corpora) for path in corpora.paths]
    named = [(data, corpora.collection or collection_name(data)) for data in sets]
    if len({collection for _, collection in named}) < len(named):
        raise InputError("two of the folders have the same name; evaluate them one by one with --collection")
    return [(data, check_collection_name(collection)) for data, collection in named]


def _load_set(path: Path, corpora: Corpora) -> datasets.RetrievalSet:
    if path.is_dir() and not (path / "corpus.jsonl").is_file() and questions.questions_file(path):
        data = questions.load_questions(path, corpora.template)
    else:
        data = datasets.load(path, corpora.split)
    if corpora.where:
        data = data.where(corpora.where)
    data = data.first(corpora.limit).sample(corpora.sample, corpora.seed)
    return data.without_support() if corpora.withhold else data


def load_answers(data: datasets.RetrievalSet) -> Mapping[str, answers.Expected]:
    """What answers to the questions should say, by query id; empty where the set does not have them. Raises InputError."""
    return answers.load_answers(data.folder)


def load_messages(path: Path, limit: int | None = None) -> tuple[str, Sequence[routing.LabelledMessage]]:
    """The name of a set and its labelled messages, the first `limit` of each label. Raises InputError."""
    name, messages = routing.load_messages(path, limit)
    if not messages:
        raise InputError(f"{path}: no messages")
    return name, messages


def load_responses(path: Path) -> list[groundedness.LabelledSet]:
    """Sets of labelled responses in a file or a folder of files. Raises InputError."""
    return groundedness.load(path)


def collection_name(data: datasets.RetrievalSet) -> str:
    """`eval-<set>` in the letters that a collection's name may have; what is withheld makes another collection."""
    name = f"eval-{re.sub(r'[^A-Za-z0-9._-]+', '-', data.name.partition('/')[0])}"[:110]
    if not data.withheld:
        return name
    digest = hashlib.sha256("\n".join(sorted(data.withheld)).encode()).hexdigest()
    return f"{name}-without-{digest[:8]}"


async def prepare_collection(
    services: Services, data: datasets.RetrievalSet, collection: str, step: Step, *, fresh: bool = False
) -> PreparedCorpus:
    """Make the collection hold the corpus of the set; what it has already is left as it is. `fresh` empties it first. Raises
    ConflictError where it may not be emptied."""
    if fresh:
        await empty_collection(services, collection)
    bench = _bench(services)
    corpus = await retrieval.index_corpus(bench, data, collection, step)
    return PreparedCorpus(
        corpus.fresh,
        corpus.rejected,
        await retrieval.stale_settings(bench, corpus.collection),
        max(0, corpus.collection.document_count - data.document_count + len(corpus.rejected)),
        await _is_restricted(services, corpus.collection.id),
    )


async def empty_collection(services: Services, collection: str) -> None:
    """Delete the collection of that very name, if there is one. Raises ConflictError where it has been said who may read it, or
    something in it: that would go too, and the documents would come back for everybody."""
    try:
        found = await get_collection(services, collection)
    except NotFoundError:
        return
    if found.name != collection:
        return
    if await _is_restricted(services, found.id):
        raise ConflictError(
            f"{collection} has rules, a source or documents that not everybody may read, or had such documents: --fresh "
            "would remove that too, and the documents would come back for everybody. Leave --fresh out, or measure in a "
            "collection of its own (--collection)"
        )
    await delete_collection(services, collection)


async def _is_restricted(services: Services, collection_id: UUID) -> bool:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await evals.is_restricted(connection, services.principal, collection_id)


def _bench(services: Services) -> retrieval.Bench:
    return retrieval.Bench(
        services.search_deps, services.principal, services.settings.current, release(), services.chooser
    )


# --- measuring ----------------------------------------------------------------------------------------------------------


def modes_of(mode: str) -> Sequence[Mode]:
    """The modes that `all` stands for, or the one named."""
    return retrieval.ALL if mode == "all" else (mode,)  # type: ignore[return-value]


async def evaluate_retrieval(
    services: Services, data: datasets.RetrievalSet, collection: str, mode: Mode, step: Step, *, name: str = ""
) -> tuple[EvalRun, list[EvalResult]]:
    """Search every query of the set, judge what is found, and store the run."""
    return await retrieval.evaluate(_bench(services), data, collection, mode, step, name=name)


async def evaluate_strategy(
    services: Services,
    data: datasets.RetrievalSet,
    expected: Mapping[str, answers.Expected],
    collection: str,
    strategy: str,
    step: Step,
    *,
    name: str = "",
    group_by: str = "",
) -> agents.AgentsRun:
    """Answer every question of the set by one strategy, judge the answers, and store the run."""
    chat = services.chat_for(services.settings.current)
    asking = agents.AgentBench(
        _bench(services),
        lambda question: ask(services, question),
        services.traces.flush,
        chat.name if chat else None,
    )
    return await agents.evaluate(asking, data, expected, collection, strategy, step, name=name, group_by=group_by)


async def calibrate(
    services: Services, asked: Sequence[tuple[datasets.RetrievalSet, Mapping[str, answers.Expected], agents.AgentsRun]]
) -> calibration.CalibrationReport:
    """A calibration of confidence fitted to answers that were judged. Raises InputError where they are too few."""
    judged = []
    for data, expected, run in asked:
        for query_id, one in run.answers.items():
            if one.answer is not None and query_id in expected:
                wanted = answers.Expected(()) if data.withheld else expected[query_id]
                judged.append(calibration.judge_confidence(one.answer, wanted))
    return calibration.calibrate([one for one in judged if one is not None])


async def keep_calibration(services: Services, collection: str, kept: Calibration | None) -> None:
    """Answer with it from now on; None: with what is shipped. Raises NotFoundError."""
    async with services.database.transaction(services.principal) as connection:
        value = kept.as_json() if kept else None
        if not await collections.calibrate(connection, services.principal, collection, value):
            raise NotFoundError(f"no collection named {collection}")


def enable_corrective(services: Services) -> bool:
    """Switch rag.agenticRetrieval on for this process, where it is off; whether it was."""
    settings = services.settings.current
    if settings.rag.agentic_retrieval.enabled:
        return False
    on = settings.rag.agentic_retrieval.model_copy(update={"enabled": True})
    rag = settings.rag.model_copy(update={"agentic_retrieval": on})
    services.settings.current = settings.model_copy(update={"rag": rag})
    return True


def count_searches(services: Services, data: datasets.RetrievalSet) -> int:
    """Searches that `measure_search` makes: twice as many where there is a reranker, which runs with it and without."""
    choice = services.search_deps.reranker.get(services.settings.current)
    return len(data.queries) * (2 if choice.reranker else 1)


async def measure_search(
    services: Services, data: datasets.RetrievalSet, collection: str, step: Step
) -> optimize.SearchReport:
    """What searching the set costs and yields, with reranking and without."""
    return await optimize.optimize_search(_bench(services), data.queries, collection, data.judgements, step)


async def measure_queries(
    services: Services, queries: Sequence[str], collection: str, step: Step
) -> optimize.SearchReport:
    """The same for queries that nobody judged: searches as users make them, past the cache, one at a time, each of which leaves
    a trace and counts against the caller's limits. Raises InputError, NotFoundError."""
    settings = services.settings.current
    wanted = {query: make_request(settings, query, [collection], group_by="document", cache=False) for query in queries}
    choice = services.search_deps.reranker.get(settings)

    async def run(rerank: bool) -> dict[str, SearchResult]:
        found = {}
        for query, request in wanted.items():
            found[query] = await run_search(services, replace(request, rerank=rerank))
            step(query)
        return found

    return optimize.report_searches(
        await run(False), await run(True) if choice.reranker else None, None,
        reranker=choice.reranker.name if choice.reranker else "",
        reranks_by_itself=settings.rag.reranking_enabled and not choice.on_request,
    )  # fmt: skip


async def retrieve_legs(
    services: Services, data: datasets.RetrievalSet, collection: str, step: Step
) -> list[optimize.RetrievedLegs]:
    """What each retriever finds for each query: `tune_fusion` fuses it in many ways."""
    return await optimize.fetch_legs(_bench(services), data, collection, step)


def tune_fusion(services: Services, sets: Sequence[Sequence[optimize.RetrievedLegs]]) -> optimize.FusionGrid:
    """Every fusion tried on the sets, and the one that suits all of them."""
    return optimize.grid(_bench(services), sets)


async def measure_routing(
    name: str,
    messages: Sequence[routing.LabelledMessage],
    embedder: Embedder,
    settings: Settings,
    step: Step,
) -> routing.RoutingReport:
    """How messages are understood, against their labels. Needs no database. Raises ProviderError."""
    return await routing.route(name, messages, embedder, settings.routing, step)


async def measure_groundedness(
    data: groundedness.LabelledSet, embedder: Embedder, chat: ChatModel | None, settings: Settings, step: Step
) -> dict[str, Any]:
    """How well the check tells grounded responses from others. `chat` decides the middle band. Needs no database."""
    check = partial(ground, embedder=embedder, chat=chat, settings=settings.ground)
    judged = []
    for item in data.items:
        judged.append(await groundedness.judge(item, check, time.perf_counter))
        step(item.id)
    return groundedness.measure(data, judged)


# --- stored runs --------------------------------------------------------------------------------------------------------


async def list_runs(services: Services, *, limit: int = 50) -> list[EvalRun]:
    """Newest first."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await evals.page(connection, services.principal, limit=limit)


async def compare_runs(services: Services, first: str, second: str) -> report.RunComparison:
    """Two stored runs, query by query; each named by its id or the end of it. Raises NotFoundError for an unknown run, InputError
    for an ambiguous one or where no query is in both."""
    before, after = await _stored_run(services, first), await _stored_run(services, second)
    try:
        return report.compare_runs(*before, *after)
    except ValueError:
        raise InputError("the two runs have no query in common") from None


async def _stored_run(services: Services, ending: str) -> tuple[EvalRun, list[EvalResult]]:
    wanted = ending.lower()
    if not re.fullmatch(r"[0-9a-f-]{4,36}", wanted):
        raise InputError(f"{ending!r} is no run; give the id that cairn eval list shows")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        runs = await evals.by_ending(connection, services.principal, wanted)
        if len(runs) == 1:
            return runs[0], await evals.results(connection, services.principal, runs[0].id)
    if not runs:
        raise NotFoundError(f"no evaluation run {ending}; see cairn eval list")
    raise InputError(f"more than one run ends with {ending}; give more of the id")
