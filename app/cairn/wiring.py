"""The one place where implementations are chosen and connected."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import UUID

from cairn.connectors.connector import Connector
from cairn.connectors.registry import folders_of, open_connector
from cairn.connectors.seal_secrets import open_secrets
from cairn.db.embedded import EmbeddedServer, ensure_running
from cairn.db.migrate import migrate
from cairn.db.pool import Database
from cairn.db.roles import SERVER_LOGIN, ensure_server_login
from cairn.db.vector_indexes import ensure_model, ensure_models, vector_ddl
from cairn.domain.connected_source import ConnectedSource
from cairn.domain.names import check_named
from cairn.domain.principal import Principal
from cairn.errors import InputError, MigrationError
from cairn.graph.refresh import KIND as COMMUNITIES
from cairn.ingest.chunkers import find_chunkers
from cairn.ingest.chunkers import warm as warm_splitters
from cairn.ingest.embed import Target
from cairn.ingest.loaders import find_loaders
from cairn.ingest.model_choice import ChooseModel, Writing
from cairn.ingest.model_jobs import ENRICH
from cairn.ingest.reweight import KIND as REWEIGHT
from cairn.jobs import graph_model, reindex, reread, vector_indexes
from cairn.jobs.communities import refresh_communities
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.documents import INDEX_UPLOADS, index_uploads, reweight
from cairn.jobs.enrich import enrich
from cairn.jobs.sources import SYNC_SOURCE, sync_source
from cairn.jobs.urls import FETCH_URLS, fetch_urls
from cairn.jobs.worker import Worker
from cairn.language import identify
from cairn.language.linear import compile_all
from cairn.prompts import prompt
from cairn.providers import e5
from cairn.providers.answer_reader import LocalReader, find_answer_reader
from cairn.providers.cached_embedder import KeptEmbedder
from cairn.providers.circuit import Circuits, Limits
from cairn.providers.configured import (
    ConfiguredChatModels,
    ConfiguredEmbedders,
    ConfiguredRerankers,
    chosen_model_name,
    embedding_model_name,
    judge_model_name,
    registered_name,
)
from cairn.providers.fetch_pages import PageFetcher
from cairn.providers.local_models import WhenBuilt
from cairn.providers.metered import Meter
from cairn.providers.onnx_embedder import OnnxEmbedder
from cairn.providers.openai_embeddings import OpenAIEmbedder
from cairn.providers.plugins import find_providers
from cairn.providers.protocols import ChatModel, Embedder, WebSearch
from cairn.providers.requests import metered_by
from cairn.providers.searxng import Searxng
from cairn.providers.table_parser import LocalTableParser, find_table_parser
from cairn.query.exemplars import Exemplars
from cairn.retrieve.context import SearchDeps
from cairn.runs.limits.admission import Admission
from cairn.runs.limits.requests import RequestPermits
from cairn.runs.limits.slots import RunSlots
from cairn.runs.limits.spending import Spending
from cairn.runs.registry import Runs
from cairn.runs.searcher import reads_answers
from cairn.settings import AUTO, Environment, Settings, SettingsStore, VectorSettings
from cairn.store import vectors
from cairn.store.cache_ledger import CacheLedger
from cairn.store.models import list_serving
from cairn.store.query_embeddings import QueryEmbeddings
from cairn.store.traces import TraceWriter
from cairn.strategies.agents.tools.registry import all_tools
from cairn.strategies.registry import all_strategies


@dataclass(frozen=True)
class SharedModels:
    """What a process has once, however many databases it works with. `name` of the embedding model of the settings, `judge_name`
    of the one that thresholds were fitted to."""

    name: str
    embedder: Embedder
    judge_name: str
    judge: Embedder
    embedders: ConfiguredEmbedders
    chats: ConfiguredChatModels
    reranker: ConfiguredRerankers
    circuits: Circuits
    exemplars: Exemplars
    started_with: Settings
    reader: WhenBuilt[LocalReader]
    table_parser: WhenBuilt[LocalTableParser]


@dataclass(frozen=True)
class Services:
    """Everything an edge needs, of one database. Take `settings.current` once per request. `started_with`: the settings that were
    in force at the start, by which embedding models and the queue of traces were made (cairn/service/restart.py). `probe`: for
    readiness; in a process that serves a connection of its own, which waits for no other. `embedded`: the server that this
    process keeps running; None where the database is somebody else's. `models`: what services of other databases share."""

    environment: Environment
    settings: SettingsStore
    principal: Principal
    database: Database
    owner_dsn: str
    search_deps: SearchDeps
    traces: TraceWriter
    chat_for: Callable[[Settings], ChatModel | None]
    exemplars: Exemplars
    circuits: Circuits
    runs: Runs
    permits: RequestPermits
    slots: RunSlots
    admission: Admission
    probe: Database
    spending: Spending
    started_with: Settings
    embedded: EmbeddedServer | None
    models: SharedModels

    def open_database(self, name: str) -> AbstractAsyncContextManager[Services]:
        """The same of another database of the map, with the models and settings of this process. Raises CairnError."""
        return _open_database(self.environment.at(name), self.settings, self.models, serves=True)

    def target(self, principal: Principal, collection_id: UUID) -> Target:
        """Where documents of a collection go, with the settings of this moment."""
        found = self.search_deps
        now = self.settings.current
        has_chat = now.graph.model.enabled and self.extracting_chat(now) is not None
        has_enricher = now.rag.contextual_enrichment_enabled and self.enriching_chat(now) is not None
        return Target(
            principal, collection_id, found.embedder, found.model, now, found.embedders,
            choose=self.chooser, has_chat=has_chat, has_enricher=has_enricher,
        )  # fmt: skip

    @property
    def chooser(self) -> ChooseModel | None:
        """Who says which model serves a new collection, where its documents decide."""
        return self.choose_model if self.started_with.rag.embedding_model == AUTO else None

    async def choose_model(self, writing: Writing) -> tuple[vectors.EmbeddingModel, Embedder]:
        """For a new collection of such documents, by the settings of the start. Raises ProviderError where it has to be made and
        cannot be."""
        name = chosen_model_name(self.started_with, code=writing == "code")
        deps = self.search_deps
        if name == deps.model.name:
            return deps.model, deps.embedder
        embedder = await asyncio.to_thread(deps.embedders.get, name)  # it may be built now
        async with self.database.connection() as connection:
            model = await vectors.model(connection, name)
        return model or await self.register_model(name), embedder

    def extracting_chat(self, settings: Settings) -> ChatModel | None:
        """The chat model that extracts for the graph: graph.model.model, else the one that answers."""
        return self._chat_named(settings.graph.model.model, settings)

    def enriching_chat(self, settings: Settings) -> ChatModel | None:
        """The one that writes contexts for chunks: rag.contextualEnrichmentModel, else the one that answers."""
        return self._chat_named(settings.rag.contextual_enrichment_model, settings)

    def routing_chat(self, settings: Settings) -> ChatModel | None:
        """The one that recognises intents: rag.adaptiveRoutingModel, else the one that answers."""
        return self._chat_named(settings.rag.adaptive_routing_model, settings)

    def web_search(self, settings: Settings) -> WebSearch | None:
        """Where the fallback to the web is on, the server that it asks."""
        if not settings.rag.agentic_retrieval.web_search_fallback_enabled:
            return None
        return Searxng(settings.web.searxng_url, results=settings.web.results, seconds=settings.web.seconds)

    def _chat_named(self, name: str, settings: Settings) -> ChatModel | None:
        if not name:
            return self.chat_for(settings)
        qa = settings.rag.qa.model_copy(update={"model": name})
        return self.chat_for(settings.model_copy(update={"rag": settings.rag.model_copy(update={"qa": qa})}))

    async def warm(self) -> None:
        """Load what the first request would wait for: the local model that judges and its examples of intents, the SDK of the
        chat model, tables and patterns of languages, the local models that search the documents of the tenant of the process.
        A remote model is not called before it is needed. Raises CairnError; what could not be had is tried again when it is
        needed."""
        try:
            if isinstance(self.search_deps.judge, OnnxEmbedder):
                await self.search_deps.judge.warm()
                await self.exemplars.warm()
            self.chat_for(self.settings.current)
            await self._warm_serving()
        finally:
            # after the model, for which the first search waits; a daemon: a process that is told to stop does not wait for it
            threading.Thread(target=_load_for_questions, name="tables", daemon=True).start()

    async def _warm_serving(self) -> None:
        """The reader, where it is on, chooses quotations, and says whether what a chat model wrote is to the point."""
        deps = self.search_deps
        async with self.database.transaction(self.principal, readonly=True) as connection:
            serving = await list_serving(connection, self.principal)
        embedders = [await asyncio.to_thread(deps.embedder_of, model) for model in serving]
        for embedder in embedders:
            if isinstance(embedder, OnnxEmbedder):
                await embedder.warm()
        read = any(reads_answers(self.settings.current, embedder) for embedder in embedders)
        reader = deps.reader() if read else None
        if isinstance(reader, LocalReader):
            await reader.warm()

    def model_name(self, name: str) -> str:
        """As it is registered: local models have short names, and a precision."""
        return registered_name(name, self.settings.current.vector.precision)

    async def register_model(self, name: str) -> vectors.EmbeddingModel:
        """The model, registered with its index if it is new. Raises ProviderError, SettingsError."""
        name = self.model_name(name)
        dimensions = await _dimensions(self.search_deps.embedders.get(name))
        await ensure_model(self.owner_dsn, name, dimensions, self.settings.current.vector)
        self.database.note_elsewhere()
        async with self.database.connection() as connection:
            found = await vectors.model(connection, name)
        if found is None:
            raise MigrationError(f"embedding model {name} is not registered")
        return found

    def worker(self, *, grace_seconds: float = 10.0, kinds: Collection[str] | None = None) -> Worker:
        """A worker for every kind of job, or for `kinds`. When stopped, the job it has may go on for so long."""
        _begin_loading()
        database = self.database.primary

        def target(context: JobContext, collection_id: UUID) -> Target:
            return self.target(context.principal, collection_id)

        handlers = {
            INDEX_UPLOADS: index_uploads(database, target),
            FETCH_URLS: fetch_urls(database, target, self._page_fetcher),
            SYNC_SOURCE: sync_source(database, target, self._open_source),
            REWEIGHT: reweight(database, lambda: self.settings.current.lexical),
            graph_model.KIND: graph_model.extract_with_model(
                database, lambda: self.settings.current, self.extracting_chat, self.spending.allowance
            ),
            ENRICH: enrich(
                database, lambda: self.settings.current, self.enriching_chat, target, self.spending.allowance
            ),
            reindex.REINDEX: reindex.reindex(database, target),
            reread.REREAD: reread.reread(database, target),
            reindex.BACKFILL: reindex.backfill(database, target),
            vector_indexes.PLAN: vector_indexes.reconcile_indexes(
                database,
                lambda: vector_ddl(self.owner_dsn, self.settings.current.vector),
                lambda: self.settings.current.vector,
            ),
            COMMUNITIES: refresh_communities(
                database, lambda: self.settings.current, self.chat_for, self.spending.allowance
            ),
            vector_indexes.FILL: vector_indexes.fill_passages(database),
            vector_indexes.CHECK: vector_indexes.check_recall(database, lambda: self.settings.current.vector),
        }
        if kinds is not None:
            handlers = {kind: handler for kind, handler in handlers.items() if kind in kinds}
        metered = {kind: self._metered(handler) for kind, handler in handlers.items()}
        return Worker(
            database, metered, lambda: self.settings.current.jobs, grace_seconds=grace_seconds, able=self._able
        )

    def meter(self, principal: Principal) -> Meter:
        """For work of a caller that has no meter of its own."""
        return Meter(self.settings.current.answer.prices, self.spending.allowance(principal))

    def _metered(self, handler: Handler) -> Handler:
        """Hosted models that the job asks are booked on the key that ordered it."""

        async def handle(context: JobContext) -> dict[str, Any]:
            with metered_by(self.meter(context.principal)):
                return await handler(context)

        return handle

    def _page_fetcher(self) -> PageFetcher:
        now = self.settings.current
        return PageFetcher(now.urls, max_bytes=now.ingest.max_file_bytes)

    def _open_source(self, principal: Principal, source: ConnectedSource, sealed: bytes | None) -> Connector:
        """Raises SourceError, InputError. A folder of this machine was added at its command line: no other door takes one."""
        wish, secrets = source.wish, dict[str, str]()
        if wish.secret_names:
            if sealed is None:
                raise InputError("the secrets of the source are not here; give them again")
            secrets = open_secrets(sealed, self.environment.secrets_key, principal.tenant_id, source.id)
        return open_connector(
            wish.address, wish.options, secrets, allow=self.settings.current.urls, folders=folders_of(wish.address)
        )

    def _able(self, kind: str) -> bool:
        """Whether this process can do a job of the kind; what needs a chat model waits for a process that has it."""
        now = self.settings.current
        if kind == graph_model.KIND:
            return self.extracting_chat(now) is not None
        return kind != ENRICH or self.enriching_chat(now) is not None


