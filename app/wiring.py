"""The one place where implementations are chosen and connected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog

from app.db.embedded import ensure_running
from app.db.migrate import migrate
from app.db.models import ensure_model
from app.db.pool import Database
from app.domain.principal import Principal
from app.errors import MigrationError, SettingsError
from app.ingest.pipeline import Target
from app.jobs.index_uploads import KIND, index_uploads
from app.jobs.worker import Worker
from app.providers.cohere import CohereReranker
from app.providers.minilm import MiniLM
from app.providers.openai_chat import OpenAIChat
from app.providers.openai_embeddings import OpenAIEmbedder
from app.providers.protocols import ChatModel, Embedder, Reranker
from app.retrieve.search import Retriever
from app.settings import Environment, Settings, SettingsStore
from app.store import vectors
from app.store.traces import TraceWriter

log = structlog.get_logger(__name__)

LOCAL_MODEL = "all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Services:
    """Everything an edge needs. Take `settings.current` once per request."""

    environment: Environment
    settings: SettingsStore
    principal: Principal
    database: Database
    owner_dsn: str
    retriever: Retriever
    traces: TraceWriter
    chat_for: Callable[[Settings], ChatModel | None]

    def target(self, principal: Principal, collection_id: UUID) -> Target:
        """Where documents of a collection go, with the settings of this moment."""
        return Target(principal, collection_id, self.retriever.embedder, self.retriever.model, self.settings.current)

    def worker(self) -> Worker:
        """A worker for every kind of job."""
        handlers = {
            KIND: index_uploads(self.database, lambda context, target: self.target(context.principal, target)),
        }
        return Worker(self.database, handlers, lambda: self.settings.current.jobs)


@asynccontextmanager
async def open_services(
    environment: Environment, settings: SettingsStore, *, pool_size: int = 4
) -> AsyncIterator[Services]:
    """Database (embedded unless a URL is given), migrations, providers; closed in reverse order.

    Raises CairnError with one line when something cannot be started.
    """
    async with AsyncExitStack() as stack:
        owner_dsn = environment.database_url or await _embedded(environment, stack)
        await migrate(owner_dsn)
        embedder = _embedder(environment, settings.current)
        stack.push_async_callback(embedder.close)
        name = _model_name(embedder)
        await ensure_model(owner_dsn, name, await _dimensions(embedder))
        database = await Database.open(environment.app_database_url or owner_dsn, max_size=pool_size)
        stack.push_async_callback(database.close)
        principal, model = await _identify(database, environment.tenant, name)
        reranker = _reranker(environment, settings.current)
        if reranker:
            stack.push_async_callback(reranker.close)
        traces = TraceWriter(database, settings.current.trace.queue_size)
        stack.push_async_callback(traces.close)
        chats = _ChatModels(environment)
        stack.push_async_callback(chats.close)
        yield Services(
            environment, settings, principal, database, owner_dsn, Retriever(database, embedder, model, reranker),
            traces, chats.get,
        )  # fmt: skip


async def _embedded(environment: Environment, stack: AsyncExitStack) -> str:
    server = await asyncio.to_thread(ensure_running, environment.home)
    stack.push_async_callback(asyncio.to_thread, server.release)
    return server.dsn()


def _embedder(environment: Environment, settings: Settings) -> Embedder:
    name = settings.rag.embedding_model
    if name == LOCAL_MODEL:
        return MiniLM.open(environment.home, settings.vector.precision)
    if not environment.chat_configured:
        raise SettingsError(
            f"rag.embeddingModel is {name!r}, which needs OPENAI_API_KEY or OPENAI_BASE_URL; "
            f"without them use {LOCAL_MODEL!r}"
        )
    return OpenAIEmbedder(name, environment.openai_api_key, environment.openai_base_url)


def _model_name(embedder: Embedder) -> str:
    """Vectors of different precision are different models: their cosine is about .99, not 1."""
    return f"{embedder.name}:{embedder.precision}" if isinstance(embedder, MiniLM) else embedder.name


async def _dimensions(embedder: Embedder) -> int:
    if isinstance(embedder, OpenAIEmbedder):
        await embedder.warm()
    return embedder.dimensions


async def _identify(database: Database, tenant: str, model_name: str) -> tuple[Principal, vectors.EmbeddingModel]:
    async with database.connection() as connection:
        tenant_id = await connection.fetchval("SELECT rag.ensure_tenant($1)", tenant)
        model = await vectors.model(connection, model_name)
    if model is None:
        raise MigrationError(f"embedding model {model_name} is not registered")
    return Principal(tenant_id, tenant), model


def _reranker(environment: Environment, settings: Settings) -> Reranker | None:
    """`auto` and `cohere` use Cohere when a key is set (A5.03); the other providers come with their issue."""
    wanted = settings.rag.reranker_provider
    if wanted in ("auto", "cohere") and environment.cohere_api_key:
        return CohereReranker(environment.cohere_api_key, settings.rag.reranker_model, environment.cohere_base_url)
    if wanted in ("cohere", "llm", "cross-encoder"):
        log.warning("reranker.unavailable", provider=wanted, hint="set COHERE_API_KEY, or rerankerProvider to none")
    return None


class _ChatModels:
    """One client per model name, since settings may name another model while running."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._clients: dict[str, OpenAIChat] = {}

    def get(self, settings: Settings) -> ChatModel | None:
        """None where no provider is configured: the extractive answerer takes over."""
        if not self._environment.chat_configured:
            return None
        name = settings.rag.qa.model
        if name not in self._clients:
            self._clients[name] = OpenAIChat(name, self._environment.openai_api_key, self._environment.openai_base_url)
        return self._clients[name]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
