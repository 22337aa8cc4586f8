"""What a strategy works with, and the record of what it did.

A strategy is a coroutine: it is given a `Run`, tells how it goes by `run.emit(event)`, and returns an `Outcome`. In between
lies `Material`, which searches bring together (gather.py) and answers are made of (strategies/draft.py).
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from cairn.answer.confidence import PRESENT_ENOUGH
from cairn.domain.answer import NOTHING_TO_READ, Coverage, Draft, Grounding, Origin
from cairn.domain.code import CodeFinding
from cairn.domain.event import StepEvent, Token
from cairn.domain.graph import GraphContext, joined_contexts
from cairn.domain.passage import Leg, Passage, SearchRequest, SearchResult
from cairn.domain.plan import QueryPlan
from cairn.domain.question import Question, Turn
from cairn.domain.trace import LegTrace
from cairn.providers.metered import Account, MeteredChat
from cairn.providers.protocols import ChatModel, Embedder, WebSearch
from cairn.query.exemplars import Exemplars
from cairn.retrieve.plan import default_legs
from cairn.runs.budget import ANSWERING, Budget
from cairn.runs.choose import AGENTS, Route
from cairn.runs.library import Library
from cairn.runs.recall import window
from cairn.runs.searcher import Searcher
from cairn.settings import Settings
from cairn.store.vectors import EmbeddingModel

AT_ONCE: Final = 2
"""Searches of one run that are under way together; the pool of connections is small."""

Report = Callable[[StepEvent], None]


@dataclass(frozen=True, slots=True)
class Deps:
    """What runs are made with, for one caller and one state of the settings. Without `chat` answers are extracted;
    `judge` is the embedding model that thresholds and regressions were fitted to, whichever one serves the collection. `router`
    recognises intents that rules do not, `web` is asked where the documents have nothing; None where that is off."""

    searcher: Searcher
    library: Library
    exemplars: Exemplars
    judge: Embedder
    judge_model: EmbeddingModel
    chat: ChatModel | None
    settings: Settings
    strategies: Mapping[str, Strategy]
    router: ChatModel | None = None
    web: WebSearch | None = None


@dataclass(frozen=True, slots=True)
class DoneSearch:
    """`purpose`: question, subquestion, expansion, document (one that is named, or was cited), mentions, without conditions,
    rewrite (after what was found was not good enough)."""

    purpose: str
    query: str
    result: SearchResult


@dataclass(slots=True)
class Record:
    """What happened so far; the trace is made of it, also where a run does not end well.

    `attempts`: generated answers with their groundedness. `merged`: the list that was made of several searches. `budget`:
    the meter of all calls of models, with what the run may spend; `account`: what else they are booked on. `steps`: what an
    agent thought and did; `read`: documents whose words these may hold, besides those of the searches. `streamed`: text of the
    answer has been shown already. `on_silence`: told where a model says nothing for long.
    """

    question: Question
    plan: QueryPlan | None = None
    route: Route | None = None
    searches: list[DoneSearch] = field(default_factory=list)
    merged: LegTrace | None = None
    attempts: list[Mapping[str, Any]] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    read: set[UUID] = field(default_factory=set)
    budget: Budget | None = None
    account: Account | None = None
    streamed: bool = False
    on_silence: Callable[[], None] = lambda: None
    _order: list[int] = field(default_factory=list)
    _asked: int = 0
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _under_way: int = 0
    _since: float = 0.0

    def meter(self, settings: Settings) -> Budget:
        """The one meter of the run, made when it is first needed."""
        if self.budget is None:
            self.budget = Budget(settings.agents, settings.answer, self.account)
            self.budget.on_silence = lambda: self.on_silence()  # the run says whom to tell after the meter was made
        return self.budget

    @property
    def graph(self) -> GraphContext | None:
        """What the graph legs of all searches found."""
        return joined_contexts(item.result.graph for item in self.searches)

    def metered(self, purpose: str, chat: ChatModel, settings: Settings) -> MeteredChat:
        """The chat model, its calls booked under a purpose, within the budget of the run, which keeps a reserve for the
        purposes in ANSWERING."""
        return self.meter(settings).chat(chat, purpose, for_answer=purpose in ANSWERING)

    def give_up_model(self) -> None:
        """Wait for no chat model any longer: what it would have written is quoted."""
        if self.budget is not None:
            self.budget.give_up()

    def open_budget(self, settings: Settings) -> Budget:
        """The budget of the run; its clock goes from the first time that it is opened. What models did before counts."""
        budget = self.meter(settings)
        budget.start()
        return budget

    async def searched(self, purpose: str, query: str, search: Callable[[], Awaitable[SearchResult]]) -> SearchResult:
        """What a search finds, at most AT_ONCE of the run at a time, kept in the order in which they were asked for, however
        they end. Its time is booked as `retrieve`; of several at once, the time in which any was under way."""
        self._asked += 1
        number = self._asked
        async with self._gate:
            with self._searching():
                result = await search()
        place = bisect(self._order, number)
        self._order.insert(place, number)
        self.searches.insert(place, DoneSearch(purpose, query, result))
        return result

    @contextmanager
    def _searching(self) -> Iterator[None]:
        self._under_way += 1
        if self._under_way == 1:
            self._since = time.perf_counter()
        try:
            yield
        finally:
            self._under_way -= 1
            if self._under_way == 0:
                self.spent("retrieve", self._since)

    def spent(self, stage: str, since: float) -> None:
        """Book the time since `since` (time.perf_counter) on a stage."""
        elapsed = (time.perf_counter() - since) * 1000
        self.timings_ms[stage] = round(self.timings_ms.get(stage, 0.0) + elapsed, 3)


@dataclass(frozen=True, slots=True)
class Run:
    """One question on its way, understood and routed. `report` takes what happens; strategies call `emit`. `reranks`:
    whether each search is reranked by itself. `silent`: text that is written is not shown, since other text was. `code`: what the
    code says, where the way is "code"."""

    question: Question
    plan: QueryPlan
    route: Route
    deps: Deps
    record: Record
    report: Report
    code: tuple[CodeFinding, ...] = ()
    reranks: bool = True
    silent: bool = False

    @property
    def settings(self) -> Settings:
        return self.deps.settings

    @property
    def history(self) -> tuple[Turn, ...]:
        """What was said before, as much of it as a model sees that writes an answer (memory.generation)."""
        return window(self.question.history, self.settings.memory.generation)

    def emit(self, event: StepEvent) -> None:
        """Tell whoever follows the run. Returns at once, whoever reads, and never fails."""
        if isinstance(event, Token):
            if self.silent:
                return
            self.record.streamed = True
        self.report(event)

    async def search(
        self,
        query: str,
        top_k: int,
        *,
        purpose: str = "question",
        filters: Mapping[str, Any] | None = None,
        by_words: bool = False,
    ) -> SearchResult:
        """Search the question's collection, and keep what was found for the trace. `by_words`: the lexical leg alone, each
        document once. Raises CairnError."""
        legs: tuple[Leg, ...] = ("lexical",) if by_words else default_legs(self.settings)
        by_type, by_agent = self.settings.graph.routing == "type", self.route.strategy in AGENTS
        request = SearchRequest(
            query, (self.question.collection,), top_k=top_k, legs=legs, filters=filters or None,
            rerank=False if by_words or not self.reranks else None, group_by="document" if by_words else "passage",
            weights=self.plan.weights if by_type else None,
            classification=self.plan.classification if by_type else None,
            # searches of agents are many, and a model reads what they find: a chat model reranks on request only
            chat_reranks=self.settings.agents.rerank_by_model if by_agent else None,
            asked=self.plan.text if by_agent or self.route.strategy == "corrective" else None,
        )  # fmt: skip
        meter = self.record.meter(self.settings)
        return await self.record.searched(
            purpose, query, lambda: self.deps.searcher.search(request, self.question, self.route.strategy, meter)
        )


class SubquestionPassages(NamedTuple):
    """A sub-question and what was found for it."""

    question: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """What an answer is made of: passages, best first, and how sure the retrieval was of them (0..1).

    `visible`: passages in the collection; `coverage` says it where that is not the share of them. `parts`: sub-questions,
    each with passages of its own, for the extractor. `known`: what was said before and is not to be extracted again;
    `enough`: the extractor's least confidence. `task`: what a model is told besides the question. `shown`: sources of
    the answer whether it reads them or not. `facts`: statements of SQL, which need no citation; the check counts them among
    the sources. `more` goes into the route. `graph`: what a model is told of the graph, where it brought passages.
    """

    question: str
    passages: tuple[Passage, ...]
    confidence: float
    visible: int
    parts: tuple[SubquestionPassages, ...] = ()
    known: str = ""
    enough: float = PRESENT_ENOUGH
    task: str = ""
    coverage: Coverage | None = None
    shown: tuple[Passage, ...] = ()
    facts: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    graph: GraphContext | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a strategy ends with. `confidence` is that of the retrieval; the answer's is not above the draft's or the
    groundedness. `answerer`: extractive, fixed, sql, or the name of a model. `iterations`: answers that were made.
    `origin`: where no probability says how sure it is."""

    draft: Draft
    answerer: str
    sources: tuple[Passage, ...] = ()
    confidence: float = 1.0
    coverage: Coverage = NOTHING_TO_READ
    grounding: Grounding | None = None
    iterations: int = 1
    needs_clarification: bool = False
    degraded: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin | None = None
    astray: bool = False
    """The passages that a model's answer cites do not mention everything that the question names."""


Strategy = Callable[[Run], Awaitable[Outcome]]
"""Raises CairnError."""


def half_up(value: float) -> int:
    """Rounded to the nearest integer, .5 up."""
    return int(value + 0.5)