@asynccontextmanager
async def open_services(
    environment: Environment, settings: SettingsStore, *, pool_size: int = 4, serves: bool = False
) -> AsyncIterator[Services]:
    """Models, database (embedded unless a URL is given), migrations; closed in reverse order. `serves`: requests of others,
    so the local model is loaded beside the start of the database, and readiness has a connection of its own.

    Raises CairnError with one line when something cannot be started.
    """
    async with _open_shared(environment, settings) as models:
        if serves and isinstance(models.judge, OnnxEmbedder):
            models.judge.begin_loading()
        async with _open_database(environment, settings, models, pool_size=pool_size, serves=serves) as services:
            yield services


@asynccontextmanager
async def _open_shared(environment: Environment, settings: SettingsStore) -> AsyncIterator[SharedModels]:
    async with AsyncExitStack() as stack:
        started_with = settings.current
        circuits = Circuits(lambda: _limits(settings.current))
        embedders = ConfiguredEmbedders(environment, circuits, started_with.providers)
        stack.push_async_callback(embedders.close)
        name = embedding_model_name(started_with)
        embedder = embedders.get(name)
        chats = ConfiguredChatModels(environment, circuits)
        stack.push_async_callback(chats.close)
        reranker = ConfiguredRerankers(environment, settings, chats, circuits, partial(prompt, "rerank"))
        stack.push_async_callback(reranker.close)
        judge_name = judge_model_name(started_with)
        judge = embedders.get(judge_name)
        exemplars = Exemplars(KeptEmbedder(judge, _kept_in(environment.home, judge)))
        reader = WhenBuilt(partial(find_answer_reader, environment.home), LocalReader)
        stack.push_async_callback(reader.close)
        table_parser = WhenBuilt(partial(find_table_parser, environment.home), LocalTableParser)
        stack.push_async_callback(table_parser.close)
        yield SharedModels(
            name,
            embedder,
            judge_name,
            judge,
            embedders,
            chats,
            reranker,
            circuits,
            exemplars,
            started_with,
            reader,
            table_parser,
        )


@asynccontextmanager
async def _open_database(
    environment: Environment, settings: SettingsStore, models: SharedModels, *, pool_size: int = 4, serves: bool
) -> AsyncIterator[Services]:
    async with AsyncExitStack() as stack:
        embedded = None if environment.database_url else await _embedded(environment, stack)
        owner_dsn = embedded.dsn() if embedded else str(environment.database_url)
        await _prepare_database(owner_dsn, settings.current.vector, models, with_login=embedded is not None)
        app_dsn = environment.app_database_url or (embedded.dsn(user=SERVER_LOGIN) if embedded else owner_dsn)
        open_database = partial(
            Database.open, app_dsn, direct=owner_dsn, prepared_statements=environment.prepared_statements
        )
        database = await open_database(
            max_size=pool_size, replicas=environment.replica_urls,
            most_lag_seconds=lambda: settings.current.replicas.max_lag_seconds,
        )  # fmt: skip
        stack.push_async_callback(database.close)
        probe = database
        if serves:
            probe = await open_database(max_size=1)
            stack.push_async_callback(probe.close)
        principal, model, judge_model = await _identify(database, environment.tenant, models.name, models.judge_name)
        started_with = models.started_with
        traces = TraceWriter(database.bookkeeping, started_with.trace.queue_size)
        stack.push_async_callback(traces.close)
        runs = Runs(database.primary, lambda: settings.current.runs)
        ledger, embeddings = CacheLedger(database.bookkeeping), QueryEmbeddings(database)
        stack.push_async_callback(ledger.close)
        stack.push_async_callback(embeddings.close)
        search_deps = SearchDeps(
            database, models.embedder, model, models.reranker, ledger, embeddings, models.embedders, models.judge, judge_model,
            models.reader, models.table_parser,
        )  # fmt: skip
        spending = Spending(database.bookkeeping, lambda: settings.current.limits)
        stack.push_async_callback(spending.close)
        slots = RunSlots(database.bookkeeping, lambda: settings.current.limits)
        stack.push_async_callback(slots.close)
        stack.push_async_callback(runs.close)
        yield Services(
            environment,
            settings,
            principal,
            database,
            owner_dsn,
            search_deps,
            traces,
            models.chats.get,
            models.exemplars,
            models.circuits,
            runs,
            RequestPermits(database.bookkeeping, lambda: settings.current.limits),
            slots,
            Admission(lambda: settings.current.admission),
            probe,
            spending,
            started_with,
            embedded,
            models,
        )


async def _prepare_database(owner_dsn: str, vector: VectorSettings, models: SharedModels, *, with_login: bool) -> None:
    """What only the owner may do: the schema, the login that serves, the columns and indexes of the models."""
    await migrate(owner_dsn)
    if with_login:
        await ensure_server_login(owner_dsn)
    serving = {models.name: models.embedder, models.judge_name: models.judge}
    wanted = {name: await _dimensions(embedder) for name, embedder in serving.items()}
    if models.started_with.rag.embedding_model == AUTO:
        # with its index now: not amid the first ingestion that needs it
        wanted.setdefault(chosen_model_name(models.started_with, code=False), e5.DIMENSIONS)
    await ensure_models(owner_dsn, wanted, vector)


def _load_tables() -> None:
    """Of languages, and of what other packages add: readiness tells which of these are broken."""
    identify.warm()
    find_extensions()


def _load_for_questions() -> None:
    _load_tables()
    compile_all()


def find_extensions() -> None:
    """Ask for the parts of other packages now, of all groups; `broken_extensions` has those that cannot be used."""
    find_loaders()
    find_chunkers()
    find_providers()
    all_tools()
    all_strategies()


@cache
def _begin_loading() -> None:
    """The first document would wait a second or two for tables of languages and the splitters, which a process has once."""
    threading.Thread(target=_load_for_ingestion, name="ingestion", daemon=True).start()


def _load_for_ingestion() -> None:
    _load_tables()
    warm_splitters()


def _kept_in(home: Path, embedder: Embedder) -> Path:
    """Beside the local model, which many homes may share, where that can be written."""
    shared = embedder.folder if isinstance(embedder, OnnxEmbedder) else home
    return (shared if os.access(shared, os.W_OK) else home) / "exemplars"


@asynccontextmanager
async def open_models(environment: Environment, settings: Settings) -> AsyncIterator[tuple[Embedder, ChatModel | None]]:
    """The models that judge and answer, alone, for what needs no database. Raises ProviderError, SettingsError."""
    async with AsyncExitStack() as stack:
        circuits = Circuits(lambda: _limits(settings))
        embedders = ConfiguredEmbedders(environment, circuits, settings.providers)
        chats = ConfiguredChatModels(environment, circuits)
        stack.push_async_callback(embedders.close)
        stack.push_async_callback(chats.close)
        yield embedders.get(judge_model_name(settings)), chats.get(settings)


@asynccontextmanager
async def open_embedder(environment: Environment, settings: Settings) -> AsyncIterator[Embedder]:
    """The embedding model that prepares documents, alone; it knows its dimensions. Raises ProviderError, SettingsError."""
    async with AsyncExitStack() as stack:
        embedders = ConfiguredEmbedders(environment, Circuits(lambda: _limits(settings)), settings.providers)
        stack.push_async_callback(embedders.close)
        embedder = embedders.get(chosen_model_name(settings, code=False))
        await _dimensions(embedder)
        yield embedder


def _limits(settings: Settings) -> Limits:
    return Limits(settings.providers.circuit_failures, settings.providers.circuit_seconds)


async def _embedded(environment: Environment, stack: AsyncExitStack) -> EmbeddedServer:
    server = await asyncio.to_thread(ensure_running, environment.home)
    stack.push_async_callback(asyncio.to_thread, server.release)
    return server.guard()


async def _dimensions(embedder: Embedder) -> int:
    if isinstance(embedder, OpenAIEmbedder):
        await embedder.warm()
    return embedder.dimensions


async def _identify(
    database: Database, tenant: str, model_name: str, judge_name: str
) -> tuple[Principal, vectors.EmbeddingModel, vectors.EmbeddingModel]:
    """The caller, the model of the settings, and the one that judges. Raises InputError, MigrationError."""
    if check_named(tenant, "tenant") != tenant:
        raise InputError(
            f"CAIRN_TENANT={tenant!r}: the name of a tenant has no white space at its ends, and single spaces within"
        )
    async with database.connection() as connection:
        tenant_id = await connection.fetchval("SELECT rag.ensure_tenant($1)", tenant)
        found = {name: await vectors.model(connection, name) for name in {model_name, judge_name}}
    model, judge = found[model_name], found[judge_name]
    if model is None or judge is None:
        lacking = ", ".join(sorted(name for name, one in found.items() if one is None))
        raise MigrationError(f"embedding model {lacking} is not registered")
    return Principal(tenant_id, tenant), model, judge
